// Predictions for the chunks of one dataset, trained on a few of them.
#pragma once
#include "base/common.h"
#include "base/function_ref.h"
#include "stz.h"

namespace stz::hdf5 {

// ChunkFunctions::train. Returns null if chunks with this client data do not learn in the process, or if training would not pay.
stz_learned* train_on_chunks(size_t cd_count, const unsigned* cd_values, u64 chunks, FunctionRef<const void*(u64 number)> gather);

}  // namespace stz::hdf5
