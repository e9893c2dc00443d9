// Asks HDF5 about a dataset (dataset_facts.h). If HDF5 does not answer a question, H5Dread reads, and reports why.
#include "region/dataset_facts.h"

#include <sys/stat.h>

#include <algorithm>

#include "hdf5/datatype.h"
#include "stz_cd_values.h"

namespace stz::region {
namespace {

bool is_sec2(const Calls& calls, hid_t driver) {
  if (calls.sec2_driver) return driver == *calls.sec2_driver;
  return calls.H5FD_sec2_init && driver == calls.H5FD_sec2_init();
}

// Depending on the version, addresses count from the user block or from the beginning of the file, so files with a user block are excluded.
int plain_descriptor(const Calls& calls, hid_t file, hid_t access) {
  unsigned intent = ~read_only;
  if (calls.H5Fget_intent(file, &intent) < 0 || intent != read_only) return -1;
  const ScopedId creation(calls.H5Pclose, calls.H5Fget_create_plist(file));
  hsize_t user_block = 1;
  if (!creation.valid() || calls.H5Pget_userblock(creation.get(), &user_block) < 0 || user_block != 0) return -1;
  void* handle = nullptr;
  if (calls.H5Fget_vfd_handle(file, access, &handle) < 0 || !handle) return -1;
  return *static_cast<const int*>(handle);
}

// H5Dget_chunk_info_by_coord finds wrong chunks, in all versions up to 2.2, if an extensible array indexes the chunks (one axis grows, file
// formats since 1.10) and the growing axis is not the first.
bool confuses_chunks(const Calls& calls, hid_t dataset) {
  int index = extensible_array;
  const bool index_is_told = calls.H5Dget_chunk_index_type && calls.H5Dget_chunk_index_type(dataset, &index) >= 0;
  if (index_is_told && index != extensible_array) return false;
  const ScopedId space(calls.H5Sclose, calls.H5Dget_space(dataset));
  hsize_t limits[max_rank];
  const int rank = space.valid() ? calls.H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank < 1 || rank > max_rank || calls.H5Sget_simple_extent_dims(space.get(), nullptr, limits) != rank) return true;
  return std::find(limits + 1, limits + rank, unlimited) != limits + rank;
}

// Ranks of a parallel program may have to call H5Dread together.
stz_h5_reason check_file(const Calls& calls, hid_t dataset, DatasetFacts& facts) {
  const ScopedId file(calls.H5Fclose, calls.H5Iget_file_id(dataset));
  if (!file.valid()) return STZ_H5_REFUSED;
  if (may_use_mpi(calls, file.get())) return STZ_H5_DRIVER;
  const ScopedId access(calls.H5Pclose, calls.H5Fget_access_plist(file.get()));
  if (!access.valid()) return STZ_H5_REFUSED;
  unsigned long flags = 0;
  const hid_t driver = calls.H5Pget_driver(access.get());
  if (driver < 0 || calls.H5FDdriver_query(driver, &flags) < 0) return STZ_H5_REFUSED;
  if (flags & driver_has_mpi) return STZ_H5_DRIVER;
  const bool has_addresses = is_sec2(calls, driver) && !confuses_chunks(calls, dataset);
  facts.descriptor = has_addresses ? plain_descriptor(calls, file.get(), access.get()) : -1;
  return STZ_H5_DIRECT;
}

stz_h5_reason check_pipeline(const Calls& calls, hid_t properties) {
  if (calls.library->H5Pget_layout(properties) != hdf5::layout_chunked) return STZ_H5_LAYOUT;
  if (calls.library->H5Pget_nfilters(properties) != 1) return STZ_H5_FILTERS;
  unsigned flags = 0;
  size_t words = 0;
  const int id = calls.library->H5Pget_filter2(properties, 0, &flags, &words, nullptr, 0, nullptr, nullptr);
  return id == STZ_FILTER_ID ? STZ_H5_DIRECT : STZ_H5_FILTERS;
}

stz_h5_reason read_properties(const Calls& calls, hid_t properties, DatasetFacts& facts) {
  hsize_t extents[max_rank];
  facts.chunk.rank = calls.library->H5Pget_chunk(properties, max_rank, extents);
  if (facts.chunk.rank < 1 || facts.chunk.rank > max_rank) return STZ_H5_REFUSED;
  for (int axis = 0; axis < facts.chunk.rank; ++axis) facts.chunk.shape[axis] = extents[axis];

  unsigned options = 0;
  int fill_time = fill_never, fill_state = fill_undefined;
  if (calls.H5Pget_chunk_opts(properties, &options) < 0 || calls.H5Pget_fill_time(properties, &fill_time) < 0 ||
      calls.library->H5Pfill_value_defined(properties, &fill_state) < 0) {
    return STZ_H5_REFUSED;
  }
  facts.raw_partial_chunks = options & raw_partial_chunks;
  facts.may_skip_missing = fill_time == fill_never || fill_state == fill_undefined;
  return STZ_H5_DIRECT;
}

}  // namespace

// The handle of a plain file points to its descriptor. The handle of MPI is a pointer, half of which is not a valid descriptor.
bool may_use_mpi(const Calls& calls, hid_t file) {
  if (!calls.H5Fget_mpi_atomicity) return false;
  void* handle = nullptr;
  if (calls.H5Fget_vfd_handle(file, default_properties, &handle) < 0 || !handle) return true;
  struct stat about;
  return fstat(*static_cast<const int*>(handle), &about) != 0 || !S_ISREG(about.st_mode);
}

stz_h5_reason dataset_facts(const Calls& calls, hid_t dataset, hid_t type, hid_t transfer, DatasetFacts& facts) {
  facts = DatasetFacts{};
  const ScopedId properties(calls.H5Pclose, calls.H5Dget_create_plist(dataset));
  if (!properties.valid()) return STZ_H5_REFUSED;
  if (const stz_h5_reason reason = check_pipeline(calls, properties.get())) return reason;

  hdf5::ElementType element;
  Message unused;
  if (!hdf5::element_type(*calls.library, type, element, unused) || element.parts != 1) return STZ_H5_TYPE;
  facts.chunk.dtype = element.dtype;
  facts.chunk.byte_order = element.byte_order;
  facts.element_size = stz_element_size(element.dtype);
  if (const stz_h5_reason reason = read_properties(calls, properties.get(), facts)) return reason;

  // The call fails or gives length 0 if there is no transform.
  if (transfer != default_properties && calls.H5Pget_data_transform(transfer, nullptr, 0) > 0) return STZ_H5_TRANSFER;
  return check_file(calls, dataset, facts);
}

Conversion conversion_between(const Calls& calls, hid_t type, hid_t memory_type) {
  const herr_t equal = calls.H5Tequal(type, memory_type);
  if (equal > 0) return Conversion::none;
  if (equal < 0) return Conversion::by_hdf5;
  for (const hid_t each : {type, memory_type}) {
    const int type_class = calls.library->H5Tget_class(each);
    // A conversion of bit fields to another size keeps bits of the buffer's old contents.
    const bool number = type_class == hdf5::type_integer || type_class == hdf5::type_float || type_class == hdf5::type_enum;
    if (!number) return Conversion::by_hdf5;
  }
  return calls.H5Tcompiler_conv(type, memory_type) >= 0 ? Conversion::numbers : Conversion::by_hdf5;
}

}  // namespace stz::region
