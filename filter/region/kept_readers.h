// Readers of stored chunks that stay open between reads, for programs that read a chunk strip by strip: each block is decoded once.
//
// The key of a chunk is the identity, size and times of change of the file, and the chunk's place in it. A changed or replaced chunk has
// another key. Nothing is kept of a file that changed a moment ago, as its next change may have the same time. Readers use the caller's
// descriptor of the same file and own none: a program may count its descriptors, and closing one would end its locks on the file. The cache
// is bounded; the least recently used readers are dropped first. The environment decides at each use whether decoded blocks are compared
// with content checks, and the precision; blocks that a reader holds are not compared again.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "base/common.h"
#include "base/function_ref.h"
#include "stz_reader.h"

namespace stz::region {

struct CloseReader {
  void operator()(stz_reader* reader) const { stz_reader_close(reader); }
};
using Reader = std::unique_ptr<stz_reader, CloseReader>;

// Sets the checks and the largest error that the environment asks for. Returns an error code.
int obey_environment(stz_reader* reader);

class KeptReaders {
 public:
  // Calls use(reader) for the chunk of `size` bytes at `address` of the open file `descriptor` and returns its result. Returns false
  // without a call if there is no reader for it or another thread is using the readers; the caller then opens its own.
  bool with(int descriptor, u64 address, u64 size, FunctionRef<bool(stz_reader*)> use);

 private:
  struct Key {
    u64 device, file, changed[4], file_size, address, size;
    bool operator==(const Key&) const = default;
  };
  struct Kept {
    Kept(const Key& chunk, int open_file) : key(chunk), descriptor(open_file) {}
    Key key;
    int descriptor;  // the caller's; valid during a call of with()
    Reader reader;
  };
  static int read(void* kept, u64 offset, size_t size, void* out);  // stz_source.read
  bool open(const Key& key, int descriptor);
  void shrink();

  std::mutex mutex_;
  std::list<Kept> kept_;  // most recently used first; entries do not move in memory
};

}  // namespace stz::region
