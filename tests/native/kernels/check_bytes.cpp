// Codes as bytes: contexts, activities, bins, symbols and raw bits.
#include "guarded.h"
#include "values.h"

namespace check {
namespace {

constexpr int contexts = 16;
constexpr u8 no_context = 255;

// ---------------------------------------------------------------- contexts and activities

// Rising thresholds, most of them one of the sums that occur or next to it.
std::vector<u16> random_thresholds(Random& random, const u8* row, int n, const TapTable& taps, const u16* weights) {
  std::vector<u16> t(contexts);
  for (u16& v : t) {
    u64 sum = random.next() >> random.between(48, 63);
    if (n && random.below(8)) {
      const std::ptrdiff_t *o = taps.offset, x = std::ptrdiff_t(random.below(u64(n)));
      sum = random.below(3) - 1;
      for (int g = 0; g < taps.groups; g++)
        for (int k = 0; k < taps.taps[g]; k++) sum += u64(weights[g]) * row[x + *o++];
    }
    v = std::max<u16>(u16(sum), 1);
  }
  std::sort(t.begin(), t.end());
  if (random.below(4) == 0) std::fill(t.begin() + 3, t.begin() + 9, t[3]);  // contexts that nothing gets
  if (random.below(4) == 0) t[15] = 65535;
  if (random.below(4) == 0) t[1] = 1;
  std::sort(t.begin(), t.end());
  t[0] = u16(random.below(2) ? 0 : random.next());  // nobody looks at it
  return t;
}

void check_context(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      const int n = length_of(l), reach = int(random.between(0, 70));
      Taps taps = random_taps(random, int(random.between(1, 9)), 2, reach);
      if (random.below(8) == 0) taps = random_taps(random, 1, int(random.between(1, 9)), reach);  // odd numbers too
      std::vector<u16> weights;
      const u64 most = random.below(8) ? 128 : 65536;  // beyond 2^16 sums wrap around
      for (size_t g = 0; g < taps.taps.size(); g++) weights.push_back(u16(random.below(4) ? random.below(most) : 0));
      if (taps.offset.size() == 1) weights[0] = 257;  // 255 of that make the largest sum
      Guarded<u8> row(random, size_t(n + 2 * reach), 0, row_slack), out(random, size_t(n), 0, row_slack);
      if (repeat % 3 == 1) std::fill(row.data(), row.data() + row.size(), u8(random.below(2) ? 255 : 0));
      if (repeat % 3 == 2)
        for (size_t i = 0; i < row.size(); i++) row[i] = random.below(5) ? u8(0) : u8(random.below(40));
      const std::vector<u16> thresholds = random_thresholds(random, row.data() + reach, n, taps.table(), weights.data());
      note("n %d, %s", n, taps.text().c_str());
      remember(row, out);
      tested.bytes.context(row.data() + reach, taps.table(), weights.data(), thresholds.data(), n, out.data());
      row.unchanged("the activities");
      out.changed_only("context", 0, n + row_slack);
      std::vector<u8> expected(size_t(n) + 1);
      reference.bytes.context(row.data() + reach, taps.table(), weights.data(), thresholds.data(), n, expected.data());
      same("context", out.data(), expected.data(), size_t(n));
    }
}

void check_activities(const Kernels& tested, Random& random) {
  for (int l = 0; l < 1000; l++) {
    const ClassRows rows = random_rows(random, l <= short_lengths ? l : random.between(0, 70), 1500, 1);
    const i64 extent = extent_of(rows, 1);
    note("%s", text_of_rows(rows).c_str());
    Guarded<u8> code(random, size_t(samples_of(rows)), 0, row_slack), table(random, 256), out(random, size_t(extent));
    remember(code, table, out);
    std::vector<u8> expected(out.data(), out.data() + extent);  // what is between rows stays
    tested.bytes.activities(code.data(), rows, table.data(), out.data());
    code.unchanged("code");
    table.unchanged("table");
    out.changed_only("out", 0, extent);
    reference.bytes.activities(code.data(), rows, table.data(), expected.data());
    same("out", out.data(), expected.data(), size_t(extent));
  }
}

// ---------------------------------------------------------------- bins

void fill_contexts(Random& random, u8* context, size_t n) {
  const u64 kind = random.below(7), one = random.below(contexts);
  u8 now = u8(one);
  for (size_t i = 0; i < n; i++) {
    const u8 any = u8(random.below(contexts));
    if (random.below(20) == 0) now = random.below(3) ? any : no_context;
    context[i] = kind == 0   ? u8(one)
                 : kind == 1 ? no_context
                 : kind == 2 ? now  // runs
                 : kind == 3 ? (random.below(2) ? u8(0) : u8(15))
                 : kind == 4 ? (random.below(4) ? any : no_context)
                 : kind == 5 ? (random.below(30) ? u8(one) : no_context)
                             : any;
  }
}

// Codes, their contexts, buffers for their bins.
struct Bins {
  const size_t n, pitch;
  Guarded<u8> code, context, bins;
  size_t counts[contexts], expected_counts[contexts];
  Bins(Random& random, size_t n_)
      : n(n_),
        pitch(n + 64 + (random.below(2) ? random.below(80) : 0)),
        code(random, n, 0, row_slack),
        context(random, n, 0, row_slack),
        bins(random, 17 * pitch) {
    fill_contexts(random, context.data(), n);
    note("n %zu, pitch %zu", n, pitch);
    memset(counts, 0xee, sizeof counts);
  }
};

void check_count_contexts(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      Bins q(random, size_t(length_of(l)));
      remember(q.context);
      tested.bytes.count_contexts(q.context.data(), q.n, q.counts);
      q.context.unchanged("context");
      reference.bytes.count_contexts(q.context.data(), q.n, q.expected_counts);
      same("counts", q.counts, q.expected_counts, contexts);
    }
}

