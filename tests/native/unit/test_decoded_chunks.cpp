// What is remembered of decoded chunks, and which of them are named when one comes back: without HDF5, streams are bytes of any kind.
#include "recognition/decoded_chunks.h"

#include <algorithm>

#include "unit.h"

using namespace unit;
using recognition::Candidates;
using recognition::DecodedChunks;
using recognition::Place;
using recognition::Probes;

namespace {

using Samples = std::vector<float>;

constexpr size_t all = 6000;
const int dataset = 0, other_dataset = 0;
const int addresses[64] = {};

stz_layout layout_of(size_t samples) {
  stz_layout layout{};
  layout.dtype = STZ_F32;
  layout.rank = 1;
  layout.shape[0] = samples;
  return layout;
}

Samples field(u64 seed, size_t samples = all) {
  Random random(seed);
  Samples field(samples);
  for (float& sample : field) sample = float(random.below(1 << 24));
  return field;
}

Probes probes_of(const Samples& samples) { return recognition::take_probes(layout_of(samples.size()), samples.data()); }

// A stream that nothing else is like.
Bytes stream(u64 seed, size_t size = 300) {
  Bytes bytes(size, u8(seed * 7 + 1));
  for (size_t k = 0; k < std::min<size_t>(8, size); ++k) bytes[k] = u8(seed >> 8 * k);
  return bytes;
}

void add(DecodedChunks& chunks, const Samples& samples, u64 seed, const Place& place = {1, &dataset, nullptr}, size_t size = 300) {
  const Bytes bytes = stream(seed, size);
  chunks.add(probes_of(samples), place, {0.5, 0.25}, bytes.data(), bytes.size());
}

Candidates find(DecodedChunks& chunks, const Samples& samples, const Place& place = {1, &other_dataset, nullptr}) {
  return chunks.find(probes_of(samples), place);
}

bool names(const DecodedChunks& chunks, const Candidates& found, u64 seed, size_t size = 300) {
  return std::any_of(found.chunks.begin(), found.chunks.end(), [&](u32 chunk) {
    const Buffer<u8> bytes = chunks.stream_of(chunk);
    return Bytes(bytes.begin(), bytes.end()) == stream(seed, size);
  });
}

bool is_nothing(const Candidates& found) { return found.chunks.empty() && !found.exact && !found.prior.any() && !found.own.any(); }

}  // namespace

TEST(nothing_is_named_for_new_samples) {
  DecodedChunks chunks(1 << 20);
  CHECK(is_nothing(find(chunks, field(1))));
  for (u64 seed = 1; seed <= 30; ++seed) add(chunks, field(seed), seed);
  for (u64 seed = 100; seed < 130; ++seed) CHECK(is_nothing(find(chunks, field(seed))));
  CHECK(is_nothing(find(chunks, field(1, 500))));  // of another shape
}

TEST(all_chunks_are_named_of_which_parts_are_there) {
  DecodedChunks chunks(1 << 20);
  for (u64 seed = 1; seed <= 30; ++seed) add(chunks, field(seed), seed);
  const auto mixture = [](size_t sources) {
    Samples samples(all);
    for (size_t k = 0; k < sources; ++k) {
      const Samples source = field(1 + k);
      std::copy(source.begin() + i64(all * k / sources), source.begin() + i64(all * (k + 1) / sources),
                samples.begin() + i64(all * k / sources));
    }
    return samples;
  };
  for (size_t sources = 1; sources <= Candidates::usual; ++sources) {
    const Candidates found = find(chunks, mixture(sources));
    CHECK(!found.exact && found.chunks.size() == sources);
    for (u64 seed = 1; seed <= sources; ++seed) CHECK(names(chunks, found, seed));
  }
  CHECK(find(chunks, mixture(Candidates::usual + 1)).exact);
}

// A stream that is larger than all that may be kept takes nobody's place.
TEST(a_stream_that_does_not_fit_is_not_kept) {
  DecodedChunks chunks(4096);
  add(chunks, field(1), 1);
  add(chunks, field(2), 2, {1, &dataset, nullptr}, 5000);
  CHECK(names(chunks, find(chunks, field(1)), 1) && find(chunks, field(2)).exact);
}

