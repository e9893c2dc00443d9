// Compressible Euler equations in two dimensions: a vortex is carried across a periodic square. Writes its series and its checkpoints
// through h5stz, and restarts from a compressed checkpoint.
//
//   euler PREFIX [--cells N] [--steps N] [--every N] [--series OPTIONS] [--checkpoint OPTIONS] [--checkpoint-every N] [--restart FILE]
//
// --steps is the number of the last step, also of a restarted run. PREFIX.h5 gets density and pressure (float32) every --every steps;
// PREFIX.STEP.h5 the state (float64) every --checkpoint-every steps and at the end. A restarted run continues PREFIX.h5 where the
// checkpoint was made if the file exists, and begins it there if not. OPTIONS are those of docs/cd_values.md.
//
// Finite volumes, central slopes of the primitive variables, Rusanov fluxes, a Runge-Kutta method of second order. The exact solution is
// known: the program prints the error of the scheme, with which the effect of a compressed checkpoint is to be compared.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "h5stz_filter.h"

namespace {

constexpr double gas = 1.4, side = 12, pi = 3.14159265358979323846;
constexpr std::array names = {"density", "momentum_x", "momentum_y", "energy"};
constexpr hsize_t frames_per_chunk = 8;

using Cell = std::array<double, 4>; // conserved: density, momentum, energy; primitive: density, velocity, pressure
using Grid = std::vector<Cell>;

struct Options {
  std::string prefix, series = "absolute=1e-3,append_axis=0", checkpoint = "lossless", restart;
  long cells = 64, steps = 256, every = 8, checkpoint_every = 128;
};

struct Simulation {
  long cells = 0, step = 0, frames = 0;
  double time_step = 0;
  Grid state;

