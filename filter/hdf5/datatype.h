// From an HDF5 datatype to the codec's element type, or a message that names what the type is.
#pragma once
#include "base/message.h"
#include "hdf5/library.h"

namespace stz::hdf5 {

struct ElementType {
  int dtype = 0;       // stz_dtype
  int byte_order = 0;  // stz_byte_order
  // An enumeration (h5py's bool is one) or a bit field: its values are names, not quantities, so a near one is simply wrong.
  // They are within every bound when they are stored exactly.
  bool exact_only = false;
};

// False, with `message` set, for every type that is not an array element of the codec bit by bit.
bool element_type(const Library& library, hid_t type, ElementType& element, Message& message);

}  // namespace stz::hdf5
