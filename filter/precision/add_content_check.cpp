#include "precision/add_content_check.h"

#include "base/buffer.h"
#include "decoder/decode.h"
#include "format/frame.h"
#include "masks/content_check.h"

namespace stz {
namespace {

bool lacks_check(const Header& h, const u8* stream) {
  if (h.form != Form::blocks) return false;
  ByteReader payload(nullptr, 0);
  return h.trailer_size == 0 || !find_content_check(stream + content_bytes(h), size_t(h.trailer_size), payload);
}

// The stream must not be patched.
Bytes plain_with_check(const u8* stream, size_t size, int threads) {
  Header h = read_header(stream, size);
  require_stream_size(h, size);
  if (!lacks_check(h, stream)) return Bytes(stream, stream + size);
  std::vector<u32> checks;
  Verification collected;
  collected.made = &checks;
  Buffer<u8> array(size_t(array_bytes(h.layout)));
  decode(stream, size, array.data(), array.size(), threads, &collected);
  const Bytes trailer = write_trailer(checks);  // unknown records of the old trailer are dropped: they only describe
  const u64 from = h.size, to = content_bytes(h);
  h.trailer_size = trailer.size();
  Bytes out = write_header(h);
  out.insert(out.end(), stream + from, stream + to);
  out.insert(out.end(), trailer.begin(), trailer.end());
  return out;
}

Bytes patched_with_checks(Header h, const u8* stream, int threads) {
  Bytes inner;
  const auto add = [&](u64 offset, u64 size) {
    const Bytes checked = plain_with_check(stream + offset, size_t(size), threads);
    inner.insert(inner.end(), checked.begin(), checked.end());
    return u64(checked.size());
  };
  for (Patch& patch : h.patches) patch.size = add(patch.offset, patch.size);
  h.base_size = add(h.base_offset, h.base_size);
  h.trailer_size = 0;
  Bytes out = write_patched_header(h);
  out.insert(out.end(), inner.begin(), inner.end());
  return out;
}

}  // namespace

bool has_content_check(const u8* stream, size_t size) {
  const Header h = read_header(stream, size);
  require_stream_size(h, size);
  if (h.form != Form::patched) return !lacks_check(h, stream);
  const auto inner_lacks = [&](u64 offset, u64 bytes) { return lacks_check(read_header(stream + offset, size_t(bytes)), stream + offset); };
  for (const Patch& patch : h.patches)
    if (inner_lacks(patch.offset, patch.size)) return false;
  return !inner_lacks(h.base_offset, h.base_size);
}

Bytes with_content_check(const u8* stream, size_t size, int threads) {
  Header h = read_header(stream, size);
  require_stream_size(h, size);
  if (h.form == Form::patched) return patched_with_checks(std::move(h), stream, threads);
  return plain_with_check(stream, size, threads);
}

}  // namespace stz
