// Finds the functions (calls.h). Invariants: all of one table lie in one loaded object; a published table never changes.
#include "hdf5/calls.h"

#include <new>

#include "base/published_list.h"

// Weak references that nothing calls. A program that links HDF5 statically exports only symbols that its shared libraries refer to.
// With these references, this library finds the HDF5 in such a program.
extern "C" {
#define STZ_READING_WEAK(name, result, parameters) extern char name __attribute__((weak));
STZ_HDF5_FUNCTIONS(STZ_READING_WEAK)
STZ_READING_FUNCTIONS(STZ_READING_WEAK)
STZ_READING_OPTIONAL_FUNCTIONS(STZ_READING_WEAK)
extern char H5Dread __attribute__((weak));
extern char H5E_ERR_CLS_g __attribute__((weak));
extern char H5E_PLINE_g __attribute__((weak));
extern char H5E_CANTFILTER_g __attribute__((weak));
#undef STZ_READING_WEAK

#define STZ_READING_ADDRESS(name, result, parameters) &name,
__attribute__((used)) static const char* const references[] = {
    STZ_HDF5_FUNCTIONS(STZ_READING_ADDRESS) STZ_READING_FUNCTIONS(STZ_READING_ADDRESS) STZ_READING_OPTIONAL_FUNCTIONS(STZ_READING_ADDRESS) &
        H5Dread,
    &H5E_ERR_CLS_g,
    &H5E_PLINE_g,
    &H5E_CANTFILTER_g,
};
#undef STZ_READING_ADDRESS
}

namespace stz::hdf5 {
namespace {

PublishedList<Calls> known_calls;

void find_all(const Library& library, Calls& functions) {
  functions.library = &library;
  bool complete = false;
  STZ_READING_OPTIONAL_FUNCTIONS(STZ_HDF5_LOOK_UP)
  complete = find_function(library, "H5Dread", functions.H5Dread);
  STZ_READING_FUNCTIONS(STZ_HDF5_LOOK_UP)
  functions.complete = complete && (functions.H5Dread_chunk || functions.H5Dread_chunk1 || functions.H5Dread_chunk2);
  functions.sec2_driver = static_cast<const hid_t*>(library_function(library, "H5FD_SEC2_id_g"));
}

}  // namespace

const Calls* calls_at(const void* return_address) noexcept {
  const Library* const library = library_used_at(return_address);
  return library ? calls_of(*library) : nullptr;
}

const Calls* calls_of(const Library& library) noexcept {
  if (const Calls* const calls = known_calls.find([&](const Calls& entry) { return entry.library == &library; })) return calls;
  auto* const entry = new (std::nothrow) Calls{};
  if (!entry) return nullptr;
  find_all(library, *entry);
  return known_calls.publish(entry);
}

bool read_stored_chunk(const Calls& calls, hid_t dataset, hid_t transfer, const hsize_t* offset, size_t size, u32& mask, void* bytes) {
  if (calls.H5Dread_chunk2) return calls.H5Dread_chunk2(dataset, transfer, offset, &mask, bytes, &size) >= 0;
  const auto read = calls.H5Dread_chunk1 ? calls.H5Dread_chunk1 : calls.H5Dread_chunk;
  return read(dataset, transfer, offset, &mask, bytes) >= 0;
}

SuppressErrors::SuppressErrors(const Calls& calls) : calls_(calls) {
  if (calls.H5Eauto_is_v2(default_error_stack, &is_second_) < 0) return;
  if (is_second_) {
    changed_ = calls.H5Eget_auto2(default_error_stack, &printer2_, &context_) >= 0 &&
               calls.H5Eset_auto2(default_error_stack, nullptr, nullptr) >= 0;
  } else if (calls.H5Eget_auto1 && calls.H5Eset_auto1) {
    changed_ = calls.H5Eget_auto1(&printer1_, &context_) >= 0 && calls.H5Eset_auto1(nullptr, nullptr) >= 0;
  }
}

SuppressErrors::~SuppressErrors() {
  if (!changed_) return;
  if (is_second_)
    calls_.H5Eset_auto2(default_error_stack, printer2_, context_);
  else
    calls_.H5Eset_auto1(printer1_, context_);
}

}  // namespace stz::hdf5