// Reading one chunk again and again takes the room of one.
TEST(the_same_chunk_is_remembered_once) {
  DecodedChunks chunks(8 * 1024);
  add(chunks, field(1), 1);
  for (int turn = 0; turn < 1000; ++turn) add(chunks, field(2), 2, {1, &dataset, &addresses[turn % 64]});
  CHECK(names(chunks, find(chunks, field(1)), 1) && names(chunks, find(chunks, field(2)), 2));
}

// More chunks than may share a probe: those that were decoded last are found by what they have in common.
TEST(a_chunk_that_is_decoded_again_is_found_before_newer_ones) {
  DecodedChunks chunks(1 << 20);
  const auto state = [](u64 seed) {
    Samples samples = field(1);
    const Samples own = field(seed);
    std::copy_n(own.begin(), all / 8, samples.begin());
    return samples;
  };
  for (u64 seed = 1; seed <= 60; ++seed) add(chunks, state(seed), seed);
  find(chunks, state(60));  // the probes are in the index now
  add(chunks, state(5), 5);
  Samples samples = state(5);
  const Samples others = field(1000);
  std::copy_n(others.begin(), all / 8, samples.begin());
  CHECK(names(chunks, find(chunks, samples), 5));
}

// A sixteenth of the samples is more than chance; so is a run of neighbours.
TEST(a_part_of_a_chunk_of_other_options_tells_its_bound) {
  DecodedChunks chunks(1 << 20);
  add(chunks, field(1), 1, {77, &dataset, nullptr});
  for (const size_t left : {all / 2, all / 8, all / 16}) {
    Samples samples = field(1000);
    std::copy_n(field(1).begin(), left, samples.begin());
    CHECK(find(chunks, samples).prior.absolute == 0.5, "%d are left", int(left));
  }
  Samples chance = field(1000);
  chance[7] = field(1)[7];
  CHECK(!find(chunks, chance).prior.any());
}

// Padding of many chunks: rows of zeros, one in eight, between which every 16th row lies.
TEST(zeros_are_no_part_of_a_chunk_of_other_options) {
  constexpr size_t samples = 51200;
  const auto padded = [&](u64 seed) {
    Samples of_chunk = field(seed, samples);
    for (size_t at = 0; at < samples; ++at)
      if (at / 50 % 32 >= 28) of_chunk[at] = 0;
    return of_chunk;
  };
  DecodedChunks chunks(1 << 20);
  for (u64 seed = 1; seed <= 30; ++seed) add(chunks, padded(seed), seed, {77, &dataset, nullptr});
  for (u64 seed = 100; seed < 130; ++seed) CHECK(is_nothing(find(chunks, padded(seed))));
}

// The last sample that is left of a small chunk has a value that many chunks are full of.
TEST(frequent_values_are_hints_in_small_chunks) {
  constexpr size_t size = 200;
  DecodedChunks chunks(1 << 20);
  const auto chunk_of = [](u64 seed) {
    Samples samples(size, seed % 2 ? 5.f : 7.f);
    for (size_t i = 0; i < 10; ++i) samples[i] = field(seed, size)[i];
    return samples;
  };
  for (u64 seed = 0; seed < 60; ++seed) add(chunks, chunk_of(seed), seed);
  const auto survivor = [&](u64 seed) {
    Samples samples(size, 3.f);  // frequent, too
    samples[150] = chunk_of(seed)[150];
    return samples;
  };
  for (const u64 seed : {u64(10), u64(31)}) {
    const Candidates found = find(chunks, survivor(seed), {1, &dataset, nullptr});
    bool any = false;
    for (u64 each = seed % 2; each < 60; each += 2) any |= names(chunks, found, each);
    CHECK(any && !found.exact, "chunk %d", int(seed));
  }
  CHECK(is_nothing(find(chunks, survivor(10))));  // of a dataset that has not decoded anything
}

