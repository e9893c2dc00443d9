#include "decoder/decode_patched.h"

#include "base/buffer.h"
#include "decoder/decode.h"
#include "decoder/decode_fields.h"
#include "decoder/decode_level.h"

namespace stz {
namespace {

// Fails unless an inner stream is for such an array and its checks are right.
void verify_inner(const Header& outer, const stz_layout& expected, const u8* stream, size_t size) {
  const Header header = read_header(stream, size);
  require_inner_stream(outer, header, expected);
  require(stream_bytes(header) == size, STZ_ERROR_CORRUPT);
  if (header.form == Form::blocks)
    verify_sections(header, stream, size, header.layers.refinements());
  else if (!header.fields.any())  // decoding checks fields block by block
    checked_payload(header, stream, size);
}

}  // namespace

void decode_patched(const Header& h, const u8* stream, size_t size, u8* out, size_t out_size, int threads, Verification* verification) {
  require_stream_size(h, size);
  verify_inner(h, h.layout, stream + h.base_offset, size_t(h.base_size));
  decode(stream + h.base_offset, size_t(h.base_size), out, out_size, threads, verification);
  Buffer<u8> box, others;
  for (size_t k = 0; k < h.patches.size(); k++) {
    const Patch& patch = h.patches[k];
    const stz_layout layout = patch_layout(h, patch);
    const u64 bytes = array_bytes(layout);
    require(bytes <= out_size, STZ_ERROR_CORRUPT);
    verify_inner(h, layout, stream + patch.offset, size_t(patch.size));
    box.resize(size_t(bytes));
    decode(stream + patch.offset, size_t(patch.size), box.data(), size_t(bytes), threads, verification);
    if (!h.repeats.empty()) {
      others.resize(size_t(bytes));
      take_box(h.layout, h.repeats[k].source, patch.extent, out, others.data());
      add_differences(h, h.repeats[k], patch.extent, others.data(), box.data());
    }
    lay_over(h.layout, patch.origin, patch.extent, patch, box.data(), out);
  }
}

}  // namespace stz
