// Replaces H5Dcreate1 and H5Dcreate2 in every object of the process, for programs that do not set up compression
// (intercept/program_creations.h).
#include "intercept/program_creations.h"
#include "preload/original_function.h"
#include "stz_h5.h"

namespace stz::preload {
namespace {

using hdf5::hid_t;
using Create2 = hid_t (*)(hid_t location, const char* name, hid_t type, hid_t space, hid_t links, hid_t creation, hid_t access);
using Create1 = hid_t (*)(hid_t location, const char* name, hid_t type, hid_t space, hid_t creation);

// Returns the id of the dataset if it was created by a rule, else -1.
hid_t created(const void* caller, const intercept::CreateArguments& arguments, hid_t links) noexcept {
  hid_t dataset = -1;
  intercept::create_by_rules(hdf5::calls_at(caller), arguments, [&](hid_t creation, hid_t access) {
    const auto original = reinterpret_cast<Create2>(original_function(caller, "H5Dcreate2"));
    if (original) dataset = original(arguments.location, arguments.name, arguments.type, arguments.space, links, creation, access);
    return dataset >= 0;
  });
  return dataset;
}

}  // namespace
}  // namespace stz::preload

extern "C" __attribute__((visibility("default"))) hid_t H5Dcreate2(hid_t loc, const char* name, hid_t type, hid_t space, hid_t lcpl,
                                                                   hid_t dcpl, hid_t dapl) {
  using namespace stz::preload;
  const void* const caller = __builtin_return_address(0);
  const hid_t dataset = created(caller, {loc, name, type, space, dcpl, dapl}, lcpl);
  if (dataset >= 0) return dataset;
  const auto original = reinterpret_cast<Create2>(original_function(caller, "H5Dcreate2"));
  return original ? original(loc, name, type, space, lcpl, dcpl, dapl) : -1;
}

extern "C" __attribute__((visibility("default"))) hid_t H5Dcreate1(hid_t loc, const char* name, hid_t type, hid_t space, hid_t dcpl) {
  using namespace stz::preload;
  using stz::hdf5::default_properties;
  const void* const caller = __builtin_return_address(0);
  const hid_t dataset = created(caller, {loc, name, type, space, dcpl, default_properties}, default_properties);
  if (dataset >= 0) return dataset;
  const auto original = reinterpret_cast<Create1>(original_function(caller, "H5Dcreate1"));
  return original ? original(loc, name, type, space, dcpl) : -1;
}
