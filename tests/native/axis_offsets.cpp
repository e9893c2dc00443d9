// Streams that the encoder would not choose by itself: every axis offset, and in some of them any blocks and bounds of levels, written
// through the core, read through the public API.
//   axis_offsets [COUNT DIRECTORY]
// Prints the number of streams; exits with 1 at the first sample outside the bound. With arguments the arrays are small and the streams
// are written to files, NUMBER.stz.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "encoder/write/code_sections.h"
#include "stz.h"

using namespace stz;

// Blocks and bounds for every level, half the time each.
void set_level_fields(Header& h, std::mt19937& random) {
  const Hierarchy hierarchy = hierarchy_of(h);
  if (random() % 2)
    for (int l = 0; l < hierarchy.base_level; l++) {
      h.level_block.emplace_back();
      for (int& log2_extent : h.level_block.back()) log2_extent = 1 + int(random() % 7);
    }
  if (random() % 2)
    for (size_t l = 0; l < hierarchy.level.size(); l++) h.level_bound.push_back(h.bound * (0.1 + 0.9 * double(random() % 1000) / 1000));
}

void write_file(const std::string& path, const Bytes& bytes) {
  FILE* file = std::fopen(path.c_str(), "wb");
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fclose(file)) std::exit(2);
}

// `path`: a file for the stream; empty: none.
template <class S>
bool round_trip(const std::vector<u64>& shape, const std::array<int, axes>& offset, double bound, std::mt19937& random,
                const std::string& path) {
  Header h;
  h.layout.dtype = sizeof(S) == 4 ? STZ_F32 : STZ_F64;
  h.layout.rank = int(shape.size());
  u64 n = 1;
  for (size_t a = 0; a < shape.size(); a++) n *= h.layout.shape[a] = h.valid[a] = shape[a];
  h.mode = STZ_ABSOLUTE;
  h.bound = h.half_step = bound;
  h.sample = sizeof(S) == 4 ? SampleType::f32 : SampleType::f64;
  h.offset = offset;
  if (!path.empty()) set_level_fields(h, random);
  std::vector<S> x(n), y(n);
  std::normal_distribution<double> step;
  double v = 0;
  for (S& s : x) s = S(v += step(random));
  const Plan<S> plan(h, {}, x.data(), std::make_shared<const Masks>(), bound);
  const Sections<Stream> sections = code_sections(plan, {offset});
  Bytes stream = write_header(sections.header);
  stream.insert(stream.end(), sections.out.bytes.begin(), sections.out.bytes.end());
  if (!path.empty()) write_file(path, stream);
  int error = stz_decompress(stream.data(), stream.size(), y.data(), n * sizeof(S));
  for (u64 i = 0; i < n && !error; i++) error = !(std::fabs(double(x[i]) - double(y[i])) <= bound);
  if (!error) return true;
  std::printf("error %d, rank %zu, offsets %d %d %d %d\n", error, shape.size(), offset[0], offset[1], offset[2], offset[3]);
  return false;
}

// Offsets at random among these that leave no level without a split axis.
std::array<int, axes> random_offsets(const std::vector<u64>& shape, std::mt19937& random) {
  const int offsets[] = {0, 1, 2, 3, 5, never_split};
  std::array<int, axes> offset;
  for (int& o : offset) o = offsets[random() % 6];
  Index n{1, 1, 1, 1};
  for (size_t a = 0; a < shape.size(); a++) n[axes - shape.size() + a] = i64(shape[a]);
  return without_unsplit_levels(n, offset);
}

int main(int argument_count, char** arguments) {
  const bool to_files = argument_count == 3;
  const int count = to_files ? std::atoi(arguments[1]) : 600;
  const unsigned largest[] = {5000, 90, 30, 11}, small[] = {1200, 40, 13, 7};  // extents, by rank
  std::mt19937 random(7);
  for (int k = 0; k < count; k++) {
    std::vector<u64> shape;
    for (size_t a = 0, rank = 1 + random() % 4; a < rank; a++) shape.push_back(2 + random() % (to_files ? small : largest)[rank - 1]);
    const std::array<int, axes> offset = random_offsets(shape, random);
    const double bound = std::pow(10.0, -double(random() % 4));
    const std::string path = to_files ? std::string(arguments[2]) + "/" + std::to_string(k) + ".stz" : "";
    if (!(k % 2 ? round_trip<float>(shape, offset, bound, random, path) : round_trip<double>(shape, offset, bound, random, path))) return 1;
  }
  std::printf("%d streams\n", count);
}
