// The memory of decoded chunks: it holds nothing that it does not need and no buffer of HDF5, and threads, libraries and forks share it.
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <functional>
#include <thread>

#include "filter_host.h"
#include "recognition/memory.h"

using namespace unit;

TEST(what_was_read_without_loss_is_not_remembered) {
  empty_memory();
  const Host host("stand_in_a");
  const Dataset lossless(16, 20, 24, 0, STZ_LOSSLESS);
  const size_t before = host.bytes_in_use();
  const Samples samples = field(lossless, 1);
  float* const chunk = host.read(lossless, stored_alone(lossless, samples));
  CHECK(host.bytes_in_use() < before + lossless.bytes() + 10000);
  host.drop(chunk);
  CHECK(host.bytes_in_use() == before);
  CHECK(host.write(volume, samples) == stored_alone(volume, samples));
}

TEST(a_chunk_that_cannot_be_decoded_leaves_nothing) {
  empty_memory("0");
  const Host host("stand_in_a");
  const Samples samples = field(volume, 1);
  Bytes stream = stored_alone(volume, samples);
  const Samples before = decoded(volume, stream);
  stream[stream.size() / 2] ^= 1;
  const size_t in_use = host.bytes_in_use();
  size_t capacity = stream.size();
  void* buffer = host.allocate(stream.size());
  memcpy(buffer, stream.data(), stream.size());
  void* const given = buffer;
  CHECK(host.run(flag_reverse, volume, stream.size(), &capacity, &buffer) == 0 && buffer == given);
  host.drop(buffer);
  CHECK(host.bytes_in_use() == in_use);
  CHECK(host.write(volume, before) == stored_alone(volume, before));
}

// Resident memory of this process; signed, as it also becomes less: the C library gives pages back when it likes.
static long resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long all = 0, resident = 0;
  CHECK(file && std::fscanf(file, "%ld %ld", &all, &resident) == 2);
  std::fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool address_sanitizer = true;
#else
constexpr bool address_sanitizer = false;
#endif

