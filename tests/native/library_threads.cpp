// 8 threads with several copies of HDF5 in one process and one plug-in: each thread writes a dataset of its own in parts and reads what
// another thread has written, with another copy, all at the same time.
//
//   library_threads DIRECTORY TURNS LIBRARY...
//
// A copy that is not built for threads is called by one thread at a time, as h5py and netCDF4 call theirs. Prints the version of each copy,
// and how many datasets were judged; exits with 1 at the first sample that breaks the bound, or that has other bits where it was not
// written.
#include <barrier>
#include <mutex>

#include "plugin_host.h"

namespace {

using namespace unit;
using hid = i64;
using hsize = unsigned long long;

constexpr int kThreads = 8;
constexpr hsize kFrames = 12, kRows = 18, kColumns = 20, kFramesOfChunk = 5;
constexpr double kBound = 1e-2;

#define FUNCTIONS(X)                                                                              \
  X(int, H5open, ())                                                                              \
  X(int, H5get_libversion, (unsigned*, unsigned*, unsigned*))                                     \
  X(int, H5is_library_threadsafe, (bool*))                                                        \
  X(int, H5PLprepend, (const char*))                                                              \
  X(hid, H5Fcreate, (const char*, unsigned, hid, hid))                                            \
  X(hid, H5Fopen, (const char*, unsigned, hid))                                                   \
  X(int, H5Fflush, (hid, int))                                                                    \
  X(int, H5Fclose, (hid))                                                                         \
  X(hid, H5Screate_simple, (int, const hsize*, const hsize*))                                     \
  X(int, H5Sselect_hyperslab, (hid, int, const hsize*, const hsize*, const hsize*, const hsize*)) \
  X(int, H5Sclose, (hid))                                                                         \
  X(hid, H5Pcreate, (hid))                                                                        \
  X(int, H5Pset_chunk, (hid, int, const hsize*))                                                  \
  X(int, H5Pset_filter, (hid, int, unsigned, size_t, const unsigned*))                            \
  X(int, H5Pset_chunk_cache, (hid, size_t, size_t, double))                                       \
  X(int, H5Pclose, (hid))                                                                         \
  X(hid, H5Dcreate2, (hid, const char*, hid, hid, hid, hid, hid))                                 \
  X(hid, H5Dopen2, (hid, const char*, hid))                                                       \
  X(int, H5Dwrite, (hid, hid, hid, hid, hid, const void*))                                        \
  X(int, H5Dread, (hid, hid, hid, hid, hid, void*))                                               \
  X(int, H5Dclose, (hid))

// A copy of HDF5.
struct Library {
#define MEMBER(result, name, parameters) result(*name) parameters;
  FUNCTIONS(MEMBER)
#undef MEMBER
  hid float_type, creation_class, access_class;
  bool is_threadsafe = false;
  std::mutex mutex;

