#include "format/extensions.h"

#include "format/axis_map.h"

namespace stz {
namespace {

void put_record(Bytes& out, u64 tag, const Bytes& payload) {
  put_varint(out, tag);
  put_varint(out, payload.size());
  out.insert(out.end(), payload.begin(), payload.end());
}

// Reads the roles of the axes. CodecAxes checks them when the valid extent is known.
void read_axis_map(ByteReader& payload, Header& h) {
  require(payload.left() == size_t(h.layout.rank) && h.layout.rank > 0, STZ_ERROR_CORRUPT);
  while (payload.left()) {
    h.axis_map.push_back(payload.get<u8>());
    require(h.axis_map.back() <= merged_role, STZ_ERROR_VERSION);
  }
}

// A record that only streams of the form blocks have.
void read_record_of_blocks(u64 tag, ByteReader& payload, Header& h) {
  require(h.form == Form::blocks, STZ_ERROR_CORRUPT);
  switch (tag) {
    case tag_layers:
      return read_layers(payload, h.layers);
    case tag_axis_map:
      return read_axis_map(payload, h);
    case tag_value_range:
      return read_value_range(payload, h, h.range);
    case tag_enhancement:
      return read_enhancement(payload, h.enhancement);
    case tag_layer_errors:
      return read_layer_errors(payload, h.layers);
    case tag_remainders:
      return read_remainders(payload, h.remainders);
    case tag_decimals:
      return read_decimals(payload, h.decimals);
    default:
      return read_slice_grids(payload, h, h.slices);
  }
}

void read_record(u64 tag, ByteReader payload, Header& h) {
  switch (tag) {
    case tag_layers:
    case tag_axis_map:
    case tag_value_range:
    case tag_enhancement:
    case tag_layer_errors:
    case tag_remainders:
    case tag_decimals:
    case tag_slice_grids:
      read_record_of_blocks(tag, payload, h);
      break;
    case tag_trailer_size:
      h.trailer_size = payload.varint();
      require(h.trailer_size >= smallest_trailer, STZ_ERROR_CORRUPT);
      break;
    case tag_accumulated_bound:
      h.accumulated_bound = payload.get_double();
      require(h.accumulated_bound > 0 && h.accumulated_bound < __builtin_inf(), STZ_ERROR_CORRUPT);
      break;
    case tag_bound_used:
      require(h.mode == STZ_LOSSLESS, STZ_ERROR_CORRUPT);
      h.bound_used = true;
      break;
    case tag_float_fields:
      require(h.form == Form::raw && element_count(h.layout) > 0, STZ_ERROR_CORRUPT);
      read_float_fields(payload, h.layout.dtype, h.fields);
      break;
    case tag_exact_size:
      require(h.form == Form::patched, STZ_ERROR_CORRUPT);
      h.exact_size = payload.varint();
      break;
    case tag_repeats:
      require(h.form == Form::patched, STZ_ERROR_CORRUPT);
      read_repeats(payload, h, h.repeats);
      break;
    default:
      if (tag % 2) throw UnknownRecord(tag);
      return;  // a descriptive record of a later version
  }
  require(payload.left() == 0, STZ_ERROR_CORRUPT);
}

}  // namespace

Bytes write_extensions(const Header& h) {
  Bytes records, payload;
  const bool layered = h.form == Form::blocks && h.layers.any();
  if (layered) put_record(records, tag_layers, write_layers(h.layers));
  if (h.trailer_size) {
    put_varint(payload, h.trailer_size);
    put_record(records, tag_trailer_size, payload);
    payload.clear();
  }
  if (h.form == Form::blocks && !h.axis_map.empty()) put_record(records, tag_axis_map, h.axis_map);
  if (h.accumulated_bound > 0) {
    put_double(payload, h.accumulated_bound);
    put_record(records, tag_accumulated_bound, payload);
  }
  if (h.form == Form::blocks && h.range.any())
    put_record(records, tag_value_range, write_value_range(h.range, component_size(h.layout.dtype)));
  if (h.bound_used) put_record(records, tag_bound_used, {});
  if (h.form == Form::blocks && h.enhancement.any()) put_record(records, tag_enhancement, write_enhancement(h.enhancement));
  if (layered && !h.layers.errors.empty()) put_record(records, tag_layer_errors, write_layer_errors(h.layers));
  if (h.fields.any()) put_record(records, tag_float_fields, write_float_fields(h.fields));
  if (h.exact_size) {
    payload.clear();
    put_varint(payload, h.exact_size);
    put_record(records, tag_exact_size, payload);
  }
  if (h.form == Form::blocks && h.remainders.present) put_record(records, tag_remainders, write_remainders(h.remainders));
  if (h.form == Form::blocks && h.decimals.any()) put_record(records, tag_decimals, write_decimals(h.decimals));
  if (h.form == Form::blocks && h.slices.any()) put_record(records, tag_slice_grids, write_slice_grids(h.slices));
  if (!h.repeats.empty()) put_record(records, tag_repeats, write_repeats(h));
  Bytes out;
  if (records.empty()) return out;
  put_varint(out, records.size());
  out.insert(out.end(), records.begin(), records.end());
  return out;
}

void read_extensions(ByteReader& in, Header& h) {
  const u64 size = in.varint();
  require(size <= max_header_size, STZ_ERROR_CORRUPT);
  for_records(ByteReader(in.take(size), size_t(size)), [&](u64 tag, const ByteReader& payload) { read_record(tag, payload, h); });
}

}  // namespace stz
