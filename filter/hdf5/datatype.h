// Maps an HDF5 datatype to the codec's element type, or refuses it with a message that names the type.
#pragma once
#include "base/message.h"
#include "hdf5/library.h"

namespace stz::hdf5 {

struct ElementType {
  int dtype = 0;       // stz_dtype
  int byte_order = 0;  // stz_byte_order
  // An enumeration (such as h5py's bool) or a bit field: its values are names, not quantities, so a near value is simply wrong.
  // Stored exactly, they are within every bound.
  bool exact_only = false;
  // 2 for floats of 16 bytes, for which the codec has no type: each is two integers of 8 bytes, along a last axis. Only without loss.
  int parts = 1;
};

// Sets `element`. False, with `message` set, if the type does not equal one of the codec's element types bit by bit.
bool element_type(const Library& library, hid_t type, ElementType& element, Message& message);

}  // namespace stz::hdf5
