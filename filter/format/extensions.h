// Extension records of a header: what a stream says beyond the fixed fields, so that the format can grow. Records with an odd tag are
// critical: a reader that does not know one refuses the stream, because its samples would come out differently. Those with an even tag
// only describe, and are skipped where they are unknown. Byte by byte: docs/format.md, "Extension records".
#pragma once
#include "base/bytes.h"

namespace stz {

struct Header;

enum ExtensionTag : u64 {
  tag_layers = 1,             // reserved
  tag_trailer_size = 2,       // a varint
  tag_syntax = 3,             // reserved
  tag_axis_map = 5,           // a byte for each axis (axis_map.h); form blocks
  tag_accumulated_bound = 6,  // a double
  tag_enhancement = 9,        // reserved
  tag_bound_used = 8,         // empty
  tag_exact_size = 12,        // a varint
};

// The records that `h` calls for, with the length in front of them; nothing if there are none.
Bytes write_extensions(const Header& h);

// A critical record that this version does not know: STZ_ERROR_VERSION.
struct UnknownRecord : Failure {
  explicit UnknownRecord(u64 of_tag) : Failure{STZ_ERROR_VERSION}, tag(of_tag) {}
  u64 tag;
};

// Reads the length and the records. Fails with UnknownRecord at one that is critical.
void read_extensions(ByteReader& in, Header& h);

}  // namespace stz
