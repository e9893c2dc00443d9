#include "precision/drop_layers.h"

#include <algorithm>

#include "format/frame.h"

namespace stz {
namespace {

Bytes copy_of(const u8* stream, size_t size) { return Bytes(stream, stream + size); }

// Makes the header promise `bound` for every component, whatever it promised before.
void set_absolute_bound(Header& h, double bound) {
  if (h.accumulated_bound > 0) h.accumulated_bound = std::min(earlier_error(h) + bound, STZ_UNKNOWN_BOUND);
  h.bound_used = false;  // as with any bound
  h.mode = STZ_ABSOLUTE;
  h.bound = bound;
}

void keep_refinements(Layers& layers, size_t kept) {
  for (size_t l = 0; l < layers.levels(); l++) layers.missing[l] = u8(layers.unknown_bits(l, kept));
  layers.added.resize(kept);
  layers.errors.resize(kept + 1);
}

Bytes with_fewer_layers(const u8* stream, Header h, double max_error) {
  const size_t kept = refinements_for(h, max_error);
  const u64 from = h.size;
  u64 end = content_bytes(h);
  while (h.layers.refinements() > kept) {
    for (const u8 bits : h.layers.added.back()) {
      if (!bits) continue;
      end -= h.refinement.back();
      h.refinement.pop_back();
    }
    keep_refinements(h.layers, h.layers.refinements() - 1);
  }
  const double measured = h.layers.errors.back().largest;
  set_absolute_bound(h, measured > 0 ? measured : max_error - earlier_error(h));
  h.trailer_size = 0;  // its checks are of the array with all layers
  Bytes out = write_header(h);
  out.insert(out.end(), stream + from, stream + end);
  return out;
}

Bytes with_smaller_base(const u8* stream, size_t size, Header h, double max_error) {
  if (h.mode == STZ_POINTWISE_RELATIVE) return copy_of(stream, size);  // patches have no absolute bound
  const u8* const old_base = stream + h.base_offset;
  const Header inner = read_header(old_base, h.base_size);
  require_inner_stream(h, inner, h.layout);
  const Bytes base = drop_layers(old_base, h.base_size, max_error);
  if (base.size() >= h.base_size) return copy_of(stream, size);
  const double base_bound = read_header(base.data(), base.size()).bound;
  const u64 patches_from = h.size, patches_to = h.base_offset;
  set_absolute_bound(h, h.mode == STZ_ABSOLUTE ? std::max(h.bound, base_bound) : base_bound);
  h.base_size = base.size();
  h.trailer_size = 0;
  Bytes out = write_patched_header(h);
  out.insert(out.end(), stream + patches_from, stream + patches_to);
  out.insert(out.end(), base.begin(), base.end());
  return out;
}

}  // namespace

Bytes drop_layers(const u8* stream, size_t size, double max_error) {
  const Header h = read_header(stream, size);
  require_stream_size(h, size);
  if (h.form == Form::patched) return with_smaller_base(stream, size, h, max_error);
  const bool drops = h.form == Form::blocks && refinements_for(h, max_error) < h.layers.refinements();
  if (!drops) return copy_of(stream, size);
  Bytes shorter = with_fewer_layers(stream, h, max_error);
  return shorter.size() < size ? shorter : copy_of(stream, size);
}

}  // namespace stz
