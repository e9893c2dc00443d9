#include "decoder/decode_remainders.h"

#include "base/buffer.h"
#include "base/parallel.h"
#include "coding/checksum.h"
#include "format/convert.h"
#include "format/sample_order.h"

namespace stz {
namespace {

// Fields of bits, the low bits of each first. A reader behind the end gets zeros; the caller compares the place with the end.
class BitStream {
 public:
  BitStream(const u8* data, u64 size) : data_(data), end_(8 * size) {}
  u64 take(int bits) {
    const u64 v = peek(at_, bits);
    at_ += u64(bits);
    return v;
  }
  u64 at() const { return at_; }
  u64 end() const { return end_; }
  void skip(u64 bits) { at_ += bits; }
  void to_next_byte() { at_ = (at_ + 7) / 8 * 8; }

 private:
  u64 peek(u64 at, int bits) const {
    if (bits == 0) return 0;
    const u64 byte = at / 8, left = end_ / 8 - std::min(byte, end_ / 8);
    const int shift = int(at % 8);
    u64 v = 0;
    if (left >= 8)
      v = load_le<u64>(data_ + byte);
    else
      for (u64 k = 0; k < left; k++) v |= u64(data_[byte + k]) << (8 * k);
    v >>= shift;
    if (bits + shift > 64 && left > 8) v |= u64(data_[byte + 8]) << (64 - shift);
    return v & (~u64(0) >> (64 - bits));
  }
  const u8* data_;
  u64 end_, at_ = 0;
};

// A small number: its bits.
u64 take_small(BitStream& in, const RemainderWidths& w, Zeros zeros) {
  if (zeros == Zeros::all || (zeros == Zeros::marked && in.take(1))) return 0;
  const u64 sign = in.take(1) << (w.number - 1);
  int gap = 0;
  while (gap < longest_gap && !in.take(1)) gap++;
  if (gap == longest_gap) return sign | in.take(w.number - 1);
  require(w.exponent_of_step > u64(gap) + 1, STZ_ERROR_CORRUPT);
  return sign | (w.exponent_of_step - 1 - u64(gap)) << w.mantissa | in.take(w.mantissa - w.zero_bits) << w.zero_bits;
}

}  // namespace

SlabDecoder::SlabDecoder(const Header& h)
    : w_(h), zeros_(h.remainders.zeros), step_(h.remainders.step), inverse_(1 / h.remainders.step), width_(size_t(w_.all_ones + 1)) {
  for (u64 e = 0; e <= w_.all_ones; e++)
    width_[e] = e == w_.all_ones ? is_special : e < w_.exponent_of_step ? is_small : u8(w_.width(e << w_.mantissa));
}

// Replaces numbers by the nearest multiples of the step, with which every encoder's samples are exact.
template <class U>
void SlabDecoder::round(U* __restrict elements, u64 n) const {
  using T = std::conditional_t<sizeof(U) == 4, float, double>;
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  const double step = step_, inverse = inverse_;
  const U all_ones = U(w_.all_ones << w_.mantissa), fill = U(w_.fill), none = w_.has_fill ? U(0) : U(~U(0));
  for (u64 i = 0; i < n; i++) {
    const U bits = elements[i], rounded = bit_cast_to<U>(T((double(bit_cast_to<T>(bits)) * inverse + magic - magic) * step));
    const bool keep = ((bits & all_ones) == all_ones) | (((bits ^ fill) | none) == 0);
    elements[i] = keep ? bits : rounded;
  }
}

// Adds the remainders of all numbers that are not small. Returns their bits. `smalls`: gets the places of the others.
template <class U>
u64 SlabDecoder::add_wide(const u8* slab, u64 size, U* elements, u64 n, std::vector<u32>& smalls) const {
  const u8* const width_of = width_.data();
  const int mantissa = w_.mantissa, zero_bits = w_.zero_bits;
  const u64 all_ones = w_.all_ones, fill = w_.fill;
  const bool has_fill = w_.has_fill;
  u64 at = 0, i = 0;
  for (; i < n; i++) {  // whole words
    const U bits = elements[i];
    const u8 width = width_of[u64(bits) >> mantissa & all_ones];
    if (has_fill && bits == fill) continue;
    if (width >= is_small) {
      if (width == is_small) smalls.push_back(u32(i));
      continue;
    }
    if (at / 8 + 8 > size) break;
    const u64 word = load_le<u64>(slab + at / 8) >> at % 8;
    elements[i] = U(bits | U(word & ((u64(1) << width) - 1)) << zero_bits);
    at += width;
  }
  BitStream in(slab, size);
  in.skip(at);
  for (; i < n; i++) {
    const u64 bits = elements[i];
    if (!w_.has_remainder(bits)) continue;
    if (w_.is_small(bits))
      smalls.push_back(u32(i));
    else
      elements[i] = U(bits | in.take(w_.width(bits)) << zero_bits);
  }
  return in.at();
}

template <class U>
void SlabDecoder::decode(const u8* slab, u64 size, U* elements, u64 n) const {
  round(elements, n);
  std::vector<u32> smalls;
  BitStream in(slab, size);
  in.skip(add_wide(slab, size, elements, n, smalls));
  in.to_next_byte();
  for (u32 i : smalls) {
    require(in.at() <= in.end(), STZ_ERROR_CORRUPT);
    elements[i] = U(take_small(in, w_, zeros_));
  }
  in.to_next_byte();
  require(in.at() == in.end(), STZ_ERROR_CORRUPT);
}

template void SlabDecoder::decode(const u8*, u64, u32*, u64) const;
template void SlabDecoder::decode(const u8*, u64, u64*, u64) const;

namespace {

// The elements of an array, by the numbers of their samples.
class Places {
 public:
  explicit Places(const Header& h)
      : order_(h),
        as_stored_(order_.as_stored()),
        parts_(u64(components(h.layout.dtype))),
        valid_(valid_elements(h)),
        width_(component_size(h.layout.dtype)) {}
  bool in_order() const { return as_stored_ && parts_ == 1; }
  u64 operator()(u64 number) const {  // offset in bytes
    return (order_.element_of(number % valid_) * parts_ + number / valid_) * width_;
  }

