// Readers of stored chunks that live on between reads, for programs that read a chunk strip by strip: each block is decoded once.
//
// A chunk is known by the file's identity, size and times of change and by its place in it, so that one that was changed or replaced is
// another one; of a file that was changed a moment ago nothing is kept, as its next change may have the same time. Readers read through the
// descriptor of the caller, which is the same file, and own none: a program may count its descriptors, and to close one would end its
// locks on the file. What is kept is bounded, and the readers used longest ago go first. The environment says at each use
// whether what is decoded is compared with content checks, and how precise it has to be; blocks that a reader holds are not compared again.
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

// Tells a reader what the environment says of checks and of errors. An error code.
int obey_environment(stz_reader* reader);

class KeptReaders {
 public:
  // Calls use(reader) for the chunk of `size` bytes at `address` of the open file `descriptor` and returns what it returns. False, without
  // a call, if there is no reader for it or another thread is using them: then do without.
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
  std::list<Kept> kept_;  // used last first; entries do not move
};

}  // namespace stz::region
