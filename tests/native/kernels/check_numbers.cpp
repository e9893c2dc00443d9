// Quantization of rows, sizes of codes, scans of elements, CRC-32C.
#include "guarded.h"
#include "quantizers.h"

namespace check {
namespace {

template <class T>
const UniformKernels<T>& uniform_of(const Kernels& k) {
  if constexpr (sizeof(T) == 4)
    return k.uniform32;
  else
    return k.uniform64;
}
template <class Code>
const CodeKernels<Code>& codes_of(const Kernels& k) {
  if constexpr (sizeof(Code) == 4)
    return k.code32;
  else
    return k.code64;
}
template <class T>
const ScanKernels<T>& scans_of(const Kernels& k) {
  if constexpr (sizeof(T) == 4)
    return k.scan32;
  else
    return k.scan64;
}

// ---------------------------------------------------------------- quantization

template <class T>
void check_quantize(const Kernels& tested, Random& random) {
  using Code = CodeOf<T>;
  for (int l = 0; l < lengths; l++)
    for (int kind = 0; kind < kinds; kind++) {
      const int n = length_of(l), stride = int(random.between(1, 2));
      const bool beyond = random.below(4) == 0;
      Uniform<T> q = random_quantizer<T>(random);
      if (random.below(4) == 0) q.code_limit = 127;
      note("%s, n %d, stride %d, step %s, safe %s", kind_name(kind), n, stride, text_of(q.step).c_str(), text_of(q.safe).c_str());
      Guarded<T> x(random, n ? size_t(stride * (n - 1) + 1) : 0), p(random, size_t(n), 0, row_slack), r(random, size_t(n), 0, row_slack);
      Guarded<Code> code(random, size_t(n), 0, row_slack);
      fill_values(random, kind == wide ? smooth : kind, p.data(), size_t(n));
      const i64 limit = i64(random.below(2) ? q.code_limit : 1000);
      for (int i = 0; i < n; i++)
        x[size_t(stride * i)] = sample_near(random, p[size_t(i)], q.step, q.step / 2, random_code<T>(random, limit, beyond), kind);
      remember(x, p, r, code);
      const bool good = uniform_of<T>(tested).quantize(x.data(), stride, p.data(), n, q, code.data(), r.data());
      x.unchanged("x");
      p.unchanged("p");
      r.changed_only("reconstructed", 0, n + row_slack);
      code.changed_only("code", 0, n + row_slack);
      // what the reference leaves alone has no code: it may have any
      std::vector<Code> codes(code.data(), code.data() + n);
      std::vector<T> reconstructed(r.data(), r.data() + n);
      same<int>("result", good, uniform_of<T>(reference).quantize(x.data(), stride, p.data(), n, q, codes.data(), reconstructed.data()));
      same("code", code.data(), codes.data(), size_t(n));
      same("reconstructed", r.data(), reconstructed.data(), size_t(n));
    }
}

template <class T>
void check_dequantize(const Kernels& tested, Random& random) {
  using Code = CodeOf<T>;
  for (int l = 0; l < lengths; l++)
    for (int kind = 0; kind < kinds; kind++) {
      const int n = length_of(l);
      const Uniform<T> q = random_quantizer<T>(random);
      note("%s, n %d, step %s", kind_name(kind), n, text_of(q.step).c_str());
      Guarded<T> p(random, size_t(n), 0, row_slack), r(random, size_t(n), 0, row_slack);
      Guarded<Code> code(random, size_t(n), 0, row_slack);
      fill_values(random, kind, p.data(), size_t(n));
      for (int i = 0; i < n; i++) code[size_t(i)] = Code(random_code<T>(random, i64(q.code_limit), false));
      remember(p, r, code);
      uniform_of<T>(tested).dequantize(code.data(), p.data(), n, q, r.data());
      p.unchanged("p");
      code.unchanged("code");
      r.changed_only("reconstructed", 0, n + row_slack);
      std::vector<T> expected(size_t(n) + 1);
      uniform_of<T>(reference).dequantize(code.data(), p.data(), n, q, expected.data());
      same("reconstructed", r.data(), expected.data(), size_t(n));
    }
}

// ---------------------------------------------------------------- codes

template <class Code>
void fill_codes(Random& random, Code* code, size_t n) {
  const Code extremes[] = {0,
                           1,
                           -1,
                           127,
                           -127,
                           128,
                           -128,
                           511,
                           512,
                           std::numeric_limits<Code>::max(),
                           std::numeric_limits<Code>::min(),
                           std::numeric_limits<Code>::min() + 1};
  const u64 kind = random.below(4), shift = random.below(8 * sizeof(Code));
  for (size_t i = 0; i < n; i++)
    code[i] = kind == 0   ? Code(0)
              : kind == 1 ? Code(20 * random.normal())
              : kind == 2 ? Code(Code(random.next()) >> shift)
                          : extremes[random.below(12)];
}

template <class Code>
void check_largest(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      const int n = length_of(l);
      note("n %d", n);
      Guarded<Code> code(random, size_t(n));
      fill_codes(random, code.data(), size_t(n));
      if (n && repeat % 2) code[random.below(2) ? size_t(n) - 1 : random.below(u64(n))] = std::numeric_limits<Code>::min();
      remember(code);
      const u64 actual = codes_of<Code>(tested).largest(code.data(), n);
      code.unchanged("code");
      same("largest", actual, codes_of<Code>(reference).largest(code.data(), n));
    }
}

template <class Code>
void check_activity(const Kernels& tested, Random& random) {
  const u32 factors[] = {4096, 3444, 2896, 2435, 4095};
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      const int n = length_of(l), right = random.below(2) ? 0 : int(random.below(59)),
                left = random.below(2) ? 0 : int(random.between(0, 9));
      const u32 factor = factors[random.below(5)];
      note("n %d, right %d, left %d, factor %u", n, right, left, factor);
      Guarded<Code> code(random, size_t(n));
      Guarded<u8> out(random, size_t(n));
      fill_codes(random, code.data(), size_t(n));
      remember(code, out);
      codes_of<Code>(tested).activity(code.data(), n, right, left, factor, out.data());
      code.unchanged("code");
      out.changed_only("activity", 0, n);
      std::vector<u8> expected(size_t(n) + 1);
      codes_of<Code>(reference).activity(code.data(), n, right, left, factor, expected.data());
      same("activity", out.data(), expected.data(), size_t(n));
    }
}

