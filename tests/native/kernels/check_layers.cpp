// Codes with and without their lowest bits: precision layers.
#include "guarded.h"
#include "values.h"

namespace check {
namespace {

constexpr size_t slack = 64;  // that may be read beyond fields, and written beyond packed ones

void fill_codes(Random& random, u8* v, size_t n) {
  const u64 zeros = random.below(4), most = 1 + random.below(255);
  for (size_t i = 0; i < n; i++) v[i] = zeros && random.below(zeros + 1) ? u8(0) : u8(random.below(40) ? random.below(most + 1) : 255);
}
template <class Code>
void fill_codes(Random& random, Code* v, size_t n) {
  const int bits = int(random.between(1, 8 * int(sizeof(Code)) - 1));
  const bool any_zeros = random.below(2);
  for (size_t i = 0; i < n; i++) {
    const u64 size = random.next() >> (64 - bits);
    v[i] = any_zeros && random.below(3) ? Code(0) : random.below(2) ? Code(size) : Code(0 - size);
    if (random.below(50) == 0) v[i] = Code(u64(1) << (8 * sizeof(Code) - 1));
  }
}
void fill_fields(Random& random, const u8* code, u8* low, size_t n, int width) {
  for (size_t i = 0; i < n; i++) low[i] = code && !code[i] ? u8(0) : u8(random.below(u64(1) << width));
}

void check_count(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++) {
    const size_t n = size_t(length_of(l));
    note("n %zu", n);
    Guarded<u8> code(random, n);
    fill_codes(random, code.data(), n);
    remember(code);
    same("count", tested.bytes.count_nonzero(code.data(), n), reference.bytes.count_nonzero(code.data(), n));
    code.unchanged("code");
  }
  std::vector<u8> long_run(3000, u8(0));
  for (size_t i = 0; i < 3000; i += 7) long_run[i] = 3;
  note("3000 codes");
  same("count", tested.bytes.count_nonzero(long_run.data(), 3000), reference.bytes.count_nonzero(long_run.data(), 3000));
}

void check_spread_fields(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 4; repeat++) {
      const size_t n = size_t(length_of(l));
      note("n %zu", n);
      Guarded<u8> code(random, n), out(random, n);
      fill_codes(random, code.data(), n);
      const size_t count = reference.bytes.count_nonzero(code.data(), n);
      Guarded<u8> field(random, count, 0, slack);
      remember(code, field, out);
      tested.bytes.spread_fields(field.data(), code.data(), n, out.data());
      code.unchanged("code");
      field.unchanged("field");
      out.changed_only("out", 0, i64(n));
      std::vector<u8> expected(n + 1);
      reference.bytes.spread_fields(field.data(), code.data(), n, expected.data());
      same("out", out.data(), expected.data(), n);
    }
}

void check_append(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int width = 1; width <= 8; width++) {
      const size_t n = size_t(length_of(l));
      note("n %zu, width %d", n, width);
      Guarded<u8> code(random, n), low(random, n);
      fill_codes(random, code.data(), n);
      fill_fields(random, code.data(), low.data(), n, width);
      std::vector<u8> expected(code.data(), code.data() + n);
      expected.push_back(0);
      remember(code, low);
      const bool any = tested.bytes.append_bits(code.data(), low.data(), n, width);
      low.unchanged("low");
      code.changed_only("code", 0, i64(n));
      same("whether any is no byte", any, reference.bytes.append_bits(expected.data(), low.data(), n, width));
      same("code", code.data(), expected.data(), n);
    }
}

void check_cut(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int width = 1; width <= 12; width++) {
      const size_t n = size_t(length_of(l));
      note("n %zu, width %d", n, width);
      Guarded<u8> code(random, n), out(random, n);
      fill_codes(random, code.data(), n);
      for (size_t i = 0; i < n; i++) code[i] = std::min<u8>(code[i], 254);
      remember(code, out);
      tested.bytes.cut_bits(code.data(), n, width, out.data());
      code.unchanged("code");
      out.changed_only("out", 0, i64(n));
      std::vector<u8> expected(n + 1);
      reference.bytes.cut_bits(code.data(), n, width, expected.data());
      same("out", out.data(), expected.data(), n);
    }
}

