// Streams that the encoder would not choose by itself: every axis offset, written through the core, read through the public API.
// Prints the number of streams; exits with 1 at the first sample outside the bound.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "encoder/encode_level.h"
#include "stz.h"

using namespace stz;

template <class S>
bool round_trip(const std::vector<u64>& shape, const std::array<int, axes>& offset, double bound, std::mt19937& random) {
  Header h;
  h.layout.dtype = sizeof(S) == 4 ? STZ_F32 : STZ_F64;
  h.layout.rank = int(shape.size());
  u64 n = 1;
  for (size_t a = 0; a < shape.size(); a++) n *= h.layout.shape[a] = h.valid[a] = shape[a];
  h.mode = STZ_ABSOLUTE;
  h.bound = h.half_step = bound;
  h.form = Form::blocks;
  h.sample = sizeof(S) == 4 ? SampleType::f32 : SampleType::f64;
  h.offset = offset;
  std::vector<S> x(n), y(n);
  std::normal_distribution<double> step;
  double v = 0;
  for (S& s : x) s = S(v += step(random));
  Bytes sections = encode_sections<S>(h, x.data(), nullptr, {}, 1);
  Bytes stream = write_header(h);
  stream.insert(stream.end(), sections.begin(), sections.end());
  int error = stz_decompress(stream.data(), stream.size(), y.data(), n * sizeof(S));
  for (u64 i = 0; i < n && !error; i++) error = !(std::fabs(double(x[i]) - double(y[i])) <= bound);
  if (!error) return true;
  std::printf("error %d, rank %zu, offsets %d %d %d %d\n", error, shape.size(), offset[0], offset[1], offset[2], offset[3]);
  return false;
}

// Levels but the coarsest that split no axis, of which the format allows some.
int unsplit_levels(std::vector<u64> shape, const std::array<int, axes>& offset) {
  const size_t first = axes - shape.size();  // of the codec's axes
  int unsplit = 0;
  for (int l = 0;; l++) {
    bool more = false, split = false;
    for (size_t a = 0; a < shape.size(); a++) more |= offset[first + a] != never_split && shape[a] > 2;
    if (!more) return unsplit;
    for (size_t a = 0; a < shape.size(); a++)
      if (shape[a] > 1 && l >= offset[first + a]) {
        shape[a] = (shape[a] + 1) / 2;
        split = true;
      }
    unsplit += !split;
  }
}

int main() {
  std::mt19937 random(7);
  int streams = 0;
  const int offsets[] = {0, 1, 2, 3, 5, never_split};
  for (int k = 0; k < 600; k++) {
    std::vector<u64> shape;
    for (size_t a = 0, rank = 1 + random() % 4; a < rank; a++)
      shape.push_back(2 + random() % (rank == 1 ? 5000 : rank == 2 ? 90 : rank == 3 ? 30 : 11));
    std::array<int, axes> offset;
    do
      for (int& o : offset) o = offsets[random() % 6];
    while (unsplit_levels(shape, offset) > most_unsplit_levels);
    const double bound = std::pow(10.0, -double(random() % 4));
    if (!(k % 2 ? round_trip<float>(shape, offset, bound, random) : round_trip<double>(shape, offset, bound, random))) return 1;
    streams++;
  }
  std::printf("%d streams\n", streams);
}