  double spacing() const { return side / static_cast<double>(cells); }
  double time() const { return static_cast<double>(step) * time_step; }
};

Cell conserved(const Cell& p) { return {p[0], p[0] * p[1], p[0] * p[2], p[3] / (gas - 1) + p[0] * (p[1] * p[1] + p[2] * p[2]) / 2}; }

Cell primitive(const Cell& c) {
  const double u = c[1] / c[0], v = c[2] / c[0];
  return {c[0], u, v, (gas - 1) * (c[3] - (c[1] * u + c[2] * v) / 2)};
}

// The vortex at a time, at the centres of the cells.
Grid exact(long cells, double time) {
  Grid grid(cells * cells);
  const double h = side / static_cast<double>(cells), strength = 5 / (2 * pi);
  for (long j = 0; j < cells; j++)
    for (long i = 0; i < cells; i++) {
      const double x = std::remainder((static_cast<double>(i) + 0.5) * h - side / 2 - time, side);
      const double y = std::remainder((static_cast<double>(j) + 0.5) * h - side / 2 - time, side);
      const double swirl = strength * std::exp((1 - x * x - y * y) / 2);
      const double temperature = 1 - (gas - 1) / (2 * gas) * swirl * swirl, density = std::pow(temperature, 1 / (gas - 1));
      grid[j * cells + i] = conserved({density, 1 - swirl * y, 1 + swirl * x, density * temperature});
    }
  return grid;
}

// Rusanov flux along an axis between two states of primitive variables.
Cell flux(const Cell& left, const Cell& right, int axis) {
  const Cell a = conserved(left), b = conserved(right);
  const auto speed = [axis](const Cell& p) { return std::abs(p[1 + axis]) + std::sqrt(gas * p[3] / p[0]); };
  const double fastest = std::max(speed(left), speed(right));
  Cell result;
  for (int k = 0; k < 4; k++) result[k] = (a[k] * left[1 + axis] + b[k] * right[1 + axis] - fastest * (b[k] - a[k])) / 2;
  result[1 + axis] += (left[3] + right[3]) / 2;
  result[3] += (left[3] * left[1 + axis] + right[3] * right[1 + axis]) / 2;
  return result;
}

// Adds `scale` times the difference of the fluxes to every cell.
void add_fluxes(const Grid& cells, long n, double scale, Grid& result) {
  Grid p(cells.size());
  std::transform(cells.begin(), cells.end(), p.begin(), primitive);
  for (int axis = 0; axis < 2; axis++)
    for (long line = 0; line < n; line++) {
      const auto at = [=](long i) { return axis == 0 ? line * n + (i + n) % n : (i + n) % n * n + line; };
      for (long i = 0; i < n; i++) { // the face between i and i + 1
        Cell left = p[at(i)], right = p[at(i + 1)];
        for (int k = 0; k < 4; k++) {
          left[k] += (p[at(i + 1)][k] - p[at(i - 1)][k]) / 4;
          right[k] -= (p[at(i + 2)][k] - p[at(i)][k]) / 4;
        }
        const Cell through = flux(left, right, axis);
        for (int k = 0; k < 4; k++) result[at(i)][k] -= scale * through[k], result[at(i + 1)][k] += scale * through[k];
      }
    }
}

void advance(Simulation& run) {
  const double scale = run.time_step / run.spacing();
  Grid first = run.state;
  add_fluxes(run.state, run.cells, scale, first);
  Grid second = first;
  add_fluxes(first, run.cells, scale, second);
  for (size_t i = 0; i < second.size(); i++)
    for (int k = 0; k < 4; k++) run.state[i][k] = (run.state[i][k] + second[i][k]) / 2;
  run.step++;
}

hid_t filtered(const std::vector<hsize_t>& chunk, const char* options) {
  const hid_t properties = h5_check(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  h5_check(H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data()), "H5Pset_chunk");
  if (options) h5stz_set_filter(properties, options);
  return properties;
}

// Closes the properties.
hid_t create_dataset(hid_t file, const char* name, hid_t type, const std::vector<hsize_t>& shape, bool grows, hid_t properties,
                     hid_t access = H5P_DEFAULT) {
  std::vector<hsize_t> limits = shape;
  if (grows) limits[0] = H5S_UNLIMITED;
  const hid_t space = h5_check(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), limits.data()), "H5Screate_simple");
  const hid_t dataset = h5_check(H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, access), name);
  H5Sclose(space);
  H5Pclose(properties);
  return dataset;
}

// Makes a dataset one frame longer, or shorter than it was, and writes its last frame.
void append(hid_t dataset, hid_t type, long frame, std::vector<hsize_t> extent, const void* values) {
  extent.insert(extent.begin(), static_cast<hsize_t>(frame) + 1);
  h5_check(H5Dset_extent(dataset, extent.data()), "H5Dset_extent");
  std::vector<hsize_t> start(extent.size(), 0), count = extent;
  start[0] = static_cast<hsize_t>(frame);
  count[0] = 1;
  const hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr);
  h5_check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "H5Sselect_hyperslab");
  h5_check(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, values), "H5Dwrite");
  H5Sclose(memory);
  H5Sclose(space);
}

