// Kept streams come out as they went in, whatever else was kept and dropped, and what was dropped is used again.
#include "recognition/stream_pool.h"

#include <algorithm>
#include <deque>
#include <set>

#include "unit.h"

using namespace unit;
using recognition::KeptStream;
using recognition::StreamPool;

static Bytes bytes_of(const StreamPool& pool, const KeptStream& stream) {
  const Buffer<u8> bytes = pool.bytes_of(stream);
  return Bytes(bytes.begin(), bytes.end());
}

static Bytes some_bytes(Random& random, size_t size) {
  Bytes bytes(size);
  for (u8& each : bytes) each = u8(random.below(256));
  return bytes;
}

TEST(kept_streams_come_out_as_they_went_in) {
  StreamPool pool;
  Random random(1);
  struct Entry {
    KeptStream kept;
    Bytes bytes;
  };
  std::deque<Entry> entries;
  for (size_t turn = 0; turn < 3000; ++turn) {
    const size_t sizes[] = {1 + random.below(300), 1023 + random.below(3), 1 + random.below(20000), 256 + random.below(2)};
    const Bytes bytes = some_bytes(random, turn % 500 == 250 ? 3000000 : sizes[turn % 4]);
    entries.push_back({pool.keep(bytes.data(), bytes.size()), bytes});
    CHECK(entries.back().kept && entries.back().kept.size == bytes.size());
    while (entries.size() > 100) {
      const size_t which = random.below(entries.size());
      CHECK(bytes_of(pool, entries[which].kept) == entries[which].bytes);
      pool.drop(entries[which].kept);
      CHECK(!entries[which].kept);
      entries.erase(entries.begin() + std::ptrdiff_t(which));
    }
  }
  for (const Entry& entry : entries) CHECK(bytes_of(pool, entry.kept) == entry.bytes);
}

TEST(room_is_what_blocks_take) {
  CHECK(StreamPool::room_for(1) == 1 && StreamPool::room_for(256) == 256);
  CHECK(StreamPool::room_for(257) == 1024 && StreamPool::room_for(1024) == 1024 && StreamPool::room_for(1025) == 2048);
}

// Each stream has twice the size of the one before: there is no other place for it than those of several.
TEST(dropped_streams_make_room_for_others) {
  StreamPool pool;
  constexpr size_t all = size_t(1) << 20;
  for (size_t size = 512; size <= all; size *= 2) {
    std::vector<KeptStream> kept;
    for (size_t i = 0; i < all / std::max<size_t>(size, 1024); ++i) kept.push_back(pool.keep(Bytes(size, u8(i)).data(), size));
    for (size_t i = 0; i < kept.size(); ++i) CHECK(bytes_of(pool, kept[i]) == Bytes(size, u8(i)));
    for (KeptStream& each : kept) pool.drop(each);
  }
  CHECK(pool.mapped_bytes() <= 2 * all);
}

// Streams are told apart by their lengths and by some of their bytes: those of small ones, and the last ones.
TEST(a_fingerprint_tells_streams_apart) {
  std::set<u64> fingerprints;
  size_t count = 0;
  for (const size_t size : {1, 7, 8, 9, 63, 64, 250, 5000}) {
    Bytes bytes(size, 3);
    fingerprints.insert(recognition::stream_fingerprint(bytes.data(), size));
    ++count;
    for (size_t k = size < 256 ? 0 : size - 8; k < size; ++k, ++count) {
      bytes[k] ^= 1;
      fingerprints.insert(recognition::stream_fingerprint(bytes.data(), size));
      bytes[k] ^= 1;
    }
  }
  CHECK(fingerprints.size() == count, "%zu of %zu", fingerprints.size(), count);
}
