#include "encoder/plan_layers.h"

#include <algorithm>

#include "encoder/roughness.h"

namespace stz {
namespace {

constexpr size_t most_levels = 3;    // the finest ones: more hold few of the bytes
constexpr double split_share = 1.0;  // of the bits of a code: what the base layer and each refinement share evenly
constexpr int fewest_bits = 2;       // that the last refinement adds at level 0; those before it, one at least
constexpr u64 probes = 1024;
constexpr double bits_of_flat_axes = 4;  // where no axis is long enough to be judged

}  // namespace

template <class S>
Layers plan_layers(const LevelSource<S>& source, int wanted) {
  const size_t levels = std::min(most_levels, size_t(source.hierarchy().base_level));
  if (wanted < 2 || levels == 0) return {};
  const RoughnessSum sum = Roughness<S>(source, 0).of_level(probes);
  const double bits = sum.samples ? sum.mean() : bits_of_flat_axes;
  const int most = source.header().sample == SampleType::f32 ? 24 : 54;
  // Of the lowest bits of level 0, those that are unknown with so many layers; each coarser level lacks one bit less: its errors spread.
  auto unknown = [&](int layers, size_t l) {
    const int missing = wanted - layers;
    const int share = int(split_share * bits * missing / wanted + 0.5);
    return std::max(0, std::min(most, std::max(share, missing ? fewest_bits + missing - 1 : 0)) - int(l));
  };
  Layers layers;
  layers.missing.resize(levels);
  for (int taken = 1; taken < wanted; taken++) {
    std::vector<u8> added(levels);
    for (size_t l = 0; l < levels; l++) added[l] = u8(unknown(taken, l) - unknown(taken + 1, l));
    layers.added.push_back(std::move(added));
  }
  constexpr double unknown_error = __builtin_inf();  // until it is measured (precision/)
  layers.errors.assign(size_t(wanted), {unknown_error, unknown_error});
  return layers;
}

template Layers plan_layers(const LevelSource<float>&, int);
template Layers plan_layers(const LevelSource<double>&, int);
template Layers plan_layers(const LevelSource<i64>&, int);

}  // namespace stz
