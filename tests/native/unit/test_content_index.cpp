// The index from probes to chunks: what was inserted is found, and where there is no room the oldest goes first.
#include "recognition/content_index.h"

#include <algorithm>

#include "unit.h"

using namespace unit;
using recognition::ContentIndex;

static std::vector<u32> found(const ContentIndex& index, u64 hash) {
  std::vector<u32> chunks;
  index.find(hash, [&](u32 chunk) { chunks.push_back(chunk); });
  return chunks;
}

static bool has(const ContentIndex& index, u64 hash, u32 chunk) {
  const std::vector<u32> chunks = found(index, hash);
  return std::find(chunks.begin(), chunks.end(), chunk) != chunks.end();
}

static u64 in_order(u32 chunk) { return chunk; }

// As the hashes are that are inserted: not 0.
static u64 hash_of(u64 seed) { return Random(seed).bits() | u64(1) << 63; }

TEST(an_empty_index_finds_nothing) {
  ContentIndex index;
  CHECK(found(index, hash_of(1)).empty());
  index.reserve(1);
  CHECK(found(index, hash_of(1)).empty());
}

TEST(almost_everything_is_found_after_growth) {
  ContentIndex index;
  constexpr u64 rounds = 60, each = 500;
  size_t lost = 0, wrong = 0, looked_for = 0;
  for (u64 round = 0; round < rounds; ++round) {
    index.reserve(each);
    for (u64 i = 0; i < each; ++i) index.insert(hash_of(round * each + i), u32(round), i % 100 == 0, in_order);
    for (u64 before = 0; before <= round; before += 7)
      for (u64 i = 0; i < each; ++i, ++looked_for) lost += !has(index, hash_of(before * each + i), u32(before));
  }
  for (u64 i = 0; i < 10000; ++i) wrong += found(index, hash_of(1000000 + i)).size();
  CHECK(lost < looked_for / 50 && wrong == 0, "%zu of %zu lost, %zu wrong", lost, looked_for, wrong);  // buckets may overflow
}

TEST(several_chunks_may_have_a_probe) {
  ContentIndex index;
  index.reserve(5);
  for (u32 chunk = 0; chunk < 5; ++chunk) index.insert(hash_of(1), chunk, false, in_order);
  std::vector<u32> chunks = found(index, hash_of(1));
  std::sort(chunks.begin(), chunks.end());
  CHECK((chunks == std::vector<u32>{0, 1, 2, 3, 4}));
}

// 10 and 11 have given way to lasting ones, which are older than they were.
TEST(what_may_have_been_dropped_is_told) {
  ContentIndex index;
  CHECK(index.dropped_until(hash_of(1), in_order) == 0);
  index.reserve(1);
  for (u32 chunk = 10; chunk < 18; ++chunk) {
    CHECK(index.dropped_until(hash_of(1), in_order) == 0);
    index.insert(hash_of(1), chunk, false, in_order);
  }
  CHECK(index.dropped_until(hash_of(1), in_order) == 10);
  for (u32 chunk = 1; chunk < 3; ++chunk) index.insert(hash_of(1), chunk, true, in_order);
  CHECK(!has(index, hash_of(1), 11) && index.dropped_until(hash_of(1), in_order) == 12);
  for (u32 chunk = 20; chunk < 30; ++chunk) index.insert(hash_of(1), chunk, true, in_order);
  CHECK(index.dropped_until(hash_of(1), in_order) == ~u64(0));  // no other has a place there
}

TEST(the_oldest_chunk_is_forgotten_first) {
  ContentIndex index;
  index.reserve(1);
  for (u32 chunk = 0; chunk < 30; ++chunk) index.insert(hash_of(1), chunk, false, in_order);
  std::vector<u32> chunks = found(index, hash_of(1));
  std::sort(chunks.begin(), chunks.end());
  CHECK((chunks == std::vector<u32>{22, 23, 24, 25, 26, 27, 28, 29}));
}

TEST(a_chunk_that_was_decoded_again_stays) {
  ContentIndex index;
  index.reserve(1);
  for (u32 chunk = 0; chunk < 30; ++chunk) index.insert(hash_of(1), chunk, false, [](u32 each) { return each == 3 ? 100 : each; });
  CHECK(has(index, hash_of(1), 3) && !has(index, hash_of(1), 4) && has(index, hash_of(1), 29));
}

TEST(a_probe_that_is_inserted_again_takes_no_room) {
  ContentIndex index;
  index.reserve(1);
  for (u32 chunk = 0; chunk < 8; ++chunk)
    for (int turn = 0; turn < 3; ++turn) index.insert(hash_of(1), chunk, false, in_order);
  for (u32 chunk = 0; chunk < 8; ++chunk) CHECK(has(index, hash_of(1), chunk));
}

TEST(lasting_probes_go_last) {
  ContentIndex index;
  index.reserve(1);
  for (u32 chunk = 0; chunk < 4; ++chunk) index.insert(hash_of(1), chunk, true, in_order);
  for (u32 chunk = 4; chunk < 40; ++chunk) index.insert(hash_of(1), chunk, false, in_order);
  for (u32 chunk = 0; chunk < 4; ++chunk) CHECK(has(index, hash_of(1), chunk));
  CHECK(has(index, hash_of(1), 39) && !has(index, hash_of(1), 4));
  for (u32 chunk = 40; chunk < 60; ++chunk) index.insert(hash_of(1), chunk, true, in_order);
  for (u32 chunk = 52; chunk < 60; ++chunk) CHECK(has(index, hash_of(1), chunk));
  index.insert(hash_of(1), 60, false, in_order);  // nothing that lasts makes room for it
  CHECK(!has(index, hash_of(1), 60) && has(index, hash_of(1), 52));
}

TEST(what_lasts_still_lasts_after_growth) {
  ContentIndex index;
  index.reserve(1);
  index.insert(hash_of(1), 0, true, in_order);
  index.reserve(100000);
  for (u32 chunk = 1; chunk < 40; ++chunk) index.insert(hash_of(1), chunk, false, in_order);
  CHECK(has(index, hash_of(1), 0));
}
