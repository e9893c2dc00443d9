// Work shared by threads that are started for it and joined before it ends.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/floating_environment.h"

namespace stz {

// In its scope the calling thread has the program's signals blocked, and threads that it starts inherit that: handlers run on threads of
// the program. Signals that a thread raises itself, by a fault or abort(), stay as they are: blocked, they would end the process without
// the program's handler.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t signals;
    sigfillset(&signals);
    for (int raised_by_thread : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP}) sigdelset(&signals, raised_by_thread);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Threads that are joined at the end of the scope, however it is left.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup() {
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // Starts `count` threads that call body(), which must not throw; fewer where the system has no more threads or no memory for them.
  template <class F>
  void start(size_t count, F& body) noexcept {
    const SignalsBlocked blocked;
    try {
      threads_.reserve(count);
      while (threads_.size() < count)
        threads_.emplace_back([&body] {
          FloatingEnvironment environment;
          body();
        });
    } catch (...) {  // those that were started share the work with the caller
    }
  }

 private:
  std::vector<std::thread> threads_;
};

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
    } catch (...) {  // no memory for a worker
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = n;
    }
  };
  {
    ThreadGroup helpers;
    if (threads > 1 && n > 1) helpers.start(size_t(std::min<u64>(u64(threads), n)) - 1, run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

// Neighbouring items are given out together where each is little work: items per task.
inline u64 items_per_task(u64 samples_per_item) {
  constexpr u64 samples_per_task = 1 << 16;
  return std::max<u64>(1, samples_per_task / std::max<u64>(1, samples_per_item));
}

}  // namespace stz
