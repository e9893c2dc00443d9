// Replaces H5Dread in every object of the process, for programs that do not use partial reads (intercept/program_reads.h) or threads
// (intercept/whole_requests.h). It reads with the HDF5 that the caller would have called.
#include "intercept/program_reads.h"
#include "intercept/whole_requests.h"
#include "preload/original_function.h"
#include "stz_h5.h"

extern "C" __attribute__((visibility("default"))) herr_t H5Dread(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl,
                                                                 void* buf) {
  using namespace stz;
  using Read = decltype(hdf5::Calls::H5Dread);
  const void* const caller = __builtin_return_address(0);
  const hdf5::Calls* const calls = hdf5::calls_at(caller);
  if (!calls || !calls->H5Dread) {  // such as HDF5 1.8, whose ids have 32 bits
    const auto original = reinterpret_cast<Read>(preload::original_function(caller, "H5Dread"));
    intercept::count_read(true);
    return original ? original(dset, mem_type, mem_space, file_space, dxpl, buf) : -1;
  }
  const intercept::DatasetKey key = intercept::key_of(calls, static_cast<u64>(dset));
  const intercept::ReadArguments arguments{dset, mem_type, mem_space, file_space, dxpl, buf};
  const bool done = intercept::read_whole_by_threads(*calls, key, arguments) ||
                    (intercept::worth_reading_directly(key, file_space) && intercept::read_needed_blocks(*calls, key, arguments));
  intercept::count_read(!done);
  return done ? 0 : calls->H5Dread(dset, mem_type, mem_space, file_space, dxpl, buf);
}
