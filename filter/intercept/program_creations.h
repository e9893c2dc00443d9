// Datasets that a program creates, compressed by the rules of H5STZ_COMPRESS (compress_rules.h). Called by our replacements of H5Dcreate.
//
// A dataset is created as the program requested if no rule matches, if it cannot or should not be compressed (compressed_creation.h), or if
// anything fails. The only state are the rules, which never change. The outcome for each matched dataset is appended to the file of
// H5STZ_RUN_STATS at once.
#pragma once
#include "base/function_ref.h"
#include "intercept/create_calls.h"

namespace stz::intercept {

// Creates a dataset with these property lists. Returns false if HDF5 fails.
using Create = FunctionRef<bool(hid_t creation, hid_t access)>;

// Returns true if `create` created the dataset, with our property lists; otherwise nothing was done. `region`: the functions of the HDF5
// that is called; may be null.
bool create_by_rules(const hdf5::Calls* region, const CreateArguments& arguments, Create create) noexcept;

}  // namespace stz::intercept