 private:
  const SampleOrder order_;
  const bool as_stored_;
  const u64 parts_, valid_, width_;
};

template <class U>
void add_level(const Header& h, const Slabs& slabs, const u8* section, u64 size, u8* array, int threads) {
  std::vector<u64> sizes, offset;
  u64 begin = 0;
  require(read_slab_directory(section, size, size, slabs.count(), sizes, begin) == 0, STZ_ERROR_TRUNCATED);
  for (u64 n : sizes) {
    offset.push_back(begin);
    begin += n + (n ? check_size(n) : 0);
  }
  const Places place(h);
  const SlabDecoder decoder(h);
  const bool swap = swapped(h.layout);
  struct Worker {
    Buffer<U> elements;
  };
  parallel_for<Worker>(slabs.count(), threads, [&](Worker& worker, u64 number) {
    const Slabs::Slab slab = slabs.at(number);
    const Index& b = slab.box.size;
    worker.elements.resize(size_t(b[0] * b[1] * b[2] * b[3]) + 1);
    const u8* const bytes = section + offset[number];
    if (sizes[number]) require_check(check_of(bytes, size_t(sizes[number])), bytes + sizes[number]);
    const bool in_order = place.in_order() && !swap;
    auto for_places = [&](auto f) {
      u64 k = 0;
      for_slab_rows(slabs, slab.box, [&](const Index& at, i64 apart, i64 count) {
        const u64 row = slabs.number_of(slab.item, at);
        const u64 distance = u64(apart * slabs.step[3]);
        if (in_order)
          for (u64 x = 0; x < u64(count); x++) f(k + x, array + (row + x * distance) * sizeof(U), std::false_type());
        else
          for (u64 x = 0; x < u64(count); x++) f(k + x, array + place(row + x * distance), std::true_type());
        k += u64(count);
      });
      return k;
    };
    U* const elements = worker.elements.data();
    const u64 count = for_places([&](u64 k, const u8* from, auto slow) { elements[k] = U(load_bits(from, sizeof(U), slow && swap)); });
    decoder.decode(bytes, sizes[number], elements, count);
    for_places([&](u64 k, u8* to, auto slow) { store_bits(to, elements[k], sizeof(U), slow && swap); });
  });
}

}  // namespace

void add_remainders(const Header& h, const u8* remainders, u64 size, u8* array, int threads) {
  const Hierarchy hierarchy = hierarchy_of(h);
  ByteReader in(remainders, size_t(size));
  for (size_t k = 0; k < h.remainder.size(); k++) {
    const Slabs slabs(hierarchy, h.remainder.size() - 1 - k);
    const u8* const section = in.take(h.remainder[k]);
    if (component_size(h.layout.dtype) == 4)
      add_level<u32>(h, slabs, section, h.remainder[k], array, threads);
    else
      add_level<u64>(h, slabs, section, h.remainder[k], array, threads);
  }
}

}  // namespace stz
