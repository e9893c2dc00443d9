// The frame of every function of the C ABI: it sets the floating-point environment and turns failures into codes.
#pragma once
#include <new>
#include <stdexcept>

#include "base/common.h"
#include "base/floating_environment.h"
#include "base/thread_memory.h"

namespace stz {

template <class F>
int guarded(F f) noexcept {
  if (!thread_has_memory()) return STZ_ERROR_MEMORY;
  FloatingEnvironment environment;
  try {
    f();
    return STZ_OK;
  } catch (const Failure& failure) {
    return failure.code;
  } catch (const std::bad_alloc&) {
    return STZ_ERROR_MEMORY;
  } catch (const std::length_error&) {
    return STZ_ERROR_MEMORY;
  } catch (...) {
    return STZ_ERROR_INTERNAL;
  }
}

}  // namespace stz
