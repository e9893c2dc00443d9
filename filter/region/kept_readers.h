// Readers of stored chunks that live on between reads, for programs that read a chunk strip by strip: each block is decoded once.
//
// A chunk is known by the file's identity, size and time of change and by its place in it, so that one that was changed or replaced is
// another one. Readers hold the file open by a descriptor of their own, which has no lock. What is kept is bounded, and the readers used
// longest ago go first.
#ifndef STZ_REGION_KEPT_READERS_H
#define STZ_REGION_KEPT_READERS_H

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "stz_reader.h"

namespace stz::region {

struct CloseReader {
  void operator()(stz_reader* reader) const { stz_reader_close(reader); }
};
using Reader = std::unique_ptr<stz_reader, CloseReader>;

class KeptReaders {
 public:
  // Calls use(reader) for the chunk of `size` bytes at `address` of the open file `descriptor` and returns what it returns. False, without
  // a call, if there is no reader for it or another thread is using them: then do without.
  bool with(int descriptor, uint64_t address, uint64_t size, const std::function<bool(stz_reader*)>& use);

 private:
  struct Key {
    uint64_t device, file, seconds, nanoseconds, file_size, address, size;
    bool operator==(const Key&) const = default;
  };
  struct Descriptor {
    explicit Descriptor(int of) : number(of) {}
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    const int number;
  };
  struct Kept {
    Kept(const Key& chunk, int own) : key(chunk), file(own) {}
    Key key;
    Descriptor file;
    Reader reader;  // goes before its descriptor
  };
  bool open(const Key& key, int descriptor);
  void shrink();

  std::mutex mutex_;
  std::list<Kept> kept_;  // used last first
};

}  // namespace stz::region

#endif