template <class Code>
void check_split(const Kernels& tested, Random& random) {
  using Low = std::make_unsigned_t<Code>;
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      const size_t n = size_t(length_of(l));
      const int shift = random.below(8) ? int(random.below(8 * sizeof(Code) - 7)) : 0;
      note("n %zu, shift %d", n, shift);
      Guarded<Code> code(random, n);
      Guarded<u8> symbols(random, n);
      Guarded<Low> low(random, n);
      fill_codes(random, code.data(), n);
      remember(code, symbols, low);
      codes_of<Code>(tested).split(code.data(), n, shift, symbols.data(), low.data());
      code.unchanged("code");
      symbols.changed_only("symbols", 0, i64(n));
      low.changed_only("low", 0, i64(n));
      std::vector<u8> expected(n + 1);
      std::vector<Low> expected_low(n + 1);
      codes_of<Code>(reference).split(code.data(), n, shift, expected.data(), expected_low.data());
      same("symbols", symbols.data(), expected.data(), n);
      same("low", low.data(), expected_low.data(), n);
    }
}

template <class Code>
void check_join(const Kernels& tested, Random& random) {
  using Low = std::make_unsigned_t<Code>;
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      const size_t n = size_t(length_of(l));
      const int widest = 8 * int(sizeof(Code)) - 8, shift = random.below(8) ? int(random.below(u64(widest) + 1)) : widest;
      note("n %zu, shift %d", n, shift);
      Guarded<u8> symbols(random, n);
      Guarded<Low> low(random, n);
      Guarded<Code> code(random, n);
      for (size_t i = 0; i < n; i++) low[i] &= Low((Low(1) << shift) - 1);
      remember(symbols, low, code);
      codes_of<Code>(tested).join(symbols.data(), low.data(), n, shift, code.data());
      symbols.unchanged("symbols");
      low.unchanged("low");
      code.changed_only("code", 0, i64(n));
      std::vector<Code> expected(n + 1);
      codes_of<Code>(reference).join(symbols.data(), low.data(), n, shift, expected.data());
      same("code", code.data(), expected.data(), n);
    }
}

// ---------------------------------------------------------------- elements and bytes

template <class T>
void check_scan(const Kernels& tested, Random& random) {
  using Bits = std::make_unsigned_t<CodeOf<T>>;
  for (int l = 0; l < lengths; l++)
    for (int kind = 0; kind <= kinds; kind++) {
      const size_t n = size_t(length_of(l));
      Guarded<T> x(random, n);
      if (kind < kinds) fill_values(random, kind, x.data(), n);                                                 // else any bits
      if (n && random.below(2)) x[random.below(2) ? n - 1 : random.below(n)] = bit_cast_to<T>(Bits(~Bits(0)));  // there is no larger one
      const Bits wanted = n && random.below(2) ? bit_cast_to<Bits>(x[random.below(n)]) : random.below(2) ? Bits(random.next()) : Bits(0);
      note("%s, n %zu, wanted %llx", kind < kinds ? kind_name(kind) : "any bits", n, (unsigned long long)wanted);
      remember(x);
      bool actual = random.below(2), expected = !actual;
      const Bits most = scans_of<T>(tested).scan(x.data(), n, wanted, &actual);
      x.unchanged("x");
      same("largest magnitude", most, scans_of<T>(reference).scan(x.data(), n, wanted, &expected));
      same<int>("equal", actual, expected);
    }
}

void check_crc32c(const Kernels& tested, Random& random) {
  if (!tested.crc32c) return;
  const u8 digits[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  same("CRC-32C of \"123456789\"", ~tested.crc32c(~0u, digits, 9), 0xe3069283u);
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 3; repeat++) {
      const size_t n = size_t(length_of(l));
      const u32 start = repeat ? u32(random.next()) : ~0u;
      note("n %zu, register %08x", n, start);
      Guarded<u8> data(random, n);
      remember(data);
      const u32 actual = tested.crc32c(start, data.data(), n);
      data.unchanged("data");
      same("CRC", actual, reference.crc32c(start, data.data(), n));
    }
}

}  // namespace

void add_numbers(std::vector<Entry>& entries) {
#define NUMBERS(uniform, code, scans, T)                                     \
  entries.push_back({CHECK_SLOT(uniform.quantize), check_quantize<T>});      \
  entries.push_back({CHECK_SLOT(uniform.dequantize), check_dequantize<T>});  \
  entries.push_back({CHECK_SLOT(code.largest), check_largest<CodeOf<T>>});   \
  entries.push_back({CHECK_SLOT(code.activity), check_activity<CodeOf<T>>}); \
  entries.push_back({CHECK_SLOT(code.split), check_split<CodeOf<T>>});       \
  entries.push_back({CHECK_SLOT(code.join), check_join<CodeOf<T>>});         \
  entries.push_back({CHECK_SLOT(scans.scan), check_scan<T>});
  NUMBERS(uniform32, code32, scan32, float)
  NUMBERS(uniform64, code64, scan64, double)
  entries.push_back({CHECK_SLOT(crc32c), check_crc32c});
}

}  // namespace check
