// H5Dwrite for programs whose datasets are compressed by rules: the function here takes the place of H5Dwrite in every object of the
// process. It writes as HDF5 does, and watches what that does to stored chunks (intercept/program_writes.h).
#include "intercept/program_writes.h"
#include "preload/original_function.h"
#include "stz_h5.h"

extern "C" __attribute__((visibility("default"))) herr_t H5Dwrite(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl,
                                                                  const void* buf) {
  using namespace stz;
  using Write =
      hdf5::herr_t (*)(hid_t dataset, hid_t memory_type, hid_t memory_space, hid_t file_space, hid_t transfer, const void* buffer);
  const void* const caller = __builtin_return_address(0);
  const auto original = reinterpret_cast<Write>(preload::original_function(caller, "H5Dwrite"));
  if (!original) return -1;
  const intercept::WatchedWrite write;
  const hdf5::herr_t status = original(dset, mem_type, mem_space, file_space, dxpl, buf);
  if (status >= 0 && write.rewrote()) intercept::count_rewrite(hdf5::calls_at(caller), dset);
  return status;
}
