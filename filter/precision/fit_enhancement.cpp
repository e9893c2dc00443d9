#include "precision/fit_enhancement.h"

#include <algorithm>
#include <cmath>

namespace stz {
namespace {

constexpr double feature_units = 2048, ridge = 1e-3;
constexpr int limits[] = {8, 16, 24, 32};  // in relaxation_units
constexpr double enough = 0.95;            // share of the largest limit's gain in decibels
constexpr size_t fewest_in_set = 256;      // sets with fewer samples get weights of 0

using Matrix = std::vector<double>;  // n x n, by rows

// Solves a x = b by Cholesky's method for a symmetric, positive definite matrix; x replaces b. Returns false if it is not positive
// definite.
bool solve(Matrix& a, std::vector<double>& b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
      if (i == j) {
        if (!(sum > 0)) return false;
        a[i * n + i] = std::sqrt(sum);
      } else
        a[i * n + j] = sum / a[j * n + j];
    }
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return true;
}

// The index of the weight of each feature.
std::vector<size_t> weight_places(const EnhancementShape& shape, bool shared) {
  std::vector<size_t> place;
  for (size_t d = 0; d < shape.direction.size(); d++)
    for (size_t c = 0; c < size_t(enhancement_clips); c++) place.push_back(shape.at(d, shared) + c);
  return place;
}

// The weights of a set of samples; zeros if it has too few samples.
std::vector<double> weights_of_set(const EnhancementSamples& samples, u8 set, const std::vector<size_t>& place, size_t n) {
  Matrix a(n * n);
  std::vector<double> b(n), f(n);
  size_t count = 0;
  for (size_t s = 0; s < samples.count(); s++) {
    if (samples.set[s] != set) continue;
    count++;
    std::fill(f.begin(), f.end(), 0.0);
    for (size_t k = 0; k < samples.features; k++) f[place[k]] += samples.feature[s * samples.features + k] * (1 / feature_units);
    for (size_t i = 0; i < n; i++) {
      b[i] += f[i] * double(samples.missing[s]);
      for (size_t j = 0; j <= i; j++) a[i * n + j] += f[i] * f[j];
    }
  }
  double trace = 0;
  for (size_t i = 0; i < n; i++) trace += a[i * n + i];
  for (size_t i = 0; i < n; i++) a[i * n + i] += ridge * trace / double(n);
  if (count < fewest_in_set || !solve(a, b)) b.assign(n, 0);
  return b;
}

// Rounds weights to integers times a power of two.
void quantize_weights(const std::vector<double>& weights, Enhancement& e) {
  double largest = 0;
  for (const double w : weights) largest = std::max(largest, std::fabs(w));
  int shift = most_weight_shift;
  while (shift > least_weight_shift && std::ldexp(largest, shift) > 127) shift--;
  e.shift = u8(shift);
  for (const double w : weights) e.weights.push_back(i8(std::clamp(std::nearbyint(std::ldexp(w, shift)), -127.0, 127.0)));
}

}  // namespace

FittedEnhancement fit_enhancement(const EnhancementShape& shape, const EnhancementSamples& samples, bool shared) {
  FittedEnhancement fitted;
  Enhancement& e = fitted.enhancement;
  e.shared = shared;
  const std::vector<size_t> place = weight_places(shape, shared);
  const size_t n = shape.groups(shared) * enhancement_clips;
  std::vector<double> weights;
  for (int set = 1; set <= shape.sets; set++) {
    const std::vector<double> more = weights_of_set(samples, u8(set), place, n);
    weights.insert(weights.end(), more.begin(), more.end());
  }
  quantize_weights(weights, e);
  double after[std::size(limits)] = {};
  const double unit = std::ldexp(1 / feature_units, -e.shift);
  for (size_t s = 0; s < samples.count(); s++) {
    i64 sum = 0;
    const i8* const w = e.weights.data() + size_t(samples.set[s] - 1) * n;
    for (size_t k = 0; k < samples.features; k++) sum += i64(w[place[k]]) * samples.feature[s * samples.features + k];
    const double correction = double(sum) * unit, missing = double(samples.missing[s]);
    fitted.before += missing * missing;
    for (size_t l = 0; l < std::size(limits); l++) {
      const double limit = double(limits[l]) / relaxation_units, left = missing - std::clamp(correction, -limit, limit);
      after[l] += left * left;
    }
  }
  size_t best = 0;
  for (size_t l = 0; l < std::size(limits); l++)
    if (after[l] < after[best]) best = l;
  size_t l = 0;
  while (l < best && !(std::log(fitted.before / after[l]) >= enough * std::log(fitted.before / after[best]))) l++;
  e.limit = u8(limits[l]);
  fitted.after = after[l];
  return fitted;
}

}  // namespace stz