void check_partition_by_context(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      Bins q(random, size_t(length_of(l)));
      remember(q.code, q.context, q.bins);
      tested.bytes.partition_by_context(q.code.data(), q.context.data(), q.n, q.bins.data(), q.pitch, q.counts);
      q.code.unchanged("code");
      q.context.unchanged("context");
      q.bins.changed_only("bins", 0, i64(q.bins.size()));
      std::vector<u8> expected(q.bins.data(), q.bins.data() + q.bins.size());  // behind a bin anything will do
      reference.bytes.partition_by_context(q.code.data(), q.context.data(), q.n, expected.data(), q.pitch, q.expected_counts);
      same("counts", q.counts, q.expected_counts, contexts);
      same("bins", q.bins.data(), expected.data(), expected.size());
    }
}

void check_merge_contexts(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      Bins q(random, size_t(length_of(l)));
      std::vector<u8> codes(q.code.data(), q.code.data() + q.n);
      for (size_t i = 0; i < q.n; i++)
        if (q.context[i] == no_context) codes[i] = 0;
      reference.bytes.partition_by_context(q.code.data(), q.context.data(), q.n, q.bins.data(), q.pitch, q.counts);
      Guarded<u8> out(random, q.n, 0, row_slack);
      remember(q.bins, q.context, out);
      tested.bytes.merge_contexts(q.bins.data(), q.pitch, q.context.data(), q.n, out.data());
      q.bins.unchanged("bins");
      q.context.unchanged("context");
      out.changed_only("code", 0, i64(q.n + row_slack));
      std::vector<u8> expected(q.n + 1);
      reference.bytes.merge_contexts(q.bins.data(), q.pitch, q.context.data(), q.n, expected.data());
      same("code", out.data(), expected.data(), q.n);
      same("code, sorted and placed again", out.data(), codes.data(), q.n);
    }
}

// ---------------------------------------------------------------- symbols and raw bits

void fill_bytes(Random& random, u8* v, size_t n) {
  const u64 kind = random.below(4), most = random.below(256);
  for (size_t i = 0; i < n; i++)
    v[i] = kind == 0   ? u8(random.below(most + 1))
           : kind == 1 ? u8(most)
           : kind == 2 ? (random.below(40) ? u8(0) : u8(random.next()))
                       : u8(random.below(2) ? 127 : 128);
}

