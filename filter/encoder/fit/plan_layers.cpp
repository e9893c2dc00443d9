#include "encoder/fit/plan_layers.h"

#include <algorithm>

#include "encoder/fit/roughness.h"

namespace stz {
namespace {

constexpr size_t most_levels = 3;     // the finest levels; coarser ones hold few of the bytes
constexpr double split_share = 1.0;   // of the bits of a code: shared evenly by base layer and refinements
constexpr int fewest_added_bits = 2;  // that the last refinement adds at level 0; earlier ones add at least one
constexpr u64 roughness_probes = 1024;
constexpr double bits_of_flat_axes = 4;  // used if no axis is long enough to be judged
// Bits of a coarser level's code that the base layer keeps, because the finer level's contexts need them.
constexpr double fewest_known = 1;

// The approximate bits per sample of a level.
template <class S>
double bits_of_level(const LevelSource<S>& source, size_t l) {
  const RoughnessSum sum = Roughness<S>(source, l).of_level(roughness_probes);
  return sum.samples ? sum.mean() : bits_of_flat_axes;
}

// The unknown lowest bits of level 0 with one layer, with two, ...: even shares of the bits of a sample.
template <class S>
std::vector<int> even_cuts(const LevelSource<S>& source, int wanted) {
  const double bits = bits_of_level(source, 0);
  std::vector<int> unknown;
  for (int missing = wanted - 1; missing > 0; missing--)
    unknown.push_back(std::max(int(split_share * bits * missing / wanted + 0.5), fewest_added_bits + missing - 1));
  return unknown;
}

}  // namespace

template <class S>
Layers plan_layers(const Plan<S>& plan, const LevelSource<S>& source) {
  const size_t levels = std::min(most_levels, size_t(source.hierarchy().base_level));
  if ((plan.layers < 2 && plan.unknown_bits.empty()) || levels == 0) return {};
  std::vector<int> cuts = plan.unknown_bits.empty() ? even_cuts(source, plan.layers) : plan.unknown_bits;
  cuts.push_back(0);
  const int most = plan.header.sample == SampleType::f32 ? 24 : 54;
  std::vector<int> most_of_level(levels, most);
  for (size_t l = 1; l < levels; l++) most_of_level[l] = int(std::clamp<double>(bits_of_level(source, l) - fewest_known, 0, most));
  // Each coarser level lacks one bit less, because its errors spread.
  auto unknown = [&](size_t cut, size_t l) { return std::clamp(std::min(most, cuts[cut]) - int(l), 0, most_of_level[l]); };
  Layers layers;
  layers.missing.resize(levels);
  for (size_t cut = 0; cut + 1 < cuts.size(); cut++) {
    std::vector<u8> added(levels);
    for (size_t l = 0; l < levels; l++) added[l] = u8(unknown(cut, l) - unknown(cut + 1, l));
    if (added[0]) layers.added.push_back(std::move(added));
  }
  constexpr double unmeasured = __builtin_inf();  // until precision/ has decoded the layers
  layers.errors.assign(layers.refinements() + 1, {unmeasured, unmeasured});
  return layers;
}

template Layers plan_layers(const Plan<float>&, const LevelSource<float>&);
template Layers plan_layers(const Plan<double>&, const LevelSource<double>&);
template Layers plan_layers(const Plan<i64>&, const LevelSource<i64>&);

}  // namespace stz
