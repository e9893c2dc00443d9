// A library that passes for an HDF5 of a version that nobody has seen, as far as loading a VOL connector goes: its record of a connector
// has another version, or another size, or is not there at all (compile with -DRECORD=0).
#include <cstddef>
#include <cstdint>

#include "hdf5/library.h"

#ifndef RECORD
#define RECORD 1
#endif

extern "C" {

#define H5get_libversion stub_of_H5get_libversion
#define STUB(name, result, parameters) \
  int name() { return -1; }
STZ_HDF5_FUNCTIONS(STUB)
#undef H5get_libversion

int H5get_libversion(unsigned* major, unsigned* minor, unsigned* release) {
  *major = 2, *minor = 9, *release = 0;
  return 0;
}

#if RECORD
extern const unsigned char other_name[];
const unsigned char other_name[] = "pass_through";

struct Record {
  unsigned version;
  int value;
  const unsigned char* name;
  unsigned char rest[RECORD_SIZE - 16];
};
extern const Record H5VL_pass_through_g;
const Record H5VL_pass_through_g = {RECORD_VERSION, 1, other_name, {1, 2, 3, 4, 5, 6, 7, 8}};
#endif

// As HDF5 asks a plug-in; what it gets, or null.
const void* load(const void* (*get_plugin_info)()) {
  const void* volatile found = get_plugin_info();  // not the last call: the plug-in looks where it was called from
  return found;
}

}  // extern "C"
