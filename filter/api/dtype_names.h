// The names of element types in options as text.
#pragma once
#include <string_view>

#include "base/common.h"
#include "stz.h"

namespace stz {

struct Name {
  std::string_view text;
  i32 value;
};
inline constexpr Name dtype_names[] = {
    {"f2", STZ_F16},
    {"f4", STZ_F32},
    {"f8", STZ_F64},
    {"i1", STZ_I8},
    {"u1", STZ_U8},
    {"i2", STZ_I16},
    {"u2", STZ_U16},
    {"i4", STZ_I32},
    {"u4", STZ_U32},
    {"i8", STZ_I64},
    {"u8", STZ_U64},
    {"c8", STZ_C64},
    {"c16", STZ_C128},
    // types that NumPy has not
    {"bfloat16", STZ_BF16},
    {"float8_e4m3fn", STZ_F8_E4M3},
    {"float8_e5m2", STZ_F8_E5M2},
};

}  // namespace stz
