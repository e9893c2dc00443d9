#include "hdf5/chunk_functions.h"

#include <atomic>
#include <exception>

#include "base/loaded_function.h"

namespace stz::hdf5 {

// Takes no lock, which a fork could leave held: threads that meet here find the same functions.
const ChunkFunctions* chunk_functions() noexcept {
  static std::atomic<const ChunkFunctions*> known{nullptr};
  const ChunkFunctions* found = known.load(std::memory_order_acquire);
  if (found) return found;
  try {
    using Lookup = const void* (*)();
    const auto lookup = reinterpret_cast<Lookup>(first_loaded_function(chunk_functions_name));
    if (lookup) known.store(found = static_cast<const ChunkFunctions*>(lookup()), std::memory_order_release);
  } catch (const std::exception&) {  // out of memory
  }
  return found;
}

}  // namespace stz::hdf5
