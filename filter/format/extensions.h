// Extension records of a header hold what the fixed fields do not, so that the format can grow. Records with an odd tag are critical: they
// change the decoded samples, so a reader that does not know one refuses the stream. Records with an even tag only describe; a reader skips
// unknown ones. A trailer has records of the same form. Byte by byte: docs/format.md, "Extension records" and "Trailer".
#pragma once
#include "base/bytes.h"

namespace stz {

struct Header;

enum ExtensionTag : u64 {
  tag_layers = 1,             // layers.h; form blocks
  tag_trailer_size = 2,       // a varint
  tag_syntax = 3,             // reserved
  tag_content_check = 4,      // in a trailer: content_check.h
  tag_axis_map = 5,           // a byte for each axis (axis_map.h); form blocks
  tag_accumulated_bound = 6,  // a double
  tag_value_range = 7,        // value_range.h; form blocks
  tag_bound_used = 8,         // empty
  tag_enhancement = 9,        // enhancement.h; form blocks
  tag_layer_errors = 10,      // layers.h; form blocks
  tag_float_fields = 11,      // float_fields.h; form raw
  tag_exact_size = 12,        // a varint
  tag_remainders = 13,        // remainders.h; form blocks
  tag_decimals = 15,          // decimals.h; form blocks
  tag_slice_grids = 17,       // slice_grids.h; form blocks
  tag_repeats = 19,           // repeats.h; form patched
};

// Calls f(tag, payload) for every record. Fails unless tags increase strictly and the last record ends with the bytes.
template <class F>
void for_records(ByteReader records, F f) {
  u64 previous = 0;
  while (records.left()) try {
      const u64 tag = records.varint();
      require(tag > previous, STZ_ERROR_CORRUPT);
      previous = tag;
      const u64 length = records.varint();
      f(tag, ByteReader(records.take(length), size_t(length)));
    } catch (const Failure& failure) {
      if (failure.code != STZ_ERROR_TRUNCATED) throw;
      fail(STZ_ERROR_CORRUPT);  // the records are too short, not the stream
    }
}

// The records that `h` needs, preceded by their length; empty if there are none.
Bytes write_extensions(const Header& h);

// A critical record that this version does not know (STZ_ERROR_VERSION).
struct UnknownRecord : Failure {
  explicit UnknownRecord(u64 of_tag) : Failure{STZ_ERROR_VERSION}, tag(of_tag) {}
  u64 tag;
};

// Reads the length and the records. Throws UnknownRecord at an unknown critical record.
void read_extensions(ByteReader& in, Header& h);

}  // namespace stz
