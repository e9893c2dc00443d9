// Arrays that may have come out of several streams: what is equal to any of them keeps its bits, and wrong ones do no harm.
#include <cmath>

#include "filter_host.h"
#include "format/frame.h"

using namespace unit;

namespace {

int rewritten(const Dataset& dataset, const Samples& samples, const std::vector<Bytes>& streams, Bytes& result, int check = STZ_CHECK_NONE,
              int content_check = 0) {
  const void* previous[STZ_MAX_CANDIDATES + 1];
  size_t sizes[STZ_MAX_CANDIDATES + 1], count = 0, size = 0;
  for (const Bytes& stream : streams) previous[count] = stream.data(), sizes[count++] = stream.size();
  stz_options options = dataset.options;
  options.check = check;
  options.content_check = content_check;
  result.resize(stz_max_compressed_size(&dataset.layout));
  const int error = stz_rewrite_any(&dataset.layout, samples.data(), &options, count ? previous : nullptr, count ? sizes : nullptr, count,
                                    result.data(), result.size(), &size);
  result.resize(size);
  return error;
}

Bytes rewritten(const Dataset& dataset, const Samples& samples, const std::vector<Bytes>& streams) {
  Bytes result, checked;
  CHECK(rewritten(dataset, samples, streams, result) == STZ_OK);
  CHECK(rewritten(dataset, samples, streams, checked, STZ_CHECK_DECODE) == STZ_OK && checked == result, "nothing is wrong with it");
  return result;
}

bool same_bits(float a, float b) { return bit_cast_to<u32>(a) == bit_cast_to<u32>(b); }

// What is equal to one of `streams` has its bits again, everything has its bound.
void check_kept(const Dataset& dataset, const Samples& samples, const std::vector<Bytes>& streams, const Bytes& result) {
  std::vector<Samples> before;
  for (const Bytes& stream : streams) before.push_back(decoded(dataset, stream));
  const Samples after = decoded(dataset, result);
  for (size_t i = 0; i < samples.size(); ++i) {
    CHECK(std::fabs(double(samples[i]) - double(after[i])) <= dataset.options.bound, "sample %zu", i);
    for (const Samples& each : before)
      if (same_bits(each[i], samples[i])) CHECK(same_bits(after[i], samples[i]), "sample %zu", i);
  }
}

std::vector<Bytes> streams_of(const Dataset& dataset, u64 first, u64 count) {
  std::vector<Bytes> streams;
  for (u64 seed = first; seed < first + count; ++seed) streams.push_back(stored_alone(dataset, field(dataset, seed)));
  return streams;
}

void copy_planes(const Dataset& dataset, Samples& samples, const Samples& from, size_t begin, size_t end) {
  overwrite(samples.data(), from, begin * dataset.plane(), end * dataset.plane());
}

}  // namespace

TEST(no_stream_is_stz_compress) {
  const Samples samples = field(volume, 1);
  CHECK(rewritten(volume, samples, {}) == stored_alone(volume, samples));
}

TEST(wrong_streams_change_nothing) {
  const Samples samples = field(volume, 1);
  CHECK(rewritten(volume, samples, streams_of(volume, 50, 8)) == stored_alone(volume, samples));
}

TEST(too_many_streams_are_refused) {
  const Samples samples = field(volume, 1);
  Bytes result;
  CHECK(rewritten(volume, samples, streams_of(volume, 50, STZ_MAX_CANDIDATES + 1), result) == STZ_ERROR_ARGUMENT && result.empty());
}

TEST(one_stream_among_many_is_as_if_alone) {
  std::vector<Bytes> streams = streams_of(volume, 50, 8);
  for (size_t place = 0; place < streams.size(); ++place) {
    const Samples written = field(volume, 3);
    Samples samples = decoded(volume, streams[place]);
    copy_planes(volume, samples, written, 2, 5);
    const Bytes result = rewritten(volume, samples, streams);
    check_kept(volume, samples, {streams[place]}, result);
    CHECK(result == rewritten(volume, samples, {streams[place]}), "stream %zu", place);
    CHECK(rewritten(volume, decoded(volume, streams[place]), streams) == streams[place]);
  }
}

TEST(what_any_of_the_streams_shares_is_kept) {
  for (const Dataset* dataset : {&volume, &small})
    for (const size_t count : {1, 3, STZ_MAX_CANDIDATES})
      for (const size_t fresh : {0, 3}) {
        const std::vector<Bytes> streams = streams_of(*dataset, 10, count);
        Samples samples = field(*dataset, 5);
        const size_t planes = size_t(dataset->layout.shape[0]);
        for (size_t plane = fresh; plane < planes; ++plane)
          copy_planes(*dataset, samples, decoded(*dataset, streams[plane % count]), plane, plane + 1);
        check_kept(*dataset, samples, streams, rewritten(*dataset, samples, streams));
      }
}

