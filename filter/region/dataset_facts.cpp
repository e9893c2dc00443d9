// Questions to HDF5 about a dataset (dataset_facts.h). A question that HDF5 does not answer means H5Dread: it then says why.
#include "dataset_facts.h"

#include <sys/stat.h>

#include <algorithm>

#include "hdf5/datatype.h"
#include "hdf5/filter_id.h"

namespace stz::region {
namespace {

bool is_sec2(const Calls& calls, Id driver) {
  if (calls.sec2_driver) return driver == *calls.sec2_driver;
  return calls.H5FD_sec2_init && driver == calls.H5FD_sec2_init();
}

// Addresses count from the user block in some versions and from the file's begin in others, so there must be none.
int plain_descriptor(const Calls& calls, Id file, Id access) {
  unsigned intent = ~kReadOnly;
  if (calls.H5Fget_intent(file, &intent) < 0 || intent != kReadOnly) return -1;
  const Owned creation(calls.H5Pclose, calls.H5Fget_create_plist(file));
  Size user_block = 1;
  if (!creation.valid() || calls.H5Pget_userblock(creation.get(), &user_block) < 0 || user_block != 0) return -1;
  void* handle = nullptr;
  if (calls.H5Fget_vfd_handle(file, access, &handle) < 0 || !handle) return -1;
  return *static_cast<const int*>(handle);
}

// Where chunks are indexed by an extensible array (one axis grows, file formats from 1.10 on) and it is not the first axis that grows,
// H5Dget_chunk_info_by_coord finds other chunks than those that it is asked for, in all versions to 2.2.
bool confuses_chunks(const Calls& calls, Id dataset) {
  int index = kExtensibleArray;
  const bool known = calls.H5Dget_chunk_index_type && calls.H5Dget_chunk_index_type(dataset, &index) >= 0;
  if (known && index != kExtensibleArray) return false;
  const Owned space(calls.H5Sclose, calls.H5Dget_space(dataset));
  Size limits[kMaxRank];
  const int rank = space.valid() ? calls.H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank < 1 || rank > kMaxRank || calls.H5Sget_simple_extent_dims(space.get(), nullptr, limits) != rank) return true;
  return std::find(limits + 1, limits + rank, kUnlimited) != limits + rank;
}

// Ranks of a parallel program may have to call H5Dread together.
stz_h5_reason check_file(const Calls& calls, Id dataset, DatasetFacts& facts) {
  const Owned file(calls.H5Fclose, calls.H5Iget_file_id(dataset));
  if (!file.valid()) return STZ_H5_REFUSED;
  if (may_use_mpi(calls, file.get())) return STZ_H5_DRIVER;
  const Owned access(calls.H5Pclose, calls.H5Fget_access_plist(file.get()));
  if (!access.valid()) return STZ_H5_REFUSED;
  unsigned long flags = 0;
  const Id driver = calls.H5Pget_driver(access.get());
  if (driver < 0 || calls.H5FDdriver_query(driver, &flags) < 0) return STZ_H5_REFUSED;
  if (flags & kDriverHasMpi) return STZ_H5_DRIVER;
  const bool has_addresses = is_sec2(calls, driver) && !confuses_chunks(calls, dataset);
  facts.descriptor = has_addresses ? plain_descriptor(calls, file.get(), access.get()) : -1;
  return STZ_H5_DIRECT;
}

stz_h5_reason check_pipeline(const Calls& calls, Id properties) {
  if (calls.library->H5Pget_layout(properties) != hdf5::kLayoutChunked) return STZ_H5_LAYOUT;
  if (calls.library->H5Pget_nfilters(properties) != 1) return STZ_H5_FILTERS;
  unsigned flags = 0;
  size_t words = 0;
  const int id = calls.library->H5Pget_filter2(properties, 0, &flags, &words, nullptr, 0, nullptr, nullptr);
  return id == STZ_FILTER_ID ? STZ_H5_DIRECT : STZ_H5_FILTERS;
}

stz_h5_reason read_properties(const Calls& calls, Id properties, DatasetFacts& facts) {
  Size extents[kMaxRank];
  facts.chunk.rank = calls.library->H5Pget_chunk(properties, kMaxRank, extents);
  if (facts.chunk.rank < 1 || facts.chunk.rank > kMaxRank) return STZ_H5_REFUSED;
  for (int axis = 0; axis < facts.chunk.rank; ++axis) facts.chunk.shape[axis] = extents[axis];

  unsigned options = 0;
  int fill_time = kFillNever, fill_state = kFillUndefined;
  if (calls.H5Pget_chunk_opts(properties, &options) < 0 || calls.H5Pget_fill_time(properties, &fill_time) < 0 ||
      calls.library->H5Pfill_value_defined(properties, &fill_state) < 0) {
    return STZ_H5_REFUSED;
  }
  facts.raw_partial_chunks = options & kRawPartialChunks;
  facts.may_skip_missing = fill_time == kFillNever || fill_state == kFillUndefined;
  return STZ_H5_DIRECT;
}

}  // namespace

// The handle of a plain file is its descriptor, that of MPI a pointer, half of which is no descriptor.
bool may_use_mpi(const Calls& calls, Id file) {
  if (!calls.H5Fget_mpi_atomicity) return false;
  void* handle = nullptr;
  if (calls.H5Fget_vfd_handle(file, kDefaultProperties, &handle) < 0 || !handle) return true;
  struct stat about;
  return fstat(*static_cast<const int*>(handle), &about) != 0 || !S_ISREG(about.st_mode);
}

stz_h5_reason dataset_facts(const Calls& calls, Id dataset, Id type, Id transfer, DatasetFacts& facts) {
  facts = DatasetFacts{};
  const Owned properties(calls.H5Pclose, calls.H5Dget_create_plist(dataset));
  if (!properties.valid()) return STZ_H5_REFUSED;
  if (const stz_h5_reason reason = check_pipeline(calls, properties.get())) return reason;

  hdf5::ElementType element;
  hdf5::Message unused;
  if (!hdf5::element_type(*calls.library, type, element, unused)) return STZ_H5_TYPE;
  facts.chunk.dtype = element.dtype;
  facts.chunk.byte_order = element.byte_order;
  facts.element_size = stz_element_size(element.dtype);
  if (const stz_h5_reason reason = read_properties(calls, properties.get(), facts)) return reason;

  // It fails, or has no length, if there is none.
  if (transfer != kDefaultProperties && calls.H5Pget_data_transform(transfer, nullptr, 0) > 0) return STZ_H5_TRANSFER;
  return check_file(calls, dataset, facts);
}

Conversion conversion_between(const Calls& calls, Id type, Id memory_type) {
  const Status equal = calls.H5Tequal(type, memory_type);
  if (equal > 0) return Conversion::kNone;
  if (equal < 0) return Conversion::kByHdf5;
  for (const Id each : {type, memory_type}) {
    const int type_class = calls.library->H5Tget_class(each);
    // Bit fields of other sizes keep bits of what the buffer held.
    const bool number = type_class == hdf5::kTypeInteger || type_class == hdf5::kTypeFloat || type_class == hdf5::kTypeEnum;
    if (!number) return Conversion::kByHdf5;
  }
  return calls.H5Tcompiler_conv(type, memory_type) >= 0 ? Conversion::kNumbers : Conversion::kByHdf5;
}

}  // namespace stz::region
