// H5Dwrite for programs whose datasets are compressed by rules: the function here takes the place of H5Dwrite in every object of the
// process. It writes as HDF5 does, and watches what that does to stored chunks (transparent/program_writes.h).
#include "original_function.h"
#include "stz_h5.h"
#include "transparent/program_writes.h"

extern "C" __attribute__((visibility("default"))) herr_t H5Dwrite(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl,
                                                                  const void* buf) {
  using namespace stz;
  using Write =
      hdf5::Status (*)(hid_t dataset, hid_t memory_type, hid_t memory_space, hid_t file_space, hid_t transfer, const void* buffer);
  const void* const caller = __builtin_return_address(0);
  const auto original = reinterpret_cast<Write>(preload::original_function(caller, "H5Dwrite"));
  if (!original) return -1;
  const transparent::WatchedWrite write;
  const hdf5::Status status = original(dset, mem_type, mem_space, file_space, dxpl, buf);
  if (status >= 0 && write.rewrote()) transparent::count_rewrite(region::calls_at(caller), dset);
  return status;
}
