// Shares the work of a call among threads, which are started for it and joined before it ends.
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
#include "base/function_ref.h"
#include "base/thread_memory.h"

namespace stz {

// Blocks the program's signals in the calling thread for a scope. Threads that it starts inherit this, so that handlers run on threads of
// the program only. Signals that a thread raises itself, by a fault or abort(), are not blocked: they would end the process without the
// program's handler.
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

// Threads that are joined at the end of the scope, also after an exception.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup() {
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // Starts `count` threads that call body(), which must not throw. Starts fewer if the system has no more threads or memory for them.
  template <class F>
  void start(size_t count, F& body) noexcept {
    const SignalsBlocked blocked;
    try {
      threads_.reserve(count);
      while (threads_.size() < count)
        threads_.emplace_back([&body] {
          if (!thread_has_memory()) return;
          FloatingEnvironment environment;
          body();
        });
    } catch (...) {  // the threads that were started share the work with the caller
    }
  }

 private:
  std::vector<std::thread> threads_;
};

// The threads of a call of the codec. They are started once, for all work of the call, keep their memory from one piece of work to the
// next, and end with the call. Work does not wait for a late thread.
class Team {
 public:
  // Becomes the team of the calling thread, unless that is in a call with a team already, or `threads` is 1.
  explicit Team(int threads) : threads_(threads), leads_(threads > 1 && !of_this_thread) {
    if (leads_) of_this_thread = this;
  }
  ~Team() {
    if (!leads_) return;
    of_this_thread = nullptr;
    stop_ = true;
    turn_++;
    turn_.notify_all();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // The team of the calling thread, or null. Inside of work there is none: what is shared is not shared again.
  static Team* of_caller() { return of_this_thread; }

  // Starts the threads, which takes them some tens of microseconds. Otherwise, the first work starts them.
  void start() noexcept {
    if (started_) return;
    started_ = true;
    helpers_.start(size_t(threads_ - 1), wait_for_work_);
  }

  // Calls run(), which must not throw, on the calling thread and on every other one that is there in time.
  void everywhere(FunctionRef<void()> run) noexcept {
    start();
    of_this_thread = nullptr;
    work_ = &run;
    inside_ = open;
    turn_++;
    turn_.notify_all();
    run();
    inside_ -= open;
    for (u32 inside; (inside = inside_) != 0;) wait_for_change(inside_, inside);
    of_this_thread = this;
  }

 private:
  static constexpr u32 open = 1, thread = 2;
  static void wait_for_change(std::atomic<u32>& value, u32 old) {
    for (int spin = 0; spin < 50000; spin++)  // some tens of microseconds
      if (value.load(std::memory_order_relaxed) != old) return;
    value.wait(old);
  }
  struct WaitForWork {
    Team& team;
    void operator()() const noexcept { team.help(); }
  };
  void help() {
    for (u32 turn = 0; !stop_;) {
      u32 inside = inside_;
      while ((inside & open) && !inside_.compare_exchange_weak(inside, inside + thread)) {}
      if (inside & open) {
        (*work_)();
        if ((inside_ -= thread) == 0) inside_.notify_one();
      }
      wait_for_change(turn_, turn);
      turn = turn_;
    }
  }

  static inline constinit thread_local Team* of_this_thread = nullptr;

  const int threads_;
  const bool leads_;
  bool started_ = false;
  std::atomic<bool> stop_{false};
  std::atomic<u32> turn_{0}, inside_{0};  // `inside_`: whether there is work (open), and the number of working helpers
  const FunctionRef<void()>* work_ = nullptr;
  WaitForWork wait_for_work_{*this};
  ThreadGroup helpers_;  // last, so that it is destroyed first
};

// Starts the threads of the call that the calling thread is in, before there is work for them.
inline void start_threads() noexcept {
  if (Team* const team = Team::of_caller()) team->start();
}

// Calls work(worker, i) for every i < n, in rising order, on the threads of the call, unless `threads` is 1. Each thread has its own
// Worker. Results must not depend on the distribution. If several calls of `work` fail, the failure of the lowest i is thrown, as with one
// thread.
template <class Worker, class F>
void parallel_for(u64 n, int threads, F work) {
  std::atomic<u64> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  u64 failed = n;
  auto run = [&]() noexcept {
    u64 i = next++;
    if (i >= n) return;
    try {
      Worker worker;
      for (; i < n; i = next++) try {
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
  Team* const team = threads > 1 && n > 1 ? Team::of_caller() : nullptr;
  team ? team->everywhere(run) : run();
  if (failure) std::rethrow_exception(failure);
}

// Items per task: neighbouring items are given out together if each is little work.
inline u64 items_per_task(u64 samples_per_item) {
  constexpr u64 samples_per_task = 1 << 16;
  return std::max<u64>(1, samples_per_task / std::max<u64>(1, samples_per_item));
}

}  // namespace stz