// The series: a dataset for each variable that grows frame by frame, and the times of the frames, which are not compressed.
class Series {
 public:
  Series(const Options& options, Simulation& run) : n(static_cast<hsize_t>(run.cells)) {
    const std::string path = options.prefix + ".h5";
    // A cache that holds a chunk: frames are collected there, and each chunk is compressed once.
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    h5_check(H5Pset_chunk_cache(access, 521, 2 * frames_per_chunk * n * n * sizeof(float), 1), "H5Pset_chunk_cache");
    if (!options.restart.empty() && std::filesystem::exists(path)) {
      file = h5_check(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), path.c_str());
      for (size_t k = 0; k < 3; k++) datasets[k] = h5_check(H5Dopen2(file, variables[k], k < 2 ? access : H5P_DEFAULT), variables[k]);
      H5Pclose(access);
      return;
    }
    run.frames = 0;
    file = h5_check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), path.c_str());
    for (size_t k = 0; k < 2; k++) {
      const hid_t properties = filtered({frames_per_chunk, n, n}, options.series.c_str());
      datasets[k] = create_dataset(file, variables[k], H5T_IEEE_F32LE, {0, n, n}, true, properties, access);
    }
    datasets[2] = create_dataset(file, variables[2], H5T_IEEE_F64LE, {0}, true, filtered({1024}, nullptr));
    H5Pclose(access);
  }
  Series(const Series&) = delete;

  ~Series() {
    for (const hid_t dataset : datasets) H5Dclose(dataset);
    H5Fclose(file);
  }

  void write(Simulation& run) {
    std::vector<float> density, pressure;
    for (const Cell& cell : run.state) {
      const Cell p = primitive(cell);
      density.push_back(static_cast<float>(p[0]));
      pressure.push_back(static_cast<float>(p[3]));
    }
    const double time = run.time();
    append(datasets[0], H5T_NATIVE_FLOAT, run.frames, {n, n}, density.data());
    append(datasets[1], H5T_NATIVE_FLOAT, run.frames, {n, n}, pressure.data());
    append(datasets[2], H5T_NATIVE_DOUBLE, run.frames, {}, &time);
    run.frames++;
  }

  void report() const {
    h5_check(H5Fflush(file, H5F_SCOPE_LOCAL), "H5Fflush");
    for (size_t k = 0; k < 2; k++) {
      hsize_t extent[3];
      const hid_t space = H5Dget_space(datasets[k]);
      H5Sget_simple_extent_dims(space, extent, nullptr);
      H5Sclose(space);
      std::printf("series of %s: %llu frames, %llu bytes in %llu\n", variables[k], static_cast<unsigned long long>(extent[0]),
                  static_cast<unsigned long long>(extent[0] * n * n * sizeof(float)),
                  static_cast<unsigned long long>(H5Dget_storage_size(datasets[k])));
    }
  }

 private:
  static constexpr std::array variables = {"density", "pressure", "time"};
  hsize_t n;
  hid_t file = -1;
  std::array<hid_t, 3> datasets{};
};

void write_number(hid_t file, const char* name, hid_t type, const void* value) {
  const hid_t space = H5Screate(H5S_SCALAR), attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  h5_check(H5Awrite(attribute, type, value), name);
  H5Aclose(attribute);
  H5Sclose(space);
}

void read_number(hid_t file, const char* name, hid_t type, void* value) {
  const hid_t attribute = h5_check(H5Aopen(file, name, H5P_DEFAULT), name);
  h5_check(H5Aread(attribute, type, value), name);
  H5Aclose(attribute);
}

void write_checkpoint(const Simulation& run, const Options& options) {
  char number[16];
  std::snprintf(number, sizeof number, ".%06ld.h5", run.step);
  const std::string path = options.prefix + number, unfinished = path + ".part";
  const hid_t file = h5_check(H5Fcreate(unfinished.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), path.c_str());
  const auto n = static_cast<hsize_t>(run.cells);
  hsize_t stored = 0;
  std::vector<double> values(n * n);
  for (size_t k = 0; k < 4; k++) {
    std::transform(run.state.begin(), run.state.end(), values.begin(), [k](const Cell& cell) { return cell[k]; });
    const hid_t properties = filtered({n, n}, options.checkpoint.c_str());
    const hid_t dataset = create_dataset(file, names[k], H5T_IEEE_F64LE, {n, n}, false, properties);
    h5_check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), names[k]);
    h5_check(H5Dflush(dataset), names[k]);
    stored += H5Dget_storage_size(dataset);
    H5Dclose(dataset);
  }
  write_number(file, "step", H5T_NATIVE_LONG, &run.step);
  write_number(file, "frames", H5T_NATIVE_LONG, &run.frames);
  write_number(file, "time_step", H5T_NATIVE_DOUBLE, &run.time_step);
  h5_check(H5Fclose(file), path.c_str());
  std::filesystem::rename(unfinished, path); // a checkpoint is whole, or it is not there
  std::printf("checkpoint: %s, %llu bytes in %llu\n", path.c_str(), static_cast<unsigned long long>(4 * n * n * sizeof(double)),
              static_cast<unsigned long long>(stored));
}