TEST(streams_take_as_much_memory_as_they_may) {
  if (address_sanitizer) return;  // it keeps what is freed, so that resident memory says nothing
  const Dataset noisy(16, 64, 64, 1e-6);
  const Host host;
  std::vector<Bytes> streams;
  size_t bytes = 0;
  for (u64 seed = 0; bytes < size_t(16) << 20; bytes += streams[seed++].size()) streams.push_back(stored_alone(noisy, field(noisy, seed)));
  constexpr long mebibyte = 1 << 20, others = 4 * mebibyte;  // others: what the test itself and the C library may take or give back
  for (const long mib : {0, 1, 12}) {
    empty_memory(std::to_string(mib).c_str());
    host.drop(host.read(noisy, streams[0]));
    const long before = resident_bytes();
    for (const Bytes& stream : streams) host.drop(host.read(noisy, stream));
    const long more = resident_bytes() - before;
    CHECK(more < mib * mebibyte + others && more > mib * mebibyte - others, "%ld MiB: %ld bytes more", mib, more);
  }
  empty_memory();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need memory of their own
TEST(a_read_does_not_fail_for_want_of_memory_to_remember) {
  empty_memory();
  const Host host;
  const Samples samples = field(volume, 1);
  const Bytes stream = stored_alone(volume, samples);
  const Samples expected = decoded(volume, stream);
  size_t pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  CHECK(file && std::fscanf(file, "%zu", &pages) == 1);
  std::fclose(file);
  rlimit before{};
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  // too little for the mapping in which streams are kept
  const rlimit narrow{pages * size_t(sysconf(_SC_PAGESIZE)) + (size_t(3) << 20), before.rlim_max};
  CHECK(setrlimit(RLIMIT_AS, &narrow) == 0);
  float* const chunk = host.read(volume, stream);
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(chunk && Samples(chunk, chunk + volume.samples()) == expected);
  overwrite(chunk, field(volume, 2), 0, volume.plane());
  check_rewritten(volume, host.evict(volume, chunk), expected, field(volume, 2), 0, volume.plane());
}
#endif

TEST(no_buffer_of_a_library_is_kept) {
  empty_memory("1");
  const Host a("stand_in_a"), b("stand_in_b");
  const Dataset noisy(16, 20, 24, 1e-6);  // streams of many bytes
  const size_t before_a = a.bytes_in_use(), before_b = b.bytes_in_use();
  for (u64 seed = 0; seed < 150; ++seed) {
    const Bytes stream = stored_alone(noisy, field(noisy, seed));
    a.drop(a.read(noisy, stream));
    b.drop(b.read(noisy, stream));
    CHECK(a.bytes_in_use() == before_a && b.bytes_in_use() == before_b);
  }
  CHECK(a.count_wrong_frees() == 0 && b.count_wrong_frees() == 0);
}

TEST(a_library_that_checks_its_memory_gets_everything_back) {
  for (const char* mib : {static_cast<const char*>(nullptr), "0"}) {
    empty_memory(mib);
    const Host host("stand_in_guarded");
    const Bytes stream = stored_alone(volume, field(volume, 1));
    const Samples before = decoded(volume, stream), written = field(volume, 2);
    float* chunk = host.read(volume, stream);
    overwrite(chunk, written, 0, volume.plane());
    check_rewritten(volume, host.flush(volume, chunk), before, written, 0, volume.plane());
    check_rewritten(volume, host.evict(volume, chunk), before, written, 0, volume.plane());
    // Nothing tells that a buffer is another one, at the same address; the samples do.
    chunk = host.read(volume, stream);
    host.drop(chunk);
    auto* const again = static_cast<float*>(host.allocate(volume.bytes()));
    CHECK(again == chunk);
    memcpy(again, written.data(), volume.bytes());
    CHECK(is_new(mib, volume, host.evict(volume, again), written));
    CHECK(host.bytes_in_use() == 0 && host.count_wrong_frees() == 0);
  }
}

TEST(threads_and_libraries_share_the_memory) {
  empty_memory("1");
  const Host hosts[] = {Host("stand_in_a"), Host("stand_in_b"), Host()};
  std::vector<std::string> failures(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < failures.size(); ++t)
    threads.emplace_back([&, t] {
      try {
        const Host& host = hosts[t % 3];
        for (u64 turn = 0; turn < turns(12); ++turn) {
          const Bytes stream = stored_alone(small, field(small, 10 * turn + t));
          const Samples before = decoded(small, stream), written = field(small, 500 + t);
          float* const chunk = host.read(small, stream);
          overwrite(chunk, written, small.plane(), 2 * small.plane());
          check_rewritten(small, host.flush(small, chunk), before, written, small.plane(), 2 * small.plane());
          check_rewritten(small, host.evict(small, chunk), before, written, small.plane(), 2 * small.plane());
          const Samples fresh = field(small, 1000 + 10 * turn + t);
          CHECK(host.write(small, fresh) == stored_alone(small, fresh));
        }
      } catch (const Failed& failure) {
        failures[t] = failure.what;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) CHECK(failure.empty(), "%s", failure.c_str());
}

TEST(a_forked_process_has_the_memory) {
  empty_memory();
  const Host host;
  const Dataset tiny(1, 2, 2, 1e-2);
  const Bytes stream = stored_alone(small, field(small, 1));
  const Samples before = decoded(small, stream), written = field(small, 2);
  host.drop(host.read(small, stream));
  std::atomic<bool> done{false};
  std::vector<std::thread> others;               // hold the lock now and then
  const int number = address_sanitizer ? 0 : 3;  // that of GCC 12 leaves its own locks held in the child
  for (int t = 0; t < number; ++t)
    others.emplace_back([&] {
      while (!done) host.write(tiny, Samples(4, 1.f));
    });
  bool good = true;
  for (u64 turn = 0; turn < turns(100) && good; ++turn) {
    float* const chunk = host.read(small, stream);
    overwrite(chunk, written, 0, small.plane());
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      int status = 1;
      try {
        check_rewritten(small, host.evict(small, chunk), before, written, 0, small.plane());
        status = 0;
      } catch (const Failed&) {}
      _exit(status);
    }
    int status = 1;
    good = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    host.drop(chunk);
  }
  done = true;
  for (std::thread& other : others) other.join();
  CHECK(good);
}

// A chunk is no changed version of one whose samples were stored as other values; how it was compressed does not matter.
TEST(settings_tell_options_apart_that_change_samples) {
  stz_options options = STZ_OPTIONS_INIT;
  const u64 before = stz::recognition::settings_of(options);
  for (i32 stz_options::*field :
       {&stz_options::block, &stz_options::layers, &stz_options::append_axis, &stz_options::integers, &stz_options::enhance,
        &stz_options::keep_range, &stz_options::keep_zeros, &stz_options::favour, &stz_options::threads, &stz_options::effort,
        &stz_options::content_check, &stz_options::check, &stz_options::learn}) {
    const bool changes_nothing = field == &stz_options::threads || field == &stz_options::effort || field == &stz_options::content_check ||
                                 field == &stz_options::check || field == &stz_options::learn;
    options.*field = 1;
    CHECK((stz::recognition::settings_of(options) == before) == changes_nothing);
    options.*field = 0;
  }
}