TEST(single_samples_of_several_streams_are_kept) {
  Random random(5);
  for (const double share : {0.001, 0.05, 0.6}) {
    const std::vector<Bytes> streams = streams_of(volume, 10, 4);
    Samples samples = field(volume, 5);
    std::vector<Samples> before;
    for (const Bytes& stream : streams) before.push_back(decoded(volume, stream));
    for (size_t i = 0; i < samples.size(); ++i)
      if (random.chance(share)) samples[i] = before[random.below(4)][i];
    check_kept(volume, samples, streams, rewritten(volume, samples, streams));
  }
}

// Noughts that a stream of its own gives back need no patches: new data with a mask pay nothing for an older chunk with the same.
TEST(less_than_half_that_comes_back_by_itself_is_a_new_stream) {
  Samples older = field(volume, 1), samples = field(volume, 2);
  for (size_t i = 0; i < samples.size(); ++i)
    if (i % volume.plane() < volume.plane() / 3) older[i] = samples[i] = NAN;
  const Bytes stream = stored_alone(volume, older);
  CHECK(rewritten(volume, samples, {stream}) == stored_alone(volume, samples));
}

TEST(streams_without_loss_keep_nothing) {
  const Dataset lossless(16, 20, 24, 0, STZ_LOSSLESS);
  const Samples before = field(volume, 1);
  Samples samples = before;
  samples[5] += 1;
  CHECK(rewritten(volume, samples, {stored_alone(lossless, before)}) == stored_alone(volume, samples));
}

// Streams of the same samples under another bound: what the result says of its error holds for what it has of them.
TEST(errors_of_all_that_was_kept_are_stated) {
  const Dataset rough(16, 20, 24, 100 * volume.options.bound), fractions(16, 20, 24, 0.1, STZ_POINTWISE_RELATIVE);
  const Samples written = field(volume, 1), other = field(volume, 2);
  for (const Dataset* loose : {&rough, &fractions})
    for (const size_t fresh : {0, 2, 12}) {
      const std::vector<Bytes> streams = {stored_alone(volume, written), stored_alone(*loose, other)};
      Samples samples = field(volume, 3), first = samples;
      copy_planes(volume, samples, decoded(volume, streams[0]), fresh, 16);
      copy_planes(volume, first, written, fresh, 16);
      copy_planes(volume, samples, decoded(volume, streams[1]), fresh, fresh + 2);
      copy_planes(volume, first, other, fresh, fresh + 2);
      const stz_stream_info info = info_of(rewritten(volume, samples, streams));
      const double stated = info.mode == STZ_LOSSLESS ? info.accumulated_bound : info.bound;
      const Samples after = decoded(volume, rewritten(volume, samples, streams));
      CHECK(info.mode != STZ_POINTWISE_RELATIVE);
      for (size_t i = 0; i < after.size(); ++i)
        CHECK(std::fabs(double(first[i]) - double(after[i])) <= stated, "sample %zu, %zu new planes, bound %g", i, fresh, stated);
    }
}

TEST(content_checks_are_added_to_what_is_kept) {
  const std::vector<Bytes> streams = streams_of(volume, 10, 3);
  Samples samples = decoded(volume, streams[1]);
  copy_planes(volume, samples, decoded(volume, streams[2]), 3, 5);
  copy_planes(volume, samples, field(volume, 7), 8, 9);
  Bytes result;
  CHECK(rewritten(volume, samples, streams, result, STZ_CHECK_DECODE, STZ_CONTENT_CHECK_WRITE) == STZ_OK);
  check_kept(volume, samples, streams, result);
  u64 blocks = 0;
  CHECK(stz_verify(result.data(), result.size(), 1, &blocks) == STZ_OK && blocks > 0 && info_of(result).content_check == 1);
}

TEST(streams_of_other_arrays_and_damaged_ones_are_refused) {
  const Samples samples = field(volume, 1);
  Bytes result, damaged = stored_alone(volume, samples);
  CHECK(rewritten(volume, samples, {damaged, stored_alone(small, field(small, 1))}, result) == STZ_ERROR_ARGUMENT);
  damaged[damaged.size() / 2] ^= 1;
  CHECK(rewritten(volume, samples, {stored_alone(volume, samples), damaged}, result) < 0 && result.empty());
}

TEST(programs_that_mix_arrays) {
  for (u64 seed = 0; seed < turns(40); ++seed) {
    Random random(seed);
    std::vector<Bytes> streams = streams_of(small, 100 * seed, 1 + random.below(4));
    for (int step = 0; step < 6; ++step) {
      Samples samples = random.chance(0.3) ? field(small, random.bits()) : decoded(small, streams[random.below(streams.size())]);
      for (u64 pieces = random.below(6); pieces > 0; --pieces) {
        const size_t from = random.below(small.samples()), to = from + random.below(small.samples() - from + 1);
        const Samples source = random.chance(0.5) ? field(small, random.bits()) : decoded(small, streams[random.below(streams.size())]);
        for (size_t i = from; i < to; i += 1 + (pieces % 3)) samples[i] = source[i];
      }
      const Bytes result = rewritten(small, samples, streams);
      check_kept(small, samples, streams, result);
      streams[random.below(streams.size())] = result;
    }
  }
}