Simulation read_checkpoint(const std::string& path) {
  Simulation run;
  const hid_t file = h5_check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), path.c_str());
  read_number(file, "step", H5T_NATIVE_LONG, &run.step);
  read_number(file, "frames", H5T_NATIVE_LONG, &run.frames);
  read_number(file, "time_step", H5T_NATIVE_DOUBLE, &run.time_step);
  for (size_t k = 0; k < 4; k++) {
    const hid_t dataset = h5_check(H5Dopen2(file, names[k], H5P_DEFAULT), names[k]), space = H5Dget_space(dataset);
    hsize_t extent[2] = {0, 0};
    if (H5Sget_simple_extent_ndims(space) != 2) h5_check(-1, "the number of axes of the checkpoint");
    H5Sget_simple_extent_dims(space, extent, nullptr);
    if (extent[0] != extent[1]) h5_check(-1, "the shape of the checkpoint");
    std::vector<double> values(extent[0] * extent[1]);
    h5_check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), names[k]);
    run.cells = static_cast<long>(extent[0]);
    run.state.resize(values.size());
    for (size_t i = 0; i < values.size(); i++) run.state[i][k] = values[i];
    H5Sclose(space);
    H5Dclose(dataset);
  }
  H5Fclose(file);
  return run;
}

void report(const Simulation& run) {
  double mass = 0, energy = 0, error = 0;
  const double area = run.spacing() * run.spacing();
  const Grid should_be = exact(run.cells, run.time());
  for (size_t i = 0; i < run.state.size(); i++) {
    mass += run.state[i][0] * area;
    energy += run.state[i][3] * area;
    error = std::max(error, std::abs(run.state[i][0] - should_be[i][0]));
  }
  std::printf("step: %ld\ntime: %.6f\nmass: %.15g\nenergy: %.15g\nerror of the scheme: %.4e\n", run.step, run.time(), mass, energy, error);
}

Options parse(int argc, char** argv) {
  Options options;
  if (argc < 2 || argc % 2 != 0) {
    std::fprintf(stderr, "usage: euler PREFIX [--cells N] [--steps N] [--every N] [--series OPTIONS] [--checkpoint OPTIONS]\n"
                         "             [--checkpoint-every N] [--restart FILE]\n");
    std::exit(2);
  }
  options.prefix = argv[1];
  const std::map<std::string, long*> numbers = {{"--cells", &options.cells},
                                                {"--steps", &options.steps},
                                                {"--every", &options.every},
                                                {"--checkpoint-every", &options.checkpoint_every}};
  const std::map<std::string, std::string*> texts = {
      {"--series", &options.series}, {"--checkpoint", &options.checkpoint}, {"--restart", &options.restart}};
  for (int i = 2; i < argc; i += 2) {
    const auto number = numbers.find(argv[i]);
    const auto text = texts.find(argv[i]);
    if (number != numbers.end())
      *number->second = std::max(std::atol(argv[i + 1]), 1L);
    else if (text != texts.end())
      *text->second = argv[i + 1];
    else
      std::fprintf(stderr, "euler: unknown option %s\n", argv[i]), std::exit(2);
  }
  return options;
}

} // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  h5stz_find_plugin();
  Simulation run;
  if (options.restart.empty()) {
    run.cells = options.cells;
    run.time_step = run.spacing() / 8;
    run.state = exact(run.cells, 0);
  } else {
    run = read_checkpoint(options.restart);
  }
  Series series(options, run);
  while (run.step < options.steps) {
    if (run.step % options.every == 0) series.write(run);
    advance(run);
    if (run.step % options.checkpoint_every == 0 || run.step == options.steps) write_checkpoint(run, options);
  }
  series.report();
  report(run);
}
