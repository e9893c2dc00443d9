// Prediction, medians, interleaving and separating of rows.
#include "guarded.h"
#include "values.h"

namespace check {
namespace {

template <class S>
const RowKernels<S>& rows_of(const Kernels& k) {
  if constexpr (sizeof(S) == 4)
    return k.f32;
  else if constexpr (S(0.5) != S(0))
    return k.f64;
  else
    return k.int64;
}

// ---------------------------------------------------------------- prediction

template <class S>
void check_predict(const Kernels& tested, Random& random) {
  using R = RealOf<S>;
  for (int l = 0; l < lengths; l++)
    for (int kind = 0; kind < kinds; kind++) {
      const int n = length_of(l), groups = int(random.below(16) ? random.between(1, 9) : random.between(10, 32)),
                reach = int(random.between(0, 40));
      const Taps taps = random_taps(random, groups, 2, reach);
      const std::vector<R> weights = random_weights<R>(random, kind, taps.taps.size());
      note("%s, n %d, %s, reach %d", kind_name(kind), n, taps.text().c_str(), reach);
      Guarded<S> in(random, size_t(n + 2 * reach), 0, row_slack);
      Guarded<R> p(random, size_t(n), 0, row_slack);
      fill_values(random, kind, in.data(), in.size());
      remember(in, p);
      rows_of<S>(tested).predict(in.data() + reach, taps.table(), weights.data(), n, p.data());
      in.unchanged("the samples");
      p.changed_only("p", 0, n + row_slack);
      std::vector<R> expected(size_t(n) + 1);
      rows_of<S>(reference).predict(in.data() + reach, taps.table(), weights.data(), n, expected.data());
      same("p", p.data(), expected.data(), size_t(n));
    }
}

template <class S>
void check_median(const Kernels& tested, Random& random) {
  using R = RealOf<S>;
  for (int l = 0; l < lengths; l++)
    for (int kind = 0; kind < kinds; kind++) {
      const int n = length_of(l), count = int(n < 70 && random.below(4) == 0 ? random.between(1, 80) : random.between(1, 10)),
                reach = int(random.between(0, 40));
      const Taps taps = random_taps(random, 1, count, reach);
      note("%s, n %d, median of %d, reach %d", kind_name(kind), n, count, reach);
      Guarded<S> in(random, size_t(n + 2 * reach), 0, row_slack);
      Guarded<R> p(random, size_t(n), 0, row_slack);
      fill_values(random, kind, in.data(), in.size());
      remember(in, p);
      const S* row = in.data() + reach;
      rows_of<S>(tested).median(row, taps.offset.data(), count, n, p.data());
      in.unchanged("the samples");
      p.changed_only("p", 0, n + row_slack);
      std::vector<R> expected(size_t(n) + 1);
      rows_of<S>(reference).median(row, taps.offset.data(), count, n, expected.data());
      same("p", p.data(), expected.data(), size_t(n));
      // the reference's own order against the library's
      for (int x = 0; x < n && kind != special && kind != equal; x += 7) {
        std::vector<R> v;
        for (std::ptrdiff_t o : taps.offset) v.push_back(R(row[x + o]));
        std::stable_sort(v.begin(), v.end());
        const R upper = v[size_t(count / 2)];
        same("median by sorting", count % 2 ? upper : (v[size_t(count / 2 - 1)] + upper) * R(0.5), expected[size_t(x)]);
      }
    }
}

template <class S>
void check_mean_of_valid(const Kernels& tested, Random& random) {
  using R = RealOf<S>;
  constexpr int reach = 40;
  for (int l = 0; l < lengths; l++)
    for (int share = 0; share <= 4; share++) {
      const int n = length_of(l), count = 1 + int(random.next() % 26);
      note("n %d, %d taps, %d / 4 masked", n, count, share);
      const Taps taps = random_taps(random, 1, count, reach), of_kinds = random_taps(random, 1, count, reach);
      Guarded<S> in(random, size_t(n), reach, reach + row_slack);
      Guarded<u8> kinds(random, size_t(n), reach, reach + row_slack);
      for (int x = -reach; x < n + reach + row_slack; x++) {
        in.data()[x] = S(int(random.next() % 2001) - 1000) / S(8);
        kinds.data()[x] = int(random.next() % 4) < share ? u8(1 + random.next() % 6) : u8(0);
      }
      Guarded<R> mean(random, size_t(n), 0, row_slack);
      remember(in, kinds);
      const int taps_count = int(std::min(taps.offset.size(), of_kinds.offset.size()));
      rows_of<S>(tested).mean_of_valid(in.data(), kinds.data(), taps.offset.data(), of_kinds.offset.data(), taps_count, n, mean.data());
      in.unchanged("row");
      kinds.unchanged("kinds");
      std::vector<R> expected(size_t(n) + 1);
      rows_of<S>(reference).mean_of_valid(in.data(), kinds.data(), taps.offset.data(), of_kinds.offset.data(), taps_count, n,
                                          expected.data());
      same("mean", mean.data(), expected.data(), size_t(n));
    }
}

// ---------------------------------------------------------------- halves of rows

template <class S>
void check_interleave(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 6; repeat++) {
      const int n = length_of(l);
      const bool streaming = repeat % 2;
      // Of random bits, about half are below the lower end and a quarter above the upper one; zeros of both signs are at an end.
      const Limits<S> within = repeat == 4 ? Limits<S>{S(0), S(3)} : Limits<S>{S(-2), S(0)}, *limits = repeat < 2 ? nullptr : &within;
      note("n %d%s%s", n, streaming ? ", streaming" : "", limits ? ", limits" : "");
      // garbage of all bits: nothing is computed
      Guarded<S> even(random, size_t(n + 1) / 2, 16, row_slack), odd(random, size_t(n) / 2, 16, row_slack), out(random, size_t(n));
      remember(even, odd, out);
      rows_of<S>(tested).interleave(even.data(), odd.data(), n, out.data(), streaming, limits);
      tested.finish_streaming();
      even.unchanged("even");
      odd.unchanged("odd");
      out.changed_only("out", 0, n);
      std::vector<S> expected(size_t(n) + 1);
      rows_of<S>(reference).interleave(even.data(), odd.data(), n, expected.data(), streaming, limits);
      same("out", out.data(), expected.data(), size_t(n));
    }
}

template <class S>
void check_interleave_rows(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 3; repeat++) {
      const int n = length_of(l), rows = 1 + int(random.next() % 3);
      const std::ptrdiff_t stride = (n + 1) / 2 + std::ptrdiff_t(random.next() % 5), out_stride = n + std::ptrdiff_t(random.next() % 7);
      note("n %d, %d rows", n, rows);
      Guarded<S> even(random, size_t(rows * stride), 16, row_slack), odd(random, size_t(rows * stride), 16, row_slack),
          out(random, size_t(rows * out_stride));
      std::vector<S> expected(out.data(), out.data() + rows * out_stride);
      remember(even, odd, out);
      rows_of<S>(tested).interleave_rows(even.data(), odd.data(), stride, rows, n, out.data(), out_stride);
      even.unchanged("even");
      odd.unchanged("odd");
      out.changed_only("out", 0, rows * out_stride);
      rows_of<S>(reference).interleave_rows(even.data(), odd.data(), stride, rows, n, expected.data(), out_stride);
      same("out", out.data(), expected.data(), expected.size());
    }
}

