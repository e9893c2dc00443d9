// What becomes of the plug-in when processes fork, when threads end, when the program ends while threads are in the filter's callback, and
// when libraries are unloaded and loaded again, as H5close and H5open do: nothing waits for ever, nothing crashes, no memory is lost, and
// the chunks are right.
//
// Prints the number of checks of each kind; exits with 1 at the first broken promise. A child process that waits for ever ends by SIGALRM.
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <latch>
#include <optional>

#include "plugin_host.h"

namespace {

using namespace unit;
using plugin_host::on_threads;
using plugin_host::StoredChunk;

constexpr unsigned kSeconds = 120;  // for what takes one
constexpr int kThreads = 3;

// A chunk large enough for helper threads.
Dataset threaded() {
  Dataset dataset(18, 36, 40, 1e-2);
  dataset.options.block = STZ_BLOCK_REGION;
  dataset.options.threads = 2;
  CHECK(stz_cd_values_pack(&dataset.options, &dataset.layout, dataset.words, STZ_CD_MAX_WORDS, &dataset.count, nullptr, 0) == STZ_OK);
  return dataset;
}

// Reads a chunk and rewrites it so many times.
void rewrite_again(const Host& host, const Dataset& dataset, u64 seed, int times) {
  Random random(seed);
  StoredChunk chunk = plugin_host::stored(dataset, seed);
  for (int turn = 0; turn < times; turn++) plugin_host::rewrite(host, dataset, chunk, plugin_host::read(host, dataset, chunk), random);
}

// As HDF5 is told of a damaged chunk: through an exception.
void fail_to_read(const Host& host, const Dataset& dataset, StoredChunk chunk) {
  chunk.stream[chunk.stream.size() - 3] ^= 1;
  size_t capacity = chunk.stream.size();
  void* buffer = host.allocate(capacity);
  memcpy(buffer, chunk.stream.data(), capacity);
  CHECK(host.run(flag_reverse, dataset, capacity, &capacity, &buffer) == 0);
  host.drop(buffer);
}

void expect_good_end(pid_t child, const char* what) {
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: a child ended by %s %d", what,
        WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

template <class Work>
pid_t in_child(Work work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  CHECK(child >= 0, "fork");
  if (child > 0) return child;
  alarm(kSeconds);
  work();
  std::_Exit(0);
}

// A process that forks while other threads are in the callback: the child finds the chunks that were decoded, and everything that may be
// locked, whole. A chunk that the parent has read is written by the child.
void fork_amid_threads(int children) {
  empty_memory();
  const Host host;
  const Dataset dataset(8, 20, 24, 1e-2), large = threaded();
  std::atomic<bool> ended{false};
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; number++)
    threads.emplace_back([&, number] {
      const StoredChunk damaged = plugin_host::stored(dataset, 1);
      for (u64 turn = 0; !ended; turn++) {
        rewrite_again(host, number ? dataset : large, 1000 * u64(number) + turn % 50, 2);
        fail_to_read(host, dataset, damaged);
      }
    });
  Random random(3);
  for (int turn = 0; turn < children; turn++) {
    StoredChunk chunk = plugin_host::stored(dataset, 100 + u64(turn));
    float* const samples = plugin_host::read(host, dataset, chunk);
    expect_good_end(in_child([&] {
                      plugin_host::rewrite(host, dataset, chunk, samples, random);
                      rewrite_again(host, large, 5000 + u64(turn), 1);
                      fail_to_read(host, dataset, plugin_host::stored(dataset, 1));
                      on_threads(2, [&](int number) { rewrite_again(host, dataset, 6000 + u64(number), 1); });
                    }),
                    "fork");
    plugin_host::rewrite(host, dataset, chunk, samples, random);
  }
  ended = true;
  for (std::thread& each : threads) each.join();
  std::printf("%d children amid threads\n", children);
}

// exit() while threads are in the callback and have helpers; what HDF5 writes at the end (in a handler of atexit) goes through the filter.
void end_amid_threads(int children) {
  for (int turn = 0; turn < children; turn++)
    expect_good_end(in_child([turn] {
                      static const Host host;
                      static const Dataset dataset(8, 20, 24, 1e-2), large = threaded();
                      static StoredChunk chunk = plugin_host::stored(dataset, 1);
                      static float* const samples = plugin_host::read(host, dataset, chunk);
                      static std::atomic<int> done{0};
                      std::atexit([] {
                        Random random(4);
                        plugin_host::rewrite(host, dataset, chunk, samples, random);
                      });
                      for (int number = 0; number < kThreads; number++)
                        std::thread([number] {
                          const StoredChunk stored = plugin_host::stored(number ? dataset : large, u64(number));
                          for (;; done++) host.drop(plugin_host::read(host, number ? dataset : large, stored));
                        }).detach();
                      while (done < turn) std::this_thread::yield();
                      std::exit(0);  // not _exit: handlers and destructors run
                    }),
                    "exit");
  std::printf("%d programs that end amid threads\n", children);
}

size_t bytes_in_use() { return mallinfo2().uordblks; }

// Does work() so often that a loss would show, after a first part that fills what is kept for good.
void expect_no_loss(const char* what, int times, const std::function<void(int)>& work) {
  constexpr size_t noise = 20000;  // bytes: pages of the C library
  const int first = times / 4 + 1;
  for (int turn = 0; turn < first; turn++) work(turn);
  const size_t before = bytes_in_use();
  for (int turn = first; turn < times; turn++) work(turn);
  const size_t after = bytes_in_use();
  CHECK(after < before + noise, "%s: %zu bytes became %zu", what, before, after);
  std::printf("%d times: %s\n", times, what);
}

// Calls made while a thread ends: by an object of the thread that was made before the plug-in's own, or after, and at the very end.
struct CallAtEnd {
  std::function<void()> call;
  ~CallAtEnd() {
    if (call) call();
  }
};
thread_local CallAtEnd call_at_end;

void end_threads(int times) {
  empty_memory("1");
  const Host host;
  const Dataset dataset(8, 20, 24, 1e-2);
  static const std::function<void()> work = [&] { rewrite_again(host, dataset, 1, 1); };
  pthread_key_t key;
  CHECK(pthread_key_create(&key, [](void*) { work(); }) == 0);
  expect_no_loss("threads that call while they end", times, [&](int turn) {
    std::thread([&] {
      if (turn % 3 == 0) call_at_end.call = work;
      if (turn % 3 != 2) work();
      if (turn % 3 == 1) call_at_end.call = work;
      pthread_setspecific(key, &key);
    }).join();
  });
  pthread_key_delete(key);
}

size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t lines = 0;
  for (std::string line; std::getline(maps, line);) lines++;
  return lines;
}

