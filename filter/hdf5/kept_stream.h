// The compressed bytes of a chunk that was decoded: HDF5's own buffer, kept instead of freed, or a copy. A buffer of HDF5 is returned to it
// by a call that this very copy of HDF5 makes: calls of one copy from a callback of another would take the locks of both, in either order.
#pragma once
#include <memory>

#include "base/common.h"
#include "hdf5/library.h"

namespace stz::hdf5 {

struct UnneededOf;  // buffers of a library that wait for its next call

class KeptStream {
 public:
  // Keeps a copy; throws std::bad_alloc.
  static std::shared_ptr<KeptStream> copy_of(const void* stream, size_t size);
  // Keeps the buffer itself, of `capacity` bytes, if the library's allocator permits it and little of it is unused; else a copy. The buffer
  // is the caller's until take() says whether it was kept.
  static std::shared_ptr<KeptStream> keep(const Library& library, void* buffer, size_t size, size_t capacity);

  KeptStream() = default;
  KeptStream(const KeptStream&) = delete;
  KeptStream& operator=(const KeptStream&) = delete;
  ~KeptStream();

  // From now on the buffer given to keep() is freed here, and not by the caller: true. False if there is a copy.
  bool take() noexcept { return owns_ = true, !copied_; }

  const void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
  const UnneededOf* list_ = nullptr;  // where the buffer goes; null: to free()
  bool copied_ = false, owns_ = false;
};

// Gives the library that calls those of its buffers that are no longer needed.
void return_buffers(const Library& library) noexcept;

}  // namespace stz::hdf5
