// Checks a new dataset and completes its client data, from its type, chunk shape, fill value and other filters.
#pragma once
#include "base/message.h"
#include "hdf5/datatype.h"
#include "hdf5/library.h"
#include "stz.h"

namespace stz::hdf5 {

// True if the codec can compress such datasets: no filter is in front of this one in the pipeline, and the codec has the type.
// `element` gets the type.
bool check_dataset(const Library& library, hid_t properties, hid_t type, ElementType& element, Message& message);

// Reads the filter's client data from the creation properties and writes them back in the full form. May run on its own result.
bool complete_cd_values(const Library& library, hid_t properties, hid_t type, const ElementType& element, Message& message);

}  // namespace stz::hdf5