  explicit Library(const char* path) {
    void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(handle, "%s", dlerror());
#define LOOK_UP(result, name, parameters) CHECK(name = reinterpret_cast<decltype(name)>(dlsym(handle, #name)), #name);
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    unsigned version[3];
    CHECK(H5open() >= 0 && H5get_libversion(version, version + 1, version + 2) >= 0 && H5is_library_threadsafe(&is_threadsafe) >= 0);
    std::printf("HDF5 %u.%u.%u%s\n", version[0], version[1], version[2], is_threadsafe ? " for threads" : "");
    const std::string plugin = PLUGIN;
    CHECK(H5PLprepend(plugin.substr(0, plugin.rfind('/')).c_str()) >= 0);
    const auto value = [&](const char* name) { return *static_cast<const hid*>(dlsym(handle, name)); };
    float_type = value("H5T_NATIVE_FLOAT_g");
    creation_class = value("H5P_CLS_DATASET_CREATE_ID_g");
    access_class = value("H5P_CLS_DATASET_ACCESS_ID_g");
  }
  // One call.
  template <class Function, class... Arguments>
  auto operator()(Function Library::*function, Arguments... arguments) {
    const std::unique_lock lock = is_threadsafe ? std::unique_lock<std::mutex>() : std::unique_lock(mutex);
    const auto result = (this->*function)(arguments...);
    CHECK(result >= 0, "a call of HDF5 fails");
    return result;
  }
};

// The dataset of a thread: in a file, and what was written last to each sample.
struct Written {
  std::string path;
  Samples values, before;  // before: the bits that were in the file when `is_new` was cleared
  std::vector<char> is_new;
};
constexpr size_t kSamples = kFrames * kRows * kColumns;

// A box of frames, rows and columns.
struct Box {
  hsize start[3], count[3];
};
Box random_box(Random& random) {
  const hsize extents[] = {kFrames, kRows, kColumns};
  Box box;
  for (int axis = 0; axis < 3; axis++) {
    box.start[axis] = random.below(extents[axis]);
    box.count[axis] = 1 + random.below(extents[axis] - box.start[axis]);
  }
  return box;
}

// Writes to a box through HDF5, and notes it.
void write_box(Library& hdf5, hid dataset, const Box& box, u64 seed, Written& written) {
  Random random(seed);
  Samples values(size_t(box.count[0] * box.count[1] * box.count[2]));
  const double phase = double(random.below(100));
  for (size_t i = 0; i < values.size(); i++) values[i] = float(20 * std::sin(phase + double(i) / 50) + double(random.below(1000)) / 5e3);
  const hsize shape[] = {kFrames, kRows, kColumns};
  const hid space = hdf5(&Library::H5Screate_simple, 3, shape, nullptr), memory = hdf5(&Library::H5Screate_simple, 3, box.count, nullptr);
  hdf5(&Library::H5Sselect_hyperslab, space, 0, box.start, nullptr, box.count, nullptr);
  hdf5(&Library::H5Dwrite, dataset, hdf5.float_type, memory, space, hid(0), static_cast<const void*>(values.data()));
  hdf5(&Library::H5Sclose, space);
  hdf5(&Library::H5Sclose, memory);
  size_t next = 0;
  for (hsize z = 0; z < box.count[0]; z++)
    for (hsize y = 0; y < box.count[1]; y++)
      for (hsize x = 0; x < box.count[2]; x++) {
        const size_t at = size_t(((box.start[0] + z) * kRows + box.start[1] + y) * kColumns + box.start[2] + x);
        written.values[at] = values[next++];
        written.is_new[at] = 1;
      }
}

hid access_with_cache(Library& hdf5, size_t bytes) {
  const hid access = hdf5(&Library::H5Pcreate, hdf5.access_class);
  hdf5(&Library::H5Pset_chunk_cache, access, size_t(101), bytes, 0.75);
  return access;
}

void create(Library& hdf5, Written& written) {
  const hsize shape[] = {kFrames, kRows, kColumns}, chunk[] = {kFramesOfChunk, kRows, kColumns / 2};
  const Dataset described(kFramesOfChunk, kRows, kColumns / 2, kBound);
  const hid file = hdf5(&Library::H5Fcreate, written.path.c_str(), 2u, hid(0), hid(0));  // H5F_ACC_TRUNC
  const hid space = hdf5(&Library::H5Screate_simple, 3, shape, nullptr), creation = hdf5(&Library::H5Pcreate, hdf5.creation_class);
  hdf5(&Library::H5Pset_chunk, creation, 3, chunk);
  hdf5(&Library::H5Pset_filter, creation, STZ_FILTER_ID, 0u, described.count, static_cast<const unsigned*>(described.words));
  const hid dataset = hdf5(&Library::H5Dcreate2, file, "x", hdf5.float_type, space, hid(0), creation, hid(0));
  write_box(hdf5, dataset, {{0, 0, 0}, {kFrames, kRows, kColumns}}, written.path.size(), written);
  hdf5(&Library::H5Dclose, dataset);
  hdf5(&Library::H5Pclose, creation);
  hdf5(&Library::H5Sclose, space);
  hdf5(&Library::H5Fclose, file);
}

// A session of a program that writes a few boxes.
void rewrite(Library& hdf5, Written& written, Random& random) {
  const hid file = hdf5(&Library::H5Fopen, written.path.c_str(), 1u, hid(0));  // H5F_ACC_RDWR
  const hid access = access_with_cache(hdf5, random.chance(0.5) ? 0 : size_t(1) << 20);
  const hid dataset = hdf5(&Library::H5Dopen2, file, "x", access);
  for (u64 boxes = 1 + random.below(4); boxes-- > 0;) {
    write_box(hdf5, dataset, random_box(random), random.bits(), written);
    if (random.chance(0.3)) hdf5(&Library::H5Fflush, file, 0);
  }
  hdf5(&Library::H5Dclose, dataset);
  hdf5(&Library::H5Pclose, access);
  hdf5(&Library::H5Fclose, file);
}

void judge(Library& hdf5, Written& written) {
  const hid file = hdf5(&Library::H5Fopen, written.path.c_str(), 0u, hid(0)), dataset = hdf5(&Library::H5Dopen2, file, "x", hid(0));
  Samples found(kSamples);
  hdf5(&Library::H5Dread, dataset, hdf5.float_type, hid(0), hid(0), hid(0), static_cast<void*>(found.data()));
  hdf5(&Library::H5Dclose, dataset);
  hdf5(&Library::H5Fclose, file);
  for (size_t i = 0; i < kSamples; i++) {
    CHECK(std::abs(double(written.values[i]) - double(found[i])) <= kBound, "sample %zu of %s", i, written.path.c_str());
    CHECK(written.is_new[i] || memcmp(&written.before[i], &found[i], 4) == 0, "sample %zu of %s", i, written.path.c_str());
  }
  written.before = found;
  std::fill(written.is_new.begin(), written.is_new.end(), 0);
}

}  // namespace

int main(int count, char** words) {
  CHECK(count > 3, "library_threads DIRECTORY TURNS LIBRARY...");
  const int turns = std::atoi(words[2]);
  std::vector<std::unique_ptr<Library>> libraries;
  for (int i = 3; i < count; i++) libraries.push_back(std::make_unique<Library>(words[i]));
  const auto library = [&](int number) -> Library& { return *libraries[size_t(number) % libraries.size()]; };
  std::vector<Written> files(kThreads);
  std::barrier turn_ends(kThreads);
  std::atomic<int> judged{0};
  plugin_host::on_threads(kThreads, [&](int thread) {
    Written& own = files[size_t(thread)];
    own = {words[1] + ("/" + std::to_string(thread) + ".h5"), Samples(kSamples), Samples(kSamples), std::vector<char>(kSamples)};
    Random random(u64(thread) + 1);
    create(library(thread), own);
    for (int turn = 0; turn < turns; turn++) {
      rewrite(library(thread + turn), own, random);
      turn_ends.arrive_and_wait();
      judge(library(thread + turn + 1), files[size_t(thread + turn) % kThreads]);
      judged++;
      turn_ends.arrive_and_wait();
    }
  });
  std::printf("%d datasets judged\n", judged.load());
}