void check_largest(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      const size_t n = size_t(length_of(l));
      note("n %zu", n);
      Guarded<u8> code(random, n, 0, row_slack);
      fill_bytes(random, code.data(), n);
      if (n && repeat % 2) code[random.below(2) ? n - 1 : random.below(n)] = 255;
      remember(code);
      const u8 actual = tested.bytes.largest(code.data(), n);
      code.unchanged("code");
      same("largest", actual, reference.bytes.largest(code.data(), n));
    }
}

void check_find(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      const size_t n = size_t(length_of(l));
      const u8 edges[] = {0, 1, 127, 128, 255}, least = repeat % 2 ? edges[random.below(5)] : u8(random.next());
      note("n %zu, least %d", n, least);
      Guarded<u8> code(random, n, 0, row_slack);
      Guarded<u32> index(random, n);
      fill_bytes(random, code.data(), n);
      remember(code, index);
      const size_t actual = tested.bytes.find(code.data(), n, least, index.data());
      code.unchanged("code");
      index.changed_only("index", 0, i64(n));
      std::vector<u32> expected(n + 1);
      same("number found", actual, reference.bytes.find(code.data(), n, least, expected.data()));
      same("index", index.data(), expected.data(), actual);
    }
}

void check_shift(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int by = 0; by < 8; by++) {
      const size_t n = size_t(length_of(l));
      note("n %zu, shift %d", n, by);
      Guarded<u8> code(random, n);
      std::vector<u8> expected(code.data(), code.data() + n);
      expected.push_back(0);
      remember(code);
      tested.bytes.shift(code.data(), n, by);
      code.changed_only("code", 0, i64(n));
      reference.bytes.shift(expected.data(), n, by);
      same("code", code.data(), expected.data(), n);
    }
}

void check_gather(const Kernels& tested, Random& random) {
  for (size_t words = 0; words < 70; words++)
    for (int shift = 0; shift < 8; shift++) {
      note("%zu words, shift %d", words, shift);
      Guarded<u8> code(random, 8 * words);
      Guarded<u64> out(random, words);
      remember(code, out);
      tested.bytes.gather_low_bits(code.data(), words, shift, out.data());
      code.unchanged("code");
      out.changed_only("out", 0, i64(words));
      std::vector<u64> expected(words + 1);
      reference.bytes.gather_low_bits(code.data(), words, shift, expected.data());
      same("out", out.data(), expected.data(), words);
    }
}

void check_spread(const Kernels& tested, Random& random) {
  for (size_t words = 0; words < 70; words++)
    for (int shift = 0; shift < 8; shift++)
      for (int large = 0; large < 2; large++) {  // codes that lose bits, as those of streams that no encoder wrote
        note("%zu words, shift %d%s", words, shift, large ? ", large codes" : "");
        Guarded<u8> code(random, 8 * words);
        Guarded<u64> in(random, words);
        if (!large)
          for (size_t i = 0; i < 8 * words; i++) code[i] = u8(code[i] >> shift);
        std::vector<u8> expected(code.data(), code.data() + 8 * words);
        expected.push_back(0);
        remember(code, in);
        tested.bytes.spread_low_bits(in.data(), words, shift, code.data());
        in.unchanged("in");
        code.changed_only("code", 0, i64(8 * words));
        reference.bytes.spread_low_bits(in.data(), words, shift, expected.data());
        same("code", code.data(), expected.data(), 8 * words);
      }
}

}  // namespace

void add_bytes(std::vector<Entry>& entries) {
  entries.push_back({CHECK_SLOT(bytes.context), check_context});
  entries.push_back({CHECK_SLOT(bytes.activities), check_activities});
  entries.push_back({CHECK_SLOT(bytes.count_contexts), check_count_contexts});
  entries.push_back({CHECK_SLOT(bytes.partition_by_context), check_partition_by_context});
  entries.push_back({CHECK_SLOT(bytes.merge_contexts), check_merge_contexts});
  entries.push_back({CHECK_SLOT(bytes.largest), check_largest});
  entries.push_back({CHECK_SLOT(bytes.find), check_find});
  entries.push_back({CHECK_SLOT(bytes.shift), check_shift});
  entries.push_back({CHECK_SLOT(bytes.gather_low_bits), check_gather});
  entries.push_back({CHECK_SLOT(bytes.spread_low_bits), check_spread});
}

}  // namespace check
