// Describes the feature that a stream needs and this library lacks (stz.h).
#include "base/guard.h"
#include "base/message.h"
#include "format/extensions.h"
#include "format/frame.h"
#include "stz.h"

namespace stz {
namespace {

const char* record_name(u64 tag) {
  switch (tag) {
    case tag_syntax:
      return "a later syntax of sections";
    default:
      return "a feature without a name yet";
  }
}

// `inside`: of a patched stream. A nested patched stream is damage, so it is not followed.
void describe(const u8* stream, size_t size, bool inside, Message& message) {
  try {
    const Header header = read_header(stream, size);
    if (inside || header.form != Form::patched || stream_bytes(header) > size) return;
    for (const Patch& patch : header.patches)
      if (!message.text[0]) describe(stream + patch.offset, size_t(patch.size), true, message);
    if (!message.text[0]) describe(stream + header.base_offset, size_t(header.base_size), true, message);
  } catch (const UnknownRecord& record) {
    message.set("%s (critical record %llu)", record_name(record.tag), static_cast<unsigned long long>(record.tag));
  } catch (const Failure& failure) {
    if (failure.code != STZ_ERROR_VERSION || message.text[0]) return;
    if (stream[3] != STZ_FORMAT_VERSION)
      message.set("format version %d; this library reads version %d", stream[3], STZ_FORMAT_VERSION);
    else
      message.set("a field of the header has a value that is reserved");
  }
}

}  // namespace
}  // namespace stz

extern "C" int stz_missing_feature(const void* stream, size_t size, char* text, size_t capacity) {
  using namespace stz;
  if (!stream || !text || capacity == 0) return STZ_ERROR_ARGUMENT;
  text[0] = 0;
  return guarded([&] {
    Message message;
    describe(static_cast<const u8*>(stream), size, false, message);
    message.copy_to(text, capacity);
  });
}
