// Memory for the variables that a thread has of its own (thread_local). The C library asks for it at their first use, and ends the process
// if there is none.
#pragma once

namespace stz {

// Whether there is memory for those of the calling thread, the ones of the C++ library included. To be called before their first use, where
// a thread begins or comes from a program. Takes a few nanoseconds when the thread has used them.
bool thread_has_memory() noexcept;

}  // namespace stz
