// Writes a stream with an axis map that the encoder would not choose by itself:
//   mapped_stream DTYPE BYTE_ORDER MODE BOUND SHAPE MAP < array > stream
// SHAPE: extents, commas between them. MAP: a digit for the role of every axis. Exits with 3 if the array cannot be stored in blocks.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "encoder/smallest_stream.h"

using namespace stz;

namespace {

Header header_of(char** arguments) {
  Header h;
  h.layout.dtype = atoi(arguments[0]);
  h.layout.byte_order = atoi(arguments[1]);
  h.mode = atoi(arguments[2]);
  h.bound = h.half_step = atof(arguments[3]);
  for (const char* extent = arguments[4]; *extent;) {
    char* end;
    h.layout.shape[h.layout.rank++] = strtoull(extent, &end, 10);
    extent = *end ? end + 1 : end;
  }
  for (const char* role = arguments[5]; *role; role++) h.axis_map.push_back(u8(*role - '0'));
  return h;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 7) return 2;
  try {
    Header h = header_of(arguments + 1);
    Bytes data(array_bytes(h.layout));
    if (fread(data.data(), 1, data.size(), stdin) != data.size()) return 2;
    const Array array{h.layout, data.data()};
    find_valid_extent(array, h);
    const Bytes stream = smallest_stream<Stream>(array, h, {}).bytes;
    if (stream.empty()) return 3;
    return fwrite(stream.data(), 1, stream.size(), stdout) == stream.size() ? 0 : 2;
  } catch (const Failure& failure) {
    fprintf(stderr, "error %d\n", failure.code);
    return 1;
  }
}
