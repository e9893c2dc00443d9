// The HDF5 functions that creating a dataset needs, beyond those of hdf5/calls.h.
#pragma once
#include <string>

#include "hdf5/calls.h"

namespace stz::intercept {

using hdf5::herr_t;
using hdf5::hid_t;
using hdf5::hsize_t;

// The arguments of H5Dcreate that matter here. H5Dcreate1 has no access list.
struct CreateArguments {
  hid_t location;
  const char* name;  // null for an anonymous dataset
  hid_t type, space, creation, access;
};

#define STZ_CREATE_FUNCTIONS(X)                                                                         \
  X(H5Iget_name, long, (hid_t object, char* name, size_t size))                                         \
  X(H5Pcopy, hid_t, (hid_t properties))                                                                 \
  X(H5Pcreate, hid_t, (hid_t list_class))                                                               \
  X(H5Pget_alloc_time, herr_t, (hid_t properties, int* time))                                           \
  X(H5Pget_chunk_cache, herr_t, (hid_t properties, size_t * slots, size_t * bytes, double* preemption)) \
  X(H5Pget_external_count, int, (hid_t properties))                                                     \
  X(H5Pset_alloc_time, herr_t, (hid_t properties, int time))                                            \
  X(H5Pset_chunk, herr_t, (hid_t properties, int rank, const hsize_t* extents))                         \
  X(H5Pset_chunk_cache, herr_t, (hid_t properties, size_t slots, size_t bytes, double preemption))      \
  X(H5Pset_filter, herr_t, (hid_t properties, int filter, unsigned flags, size_t cd_count, const unsigned* cd_values))

struct CreateCalls {
  const hdf5::Calls* region;
  STZ_CREATE_FUNCTIONS(STZ_HDF5_MEMBER)
  hid_t creation_class, access_class;  // H5P_DATASET_CREATE, H5P_DATASET_ACCESS
};

// Finds the functions in the same HDF5 as `region` (may be null). Returns false if any is missing.
bool find_create_calls(const hdf5::Calls* region, CreateCalls& functions) noexcept;

// The path of an object; empty if it has none.
std::string name_of(const CreateCalls& calls, hid_t object);

}  // namespace stz::intercept
