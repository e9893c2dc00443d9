// Whether and how a dataset that a program is about to create is compressed: the property lists with which it is created instead.
#pragma once
#include <optional>
#include <string>

#include "intercept/compress_rules.h"
#include "intercept/create_calls.h"

namespace stz::intercept {

// What becomes of a dataset. Everything but compressed leaves it as the program wants it.
enum class Outcome {
  compressed,
  type,      // no IEEE floating-point number of 16, 32 or 64 bits
  rank,      // a scalar, or nothing
  one_axis,  // may be the scale of a dimension, and the rule has a wildcard
  small,
  layout,      // compact, virtual, external
  filters,     // the program has its own
  allocation,  // space for all chunks is to be there at once
  small_chunks,
  parallel,  // of an MPI program
  refused,   // HDF5 does not answer, or does not create it so
};

// For `h5stz run`, which explains it.
const char* outcome_name(Outcome outcome) noexcept;

// The path that a dataset of this name gets, without what does not count in it; empty if the location has none.
std::string path_of(const CreateCalls& calls, hid_t location, const char* name);

// The first rule for this dataset. Only rules that are its path count for arrays of one axis: `outcome` says so if there is no rule
// because of that.
const Rule* rule_for(const CreateCalls& calls, const std::string& path, hid_t space, Outcome& outcome);

// The lists for creation and access with which a dataset is created instead.
struct Properties {
  std::optional<hdf5::ScopedId> creation, access;
};

// Fills `properties` if the result is compressed. Changes nothing of the arguments.
Outcome compressed_properties(const CreateCalls& calls, const CreateArguments& arguments, const Rule& rule, Properties& properties);

}  // namespace stz::intercept
