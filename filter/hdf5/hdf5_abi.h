// The parts of HDF5's binary interface that the plug-in uses: widths, enumeration values and the filter record. They are declared here,
// so that one binary is built without HDF5 and serves every version since 1.10 (hid_t has 64 bits since 1.10).
#pragma once
#include "base/common.h"

namespace stz::hdf5 {

using hid_t = i64;
using hsize_t = unsigned long long;
using herr_t = int;  // htri_t as well; negative: failure

enum TypeClass : int {
  type_integer = 0,
  type_float = 1,
  type_time = 2,
  type_string = 3,
  type_bitfield = 4,
  type_opaque = 5,
  type_compound = 6,
  type_reference = 7,
  type_enum = 8,
  type_variable_length = 9,
  type_array = 10,
  type_complex = 11  // since 2.0
};

enum TypeOrder : int { order_little = 0, order_big = 1, order_vax = 2, order_mixed = 3, order_none = 4 };

constexpr int sign_none = 0;               // H5T_SGN_NONE
constexpr int norm_implied = 0;            // H5T_NORM_IMPLIED: the mantissa's first bit is not stored
constexpr int layout_chunked = 2;          // H5D_CHUNKED
constexpr int fill_user_defined = 2;       // H5D_FILL_VALUE_USER_DEFINED
constexpr unsigned flag_reverse = 0x0100;  // H5Z_FLAG_REVERSE: decode
constexpr int filter_class_version = 1;    // H5Z_CLASS_T_VERS
constexpr int plugin_type_filter = 0;      // H5PL_TYPE_FILTER
constexpr hid_t default_error_stack = 0;   // H5E_DEFAULT

// H5Z_class2_t
struct FilterClass {
  int version;
  int id;
  unsigned encoder_present;
  unsigned decoder_present;
  const char* name;
  herr_t (*can_apply)(hid_t creation_properties, hid_t type, hid_t chunk_space);
  herr_t (*set_local)(hid_t creation_properties, hid_t type, hid_t chunk_space);
  size_t (*filter)(unsigned flags, size_t cd_count, const unsigned cd_values[], size_t bytes, size_t* buffer_size, void** buffer);
};

}  // namespace stz::hdf5
