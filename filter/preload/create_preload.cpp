// H5Dcreate for programs that know nothing of compression (transparent/program_creations.h): the functions here take the place of
// H5Dcreate1 and H5Dcreate2 in every object of the process.
#include "original_function.h"
#include "stz_h5.h"
#include "transparent/program_creations.h"

namespace stz::preload {
namespace {

using hdf5::Id;
using Create2 = Id (*)(Id location, const char* name, Id type, Id space, Id links, Id creation, Id access);
using Create1 = Id (*)(Id location, const char* name, Id type, Id space, Id creation);

// The dataset's id if it was created by a rule, else -1.
Id created(const void* caller, const transparent::CreateArguments& arguments, Id links) noexcept {
  Id dataset = -1;
  transparent::create_by_rules(region::calls_at(caller), arguments, [&](Id creation, Id access) {
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
  const Id dataset = created(caller, {loc, name, type, space, dcpl, dapl}, lcpl);
  if (dataset >= 0) return dataset;
  const auto original = reinterpret_cast<Create2>(original_function(caller, "H5Dcreate2"));
  return original ? original(loc, name, type, space, lcpl, dcpl, dapl) : -1;
}

extern "C" __attribute__((visibility("default"))) hid_t H5Dcreate1(hid_t loc, const char* name, hid_t type, hid_t space, hid_t dcpl) {
  using namespace stz::preload;
  using stz::region::kDefaultProperties;
  const void* const caller = __builtin_return_address(0);
  const Id dataset = created(caller, {loc, name, type, space, dcpl, kDefaultProperties}, kDefaultProperties);
  if (dataset >= 0) return dataset;
  const auto original = reinterpret_cast<Create1>(original_function(caller, "H5Dcreate1"));
  return original ? original(loc, name, type, space, dcpl) : -1;
}
