// Fuzz target: HDF5 files that are wrong in structure, read through a real HDF5 with the plug-in (H5Dread) and through the library for
// reads of parts (stz_h5_read, stz_h5_read_level). Sanitizers watch h5stz alone: HDF5 is the system's.
//
// The input describes a dataset: type, shape, chunks, kind of chunk index, client data that may be arbitrary words; what is stored as each
// chunk (a stream of it, of another array, a damaged one, samples that passed no filter, nothing); and changes of the finished file in
// client data, extents and the index of chunks. Where H5Dread gives samples, the others give the same; no error is a wrong access.
#include <hdf5.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "hdf5/hdf5_abi.h"
#include "streams.h"
#include "stz_cd_values.h"
#include "stz_h5.h"

extern "C" const void* H5PLget_plugin_info();
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() { return "leak:libhdf5\n"; }

namespace fuzz {
namespace {

constexpr uint64_t most_read = 1 << 14;  // elements

class Id {
 public:
  Id(herr_t (*close)(hid_t), hid_t id) : close_(close), id_(id) {}
  ~Id() {
    if (id_ >= 0) close_(id_);
  }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  operator hid_t() const { return id_; }

 private:
  herr_t (*close_)(hid_t);
  hid_t id_;
};

struct Plan {
  stz_layout layout{};  // of a chunk
  hsize_t extent[3], limit[3];
  hid_t type;
  unsigned words[STZ_CD_MAX_WORDS];
  size_t count = 0;
  bool arbitrary_words = false, has_raw_chunks = false, raw_edges = false;
  uint64_t chunk_elements = 1;
};

// Bytes of the chunks of the dataset that is read; 0: of one that is written.
size_t chunk_bytes = 0;

// HDF5 copies as many bytes as a chunk should have whatever a filter returns, which a filter without the chunk's shape cannot know: where
// client data do not tell it, this does in its place, so that what is found is h5stz's.
size_t checked_filter(unsigned flags, size_t count, const unsigned words[], size_t bytes, size_t* buffer_size, void** buffer) {
  static const auto* const filter = static_cast<const stz::hdf5::FilterClass*>(H5PLget_plugin_info());
  const size_t size = filter->filter(flags, count, words, bytes, buffer_size, buffer);
  return chunk_bytes && size != chunk_bytes ? 0 : size;
}

// The filter, with set_local or without: without, any words get into a file.
void register_filter(bool with_set_local) {
  static const auto* const filter = static_cast<const stz::hdf5::FilterClass*>(H5PLget_plugin_info());
  static const H5Z_class2_t whole = {H5Z_CLASS_T_VERS,
                                     STZ_FILTER_ID,
                                     1,
                                     1,
                                     "h5stz",
                                     reinterpret_cast<H5Z_can_apply_func_t>(filter->can_apply),
                                     reinterpret_cast<H5Z_set_local_func_t>(filter->set_local),
                                     checked_filter};
  static const H5Z_class2_t plain = {H5Z_CLASS_T_VERS, STZ_FILTER_ID, 1, 1, "h5stz", nullptr, nullptr, checked_filter};
  static const bool started = [] {
    H5open();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return true;
  }();
  promise(started && H5Zregister(with_set_local ? &whole : &plain) >= 0, "HDF5 takes the filter");
}

hid_t hdf5_type(int dtype, bool big) {
  const hid_t types[][2] = {{-1, -1},
                            {-1, -1},
                            {H5T_IEEE_F32LE, H5T_IEEE_F32BE},
                            {H5T_IEEE_F64LE, H5T_IEEE_F64BE},
                            {H5T_STD_I8LE, H5T_STD_I8LE},
                            {H5T_STD_U8LE, H5T_STD_U8LE},
                            {H5T_STD_I16LE, H5T_STD_I16BE},
                            {H5T_STD_U16LE, H5T_STD_U16BE},
                            {H5T_STD_I32LE, H5T_STD_I32BE},
                            {H5T_STD_U32LE, H5T_STD_U32BE},
                            {H5T_STD_I64LE, H5T_STD_I64BE},
                            {H5T_STD_U64LE, H5T_STD_U64BE}};
  return types[dtype][big];
}

void choose_plan(Choices& choose, Plan& plan) {
  stz_layout& layout = plan.layout;
  layout.dtype = choose.below(2) ? STZ_F32 : STZ_F32 + int(choose.below(10));
  layout.byte_order = stz_element_size(layout.dtype) > 1 && choose.below(6) == 1;
  layout.rank = 1 + int(choose.below(3));
  plan.type = hdf5_type(layout.dtype, layout.byte_order);
  const bool large = choose.slow(512), middle = choose.slow(32);  // large ones: of which ranges are read
  const uint64_t most = large ? 60000 : middle ? 600 : 60;
  for (int axis = 0; axis < layout.rank; axis++) {
    layout.shape[axis] = 1 + choose.below(layout.rank == 1 ? most : large ? 90 : middle ? 24 : 8);
    if (plan.chunk_elements * layout.shape[axis] > most) layout.shape[axis] = 1;
    plan.chunk_elements *= layout.shape[axis];
    const uint64_t more = choose.byte();
    plan.extent[axis] = layout.shape[axis] * (more % 3) + more / 3 % layout.shape[axis] + 1;
    plan.limit[axis] = more >= 200 ? H5S_UNLIMITED : plan.extent[axis] + more % 2;
  }
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = int(choose.below(2));
  options.bound = options.mode ? 0.01 * double(1 + choose.below(100)) : 0;
  options.integers = STZ_INTEGERS_BOUNDED;
  plan.arbitrary_words = choose.below(4) == 3;
  const int error = stz_cd_values_pack(&options, &layout, plan.words, STZ_CD_MAX_WORDS, &plan.count, nullptr, 0);
  promise(error == STZ_OK, "a plan has client data");
  if (plan.arbitrary_words) {
    if (choose.below(4) == 0) plan.count = choose.below(STZ_CD_MAX_WORDS + 1);
    for (uint64_t k = choose.below(4); k && plan.count; k--)
      plan.words[choose.below(plan.count)] = unsigned(choose.byte() << choose.below(25));
  }
}

// The stream of a chunk of the plan, or of something else.
Bytes choose_stream(Choices& choose, const Plan& plan) {
  stz_layout layout = plan.layout;
  const int kind = choose.byte();
  if (kind >= 240) return make_stream(uint64_t(kind - 240) * 256 + choose.byte());
  if (kind >= 224) layout.shape[0] += 1;
  if (kind >= 208 && kind < 224) std::swap(layout.shape[0], layout.shape[layout.rank - 1]);
  if (kind >= 200 && kind < 208) layout.dtype = layout.dtype == STZ_F32 ? STZ_I32 : STZ_F32;
  const size_t bytes = stz_max_compressed_size(&layout) - 64;
  Bytes array(bytes), stream(bytes + 64);
  for (size_t i = 0; i < bytes; i++) array[i] = kind % 2 ? uint8_t(i % 4 == 3 ? 64 : i * unsigned(kind) / 512) : uint8_t(i / 512);
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = kind % 4 == 0 ? STZ_LOSSLESS : STZ_ABSOLUTE;
  options.bound = 0.05;
  options.block = kind % 3;
  if (kind % 8 == 1) options.layers = 3;
  size_t size = 0;
  if (stz_compress(&layout, array.data(), &options, stream.data(), stream.size(), &size)) return {};
  stream.resize(size);
  if (kind % 16 == 5) mutate_bytes(stream, choose.word());
  return stream;
}

void write_chunks(Choices& choose, Plan& plan, hid_t dataset) {
  Bytes stream;
  hsize_t at[3] = {};
  for (int number = 0; number < 12; number++) {
    const int what = choose.byte();
    if (what % 8 == 0 || stream.empty()) stream = choose_stream(choose, plan);
    bool at_edge = false;
    for (int axis = 0; axis < plan.layout.rank; axis++) at_edge = at_edge || at[axis] + plan.layout.shape[axis] > plan.extent[axis];
    const bool raw = what >= 224 || (plan.raw_edges && at_edge);  // HDF5 takes what is stored there for samples
    plan.has_raw_chunks = plan.has_raw_chunks || raw;
    const Bytes samples(raw ? plan.chunk_elements * stz_element_size(plan.layout.dtype) : 0, uint8_t(what));
    const Bytes& stored = raw ? samples : stream;
    if (what % 16 != 15 && !stored.empty()) H5Dwrite_chunk(dataset, H5P_DEFAULT, raw, at, stored.size(), stored.data());
    int axis = plan.layout.rank - 1;
    for (; axis >= 0; axis--) {
      at[axis] += plan.layout.shape[axis];
      if (at[axis] < plan.extent[axis]) break;
      at[axis] = 0;
    }
    if (axis < 0) return;
  }
}

Bytes make_file(Choices& choose, Plan& plan) {
  const int settings = choose.byte();
  register_filter(!plan.arbitrary_words);
  const Id access(H5Pclose, H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_core(access, 1 << 16, 0);
  if (settings % 2) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const Id file(H5Fclose, H5Fcreate("fuzz", H5F_ACC_TRUNC, H5P_DEFAULT, access));
  const Id creation(H5Pclose, H5Pcreate(H5P_DATASET_CREATE));
  hsize_t chunk[3];
  std::copy_n(plan.layout.shape, plan.layout.rank, chunk);
  H5Pset_chunk(creation, plan.layout.rank, chunk);
  H5Pset_filter(creation, STZ_FILTER_ID, settings / 2 % 2, plan.count, plan.words);
  if (settings / 16 % 4 == 0) {
    H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    plan.has_raw_chunks = plan.raw_edges = true;
  }
  const int fill = settings / 64;
  if (fill) H5Pset_fill_value(creation, H5T_NATIVE_INT, &fill);
  const Id space(H5Sclose, H5Screate_simple(plan.layout.rank, plan.extent, plan.limit));
  {
    const Id dataset(H5Dclose, H5Dcreate2(file, "d", plan.type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    if (dataset < 0) return {};
    write_chunks(choose, plan, dataset);
  }
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  if (size <= 0) return {};
  Bytes image(static_cast<size_t>(size));
  H5Fget_file_image(file, image.data(), image.size());
  return image;
}

// Changes a number of the file's structure in each place where it stands.
template <class T>
void change_numbers(Choices& choose, Bytes& image, const T* numbers, size_t count) {
  const size_t bytes = count * sizeof(T), which = choose.below(count);
  const T value = T(choose.below(4) ? choose.below(80) : choose.word() >> choose.below(50));
  for (size_t at = 0; at + bytes <= image.size(); at++)
    if (memcmp(&image[at], numbers, bytes) == 0) memcpy(&image[at + which * sizeof(T)], &value, sizeof(T));
}

void change_structure(Choices& choose, const Plan& plan, Bytes& image) {
  for (uint64_t changes = choose.below(8); changes > 4; changes--) switch (choose.below(4)) {
      case 0:
        if (plan.count > 3) change_numbers(choose, image, plan.words, plan.count);
        break;
      case 1:  // HDF5 takes the bytes of chunks that come to lie at an edge for samples, where those pass no filter
        if (!plan.raw_edges) change_numbers(choose, image, plan.extent, size_t(plan.layout.rank));
        break;
      default:  // the bytes that a chunk has, in a key of the old index; HDF5 believes it for chunks that pass no filter
        if (plan.has_raw_chunks) break;
        for (size_t at = 8; at + 40 < image.size(); at++) {
          if (memcmp(&image[at - 8], "TREE\1", 5) != 0) continue;
          const size_t key = at + 16 + choose.below(3) * (16 + 8 * size_t(plan.layout.rank));
          if (key + 4 <= image.size()) image[key + choose.below(2)] = choose.byte();
        }
        break;
    }
}

// ---------------------------------------------------------------- reading

hid_t open_image(Choices& choose, Bytes& image) {
  const Id access(H5Pclose, H5Pcreate(H5P_FILE_ACCESS));
  static const int file = memfd_create("file", 0);
  if (choose.below(3) == 0 && ftruncate(file, 0) == 0 && pwrite(file, image.data(), image.size(), 0) == ssize_t(image.size()))
    return H5Fopen(("/proc/self/fd/" + std::to_string(file)).c_str(), H5F_ACC_RDONLY, access);
  H5Pset_fapl_core(access, 1 << 16, 0);
  H5Pset_file_image(access, image.data(), image.size());
  return H5Fopen("image", H5F_ACC_RDONLY, access);
}

void compare_reads(Choices& choose, hid_t dataset, hid_t type, int rank, const hsize_t* extent) {
  hsize_t start[32], count[32], step[32], elements = 1;
  const int kind = choose.byte(), level = kind / 2 % 6;
  for (int axis = 0; axis < rank; axis++) {
    step[axis] = kind % 2 ? hsize_t(1) << level : kind % 8 == 0 ? 1 + choose.below(4) : 1;
    const hsize_t on_level = (extent[axis] + step[axis] - 1) / step[axis];
    start[axis] = choose.below(65536) % std::max<hsize_t>(on_level, 1);
    count[axis] = std::min<hsize_t>(on_level - std::min(on_level, start[axis]), 1 + choose.below(300));
    if (elements * count[axis] > most_read) count[axis] = std::min<hsize_t>(count[axis], 1);
    elements *= count[axis];
  }
  if (!elements) return;
  hsize_t from[32];
  for (int axis = 0; axis < rank; axis++) from[axis] = start[axis] * step[axis];
  const Id space(H5Sclose, H5Dget_space(dataset)), memory(H5Sclose, H5Screate_simple(rank, count, nullptr));
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, from, step, count, nullptr) < 0) return;
  const hid_t memory_type = kind >= 240 ? hid_t(H5T_NATIVE_DOUBLE) : type;
  Bytes whole(elements * 16), part(elements * 16), of_level(elements * 16);
  const herr_t plain = H5Dread(dataset, memory_type, memory, space, H5P_DEFAULT, whole.data());
  const herr_t direct = stz_h5_read(dataset, memory_type, memory, space, H5P_DEFAULT, part.data());
  if (plain >= 0) promise(direct >= 0 && part == whole, "a part of a dataset has the samples that H5Dread gives");
  if (kind % 2 == 0) return;
  const herr_t levels = stz_h5_read_level(dataset, level, start, count, memory_type, of_level.data());
  if (plain >= 0) promise(levels >= 0 && of_level == whole, "a level of a dataset has the samples that H5Dread gives");
}

void read_file(Choices& choose, Bytes& image) {
  register_filter(true);
  const Id file(H5Fclose, open_image(choose, image));
  if (file < 0) return;
  const Id dataset(H5Dclose, H5Dopen2(file, "d", H5P_DEFAULT));
  if (dataset < 0) return;
  const Id space(H5Sclose, H5Dget_space(dataset)), type(H5Tclose, H5Dget_type(dataset));
  hsize_t extent[32] = {};
  const int rank = H5Sget_simple_extent_dims(space, extent, nullptr);
  if (rank < 1 || type < 0 || H5Tget_size(type) > 16) return;
  const Id creation(H5Pclose, H5Dget_create_plist(dataset));
  hsize_t chunk[32] = {};
  if (H5Pget_chunk(creation, 32, chunk) != rank) return;
  chunk_bytes = H5Tget_size(type);
  for (int axis = 0; axis < rank; axis++) chunk_bytes *= chunk[axis];
  inputs_accepted++;
  for (int turn = 0; turn < 3; turn++) compare_reads(choose, dataset, type, rank, extent);
  chunk_bytes = 0;
}

}  // namespace

Bytes seed_input(uint64_t number) {
  Random random(number);
  Bytes input = random_bytes(random, 60 + random.below(120));
  return input;
}

void mutate_input(Bytes& input, uint64_t random_seed) { replace_bytes(input, random_seed); }

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fuzz;
  Choices choose(data, size);
  register_filter(true);
  Plan plan;
  choose_plan(choose, plan);
  Bytes image = make_file(choose, plan);
  if (image.empty()) return 0;
  change_structure(choose, plan, image);
  read_file(choose, image);
  return 0;
}
