// Decides whether and how a new dataset is compressed, and makes the property lists to create it with.
#pragma once
#include <optional>
#include <string>

#include "intercept/compress_rules.h"
#include "intercept/create_calls.h"

namespace stz::intercept {

// What was decided for a dataset. All values except `compressed` mean that it is created as the program requested.
enum class Outcome {
  compressed,
  type,      // not an IEEE floating-point number of 16, 32 or 64 bits
  rank,      // a scalar or null dataspace
  one_axis,  // may be a dimension scale, and the rule has wildcards
  small,
  layout,      // compact, virtual or external
  filters,     // the program set filters
  allocation,  // space for all chunks is allocated early
  small_chunks,
  parallel,  // the program uses MPI
  refused,   // HDF5 did not answer a query, or could not create the dataset with our lists
};

// The name that `h5stz run` reads and explains.
const char* outcome_name(Outcome outcome) noexcept;

// The normalized path of a new dataset with this name; empty if the location has no path.
std::string path_of(const CreateCalls& calls, hid_t location, const char* name);

// The first rule for this dataset. One-dimensional arrays are matched only by rules that are their exact path. If only a wildcard rule
// matches, it is returned and `outcome` is one_axis.
const Rule* rule_for(const CreateCalls& calls, const std::string& path, hid_t space, Outcome& outcome);

// The property lists to create the dataset with.
struct Properties {
  std::optional<hdf5::ScopedId> creation, access;
};

// Fills `properties` if the result is `compressed`. The arguments are not changed.
Outcome compressed_properties(const CreateCalls& calls, const CreateArguments& arguments, const Rule& rule, Properties& properties);

}  // namespace stz::intercept
