// The functions of HDF5 that creating a dataset takes, beside those of region/calls.h.
#ifndef STZ_TRANSPARENT_CREATE_CALLS_H
#define STZ_TRANSPARENT_CREATE_CALLS_H

#include <string>

#include "region/calls.h"

namespace stz::transparent {

using hdf5::Id;
using hdf5::Size;
using hdf5::Status;

// Of what a program passes to H5Dcreate, what matters here; H5Dcreate1 has no list for access.
struct CreateArguments {
  Id location;
  const char* name;  // null if it gets none
  Id type, space, creation, access;
};

// name, result, parameters
#define STZ_CREATE_FUNCTIONS(X)                                                                    \
  X(H5Iget_name, long, (Id object, char* name, size_t size))                                       \
  X(H5Pcopy, Id, (Id properties))                                                                  \
  X(H5Pcreate, Id, (Id list_class))                                                                \
  X(H5Pget_alloc_time, Status, (Id properties, int* time))                                         \
  X(H5Pget_chunk_cache, Status, (Id properties, size_t* slots, size_t* bytes, double* preemption)) \
  X(H5Pget_external_count, int, (Id properties))                                                   \
  X(H5Pset_alloc_time, Status, (Id properties, int time))                                          \
  X(H5Pset_chunk, Status, (Id properties, int rank, const Size* extents))                          \
  X(H5Pset_chunk_cache, Status, (Id properties, size_t slots, size_t bytes, double preemption))    \
  X(H5Pset_filter, Status, (Id properties, int filter, unsigned flags, size_t cd_count, const unsigned* cd_values))

struct CreateCalls {
  const region::Calls* region;
#define STZ_CREATE_MEMBER(name, result, parameters) result(*name) parameters;
  STZ_CREATE_FUNCTIONS(STZ_CREATE_MEMBER)
#undef STZ_CREATE_MEMBER
  Id creation_class, access_class;  // H5P_DATASET_CREATE, H5P_DATASET_ACCESS
};

// Those of the same HDF5 as `region`, which may be null. False if it has not all of them.
bool find_create_calls(const region::Calls* region, CreateCalls& calls) noexcept;

// The path of an object; empty if it has none.
std::string name_of(const CreateCalls& calls, Id object);

}  // namespace stz::transparent

#endif
