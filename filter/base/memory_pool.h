// Memory for buffers. A thread keeps freed memory for its next buffers, so that a call similar to the previous one neither asks the system
// for pages nor waits for them to be cleared.
//
// A thread keeps at most 16 MiB, in blocks of at most 8 MiB, until it ends. There are no locks: a child process has the memory of the
// thread that forked it. A call after that end, from a destructor of the thread that runs later, keeps nothing.
#pragma once
#include "base/common.h"

namespace stz {

constexpr size_t most_kept_memory = size_t(16) << 20, largest_kept_block = size_t(8) << 20;

// Returns memory for `bytes` bytes, not cleared, aligned to 64 bytes. Memory of 2 MiB and more is aligned to 2 MiB, in large pages if the
// system has them. Throws std::bad_alloc.
void* take_memory(size_t bytes);
// `bytes`: the argument of take_memory.
void give_memory_back(void* memory, size_t bytes) noexcept;
// The bytes that the calling thread keeps; and a function that frees them.
size_t kept_memory();
void drop_kept_memory() noexcept;

}  // namespace stz