// A copy of a dataset in the same file has the same streams.
TEST(chunks_that_were_read_through_a_copy_stay_hints_of_the_dataset) {
  DecodedChunks chunks(1 << 20);
  for (const int* const open : {&dataset, &other_dataset})
    for (u64 seed = 0; seed < 5; ++seed) add(chunks, field(seed, 5000), seed, {1, open, nullptr});
  const Candidates found = find(chunks, field(1000, 5000), {1, &dataset, nullptr});
  for (u64 seed = 0; seed < 5; ++seed) CHECK(names(chunks, found, seed), "chunk %d", int(seed));
}

// A program that opens a file again and again has another dataset each time. Those of which no chunk is remembered are dropped.
TEST(of_many_datasets_those_with_chunks_stay) {
  constexpr size_t many = 140000;  // more than twice as many as are kept without looking
  const std::vector<char> opened(many);
  const auto read_by = [&](size_t number) { return Place{1, &opened[number], nullptr}; };
  const Samples zeros(64, 0.f), again = field(1, 64);
  DecodedChunks chunks(1 << 20);
  for (size_t seed = 2; seed < 5; ++seed) add(chunks, field(seed, 64), seed, read_by(seed));
  for (size_t number = 5; number < 100; ++number) add(chunks, again, 1, read_by(number));
  CHECK(names(chunks, find(chunks, zeros, read_by(50)), 1));  // there is room for it
  for (size_t number = 100; number < many; ++number) add(chunks, again, 1, read_by(number));
  CHECK(is_nothing(find(chunks, zeros, read_by(50))));
  for (size_t seed = 2; seed < 5; ++seed) CHECK(names(chunks, find(chunks, zeros, read_by(seed)), seed), "dataset %d", int(seed));
  CHECK(names(chunks, find(chunks, zeros, read_by(many - 1)), 1));
}

// More than the numbers that there are.
TEST(the_oldest_of_a_million_chunks_are_forgotten) {
  constexpr u32 count = recognition::ContentIndex::most_chunks + 3000;
  DecodedChunks chunks(1 << 20);
  for (u32 seed = 0; seed < count; ++seed) {
    Samples samples(4);
    for (size_t k = 0; k < 4; ++k) samples[k] = float(4 * seed + k + 1);
    add(chunks, samples, seed, {1, &dataset, nullptr}, 8);
  }
  const auto samples_of = [](u32 seed) {
    Samples samples(4);
    for (size_t k = 0; k < 4; ++k) samples[k] = float(4 * seed + k + 1);
    return samples;
  };
  CHECK(names(chunks, find(chunks, samples_of(count - 1)), count - 1, 8) &&
        names(chunks, find(chunks, samples_of(count - 5000)), count - 5000, 8));
  CHECK(is_nothing(find(chunks, samples_of(10))));
}

// Content that would fill the memory for probes leaves a part of each chunk's, which lie all over it.
TEST(chunks_whose_probes_were_thinned_out_are_named_whatever_part_is_left) {
  constexpr u64 count = 8500;  // of 2048 probes
  constexpr size_t size = 65536;
  DecodedChunks chunks(64 << 20);
  const Samples noise = field(1, size + count);
  const auto samples_of = [&](u64 seed) { return Samples(noise.begin() + i64(seed), noise.begin() + i64(seed + size)); };
  for (u64 seed = 0; seed < count; ++seed) add(chunks, samples_of(seed), seed);
  for (const u64 seed : {u64(3), u64(200), u64(5000), count - 2})
    for (size_t quarter = 0; quarter < 4; ++quarter) {
      Samples samples = field(1000000 + seed, size);
      const Samples before = samples_of(seed);
      std::copy_n(before.begin() + i64(quarter * size / 4), size / 4, samples.begin() + i64(quarter * size / 4));
      const Candidates found = find(chunks, samples);
      CHECK(found.exact || names(chunks, found, seed), "chunk %d, quarter %d", int(seed), int(quarter));
    }
  // One that is decoded once more is found by all its probes again, also of a part in which none of the few lies.
  for (const u64 seed : {u64(3), u64(200)}) {
    add(chunks, samples_of(seed), seed);
    Samples samples = field(1000000 + seed, size);
    const Samples before = samples_of(seed);
    std::copy_n(before.begin() + 1000, 600, samples.begin() + 1000);
    CHECK(names(chunks, find(chunks, samples), seed), "chunk %d", int(seed));
  }
}
