// The filter's callback on a pool of threads, as later versions of HDF5 will run it (HDFGroup/hdf5 #6645): a chunk is decoded on one
// thread, changed by the program, and encoded on another one, while chunks of other datasets, of the same and of other copies of HDF5, are
// on their way through the same plug-in and its memory for rewriting.
//
// Run plainly and under ThreadSanitizer (tests/hdf5/test_filter_threads.py). Prints the number of chunks that were rewritten; exits with 1
// at the first chunk that breaks the bound of what was written, or the bits of what was not.
#include <condition_variable>
#include <deque>
#include <latch>
#include <mutex>
#include <optional>

#include "plugin_host.h"

namespace {

using namespace unit;
using plugin_host::StoredChunk;

constexpr int kWorkers = 4, kPrograms = 3, kChunks = 6;
std::atomic<int> rewritten{0};

// Threads that do jobs in the order in which they come.
class Pool {
 public:
  Pool() {
    for (int worker = 0; worker < kWorkers; worker++) workers_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& each : workers_) each.join();
  }
  // Does all of them, on any threads, and waits.
  void run(std::vector<std::function<void()>> jobs) {
    std::latch done(std::ptrdiff_t(jobs.size()));
    {
      const std::lock_guard lock(mutex_);
      for (auto& job : jobs)
        jobs_.push_back([&done, job = std::move(job)] {
          job();
          done.count_down();
        });
    }
    changed_.notify_all();
    done.wait();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ended_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool ended_ = false;
  std::vector<std::thread> workers_;
};

// With blocks for several threads.
Dataset threaded() {
  Dataset dataset(18, 36, 40, 1e-2);
  dataset.options.block = STZ_BLOCK_REGION;
  dataset.options.threads = 2;
  CHECK(stz_cd_values_pack(&dataset.options, &dataset.layout, dataset.words, STZ_CD_MAX_WORDS, &dataset.count, nullptr, 0) == STZ_OK);
  return dataset;
}

// A program with an HDF5 of its own and three datasets: reads all chunks of one, changes them, and writes them.
void rewrite_datasets(Pool& pool, const Host& host, u64 seed, int turns) {
  Random random(seed);
  const Dataset datasets[] = {Dataset(16, 20, 24, 1e-2), Dataset(4, 16, 16, 1e-3), threaded()};
  std::vector<StoredChunk> chunks[std::size(datasets)];
  for (size_t i = 0; i < std::size(datasets); i++)
    for (u64 k = 0; k < kChunks; k++) chunks[i].push_back(plugin_host::stored(datasets[i], 100 * seed + 10 * i + k % 4));
  for (int turn = 0; turn < turns; turn++) {
    const size_t which = random.below(std::size(datasets));
    const Dataset& dataset = datasets[which];
    float* samples[kChunks];
    std::vector<std::function<void()>> reads, writes;
    for (size_t k = 0; k < kChunks; k++) {
      reads.push_back([&, k] { samples[k] = plugin_host::read(host, dataset, chunks[which][k]); });
      writes.push_back([&, k, chunk_seed = random.bits()] {
        Random own(chunk_seed);
        plugin_host::rewrite(host, dataset, chunks[which][k], samples[k], own);
        rewritten++;
      });
    }
    pool.run(std::move(reads));
    pool.run(std::move(writes));
  }
}

// A program that copies chunks from one place to another, and writes new ones, with no relation to the others.
void copy_and_write(Pool& pool, const Host& host, u64 seed, int turns) {
  const Dataset dataset(16, 20, 24, 5e-3);
  for (int turn = 0; turn < turns; turn++) {
    std::vector<std::function<void()>> jobs;
    for (u64 k = 0; k < 3; k++)
      jobs.push_back([&, k] {
        const StoredChunk chunk = plugin_host::stored(dataset, seed + u64(turn) * 3 + k);
        float* const samples = plugin_host::read(host, dataset, chunk);
        const Samples copy(samples, samples + dataset.samples());
        host.drop(samples);
        CHECK(decoded(dataset, host.write(dataset, copy)) == copy, "a copy keeps its bits");
        const Samples fresh = field(dataset, ~chunk.stream.size() + k), found = decoded(dataset, host.write(dataset, fresh));
        for (size_t i = 0; i < fresh.size(); i++) CHECK(std::abs(double(fresh[i]) - double(found[i])) <= dataset.options.bound);
      });
    pool.run(std::move(jobs));
  }
}

// Damaged chunks fail, and each thread finds a message of one of them.
void read_damage(Pool& pool, const Host& host, int turns) {
  const Dataset dataset(4, 16, 16, 1e-2);
  const auto last_error = plugin_host::function<size_t(char*, size_t)>("stz_h5_last_error");
  StoredChunk chunk = plugin_host::stored(dataset, 1);
  chunk.stream[chunk.stream.size() / 2] ^= 0x10;
  for (int turn = 0; turn < turns; turn++) {
    std::vector<std::function<void()>> jobs(2, [&] {
      size_t capacity = chunk.stream.size();
      void* buffer = host.allocate(capacity);
      memcpy(buffer, chunk.stream.data(), capacity);
      CHECK(host.run(flag_reverse, dataset, chunk.stream.size(), &capacity, &buffer) == 0, "a damaged chunk is refused");
      host.drop(buffer);
      char text[300];
      CHECK(last_error(text, sizeof text) > 0 && strstr(text, "chunk"), "%s", text);
    });
    pool.run(std::move(jobs));
  }
}

}  // namespace

// filter_pool TURNS
int main(int count, char** words) {
  const int turns = count > 1 ? std::atoi(words[1]) : 20;
  for (const char* mib : {static_cast<const char*>(nullptr), "1", "0"}) {
    empty_memory(mib);
    const Host hosts[kPrograms] = {Host(), Host("stand_in_a"), Host("stand_in_b")};
    Pool pool;
    plugin_host::on_threads(kPrograms + 2, [&](int program) {
      if (program < kPrograms) return rewrite_datasets(pool, hosts[program], u64(program + 1), turns);
      program == kPrograms ? copy_and_write(pool, hosts[1], 7000, turns) : read_damage(pool, hosts[2], turns);
    });
    CHECK(hosts[1].count_wrong_frees() == 0 && hosts[2].count_wrong_frees() == 0);
    CHECK(hosts[1].bytes_in_use() == 0 && hosts[2].bytes_in_use() == 0, "all memory is given back");
  }
  std::printf("%d chunks rewritten\n", rewritten.load());
}
