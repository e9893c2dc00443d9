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
