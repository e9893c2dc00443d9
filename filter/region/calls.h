// The functions of HDF5 that reading takes, of the library that the caller uses (hdf5/library.h), and owners for what they open.
#ifndef STZ_REGION_CALLS_H
#define STZ_REGION_CALLS_H

#include "hdf5/library.h"

namespace stz::region {

using hdf5::Id;
using hdf5::Library;
using hdf5::Size;
using hdf5::Status;

using ScatterSource = Status (*)(const void** source, size_t* bytes, void* context);  // H5D_scatter_func_t
using ErrorPrinter2 = Status (*)(Id stack, void* context);                            // H5E_auto2_t
using ErrorPrinter1 = Status (*)(void* context);                                      // H5E_auto1_t

constexpr Id kAll = 0;                           // H5S_ALL
constexpr Id kDefaultProperties = 0;             // H5P_DEFAULT
constexpr int kSelectSet = 0, kSelectAnd = 2;    // H5S_SELECT_SET, H5S_SELECT_AND
constexpr int kSelectionHyperslab = 2, kSelectionAll = 3;  // H5S_SEL_HYPERSLABS, H5S_SEL_ALL
constexpr unsigned kRawPartialChunks = 2;        // H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS
constexpr unsigned long kDriverHasMpi = 0x100;   // H5FD_FEAT_HAS_MPI
constexpr int kFillNever = 1;                    // H5D_FILL_TIME_NEVER
constexpr int kFillUndefined = 0;                // H5D_FILL_VALUE_UNDEFINED
constexpr unsigned kReadOnly = 0;                // H5F_ACC_RDONLY
constexpr uint64_t kNoAddress = ~uint64_t{0};    // HADDR_UNDEF
constexpr Size kUnlimited = ~Size{0};            // H5S_UNLIMITED
constexpr int kExtensibleArray = 4;              // H5D_CHUNK_IDX_EARRAY

// name, result, parameters
#define STZ_REGION_FUNCTIONS(X)                                                                                                  \
  X(H5Dget_space, Id, (Id dataset))                                                                                              \
  X(H5Dget_type, Id, (Id dataset))                                                                                               \
  X(H5Dget_create_plist, Id, (Id dataset))                                                                                       \
  X(H5Dget_chunk_storage_size, Status, (Id dataset, const Size* offset, Size* bytes))                                            \
  X(H5Dscatter, Status, (ScatterSource source, void* context, Id type, Id space, void* buffer))                                  \
  X(H5Eget_auto2, Status, (Id stack, ErrorPrinter2 * printer, void** context))                                                   \
  X(H5Eset_auto2, Status, (Id stack, ErrorPrinter2 printer, void* context))                                                      \
  X(H5Eauto_is_v2, Status, (Id stack, unsigned* is_second))                                                                      \
  X(H5Eclear2, Status, (Id stack))                                                                                               \
  X(H5Eget_current_stack, Id, ())                                                                                                \
  X(H5Fclose, Status, (Id file))                                                                                                 \
  X(H5Fget_access_plist, Id, (Id file))                                                                                          \
  X(H5Fget_create_plist, Id, (Id file))                                                                                          \
  X(H5Fget_intent, Status, (Id file, unsigned* intent))                                                                          \
  X(H5Fget_vfd_handle, Status, (Id file, Id access, void** handle))                                                              \
  X(H5FDdriver_query, Status, (Id driver, unsigned long* flags))                                                                 \
  X(H5Iget_file_id, Id, (Id object))                                                                                             \
  X(H5Pclose, Status, (Id properties))                                                                                           \
  X(H5Pget_chunk_opts, Status, (Id properties, unsigned* options))                                                               \
  X(H5Pget_data_transform, long, (Id properties, char* expression, size_t size))                                                 \
  X(H5Pget_driver, Id, (Id properties))                                                                                          \
  X(H5Pget_fill_time, Status, (Id properties, int* time))                                                                        \
  X(H5Pget_userblock, Status, (Id properties, Size* bytes))                                                                      \
  X(H5Sclose, Status, (Id space))                                                                                                \
  X(H5Screate_simple, Id, (int rank, const Size* extents, const Size* limits))                                                   \
  X(H5Sextent_equal, Status, (Id a, Id b))                                                                                       \
  X(H5Sget_regular_hyperslab, Status, (Id space, Size* start, Size* stride, Size* count, Size* block))                           \
  X(H5Sget_select_bounds, Status, (Id space, Size* first, Size* last))                                                           \
  X(H5Sget_select_npoints, long long, (Id space))                                                                                \
  X(H5Sget_select_type, int, (Id space))                                                                                         \
  X(H5Sget_simple_extent_dims, int, (Id space, Size* extents, Size* limits))                                                     \
  X(H5Sget_simple_extent_ndims, int, (Id space))                                                                                 \
  X(H5Sis_regular_hyperslab, Status, (Id space))                                                                                 \
  X(H5Sselect_hyperslab, Status,                                                                                                 \
    (Id space, int operation, const Size* start, const Size* stride, const Size* count, const Size* block))                      \
  X(H5Sselect_valid, Status, (Id space))                                                                                         \
  X(H5Tcompiler_conv, Status, (Id from, Id to))                                                                                  \
  X(H5Tconvert, Status, (Id from, Id to, size_t count, void* samples, void* background, Id transfer))                            \
  X(H5Tequal, Status, (Id a, Id b))

// Those that not every library has. H5Dread_chunk got numbers in 2.0: the first is as it was, the second checks a capacity.
#define STZ_REGION_OPTIONAL_FUNCTIONS(X)                                                                                         \
  X(H5Dread_chunk, Status, (Id dataset, Id transfer, const Size* offset, uint32_t* mask, void* bytes))                           \
  X(H5Dread_chunk1, Status, (Id dataset, Id transfer, const Size* offset, uint32_t* mask, void* bytes))                          \
  X(H5Dread_chunk2, Status, (Id dataset, Id transfer, const Size* offset, uint32_t* mask, void* bytes, size_t* capacity))        \
  X(H5Dget_chunk_info_by_coord, Status, (Id dataset, const Size* offset, unsigned* mask, uint64_t* address, Size* bytes))         \
  X(H5Dget_chunk_index_type, Status, (Id dataset, int* type))                                                                    \
  X(H5Dget_access_plist, Id, (Id dataset))                                                                                       \
  X(H5Pget_chunk_cache, Status, (Id properties, size_t* slots, size_t* bytes, double* preemption))                               \
  X(H5FD_sec2_init, Id, ())                                                                                                      \
  X(H5Fget_mpi_atomicity, Status, (Id file, bool* flag)) /* of parallel libraries alone */                                       \
  X(H5Eget_auto1, Status, (ErrorPrinter1 * printer, void** context))                                                             \
  X(H5Eset_auto1, Status, (ErrorPrinter1 printer, void* context))

struct Calls {
  const Library* library;
  // Null only if the library is no HDF5 at all.
  Status (*H5Dread)(Id dataset, Id memory_type, Id memory_space, Id file_space, Id transfer, void* buffer);
  bool complete;  // all functions but the optional ones are there, and a way to read stored chunks
#define STZ_REGION_MEMBER(name, result, parameters) result(*name) parameters;
  STZ_REGION_FUNCTIONS(STZ_REGION_MEMBER)
  STZ_REGION_OPTIONAL_FUNCTIONS(STZ_REGION_MEMBER)
#undef STZ_REGION_MEMBER
  const Id* sec2_driver;  // H5FD_SEC2_id_g, of 2.0 and later; else null, and there is H5FD_sec2_init
  const Calls* next;
};

// Those of the HDF5 that the code at `return_address` uses; null if it uses none. Lives as long as the process. Thread-safe.
const Calls* calls_at(const void* return_address) noexcept;

// Those of a library that is known already, such as the one that calls. Thread-safe; null only if there is no memory.
const Calls* calls_of(const Library& library) noexcept;

// The stored bytes of the chunk at `offset` (in samples) into `bytes`, which holds `size`. False if HDF5 cannot read them.
bool read_stored_chunk(const Calls& calls, Id dataset, Id transfer, const Size* offset, size_t size, uint32_t& mask, void* bytes);

// An id that is closed at the end of the scope by a function of Calls.
class Owned {
 public:
  Owned(Status (*close)(Id), Id id) : close_(close), id_(id) {}
  ~Owned() {
    if (id_ >= 0) close_(id_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Id get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  Status (*close_)(Id);
  Id id_;
};

// Failing calls print nothing as long as it lives: some here are questions.
class Quiet {
 public:
  explicit Quiet(const Calls& calls);
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  const Calls& calls_;
  unsigned is_second_ = 1;
  bool changed_ = false;
  ErrorPrinter2 printer2_ = nullptr;
  ErrorPrinter1 printer1_ = nullptr;
  void* context_ = nullptr;
};

// Keeps what the error stack holds when keep() is called until it goes itself, over calls that clear the stack.
class KeptErrors {
 public:
  explicit KeptErrors(const Calls& calls) : calls_(calls) {}
  ~KeptErrors() {
    if (stack_ >= 0) calls_.library->H5Eset_current_stack(stack_);  // and closes it
  }
  KeptErrors(const KeptErrors&) = delete;
  KeptErrors& operator=(const KeptErrors&) = delete;
  void keep() { stack_ = calls_.H5Eget_current_stack(); }

 private:
  const Calls& calls_;
  Id stack_ = -1;
};

}  // namespace stz::region

#endif