template <class S>
void check_separate(const Kernels& tested, Random& random) {
  for (int l = 0; l < lengths; l++)
    for (int repeat = 0; repeat < 4; repeat++) {
      const int n = length_of(l), evens = (n + 1) / 2, odds = n / 2;
      note("n %d", n);
      Guarded<S> in(random, size_t(n)), even(random, size_t(evens)), odd(random, size_t(odds));
      remember(in, even, odd);
      rows_of<S>(tested).separate(in.data(), n, even.data(), odd.data());
      in.unchanged("in");
      even.changed_only("even", 0, evens);
      odd.changed_only("odd", 0, odds);
      std::vector<S> first(size_t(evens) + 1), second(size_t(odds) + 1);
      rows_of<S>(reference).separate(in.data(), n, first.data(), second.data());
      same("even", even.data(), first.data(), size_t(evens));
      same("odd", odd.data(), second.data(), size_t(odds));
    }
}

void check_finish_streaming(const Kernels& tested, Random&) { tested.finish_streaming(); }

}  // namespace

void add_rows(std::vector<Entry>& entries) {
#define ROWS(member, S)                                                              \
  entries.push_back({CHECK_SLOT(member.predict), check_predict<S>});                 \
  entries.push_back({CHECK_SLOT(member.median), check_median<S>});                   \
  entries.push_back({CHECK_SLOT(member.mean_of_valid), check_mean_of_valid<S>});     \
  entries.push_back({CHECK_SLOT(member.interleave), check_interleave<S>});           \
  entries.push_back({CHECK_SLOT(member.interleave_rows), check_interleave_rows<S>}); \
  entries.push_back({CHECK_SLOT(member.separate), check_separate<S>});
  ROWS(f32, float)
  ROWS(f64, double)
  ROWS(int64, i64)
  entries.push_back({CHECK_SLOT(finish_streaming), check_finish_streaming});
}

}  // namespace check
