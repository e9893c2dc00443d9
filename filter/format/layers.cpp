#include "format/layers.h"

#include <algorithm>

#include "format/frame.h"

namespace stz {

Bytes write_layers(const Layers& layers) {
  Bytes payload;
  put_varint(payload, layers.refinements());
  put_varint(payload, layers.levels());
  for (const auto& bits : layers.added) payload.insert(payload.end(), bits.begin(), bits.end());
  payload.insert(payload.end(), layers.missing.begin(), layers.missing.end());
  return payload;
}

void read_layers(ByteReader& payload, Layers& layers) {
  const u64 refinements = payload.varint(), levels = payload.varint();
  require(refinements <= max_refinements && levels >= 1 && levels <= max_levels, STZ_ERROR_CORRUPT);
  auto bits_of_levels = [&] {
    const u8* bits = payload.take(levels);
    return std::vector<u8>(bits, bits + levels);
  };
  for (u64 r = 0; r < refinements; r++) layers.added.push_back(bits_of_levels());
  layers.missing = bits_of_levels();
}

Bytes write_layer_errors(const Layers& layers) {
  Bytes payload;
  for (const LayerError& e : layers.errors) {
    put_double(payload, e.largest);
    put_double(payload, e.root_mean_square);
  }
  return payload;
}

void read_layer_errors(ByteReader& payload, Layers& layers) {
  while (payload.left()) {
    LayerError e;
    e.largest = payload.get_double();
    e.root_mean_square = payload.get_double();
    require(e.largest >= 0 && e.root_mean_square >= 0, STZ_ERROR_CORRUPT);
    layers.errors.push_back(e);
    require(layers.errors.size() <= STZ_MAX_LAYERS, STZ_ERROR_CORRUPT);
  }
}

void require_layers(const Header& h, int base_level) {
  const Layers& layers = h.layers;
  require(layers.errors.empty() || layers.errors.size() == layers.refinements() + 1, STZ_ERROR_CORRUPT);
  if (!layers.any()) return;
  require(layers.levels() <= size_t(base_level), STZ_ERROR_CORRUPT);
  const int most = h.sample == SampleType::f32 ? 30 : 60;
  for (size_t l = 0; l < layers.levels(); l++) require(layers.unknown_bits(l) <= most, STZ_ERROR_CORRUPT);
  for (const auto& bits : layers.added) require(std::any_of(bits.begin(), bits.end(), [](u8 b) { return b != 0; }), STZ_ERROR_CORRUPT);
  if (!layers.refinements())
    require(std::any_of(layers.missing.begin(), layers.missing.end(), [](u8 b) { return b != 0; }), STZ_ERROR_CORRUPT);
}

double earlier_error(const Header& h) {
  if (!(h.accumulated_bound > h.bound)) return 0;
  const bool is_known = h.mode != STZ_POINTWISE_RELATIVE && h.accumulated_bound < STZ_UNKNOWN_BOUND;
  return is_known ? h.accumulated_bound - h.bound : __builtin_inf();
}

size_t refinements_for(const Header& h, double max_error) {
  const Layers& layers = h.layers;
  if (max_error == 0) return layers.refinements();  // with fewer layers, zeros may have another sign
  const double earlier = earlier_error(h), before = earlier < __builtin_inf() ? earlier : 0;  // callers check whether it is known
  size_t taken = 0;
  while (taken < layers.refinements() && !(taken < layers.errors.size() && layers.errors[taken].largest + before <= max_error)) taken++;
  return taken;
}

}  // namespace stz
