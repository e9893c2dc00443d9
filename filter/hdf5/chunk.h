// Encoding and decoding of one chunk, with the arguments of an HDF5 filter.
#pragma once
#include "base/message.h"
#include "hdf5/library.h"

namespace stz::hdf5 {

// Both replace *buffer by a new one of *buffer_size bytes and return the number of bytes that hold data. On an error they set
// `message`, change nothing else and return 0.
size_t encode_chunk(const Library& library, size_t cd_count, const unsigned* cd_values, size_t bytes, size_t* buffer_size, void** buffer,
                    Message& message);
size_t decode_chunk(const Library& library, size_t cd_count, const unsigned* cd_values, size_t bytes, size_t* buffer_size, void** buffer,
                    Message& message);

}  // namespace stz::hdf5
