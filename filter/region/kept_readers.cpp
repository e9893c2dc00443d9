#include "kept_readers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace stz::region {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;  // of decoded samples, all readers together
constexpr size_t kMostReaders = 32;                   // each has a file open

uint64_t cached_bytes(const stz_reader* reader) {
  stz_reader_stats stats{};
  return stz_reader_get_stats(reader, &stats) == STZ_OK ? stats.cached_bytes : 0;
}

}  // namespace

KeptReaders::Descriptor::~Descriptor() { close(number); }

// A new one at the front of the list.
bool KeptReaders::open(const Key& key, int descriptor) {
  char path[40];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  const int own = ::open(path, O_RDONLY | O_CLOEXEC);
  if (own < 0) return false;
  kept_.emplace_front(key, own);
  struct stat now;
  stz_reader* opened = nullptr;
  // the path led to the very file, not to another one of its name
  if (fstat(own, &now) == 0 && now.st_dev == key.device && now.st_ino == key.file &&
      stz_reader_open_file(own, key.address, key.size, kMostBytes, &opened) == STZ_OK) {
    kept_.front().reader.reset(opened);
    return true;
  }
  kept_.pop_front();
  return false;
}

void KeptReaders::shrink() {
  uint64_t bytes = 0;
  size_t readers = 0;
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    bytes += cached_bytes(it->reader.get());
    if (++readers > 1 && (bytes > kMostBytes || readers > kMostReaders)) {
      kept_.erase(it, kept_.end());
      return;
    }
  }
}

bool KeptReaders::with(int descriptor, uint64_t address, uint64_t size, const std::function<bool(stz_reader*)>& use) {
  struct stat now;
  if (fstat(descriptor, &now) != 0) return false;
  const Key key{now.st_dev,
                now.st_ino,
                static_cast<uint64_t>(now.st_mtim.tv_sec),
                static_cast<uint64_t>(now.st_mtim.tv_nsec),
                static_cast<uint64_t>(now.st_size),
                address,
                size};
  const std::unique_lock lock(mutex_, std::try_to_lock);  // never waits: a process that was forked may have it locked for ever
  if (!lock.owns_lock()) return false;
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.key == key; });
  if (found != kept_.end())
    kept_.splice(kept_.begin(), kept_, found);
  else if (!open(key, descriptor))
    return false;
  const bool result = use(kept_.front().reader.get());
  if (!result) kept_.pop_front();
  shrink();
  return result;
}

}  // namespace stz::region
