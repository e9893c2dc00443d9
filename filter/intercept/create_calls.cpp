// Finds the functions. Invariant: all functions of one table are in the same loaded HDF5.
#include "intercept/create_calls.h"

#include <dlfcn.h>

namespace stz::intercept {
namespace {

// A program that is not position-independent and uses the variable has its own copy of it (a copy relocation). HDF5 then uses that copy.
hid_t list_class(const hdf5::Library& library, const char* name) {
  const auto* const in_library = static_cast<const hid_t*>(hdf5::library_function(library, name));
  if (in_library && *in_library > 0) return *in_library;
  const auto* const copied = static_cast<const hid_t*>(dlsym(RTLD_DEFAULT, name));
  return copied && *copied > 0 ? *copied : -1;
}

}  // namespace

bool find_create_calls(const hdf5::Calls* region, CreateCalls& functions) noexcept {
  functions = {};
  functions.region = region;
  if (!region || !region->complete) return false;
  const hdf5::Library& library = *region->library;
  bool complete = true;
  STZ_CREATE_FUNCTIONS(STZ_HDF5_LOOK_UP)
  functions.creation_class = list_class(library, "H5P_CLS_DATASET_CREATE_ID_g");
  functions.access_class = list_class(library, "H5P_CLS_DATASET_ACCESS_ID_g");
  return complete && functions.creation_class > 0 && functions.access_class > 0;
}

std::string name_of(const CreateCalls& calls, hid_t object) {
  const long length = calls.H5Iget_name(object, nullptr, 0);
  if (length <= 0) return {};
  std::string name(static_cast<size_t>(length), '\0');
  return calls.H5Iget_name(object, name.data(), name.size() + 1) == length ? name : std::string();
}

}  // namespace stz::intercept
