// What the plug-in needs to know of HDF5's binary interface: widths, enumeration values and the filter record. Declared here
// so that one binary is built without any HDF5 and serves every version from 1.10 on (hid_t has 64 bits since 1.10).
#ifndef STZ_HDF5_ABI_H
#define STZ_HDF5_ABI_H

#include <cstddef>
#include <cstdint>

namespace stz::hdf5 {

using Id = int64_t;                  // hid_t
using Size = unsigned long long;     // hsize_t
using Status = int;                  // herr_t and htri_t: negative is failure

enum TypeClass : int {
  kTypeInteger = 0,
  kTypeFloat = 1,
  kTypeTime = 2,
  kTypeString = 3,
  kTypeBitfield = 4,
  kTypeOpaque = 5,
  kTypeCompound = 6,
  kTypeReference = 7,
  kTypeEnum = 8,
  kTypeVariableLength = 9,
  kTypeArray = 10,
  kTypeComplex = 11  // since 2.0
};

enum TypeOrder : int { kOrderLittle = 0, kOrderBig = 1, kOrderVax = 2, kOrderMixed = 3, kOrderNone = 4 };

constexpr int kSignNone = 0;           // H5T_SGN_NONE
constexpr int kNormImplied = 0;        // H5T_NORM_IMPLIED: the mantissa's first bit is not stored
constexpr int kLayoutChunked = 2;      // H5D_CHUNKED
constexpr int kFillUserDefined = 2;    // H5D_FILL_VALUE_USER_DEFINED
constexpr unsigned kFlagReverse = 0x0100;  // H5Z_FLAG_REVERSE: decode
constexpr int kFilterClassVersion = 1;     // H5Z_CLASS_T_VERS
constexpr int kPluginTypeFilter = 0;       // H5PL_TYPE_FILTER
constexpr Id kDefaultErrorStack = 0;       // H5E_DEFAULT

// H5Z_class2_t
struct FilterClass {
  int version;
  int id;
  unsigned encoder_present;
  unsigned decoder_present;
  const char* name;
  Status (*can_apply)(Id creation_properties, Id type, Id chunk_space);
  Status (*set_local)(Id creation_properties, Id type, Id chunk_space);
  size_t (*filter)(unsigned flags, size_t cd_count, const unsigned cd_values[], size_t bytes, size_t* buffer_size, void** buffer);
};

}  // namespace stz::hdf5

#endif
