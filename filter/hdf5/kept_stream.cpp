#include "hdf5/kept_stream.h"

#include <cstdlib>
#include <new>

#include "base/published_list.h"
#include "hdf5/chunk_buffer.h"

namespace stz::hdf5 {

// A buffer that is no longer needed holds the address of the next one.
struct Unneeded {
  Unneeded* next;
};

// Those of a library: threads add one at a time and take all.
struct UnneededOf {
  const Library* library;
  mutable std::atomic<Unneeded*> last{nullptr};
  const UnneededOf* next = nullptr;
};

namespace {

PublishedList<UnneededOf> unneeded;

const UnneededOf* unneeded_of(const Library& library) {
  const UnneededOf* const list = unneeded.find([&](const UnneededOf& entry) { return entry.library == &library; });
  return list ? list : unneeded.publish(new UnneededOf{&library});
}

}  // namespace

std::shared_ptr<KeptStream> KeptStream::copy_of(const void* stream, size_t size) {
  auto kept = std::make_shared<KeptStream>();
  kept->data_ = std::malloc(size ? size : 1);
  if (!kept->data_) throw std::bad_alloc();
  kept->size_ = size;
  kept->copied_ = kept->owns_ = true;
  memcpy(kept->data_, stream, size);
  return kept;
}

std::shared_ptr<KeptStream> KeptStream::keep(const Library& library, void* buffer, size_t size, size_t capacity) {
  if (library.checks_memory || size < sizeof(Unneeded) || capacity > size + size / 4 + 64) return copy_of(buffer, size);
  auto kept = std::make_shared<KeptStream>();
  kept->data_ = buffer;
  kept->size_ = size;
  kept->list_ = library.reachable ? unneeded_of(library) : nullptr;
  return kept;
}

KeptStream::~KeptStream() {
  if (!owns_) return;
  if (!list_) {
    std::free(data_);
    return;
  }
  auto* const buffer = new (data_) Unneeded{list_->last.load(std::memory_order_relaxed)};
  while (!list_->last.compare_exchange_weak(buffer->next, buffer, std::memory_order_release, std::memory_order_relaxed)) {}
}

void return_buffers(const Library& library) noexcept {
  if (!library.reachable) return;
  unneeded.find([&](const UnneededOf& list) {
    if (list.library != &library || !list.last.load(std::memory_order_relaxed)) return false;
    Unneeded* buffer = list.last.exchange(nullptr, std::memory_order_acquire);
    while (buffer) {
      Unneeded* const next = buffer->next;
      library.H5free_memory(buffer);
      buffer = next;
    }
    return false;  // two threads may have made a list each
  });
}

}  // namespace stz::hdf5