template <class Code, class Refine>
void check_refine(Random& random, int most, Refine refine) {
  for (int l = 0; l < lengths; l++)
    for (int width = 1; width <= 7; width++) {
      const size_t n = size_t(length_of(l));
      const int after = int(random.between(0, most - width)), before = after + width;
      note("n %zu, from %d bits to %d", n, before, after);
      Guarded<Code> code(random, n);
      Guarded<u8> added(random, n), low(random, n), known(random, n);
      fill_codes(random, code.data(), n);
      for (size_t i = 0; i < n && sizeof(Code) == 1; i++) code[i] = std::min<Code>(code[i], Code(254));
      remember(code, added, low, known);
      refine(false, code.data(), n, before, after, added.data(), low.data(), known.data());
      code.unchanged("code");
      added.changed_only("added", 0, i64(n));
      low.changed_only("low", 0, i64(n));
      known.changed_only("known", 0, i64(n));
      std::vector<u8> expected(n + 1), expected_low(n + 1), expected_known(n + 1);
      refine(true, code.data(), n, before, after, expected.data(), expected_low.data(), expected_known.data());
      same("added", added.data(), expected.data(), n);
      same("low", low.data(), expected_low.data(), n);
      same("known", known.data(), expected_known.data(), n);
    }
}
void check_refine_bytes(const Kernels& tested, Random& random) {
  check_refine<u8>(random, 10, [&](bool right, auto... arguments) { (right ? reference : tested).bytes.refine(arguments...); });
}

void check_pack(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 4; repeat++) {
      const size_t n = size_t(length_of(l));
      note("n %zu", n);
      Guarded<u8> low(random, n), known(random, n), fields(random, n, 0, slack);
      for (size_t i = 0; i < n; i++) known[i] = random.below(3) ? u8(255) : u8(0);
      remember(low, known, fields);
      const size_t count = tested.bytes.pack_fields(low.data(), known.data(), n, fields.data());
      low.unchanged("low");
      known.unchanged("known");
      fields.changed_only("fields", 0, i64(n + slack));
      std::vector<u8> expected(n + 1);
      same("count", count, reference.bytes.pack_fields(low.data(), known.data(), n, expected.data()));
      same("fields", fields.data(), expected.data(), count);
    }
}

template <class Code>
const CodeKernels<Code>& codes_of(const Kernels& k) {
  if constexpr (sizeof(Code) == 4)
    return k.code32;
  else
    return k.code64;
}

template <class Code>
void check_append_numbers(const Kernels& tested, Random& random) {
  const u64 largest = sizeof(Code) == 4 ? 0x7fffffff : (u64(1) << 61) - 1;
  for (int l = 0; l < lengths; l++)
    for (int width = 1; width <= 8; width++) {
      const size_t n = size_t(length_of(l));
      note("n %zu, width %d", n, width);
      Guarded<Code> code(random, n);
      Guarded<u8> low(random, n);
      fill_codes(random, code.data(), n);
      fill_fields(random, nullptr, low.data(), n, width);
      std::vector<Code> expected(code.data(), code.data() + n);
      expected.push_back(0);
      remember(code, low);
      const bool fit = codes_of<Code>(tested).append_bits(code.data(), low.data(), n, width, largest);
      low.unchanged("low");
      code.changed_only("code", 0, i64(n));
      same("whether all fit", fit, codes_of<Code>(reference).append_bits(expected.data(), low.data(), n, width, largest));
      if (fit) same("code", code.data(), expected.data(), n);
    }
}

template <class Code>
void check_cut_numbers(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int width : {1, 2, 5, 9, 24}) {
      const size_t n = size_t(length_of(l));
      note("n %zu, width %d", n, width);
      Guarded<Code> code(random, n), out(random, n);
      fill_codes(random, code.data(), n);
      remember(code, out);
      codes_of<Code>(tested).cut_bits(code.data(), n, width, out.data());
      code.unchanged("code");
      out.changed_only("out", 0, i64(n));
      std::vector<Code> expected(n + 1);
      codes_of<Code>(reference).cut_bits(code.data(), n, width, expected.data());
      same("out", out.data(), expected.data(), n);
    }
}

template <class Code>
void check_refine_numbers(const Kernels& tested, Random& random) {
  check_refine<Code>(random, 8 * int(sizeof(Code)) - 2,
                     [&](bool right, auto... arguments) { codes_of<Code>(right ? reference : tested).refine(arguments...); });
}

}  // namespace

void add_layers(std::vector<Entry>& entries) {
  entries.push_back({CHECK_SLOT(bytes.count_nonzero), check_count});
  entries.push_back({CHECK_SLOT(bytes.spread_fields), check_spread_fields});
  entries.push_back({CHECK_SLOT(bytes.append_bits), check_append});
  entries.push_back({CHECK_SLOT(bytes.cut_bits), check_cut});
  entries.push_back({CHECK_SLOT(bytes.refine), check_refine_bytes});
  entries.push_back({CHECK_SLOT(bytes.pack_fields), check_pack});
  entries.push_back({CHECK_SLOT(code32.append_bits), check_append_numbers<i32>});
  entries.push_back({CHECK_SLOT(code32.cut_bits), check_cut_numbers<i32>});
  entries.push_back({CHECK_SLOT(code32.refine), check_refine_numbers<i32>});
  entries.push_back({CHECK_SLOT(code64.append_bits), check_append_numbers<i64>});
  entries.push_back({CHECK_SLOT(code64.cut_bits), check_cut_numbers<i64>});
  entries.push_back({CHECK_SLOT(code64.refine), check_refine_numbers<i64>});
}

}  // namespace check
