// Chunks that HDF5 decoded and passes again: they are recognised, what was not written keeps its bits, and new data are not taken for them.
#include <algorithm>

#include "filter_host.h"

using namespace unit;

TEST(a_chunk_that_leaves_the_cache_keeps_what_was_not_written) {
  for (const char* mib : {static_cast<const char*>(nullptr), "0"})
    for (const Dataset* dataset : {&volume, &small}) {
      empty_memory(mib);
      const Host host;
      const Bytes stream = stored_alone(*dataset, field(*dataset, 1));
      const Samples before = decoded(*dataset, stream), written = field(*dataset, 2);
      float* const chunk = host.read(*dataset, stream);
      const size_t from = dataset->plane(), to = 2 * dataset->plane();
      overwrite(chunk, written, from, to);
      const Bytes rewritten = host.evict(*dataset, chunk);
      check_rewritten(*dataset, rewritten, before, written, from, to);
      if (mib) CHECK(info_of(rewritten).bound_used == 1);
    }
}

TEST(a_flushed_chunk_is_a_copy) {
  for (const char* mib : {static_cast<const char*>(nullptr), "0"})
    for (const Dataset* dataset : {&volume, &small}) {
      empty_memory(mib);
      const Host host;
      const Bytes stream = stored_alone(*dataset, field(*dataset, 1));
      const Samples before = decoded(*dataset, stream), written = field(*dataset, 2);
      float* const chunk = host.read(*dataset, stream);
      for (size_t plane = 0; plane < dataset->layout.shape[0] / 2; ++plane) {
        overwrite(chunk, written, plane * dataset->plane(), (plane + 1) * dataset->plane());
        check_rewritten(*dataset, host.flush(*dataset, chunk), before, written, 0, (plane + 1) * dataset->plane());
      }
      const size_t last = dataset->samples() - dataset->plane();
      const Samples half = Samples(chunk, chunk + dataset->samples());
      overwrite(chunk, written, last, dataset->samples());
      const Bytes evicted = host.evict(*dataset, chunk);
      const Samples after = decoded(*dataset, evicted);
      for (size_t i = 0; i < after.size(); ++i)
        if (i >= last || i < dataset->samples() / 2)
          CHECK(std::abs(written[i] - after[i]) <= dataset->options.bound);
        else
          CHECK(memcmp(&after[i], &half[i], 4) == 0);
    }
}

TEST(a_flush_is_told_from_those_of_chunks_that_differ_in_one_sample) {
  empty_memory();
  const Host host;
  std::vector<float*> chunks;
  std::vector<Samples> before;
  for (size_t i = 0; i < turns(60); ++i) {
    Samples samples = field(volume, 1);
    samples[i * 127 % samples.size()] += 3;
    const Bytes stream = stored_alone(volume, samples);
    before.push_back(decoded(volume, stream));
    chunks.push_back(host.read(volume, stream));
  }
  const Samples written = field(volume, 2);
  for (size_t i = 0; i < chunks.size(); ++i) {
    const size_t place = (i * 127 + 64) % volume.samples();
    overwrite(chunks[i], written, place, place + 1);
    check_rewritten(volume, host.flush(volume, chunks[i]), before[i], written, place, place + 1);
  }
  for (float* chunk : chunks) host.drop(chunk);
}

// The program copies one chunk into another and sets one sample of both: each of them is flushed as the same copy, but they have different
// samples that were not written.
TEST(a_flush_of_two_chunks_that_have_become_equal_keeps_what_was_not_written) {
  empty_memory();
  const Host host;
  float* chunks[2];
  Samples before[2];
  for (u64 k = 0; k < 2; ++k) {
    const Bytes stream = stored_alone(volume, field(volume, 1 + k));
    before[k] = decoded(volume, stream);
    chunks[k] = host.read(volume, stream);
  }
  for (size_t from = 0; from < 2; ++from) {
    Samples written = before[from];
    written[100] = 7;
    for (float* chunk : chunks) memcpy(chunk, written.data(), volume.bytes());
    check_rewritten(volume, host.flush(volume, chunks[from]), before[from], written, 100, 101);
  }
  for (float* chunk : chunks) host.drop(chunk);
}

