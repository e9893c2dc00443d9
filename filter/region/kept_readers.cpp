#include "region/kept_readers.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "base/read_file.h"

namespace stz::region {
namespace {

constexpr u64 most_bytes = u64{256} << 20;  // of decoded samples, all readers together
constexpr size_t most_readers = 32;

u64 cached_bytes(const stz_reader* reader) {
  stz_reader_stats stats = STZ_READER_STATS_INIT;
  return stz_reader_get_stats(reader, &stats) == STZ_OK ? stats.cached_bytes : 0;
}

// Whether a change made now would give the file another time. File system clocks advance in kernel ticks of at most 10 ms, or in steps of
// at most two seconds.
bool is_settled(const struct stat& file) {
  constexpr long second = 1'000'000'000, tick = 20'000'000;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0 || now.tv_sec < file.st_mtim.tv_sec) return false;
  const auto seconds = now.tv_sec - file.st_mtim.tv_sec;
  return seconds > 2 || (file.st_mtim.tv_nsec != 0 && seconds * second + now.tv_nsec - file.st_mtim.tv_nsec > tick);
}

}  // namespace

int KeptReaders::read(void* kept, u64 offset, size_t size, void* out) {
  const auto* const from = static_cast<const Kept*>(kept);
  return read_file(from->descriptor, from->key.address + offset, size, out) ? 0 : 1;
}

// Opens a new reader at the front of the list.
bool KeptReaders::open(const Key& key, int descriptor) {
  if (key.address > INT64_MAX || key.size > INT64_MAX - key.address) return false;
  kept_.emplace_front(key, descriptor);
  const stz_source source{sizeof(stz_source), read, &kept_.front(), key.size};
  stz_reader* opened = nullptr;
  if (stz_reader_open(&source, most_bytes, &opened) != STZ_OK) {
    kept_.pop_front();
    return false;
  }
  kept_.front().reader.reset(opened);
  return true;
}

void KeptReaders::shrink() {
  u64 bytes = 0;
  size_t readers = 0;
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    bytes += cached_bytes(it->reader.get());
    if (++readers > 1 && (bytes > most_bytes || readers > most_readers)) {
      kept_.erase(it, kept_.end());
      return;
    }
  }
}

int obey_environment(stz_reader* reader) {
  if (const int error = stz_reader_verify(reader, stz_environment_verify())) return error;
  const double max_error = stz_environment_max_error();
  if (max_error == 0) return stz_reader_max_error(reader, 0);
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  if (const int error = stz_reader_info(reader, &info)) return error;
  const bool was_relative = info.mode == STZ_POINTWISE_RELATIVE && info.accumulated_bound > 0;
  const bool is_unknown = was_relative || info.accumulated_bound == STZ_UNKNOWN_BOUND;  // then all layers are read: nothing is better
  return stz_reader_max_error(reader, is_unknown ? 0 : max_error);
}

bool KeptReaders::with(int descriptor, u64 address, u64 size, FunctionRef<bool(stz_reader*)> use) {
  struct stat now;
  if (fstat(descriptor, &now) != 0 || !is_settled(now)) return false;
  const Key key{now.st_dev,
                now.st_ino,
                {static_cast<u64>(now.st_mtim.tv_sec), static_cast<u64>(now.st_mtim.tv_nsec), static_cast<u64>(now.st_ctim.tv_sec),
                 static_cast<u64>(now.st_ctim.tv_nsec)},
                static_cast<u64>(now.st_size),
                address,
                size};
  const std::unique_lock lock(mutex_, std::try_to_lock);  // never waits: it may stay locked for ever in a forked process
  if (!lock.owns_lock()) return false;
  const auto kept_reader = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.key == key; });
  if (kept_reader != kept_.end())
    kept_.splice(kept_.begin(), kept_, kept_reader);
  else if (!open(key, descriptor))
    return false;
  kept_.front().descriptor = descriptor;
  stz_reader* const reader = kept_.front().reader.get();
  const bool result = obey_environment(reader) == STZ_OK && use(reader);
  if (!result) kept_.pop_front();
  shrink();
  return result;
}

}  // namespace stz::region
