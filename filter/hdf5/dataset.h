// What HDF5 tells a filter about a dataset when it is created: type, chunk, fill value and the other filters.
#pragma once
#include "base/message.h"
#include "hdf5/datatype.h"
#include "hdf5/library.h"
#include "stz.h"

namespace stz::hdf5 {

// True if the codec can compress such datasets: nothing in front of this filter in the pipeline, a type that it has. `element`
// gets the type.
bool check_dataset(const Library& library, hid_t properties, hid_t type, ElementType& element, Message& message);

// Reads the filter's client data from the creation properties and writes them back in the full form. May run on its own result.
bool complete_cd_values(const Library& library, hid_t properties, hid_t type, const ElementType& element, Message& message);

}  // namespace stz::hdf5
