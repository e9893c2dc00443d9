// Work shared by threads that are started for it and joined before it ends.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/floating_environment.h"

namespace stz {

// Calls work(worker, i) for every i < n, in rising order, on the calling thread and up to threads - 1 more; each has a Worker of its own.
// Results must not depend on who does what. Of several failures the one of the lowest i is thrown, as one thread alone would.
template <class Worker, class F>
void parallel_for(u64 n, int threads, F work) {
  std::atomic<u64> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  u64 failed = n;
  auto run = [&] {
    try {
      Worker worker;
      for (u64 i; (i = next++) < n;) try {
          work(worker, i);
        } catch (...) {
          std::lock_guard lock(mutex);
          if (i < failed) {
            failed = i;
            failure = std::current_exception();
          }
          next = n;
        }
    } catch (...) {  // no room for a worker
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = n;
    }
  };
  std::vector<std::thread> others;
  if (threads > 1 && n > 1) {
    const size_t wanted = size_t(std::min<u64>(u64(threads), n)) - 1;
    others.reserve(wanted);
    sigset_t all, before;  // signals of the program are not for these threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      while (others.size() < wanted)
        others.emplace_back([&] {
          FloatingEnvironment environment;
          run();
        });
    } catch (const std::system_error&) {  // fewer will do
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  run();
  for (std::thread& t : others) t.join();
  if (failure) std::rethrow_exception(failure);
}

// Neighbouring items are given out together where each is little work: items per task.
inline u64 items_per_task(u64 samples_per_item) {
  constexpr u64 samples_per_task = 1 << 16;
  return std::max<u64>(1, samples_per_task / std::max<u64>(1, samples_per_item));
}

}  // namespace stz
