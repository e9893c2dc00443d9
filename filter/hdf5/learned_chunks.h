// What chunks teach each other (stz_learned): one memory for each kind of dataset that the process writes. Datasets of
// a kind have the same client data and the same layout of chunks. Only the 32 kinds written last are kept.
#pragma once
#include <memory>

#include "stz.h"

namespace stz::hdf5 {

// The memory for chunks of a dataset: that of its client data, or else what the process has learned. Null if there is none, or if the
// variable H5STZ_LEARN turns the latter off (0).
std::shared_ptr<stz_learned> learned_of(const stz_layout& layout, size_t cd_count, const unsigned* cd_values) noexcept;

// Whether client data, which were parsed without an error, have predictions.
bool has_predictions(size_t cd_count, const unsigned* cd_values) noexcept;

// Whether chunks with these options and client data learn from others of the process: learned_of() is not null, and not of the client data.
bool learns_in_process(const stz_options& options, size_t cd_count, const unsigned* cd_values) noexcept;

}  // namespace stz::hdf5
