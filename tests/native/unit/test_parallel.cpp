// Work that threads share: all of it is done, once, and the first failure is the one that is thrown.
#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "unit.h"

using namespace unit;

namespace {

struct Nothing {};

// How often each of n items was worked on.
template <class Share>
bool each_once(stz::u64 n, Share share) {
  std::vector<std::atomic<int>> times(n);
  share(n, [&](Nothing&, stz::u64 i) { times[i]++; });
  return std::all_of(times.begin(), times.end(), [](const auto& t) { return t == 1; });
}

template <class Share>
std::string thrown_by(Share share) {
  try {
    share(stz::u64(100), [](Nothing&, stz::u64 i) {
      if (i >= 20) throw std::runtime_error(std::to_string(i));
    });
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST(threads_share_all_items) {
  for (int threads : {1, 2, 5})
    for (stz::u64 n : {0, 1, 2, 100}) {
      const stz::Team team(threads);
      CHECK(each_once(n, [&](stz::u64 count, auto work) { stz::parallel_for<Nothing>(count, threads, work); }));
    }
}

TEST(without_a_team_the_caller_does_all) {
  const auto caller = std::this_thread::get_id();
  bool alone = true;
  stz::parallel_for<Nothing>(100, 4, [&](Nothing&, stz::u64) { alone &= std::this_thread::get_id() == caller; });
  CHECK(alone);
}

TEST(a_team_does_one_piece_of_work_after_the_other) {
  for (int threads : {1, 2, 5}) {
    const stz::Team team(threads);
    for (int piece = 0; piece < 500; piece++)
      CHECK(each_once(stz::u64(piece % 7), [&](stz::u64 count, auto work) { stz::parallel_for<Nothing>(count, threads, work); }));
  }
}

TEST(a_team_need_not_work) {
  for (int threads : {1, 3}) {
    const stz::Team idle(threads);
    CHECK((stz::Team::of_caller() != nullptr) == (threads > 1));
  }
  for (int threads : {1, 3}) {
    const stz::Team idle(threads);
    stz::start_threads();
  }
  CHECK(!stz::Team::of_caller());
}

TEST(a_call_inside_of_a_call_has_its_team) {
  const stz::Team outer(3);
  const stz::Team* const team = stz::Team::of_caller();
  CHECK(team == &outer);
  {
    const stz::Team inner(2);
    CHECK(stz::Team::of_caller() == team);
  }
  CHECK(stz::Team::of_caller() == team);
}

TEST(what_is_shared_is_not_shared_again) {
  const stz::Team team(3);
  std::atomic<bool> alone{true};
  std::atomic<int> items{0};
  stz::parallel_for<Nothing>(50, 3, [&](Nothing&, stz::u64) {
    const auto thread = std::this_thread::get_id();
    stz::parallel_for<Nothing>(10, 3, [&](Nothing&, stz::u64) {
      if (std::this_thread::get_id() != thread) alone = false;
      items++;
    });
  });
  CHECK(alone);
  CHECK(items == 500);
}

TEST(the_failure_of_the_first_item_is_thrown) {
  for (int threads : {1, 2, 5}) {
    const stz::Team team(threads);
    const auto share = [&](stz::u64 n, auto work) { stz::parallel_for<Nothing>(n, threads, work); };
    CHECK(thrown_by(share) == "20");
    CHECK(each_once(100, share));  // and the team works on
  }
}

TEST(workers_are_not_shared) {
  struct Counter {
    int inside = 0;
  };
  const stz::Team team(4);
  std::atomic<bool> alone{true};
  stz::parallel_for<Counter>(1000, 4, [&](Counter& counter, stz::u64) {
    if (++counter.inside != 1) alone = false;
    counter.inside--;
  });
  CHECK(alone);
}