// A library unloaded while a thread that has used it lives on, and loaded again.
void load_again(const char* path, int times, const std::function<void(void* library)>& use) {
  size_t mapped = 0;
  expect_no_loss(path, times, [&](int turn) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library, "%s", dlerror());
    std::latch used(1), unloaded(1);
    std::thread user([&] {
      use(library);
      used.count_down();
      unloaded.wait();
    });
    used.wait();
    CHECK(dlclose(library) == 0);
    unloaded.count_down();
    user.join();
    if (turn == times / 4) mapped = mappings();
  });
  CHECK(mappings() <= mapped + 4, "%s: %zu mappings became %zu", path, mapped, mappings());
}

void load_libraries_again(int times) {
  const Host host;
  const Dataset dataset(4, 16, 16, 1e-2);
  const StoredChunk chunk = plugin_host::stored(dataset, 1);
  load_again(PLUGIN, times, [&](void* library) {
    const auto info = reinterpret_cast<const void* (*)()>(dlsym(library, "H5PLget_plugin_info"));
    const auto* const loaded = static_cast<const FilterClass*>(info());
    size_t capacity = chunk.stream.size();
    void* buffer = host.allocate(capacity);
    memcpy(buffer, chunk.stream.data(), capacity);
    size_t bytes = loaded->filter(flag_reverse, dataset.count, dataset.words, capacity, &capacity, &buffer);
    CHECK(bytes == dataset.bytes() && memcmp(buffer, chunk.decoded.data(), bytes) == 0);
    bytes = loaded->filter(0, dataset.count, dataset.words, bytes, &capacity, &buffer);
    CHECK(bytes == chunk.stream.size() && memcmp(buffer, chunk.stream.data(), bytes) == 0);
    host.drop(buffer);
  });
  load_again(READING_LIBRARY, times, [&](void* library) {
    const auto read = reinterpret_cast<int (*)(i64, i64, i64, i64, i64, void*)>(dlsym(library, "stz_h5_read"));
    float sample;
    CHECK(read && read(-1, -1, 0, 0, 0, &sample) < 0, "there is no HDF5 here");
  });
}

}  // namespace

// filter_processes [TIMES]: how often, from 1; 1000 / TIMES for what is quick
int main(int count, char** words) {
  const int times = count > 1 ? std::atoi(words[1]) : 40;
  end_amid_threads(times);  // first, while there is one thread
  fork_amid_threads(times);
  end_threads(5 * times);
  load_libraries_again(25 * times);
}
