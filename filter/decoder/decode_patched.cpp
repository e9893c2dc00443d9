#include "decoder/decode_patched.h"

#include "base/buffer.h"
#include "decoder/decode.h"

namespace stz {
namespace {

void decode_inner(const stz_layout& expected, const u8* stream, size_t size, u8* out, int threads, Verification* verification) {
  const Header header = read_header(stream, size);
  require_inner_stream(header, expected);
  require(stream_bytes(header) == size, STZ_ERROR_CORRUPT);
  decode(stream, size, out, size_t(array_bytes(expected)), threads, verification);
}

}  // namespace

void decode_patched(const Header& h, const u8* stream, size_t size, u8* out, size_t out_size, int threads, Verification* verification) {
  require_stream_size(h, size);
  decode_inner(h.layout, stream + h.base_offset, size_t(h.base_size), out, threads, verification);
  Buffer<u8> box;
  for (const Patch& patch : h.patches) {
    const stz_layout layout = patch_layout(h.layout, patch);
    const u64 bytes = array_bytes(layout);
    require(bytes <= out_size, STZ_ERROR_CORRUPT);
    box.resize(size_t(bytes));
    decode_inner(layout, stream + patch.offset, size_t(patch.size), box.data(), threads, verification);
    lay_over(h.layout, patch.origin, patch.extent, patch, box.data(), out);
  }
}

}  // namespace stz
