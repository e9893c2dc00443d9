// Whether and how a dataset that a program is about to create is compressed: the property lists with which it is created instead.
#ifndef STZ_PRELOAD_COMPRESSED_CREATION_H
#define STZ_PRELOAD_COMPRESSED_CREATION_H

#include <string>

#include "compress_rules.h"
#include "create_calls.h"

namespace stz::preload {

// What becomes of a dataset. Everything but kCompressed leaves it as the program wants it.
enum class Outcome {
  kCompressed,
  kType,     // no IEEE floating-point number of 16, 32 or 64 bits
  kRank,     // a scalar, or nothing
  kOneAxis,  // may be the scale of a dimension, and the rule has a wildcard
  kSmall,
  kLayout,      // compact, virtual, external
  kFilters,     // the program has its own
  kAllocation,  // space for all chunks is to be there at once
  kGrowing,     // would be coded again whenever it grows, which no bound survives
  kSmallChunks,
  kParallel,  // of an MPI program
  kRefused,   // HDF5 does not answer, or does not create it so
};

// For `h5stz run`, which explains it.
const char* outcome_name(Outcome outcome) noexcept;

// The path that a dataset of this name gets, without what does not count in it; empty if the location has none.
std::string path_of(const CreateCalls& calls, Id location, const char* name);

// The first rule for this dataset. Only rules without wildcards count for arrays of one axis: `outcome` says so if there is no rule
// because of that.
const Rule* rule_for(const CreateCalls& calls, const std::string& path, Id space, Outcome& outcome);

// Creates the dataset with the filter. If the result is not kCompressed, nothing has been created and nothing of the arguments changed.
Outcome create_compressed(const CreateCalls& calls, const CreateArguments& arguments, const Rule& rule, Id& dataset);

}  // namespace stz::preload

#endif
