// Whether and how a dataset that a program is about to create is compressed: the property lists with which it is created instead.
#ifndef STZ_TRANSPARENT_COMPRESSED_CREATION_H
#define STZ_TRANSPARENT_COMPRESSED_CREATION_H

#include <optional>
#include <string>

#include "compress_rules.h"
#include "create_calls.h"

namespace stz::transparent {

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

// The lists for creation and access with which a dataset is created instead.
struct Properties {
  std::optional<region::Owned> creation, access;
};

// Fills `properties` if the result is kCompressed. Changes nothing of the arguments.
Outcome compressed_properties(const CreateCalls& calls, const CreateArguments& arguments, const Rule& rule, Properties& properties);

}  // namespace stz::transparent

#endif
