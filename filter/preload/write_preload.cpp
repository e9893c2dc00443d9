// Replaces H5Dwrite in every object of the process: threads compress whole datasets (intercept/whole_requests.h).
#include "intercept/whole_requests.h"
#include "preload/original_function.h"
#include "stz_h5.h"

extern "C" __attribute__((visibility("default"))) herr_t H5Dwrite(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl,
                                                                  const void* buf) {
  using namespace stz;
  using Write = decltype(hdf5::Calls::H5Dwrite);
  const void* const caller = __builtin_return_address(0);
  const hdf5::Calls* const calls = hdf5::calls_at(caller);
  if (!calls || !calls->H5Dwrite) {  // such as HDF5 1.8, whose ids have 32 bits
    const auto original = reinterpret_cast<Write>(preload::original_function(caller, "H5Dwrite"));
    return original ? original(dset, mem_type, mem_space, file_space, dxpl, buf) : -1;
  }
  const intercept::DatasetKey key = intercept::key_of(calls, static_cast<u64>(dset));
  const bool done = intercept::write_whole_by_threads(*calls, key, {dset, mem_type, mem_space, file_space, dxpl, const_cast<void*>(buf)});
  return done ? 0 : calls->H5Dwrite(dset, mem_type, mem_space, file_space, dxpl, buf);
}
