// Memory for the thread_local variables of a thread. The C library allocates it at their first use, and ends the process if that fails.
#pragma once

namespace stz {

// Whether there is memory for the variables of the calling thread, including those of the C++ library. Call it before their first use,
// where a thread begins or comes from a program. It takes a few nanoseconds once the thread has used them.
bool thread_has_memory() noexcept;

}  // namespace stz
