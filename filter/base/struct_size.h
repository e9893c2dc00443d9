// Converts structures of the C ABI that begin with their size and may grow ("Structures" in stz.h) between the caller's version and this
// one. Invariant: nothing of a caller's structure is read or written beyond its struct_size.
#pragma once
#include <algorithm>
#include <cstddef>

#include "base/common.h"
#include "stz.h"

namespace stz {

// Bytes up to the end of a field.
#define STZ_SIZE_UP_TO(type, field) (offsetof(type, field) + sizeof(type::field))

// The size of S in the first version that had it: up to its last field then. Fields that are added later must not change it.
template <class S>
constexpr size_t first_struct_size = 0;
template <>
inline constexpr size_t first_struct_size<stz_options> = STZ_SIZE_UP_TO(stz_options, layers);
template <>
inline constexpr size_t first_struct_size<stz_stream_info> = STZ_SIZE_UP_TO(stz_stream_info, level_bytes);

template <>
inline constexpr size_t first_struct_size<stz_size_estimate> = STZ_SIZE_UP_TO(stz_size_estimate, reserved);

template <class S>
bool valid_struct_size(const S* given) {
  static_assert(offsetof(S, struct_size) == 0 && first_struct_size<S> >= sizeof(size_t));
  static_assert(first_struct_size<S> <= sizeof(S) && sizeof(S) <= STZ_MAX_STRUCT_SIZE);
  return given->struct_size >= first_struct_size<S> && given->struct_size <= STZ_MAX_STRUCT_SIZE;
}

// Copies an input of the caller into this version's structure. Fields that the caller's structure lacks become 0.
// STZ_ERROR_ARGUMENT: an invalid size; STZ_ERROR_OPTION: a field that this version does not know is not 0.
template <class S>
int take_input(const S* given, S& full) {
  full = S{};
  if (!valid_struct_size(given)) return STZ_ERROR_ARGUMENT;
  const size_t size = given->struct_size;
  const auto* const bytes = reinterpret_cast<const u8*>(given);
  memcpy(&full, bytes, std::min(sizeof full, size));
  full.struct_size = sizeof full;
  for (size_t i = sizeof full; i < size; i++)
    if (bytes[i] != 0) return STZ_ERROR_OPTION;
  return STZ_OK;
}

// Gives an output to the caller, whose struct_size is valid. Fields that this version does not know become 0.
template <class S>
void give_output(const S& full, S* given) {
  const size_t size = given->struct_size;
  auto* const bytes = reinterpret_cast<u8*>(given);
  memcpy(bytes, &full, std::min(sizeof full, size));
  if (size > sizeof full) memset(bytes + sizeof full, 0, size - sizeof full);
  given->struct_size = size;
}

}  // namespace stz
