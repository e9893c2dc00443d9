#include "encoder/represent/choose_axis_map.h"

#include <numeric>

#include "base/pseudo_random.h"

namespace stz {
namespace {

constexpr u64 longest_short_axis = 9;    // axes up to this may count components; a tensor has nine
constexpr u64 longest_first_axis = 16;   // merged components become the last axis if there are more than this, because rows should be long
constexpr u64 fewest_mapped = 1u << 10;  // arrays with fewer elements keep the default, which takes no bytes
// Components become a batch only if items are at least this large, because streams and edges cost bytes and time.
constexpr u64 smallest_item = 1u << 14;
// Components are worth an axis if one component predicts the next one's residuals to this share or less.
constexpr double related = 0.95;
constexpr int curvature_probes = 512;

// Axes of the array with more than one valid element: short ones at the beginning and the end, and those in between.
struct ShortAxes {
  std::vector<int> leading, middle, trailing;

  explicit ShortAxes(const Header& h) : valid_(h.valid) {
    for (int a = 0; a < h.layout.rank; a++)
      if (valid_[a] > 1) middle.push_back(a);
    while (!middle.empty() && is_short(middle.back())) {
      trailing.insert(trailing.begin(), middle.back());
      middle.pop_back();
    }
    while (!middle.empty() && is_short(middle.front())) {
      leading.push_back(middle.front());
      middle.erase(middle.begin());
    }
  }
  u64 product(const std::vector<int>& of) const {
    return std::accumulate(of.begin(), of.end(), u64(1), [this](u64 n, int a) { return n * valid_[a]; });
  }

 private:
  bool is_short(int a) const { return valid_[a] <= longest_short_axis; }
  const u64* valid_;
};

// Whether adjacent components (places along the merged short axes) are related. Compares their curvatures along a long axis, which are
// about what the prediction within a component leaves.
class Relation {
 public:
  Relation(const Array& a, const Header& h, const ShortAxes& short_axes, const std::vector<int>& components)
      : a_(a), h_(h), components_(components), number_(short_axes.product(components)) {
    u64 stride = 1;
    for (int r = a.layout.rank; r-- > 0; stride *= a.layout.shape[r]) strides_[r] = stride;
    along_ = *std::max_element(short_axes.middle.begin(), short_axes.middle.end(), [&](int x, int y) { return h.valid[x] < h.valid[y]; });
  }

  bool exists() const {
    double first[curvature_probes], second[curvature_probes];
    int count = 0;
    u64 seed = 17;
    for (int k = 0; k < curvature_probes; k++) {
      u64 element = 0;
      for (int r = 0; r < a_.layout.rank; r++) {
        const u64 margin = r == along_ ? 1 : 0;
        if (!is_component(r)) element += (margin + pseudo_random(seed) % (h_.valid[r] - 2 * margin)) * strides_[r];
      }
      const u64 component = pseudo_random(seed) % (number_ - 1);
      count += curvature(element + offset_of(component), first[count]) && curvature(element + offset_of(component + 1), second[count]);
    }
    return count < curvature_probes / 8 || predicted(first, second, count);
  }

