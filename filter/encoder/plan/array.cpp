#include "encoder/plan/array.h"

#include "base/faults.h"

namespace stz {

void find_valid_extent(const Array& a, Header& h) {
  const int rank = a.layout.rank;
  std::copy(a.layout.shape, a.layout.shape + rank, h.valid);
  if (rank == 0 || a.elements < 64) return;
  h.padding = a.bits(a.elements - 1, 0);
  auto padded = [&](u64 element) {
    for (int part = 0; part < a.parts; part++)
      if (a.bits(element, part) != h.padding) return false;
    return true;
  };
  if (!padded(a.elements - 1) || !padded(a.elements - 2)) {
    if (a.layout.shape[rank - 1] > 1) return;
  }
  u64 stride[STZ_MAX_RANK];
  u64 s = 1;
  for (int k = rank - 1; k >= 0; k--) {
    stride[k] = s;
    s *= a.layout.shape[k];
  }
  for (int axis = 0; axis < rank; axis++) {
    // A plane: all elements with index v along `axis`, inside the extent found so far. Tested row by row from its end.
    auto plane = [&](u64 v) {
      const int last = rank - 1;
      u64 rows = 1;
      for (int k = 0; k < last; k++)
        if (k != axis) rows *= h.valid[k];
      for (u64 r = rows; r-- > 0;) {
        u64 rest = r, row = v * stride[axis];
        for (int k = last - 1; k >= 0; k--) {
          if (k == axis) continue;
          row += rest % h.valid[k] * stride[k];
          rest /= h.valid[k];
        }
        for (u64 x = axis == last ? 1 : h.valid[last]; x-- > 0;)
          if (!padded(row + x)) return false;
      }
      return true;
    };
    while (h.valid[axis] > 1 && plane(h.valid[axis] - 1)) {
      h.valid[axis]--;
      h.partial = true;
    }
  }
}

namespace {

// Makes the most frequent NaN, or masked zero, the common special value, because every other one costs all its bits. Until then the first
// one is it.
void choose_common(Masks& m, Header& h) {
  std::vector<u64> bits;
  for (const LiteralElement& literal : m.literals) bits.push_back(literal.bits);
  std::sort(bits.begin(), bits.end());
  u64 most = h.nan_bits;
  i64 most_count = std::count(m.specials.begin(), m.specials.end(), u8(special_nan));
  for (auto first = bits.begin(); first != bits.end();) {
    const auto end = std::upper_bound(first, bits.end(), *first);
    if (end - first > most_count) {
      most = *first;
      most_count = end - first;
    }
    first = end;
  }
  if (most == h.nan_bits) return;
  std::vector<LiteralElement> literals;
  for (u64 i = 0, next = 0; i < m.specials.size(); i++) {
    const bool literal = m.specials[size_t(i)] == special_literal;
    if (!literal && m.specials[size_t(i)] != special_nan) continue;
    const u64 is = literal ? m.literals[size_t(next++)].bits : h.nan_bits;
    m.specials[size_t(i)] = is == most ? special_nan : special_literal;
    if (is != most) literals.push_back({i, is});
  }
  m.literals = std::move(literals);
  h.nan_bits = most;
}

template <class T>
bool none_special_of(const T* x, const Header& h, bool zeros, u64 n) {
  using Bits = std::make_unsigned_t<CodeOf<T>>;
  bool filled;
  const Bits largest = scan_kernels<T>().scan(x, n, Bits(h.fill), &filled);
  const bool finite = !is_floating(h.layout.dtype) || largest < bit_cast_to<Bits>(std::numeric_limits<T>::infinity());
  return finite && !(h.has_fill && filled) && !(zeros && any_zero(x, n));
}

// Whether n adjacent elements certainly have no special value.
bool none_special(const Array& a, const Header& h, bool zeros, u64 element, u64 n) {
  const u8* first = a.data + element * a.width;
  if (a.width < 4 || reinterpret_cast<uintptr_t>(first) % a.width) return false;
  return a.width == 4 ? none_special_of(reinterpret_cast<const float*>(first), h, zeros, n)
                      : none_special_of(reinterpret_cast<const double*>(first), h, zeros, n);
}

// Finds the kinds of native numbers in whole vectors, until one is infinite, an uncommon NaN or an uncommon zero that is masked. Returns
// how many were done.
template <class U>
u64 common_kinds(const u8* elements, u64 n, const Header& h, bool zeros, u8* kinds) {
  constexpr u64 lanes = 16 / sizeof(U);
  typedef std::make_signed_t<U> Lanes __attribute__((vector_size(16)));
  typedef u8 Kinds __attribute__((vector_size(lanes)));
  using Int = std::make_signed_t<U>;
  constexpr Int infinity = sizeof(U) == 4 ? Int(0x7f800000) : Int(u64(0x7ff) << (sizeof(U) == 4 ? 0 : 52));
  const Int largest = std::numeric_limits<Int>::max(), nan = Int(U(h.nan_bits)), fill = Int(U(h.fill)), any_fill = h.has_fill ? -1 : 0;
  const Int any_zero = zeros ? -1 : 0;
  u64 at = 0;
  for (; at + lanes <= n; at += lanes) {
    Lanes bits;
    memcpy(&bits, elements + at * sizeof(U), sizeof bits);
    const Lanes filled = (bits == fill) & any_fill, common = bits == nan;
    const Lanes special = ((bits & largest) >= infinity) | (((bits & largest) == 0) & any_zero), other = special & ~(filled | common);
    Int any = 0;
    for (u64 l = 0; l < lanes; l++) any |= other[l];
    if (any) break;
    const Kinds found = __builtin_convertvector((filled & Int(special_fill)) | (common & ~filled & Int(special_nan)), Kinds);
    memcpy(kinds + at, &found, sizeof found);
  }
  return at;
}

bool has_nan(const Array& a) {
  const SpecialValues special(a.layout.dtype);
  for (u64 element = 0; element < a.elements; element++)
    for (int part = 0; part < a.parts; part++)
      if (const u64 bits = a.bits(element, part); special.kind(bits, 0) == special_literal) return true;
  return false;
}

}  // namespace

Masks find_masks(const Array& a, Header& h, bool zeros) {
  Masks m;
  const bool floating = is_floating(a.layout.dtype);
  if (!floating && !h.has_fill && !zeros) return m;
  const bool zeros_are_fill = zeros && !h.has_fill && (!floating || has_nan(a));  // otherwise +0 can be the common special value
  if (zeros_are_fill) {
    h.has_fill = true;
    h.fill = 0;
  }
  const u64 valid = valid_elements(h);
  const SpecialValues special(floating ? a.layout.dtype : i32(STZ_F64));
  const u64 magnitude = floating ? float_format(a.layout.dtype).sign() - 1 : ~u64(0);
  bool have_common = false;
  auto look_at = [&](u64 at, u64 bits) {
    u8 kind = special_none;
    if (h.has_fill && bits == h.fill)
      kind = special_fill;
    else if (zeros && (bits & magnitude) == 0)
      kind = have_common && bits == h.nan_bits ? special_nan : special_literal;
    else if (floating)
      kind = special.kind(bits, h.nan_bits);
    if (kind == special_literal && floating && !have_common) {
      have_common = true;
      h.nan_bits = bits;
      kind = special_nan;
    }
    if (kind == special_none) return;
    if (m.specials.empty()) m.specials.resize(valid * u64(a.parts));
    m.specials[at] = kind;
    if (kind == special_literal) m.literals.push_back({at, bits});
  };
  const SampleOrder order(h);
  for (int part = 0; part < a.parts; part++)
    order.for_each_run([&](u64 number, u64 element, u64 n, u64 stride) {
      for (u64 x = 0; x < n; x += special_run) {
        const u64 count = std::min(special_run, n - x), at = u64(part) * valid + number + x;
        if (a.side_by_side(stride) && none_special(a, h, zeros, element + x, count)) continue;
        u64 known = 0;
        if (a.side_by_side(stride) && floating && have_common && a.width >= 4) {
          const u8* elements = a.data + (element + x) * a.width;
          known = a.width == 4 ? common_kinds<u32>(elements, count, h, zeros, &m.specials[at])
                               : common_kinds<u64>(elements, count, h, zeros, &m.specials[at]);
        }
        for (u64 k = known; k < count; k++) look_at(at + k, a.bits(element + (x + k) * stride, part));
      }
    });
  sort_literals(m.literals);
  h.masked = !m.specials.empty();
  if (zeros_are_fill) h.has_fill = std::find(m.specials.begin(), m.specials.end(), u8(special_fill)) != m.specials.end();
  if (floating && !m.literals.empty()) choose_common(m, h);
  STZ_FAULT_POINT_UP_TO(masks, m.specials.data(), m.specials.size(), special_minus_infinity);
  for ([[maybe_unused]] LiteralElement& literal : m.literals) STZ_FAULT_POINT(literals, &literal.bits, a.width);
  return m;
}

}  // namespace stz
