// Datasets that a program creates, by the rules of H5STZ_COMPRESS (compress_rules.h): what h5stz run has put in the place of H5Dcreate asks
// here.
//
// What no rule names, and what cannot be compressed or should not be (compressed_creation.h), is created as the program wants it, and so is
// everything where something fails. State: the rules, which never change. What became of each dataset that a rule names goes to the file of
// H5STZ_RUN_STATS at once.
#pragma once
#include "base/function_ref.h"
#include "intercept/create_calls.h"

namespace stz::intercept {

// Creates a dataset with these property lists. False if HDF5 does not.
using Create = FunctionRef<bool(hid_t creation, hid_t access)>;

// True if the dataset has been created by `create`, with other property lists than the program's; else nothing has happened. `region`: the
// functions of the HDF5 that creates it; null: there is none.
bool create_by_rules(const hdf5::Calls* region, const CreateArguments& arguments, Create create) noexcept;

}  // namespace stz::intercept