TEST(a_flush_is_told_from_those_of_other_chunks_in_the_cache) {
  empty_memory();
  const Host host;
  std::vector<float*> chunks;
  std::vector<Samples> before;
  for (u64 seed = 0; seed < turns(40); ++seed) {
    const Bytes stream = stored_alone(small, field(small, seed));
    before.push_back(decoded(small, stream));
    chunks.push_back(host.read(small, stream));
  }
  const Samples written = field(small, 1000);
  for (size_t i = 0; i < chunks.size(); ++i) {
    overwrite(chunks[i], written, 0, small.plane());
    check_rewritten(small, host.flush(small, chunks[i]), before[i], written, 0, small.plane());
  }
  for (float* chunk : chunks) host.drop(chunk);
}

// Reads chunks of all these samples, and writes copies of what was read.
static void check_copies(const std::vector<Samples>& chunks) {
  empty_memory();
  const Host host;
  std::vector<Bytes> streams;
  std::vector<Samples> copies;
  for (const Samples& samples : chunks) {
    streams.push_back(stored_alone(volume, samples));
    float* const chunk = host.read(volume, streams.back());
    copies.emplace_back(chunk, chunk + volume.samples());
    host.drop(chunk);
  }
  for (size_t i = 0; i < streams.size(); ++i) CHECK(host.write(volume, copies[i]) == streams[i]);
}

TEST(a_copy_is_the_same_stream) {
  std::vector<Samples> chunks;
  for (u64 seed = 0; seed < turns(20); ++seed) chunks.push_back(field(volume, seed));
  check_copies(chunks);
}

TEST(a_copy_of_almost_constant_chunks_is_the_same_stream) {
  std::vector<Samples> chunks;
  for (size_t i = 0; i < 8; ++i) {
    Samples samples(volume.samples(), 0.f);
    for (size_t k = 0; k < 3; ++k) samples[(977 * i + 331 * k) % samples.size()] = float(10 + i) + 0.123f * float(k);
    chunks.push_back(samples);
  }
  check_copies(chunks);
}

TEST(a_copy_with_another_bound_tells_the_sum) {
  empty_memory();
  const Host host;
  const Dataset coarser(16, 20, 24, 4e-2);
  const Bytes stream = stored_alone(volume, field(volume, 1));
  float* const chunk = host.read(volume, stream);
  const Samples copy(chunk, chunk + volume.samples());
  host.drop(chunk);
  const Bytes again = host.write(coarser, copy);
  CHECK(info_of(again).accumulated_bound == 5e-2 && info_of(again).bound == 4e-2);
  host.drop(host.read(coarser, again));
  const Dataset finer(16, 20, 24, 1e-3);
  CHECK(info_of(host.write(finer, decoded(coarser, again))).accumulated_bound == 5e-2 + 1e-3);
}

TEST(new_samples_are_stored_as_if_nothing_had_been_read) {
  for (const char* mib : {static_cast<const char*>(nullptr), "0"}) {
    empty_memory(mib);
    const Host host;
    for (const Dataset* dataset : {&volume, &small}) {
      // Not where a chunk was: allocators other than glibc's do not tell a program's own array from one.
      Samples fresh(dataset->samples());
      std::vector<float*> cached;
      for (u64 seed = 0; seed < turns(50); ++seed) {
        Samples samples = field(*dataset, seed);
        if (seed % 5 == 0) std::fill(samples.begin(), samples.end(), float(seed / 10));
        if (seed % 5 == 1) std::fill(samples.begin() + 10, samples.end(), 0.f);
        cached.push_back(host.read(*dataset, stored_alone(*dataset, samples)));
        if (seed % 2) {  // frees an older one
          host.drop(cached[cached.size() / 2]);
          cached.erase(cached.begin() + long(cached.size() / 2));
        }
        make_field(*dataset, 1000 + seed, fresh);
        CHECK(is_new(mib, *dataset, host.write(*dataset, fresh), fresh), "after chunk %d", int(seed));
      }
      for (float* chunk : cached) host.drop(chunk);
      // It may be a flush of a chunk that was almost zero and has used its bound; to say so takes a few bytes.
      const Samples zeros(dataset->samples(), 0.f);
      const Bytes stream = host.write(*dataset, zeros);
      CHECK(decoded(*dataset, stream) == zeros && stream.size() <= stored_alone(*dataset, zeros).size() + 8);
    }
  }
}

