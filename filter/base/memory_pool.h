// Memory for buffers. What a thread frees it keeps for its next buffers, so that a call that is like the one before neither asks the
// system for pages nor waits for them to be cleared.
//
// A thread keeps at most 16 MiB, in blocks of at most 8 MiB, until it ends. There are no locks: a child process has what the thread that
// forked it had. A call that comes after the end, from a destructor of the thread that runs later, keeps nothing.
#pragma once
#include "base/common.h"

namespace stz {

constexpr size_t most_kept_memory = size_t(16) << 20, largest_kept_block = size_t(8) << 20;

// Memory for so many bytes, not cleared, at a multiple of 64; of 2 MiB, in large pages where the system has them, from that size on.
void* take_memory(size_t bytes);
// `bytes`: as they were asked for.
void give_memory_back(void* memory, size_t bytes) noexcept;
// What the calling thread keeps, in bytes, and its end.
size_t kept_memory();
void drop_kept_memory() noexcept;

}  // namespace stz