 private:
  bool is_component(int axis) const { return std::find(components_.begin(), components_.end(), axis) != components_.end(); }
  // The offset of a component, in elements.
  u64 offset_of(u64 component) const {
    u64 offset = 0;
    for (size_t k = components_.size(); k-- > 0;) {
      offset += component % h_.valid[components_[k]] * strides_[components_[k]];
      component /= h_.valid[components_[k]];
    }
    return offset;
  }
  // The second difference around an element. Returns false if an element is not finite or has the fill value.
  bool curvature(u64 element, double& difference) const {
    double x[3];
    for (u64 k = 0; k < 3; k++) {
      const u64 bits = a_.bits(element + (k - 1) * strides_[along_], 0);
      x[k] = sample_of<double>(h_, bits);
      if ((h_.has_fill && bits == h_.fill) || !(__builtin_fabs(x[k]) < 1e300)) return false;
    }
    difference = 0.5 * (x[0] + x[2]) - x[1];
    return __builtin_fabs(difference) < 1e300;
  }
  // Whether `second` is a multiple of `first`, as far as the bound can show. Normalised, so that a few large numbers do not decide.
  bool predicted(const double* first, const double* second, int count) const {
    double mean = 0;
    for (int k = 0; k < count; k++) mean += (__builtin_fabs(first[k]) + __builtin_fabs(second[k])) / (2 * count);
    if (!(mean > 0)) return true;
    double products = 0, squares = 0;
    for (int k = 0; k < count; k++) {
      const double size = mean + __builtin_fabs(first[k]) + __builtin_fabs(second[k]);
      products += first[k] / size * (second[k] / size);
      squares += first[k] / size * (first[k] / size);
    }
    if (!(squares > 0)) return false;
    const double factor = products / squares, noise = h_.mode == STZ_ABSOLUTE ? h_.bound : 0;
    double before = 0, after = 0;
    for (int k = 0; k < count; k++) {
      before += std::min(8 * mean, __builtin_fabs(second[k])) + noise;
      after += std::min(8 * mean, __builtin_fabs(second[k] - factor * first[k])) + noise;
    }
    return after <= related * before;
  }

  const Array& a_;
  const Header& h_;
  const std::vector<int>& components_;
  const u64 number_;
  u64 strides_[STZ_MAX_RANK];
  int along_;
};

// Makes the last of these axes the codec's axes `last` down to 0. The others stay axes of the batch.
void place_axes(std::vector<u8>& map, const std::vector<int>& of_array, int last) {
  for (size_t k = of_array.size(); k-- > 0 && last >= 0;) map[size_t(of_array[k])] = u8(last--);
}

// Merges these axes into one of the codec's. Axes between them have at most one element.
void merge_axes(std::vector<u8>& map, const std::vector<int>& of_array, int into) {
  for (int a = of_array.front(); a < of_array.back(); a++) map[size_t(a)] = merged_role;
  map[size_t(of_array.back())] = u8(into);
}

// Makes components axes of the codec, in front of the others. If they are merged to one axis and that is long enough, it becomes the last
// one.
void place_components(std::vector<u8>& map, const std::vector<int>& others, const std::vector<int>& components, u64 number) {
  const bool merged = others.size() + components.size() > axes;
  const int first = axes - int(others.size());
  if (merged && number > longest_first_axis) {
    merge_axes(map, components, axes - 1);
    place_axes(map, others, axes - 2);
    return;
  }
  place_axes(map, others, axes - 1);
  if (merged)
    merge_axes(map, components, first - 1);
  else
    place_axes(map, components, first - 1);
}

}  // namespace

std::vector<u8> choose_axis_map(const Array& a, const Header& h) {
  if (valid_elements(h) < fewest_mapped) return {};
  const ShortAxes s(h);
  std::vector<u8> map(size_t(h.layout.rank), batch_role);
  if (s.middle.empty()) {  // only short axes: by default an item could be tiny
    const std::vector<int> last(s.trailing.end() - std::min<std::ptrdiff_t>(axes, std::ssize(s.trailing)), s.trailing.end());
    if (s.trailing.size() <= axes || s.product(last) > base_section_samples) return {};
    merge_axes(map, s.trailing, axes - 1);
    return map;
  }
  const bool large_items = s.product(s.middle) >= smallest_item;
  auto unrelated = [&](const std::vector<int>& components) { return large_items && !Relation(a, h, s, components).exists(); };
  const bool leading_batch = !s.leading.empty() && s.middle.size() < axes && unrelated(s.leading);
  if (s.trailing.empty() && !leading_batch) return {};
  std::vector<int> others = s.middle;
  if (!leading_batch) others.insert(others.begin(), s.leading.begin(), s.leading.end());
  if (s.trailing.empty() || others.size() >= axes || unrelated(s.trailing))
    place_axes(map, others, axes - 1);
  else
    place_components(map, others, s.trailing, s.product(s.trailing));
  return map;
}

}  // namespace stz