TEST(an_address_that_comes_again_is_no_rewrite) {
  for (const char* mib : {static_cast<const char*>(nullptr), "0"}) {
    empty_memory(mib);
    const Host host;
    for (u64 seed = 0; seed < turns(20); ++seed) {
      float* const chunk = host.read(small, stored_alone(small, field(small, seed)));
      host.drop(chunk);
      auto* const fresh = static_cast<float*>(host.allocate(small.bytes()));  // mostly there
      const Samples samples = field(small, 100 + seed);
      memcpy(fresh, samples.data(), small.bytes());
      CHECK(is_new(mib, small, host.evict(small, fresh), samples), "same address: %d", fresh == chunk);
    }
  }
}

TEST(a_chunk_of_noise_below_the_bound_is_recognised) {
  Samples noise(volume.samples());
  Random random(3);
  for (float& sample : noise) sample = float(random.below(1000)) / 1e6f;
  for (const bool flushes : {false, true}) {
    empty_memory();
    const Host host;
    const Bytes stream = stored_alone(volume, noise);
    const Samples before = decoded(volume, stream), written = field(volume, 2);
    float* const chunk = host.read(volume, stream);
    const size_t to = 12 * volume.plane();
    overwrite(chunk, written, 0, to);
    const Bytes rewritten = flushes ? host.flush(volume, chunk) : host.evict(volume, chunk);
    check_rewritten(volume, rewritten, before, written, 0, to);
    if (flushes) host.drop(chunk);
  }
}

TEST(a_flushed_chunk_whose_probes_are_all_zero_is_recognised) {
  empty_memory();
  const Host host;
  Samples samples(volume.samples(), 0.f);
  const Samples rough = field(volume, 5), written = field(volume, 2);
  const size_t last = volume.samples() - volume.plane(), to = 6 * volume.plane();
  std::copy_n(rough.begin(), 30, samples.begin() + long(last));
  const Bytes stream = stored_alone(volume, samples);
  const Samples before = decoded(volume, stream);
  float* const chunk = host.read(volume, stream);
  overwrite(chunk, written, 0, to);
  check_rewritten(volume, host.flush(volume, chunk), before, written, 0, to);
  host.drop(chunk);
}

// They may have used their bound, wherever the others are from.
TEST(a_plane_of_a_decoded_chunk_among_new_samples_keeps_its_bits) {
  for (const char* mib : {static_cast<const char*>(nullptr), "0"})
    for (size_t plane = 0; plane < volume.layout.shape[0]; ++plane) {
      empty_memory(mib);
      const Host host;
      float* const chunk = host.read(volume, stored_alone(volume, field(volume, 1)));
      const size_t from = plane * volume.plane(), to = from + volume.plane();
      Samples samples = field(volume, 100 + plane);
      std::copy_n(chunk + from, volume.plane(), samples.begin() + long(from));
      const Samples after = decoded(volume, host.write(volume, samples));
      for (size_t i = 0; i < after.size(); ++i)
        if (mib || (from <= i && i < to))
          CHECK(memcmp(&samples[i], &after[i], 4) == 0, "plane %zu, sample %zu", plane, i);
        else
          CHECK(std::abs(samples[i] - after[i]) <= volume.options.bound);
      host.drop(chunk);
    }
}

TEST(a_constant_chunk_has_not_used_its_bound) {
  empty_memory("0");
  const Host host;
  const Samples zeros(volume.samples(), 0.f), written = field(volume, 2);
  float* const chunk = host.read(volume, stored_alone(volume, zeros));
  overwrite(chunk, written, 0, 3 * volume.plane());
  const Samples now(chunk, chunk + volume.samples());
  CHECK(host.evict(volume, chunk) == stored_alone(volume, now));
}
