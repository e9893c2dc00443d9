// The HDF5 functions that reading, and writing of whole chunks, need, from the library that the caller uses (hdf5/library.h), and owners
// for the ids that they open.
#pragma once
#include "hdf5/library.h"

namespace stz::hdf5 {

using ScatterSource = herr_t (*)(const void** source, size_t* bytes, void* context);  // H5D_scatter_func_t
using ErrorPrinter2 = herr_t (*)(hid_t stack, void* context);                         // H5E_auto2_t
using ErrorPrinter1 = herr_t (*)(void* context);                                      // H5E_auto1_t

constexpr hid_t space_all = 0;                             // H5S_ALL
constexpr hid_t default_properties = 0;                    // H5P_DEFAULT
constexpr int select_set = 0, select_and = 2;              // H5S_SELECT_SET, H5S_SELECT_AND
constexpr int selection_hyperslab = 2, selection_all = 3;  // H5S_SEL_HYPERSLABS, H5S_SEL_ALL
constexpr unsigned raw_partial_chunks = 2;                 // H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS
constexpr unsigned long driver_has_mpi = 0x100;            // H5FD_FEAT_HAS_MPI
constexpr int fill_never = 1;                              // H5D_FILL_TIME_NEVER
constexpr int fill_undefined = 0;                          // H5D_FILL_VALUE_UNDEFINED
constexpr unsigned read_only = 0;                          // H5F_ACC_RDONLY
constexpr unsigned swmr = 0x20 | 0x40;                     // H5F_ACC_SWMR_WRITE, H5F_ACC_SWMR_READ
constexpr int space_not_allocated = 0;                     // H5D_SPACE_STATUS_NOT_ALLOCATED
constexpr unsigned basic_info = 1;                         // H5O_INFO_BASIC
constexpr u64 no_address = ~u64{0};                        // HADDR_UNDEF
constexpr hsize_t unlimited = ~hsize_t{0};                 // H5S_UNLIMITED
constexpr int extensible_array = 4;                        // H5D_CHUNK_IDX_EARRAY

#define STZ_READING_FUNCTIONS(X)                                                                                           \
  X(H5Dget_space, hid_t, (hid_t dataset))                                                                                  \
  X(H5Dget_type, hid_t, (hid_t dataset))                                                                                   \
  X(H5Dget_create_plist, hid_t, (hid_t dataset))                                                                           \
  X(H5Dget_chunk_storage_size, herr_t, (hid_t dataset, const hsize_t* offset, hsize_t* bytes))                             \
  X(H5Dscatter, herr_t, (ScatterSource source, void* context, hid_t type, hid_t space, void* buffer))                      \
  X(H5Eget_auto2, herr_t, (hid_t stack, ErrorPrinter2 * printer, void** context))                                          \
  X(H5Eset_auto2, herr_t, (hid_t stack, ErrorPrinter2 printer, void* context))                                             \
  X(H5Eauto_is_v2, herr_t, (hid_t stack, unsigned* is_second))                                                             \
  X(H5Eclear2, herr_t, (hid_t stack))                                                                                      \
  X(H5Eget_current_stack, hid_t, ())                                                                                       \
  X(H5Fclose, herr_t, (hid_t file))                                                                                        \
  X(H5Fget_access_plist, hid_t, (hid_t file))                                                                              \
  X(H5Fget_create_plist, hid_t, (hid_t file))                                                                              \
  X(H5Fget_intent, herr_t, (hid_t file, unsigned* intent))                                                                 \
  X(H5Fget_vfd_handle, herr_t, (hid_t file, hid_t access, void** handle))                                                  \
  X(H5FDdriver_query, herr_t, (hid_t driver, unsigned long* flags))                                                        \
  X(H5Iget_file_id, hid_t, (hid_t object))                                                                                 \
  X(H5Pclose, herr_t, (hid_t properties))                                                                                  \
  X(H5Pget_chunk_opts, herr_t, (hid_t properties, unsigned* options))                                                      \
  X(H5Pget_data_transform, long, (hid_t properties, char* expression, size_t size))                                        \
  X(H5Pget_driver, hid_t, (hid_t properties))                                                                              \
  X(H5Pget_fill_time, herr_t, (hid_t properties, int* time))                                                               \
  X(H5Pget_userblock, herr_t, (hid_t properties, hsize_t * bytes))                                                         \
  X(H5Sclose, herr_t, (hid_t space))                                                                                       \
  X(H5Screate_simple, hid_t, (int rank, const hsize_t* extents, const hsize_t* limits))                                    \
  X(H5Sextent_equal, herr_t, (hid_t a, hid_t b))                                                                           \
  X(H5Sget_regular_hyperslab, herr_t, (hid_t space, hsize_t * start, hsize_t * stride, hsize_t * count, hsize_t * block))  \
  X(H5Sget_select_bounds, herr_t, (hid_t space, hsize_t * first, hsize_t * last))                                          \
  X(H5Sget_select_npoints, long long, (hid_t space))                                                                       \
  X(H5Sget_select_type, int, (hid_t space))                                                                                \
  X(H5Sget_simple_extent_dims, int, (hid_t space, hsize_t * extents, hsize_t * limits))                                    \
  X(H5Sget_simple_extent_ndims, int, (hid_t space))                                                                        \
  X(H5Sis_regular_hyperslab, herr_t, (hid_t space))                                                                        \
  X(H5Sselect_hyperslab, herr_t,                                                                                           \
    (hid_t space, int operation, const hsize_t* start, const hsize_t* stride, const hsize_t* count, const hsize_t* block)) \
  X(H5Sselect_valid, herr_t, (hid_t space))                                                                                \
  X(H5Tcompiler_conv, herr_t, (hid_t from, hid_t to))                                                                      \
  X(H5Tconvert, herr_t, (hid_t from, hid_t to, size_t count, void* samples, void* background, hid_t transfer))             \
  X(H5Tequal, herr_t, (hid_t a, hid_t b))

// Functions that some libraries lack. HDF5 2.0 numbered H5Dread_chunk: the first is the old function, the second checks a capacity.
#define STZ_READING_OPTIONAL_FUNCTIONS(X)                                                                                           \
  X(H5Dread_chunk, herr_t, (hid_t dataset, hid_t transfer, const hsize_t* offset, u32* mask, void* bytes))                          \
  X(H5Dread_chunk1, herr_t, (hid_t dataset, hid_t transfer, const hsize_t* offset, u32* mask, void* bytes))                         \
  X(H5Dread_chunk2, herr_t, (hid_t dataset, hid_t transfer, const hsize_t* offset, u32* mask, void* bytes, size_t* capacity))       \
  X(H5Dget_chunk_info_by_coord, herr_t, (hid_t dataset, const hsize_t* offset, unsigned* mask, u64* address, hsize_t* bytes))       \
  X(H5Dget_chunk_index_type, herr_t, (hid_t dataset, int* type))                                                                    \
  X(H5Dget_access_plist, hid_t, (hid_t dataset))                                                                                    \
  X(H5Pget_chunk_cache, herr_t, (hid_t properties, size_t * slots, size_t * bytes, double* preemption))                             \
  X(H5FD_sec2_init, hid_t, ())                                                                                                      \
  X(H5Fget_mpi_atomicity, herr_t, (hid_t file, bool* flag)) /* in parallel libraries only */                                        \
  X(H5Dget_space_status, herr_t, (hid_t dataset, int* status))                                                                      \
  X(H5Dwrite, herr_t, (hid_t dataset, hid_t memory_type, hid_t memory_space, hid_t file_space, hid_t transfer, const void* buffer)) \
  X(H5Dwrite_chunk, herr_t, (hid_t dataset, hid_t transfer, u32 mask, const hsize_t* offset, size_t size, const void* bytes))       \
  X(H5Oget_info2, herr_t, (hid_t object, void* info, unsigned fields))                                                              \
  X(H5Oget_info3, herr_t, (hid_t object, void* info, unsigned fields))                                                              \
  X(H5Zfilter_avail, herr_t, (int filter))                                                                                          \
  X(H5Eget_auto1, herr_t, (ErrorPrinter1 * printer, void** context))                                                                \
  X(H5Eset_auto1, herr_t, (ErrorPrinter1 printer, void* context))

struct Calls {
  const Library* library;
  // Null only if the library is not HDF5.
  herr_t (*H5Dread)(hid_t dataset, hid_t memory_type, hid_t memory_space, hid_t file_space, hid_t transfer, void* buffer);
  bool complete;  // the library has all functions but the optional ones, and one that reads stored chunks
  STZ_READING_FUNCTIONS(STZ_HDF5_MEMBER)
  STZ_READING_OPTIONAL_FUNCTIONS(STZ_HDF5_MEMBER)
  const hid_t* sec2_driver;  // H5FD_SEC2_id_g since HDF5 2.0; null before, where H5FD_sec2_init gives the id
  const Calls* next;
};

// The functions of the HDF5 that the code at `return_address` uses; null if it uses none. The table is never freed. Thread-safe.
const Calls* calls_at(const void* return_address) noexcept;

// The functions of a library that is known already, such as the calling one. Thread-safe; null only when out of memory.
const Calls* calls_of(const Library& library) noexcept;

// Reads the stored bytes of the chunk at `offset` (in samples) to `bytes`, which holds `size`. False if HDF5 cannot read them.
bool read_stored_chunk(const Calls& calls, hid_t dataset, hid_t transfer, const hsize_t* offset, size_t size, u32& mask, void* bytes);

// An id that is closed at the end of the scope by a function of Calls.
class ScopedId {
 public:
  ScopedId(herr_t (*close)(hid_t), hid_t id) : close_(close), id_(id) {}
  ~ScopedId() {
    if (id_ >= 0) close_(id_);
  }
  ScopedId(const ScopedId&) = delete;
  ScopedId& operator=(const ScopedId&) = delete;
  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  herr_t (*close_)(hid_t);
  hid_t id_;
};

// Suppresses printed errors during its lifetime, as some calls here only ask and may fail.
class SuppressErrors {
 public:
  explicit SuppressErrors(const Calls& calls);
  ~SuppressErrors();
  SuppressErrors(const SuppressErrors&) = delete;
  SuppressErrors& operator=(const SuppressErrors&) = delete;

 private:
  const Calls& calls_;
  unsigned is_second_ = 1;
  bool changed_ = false;
  ErrorPrinter2 printer2_ = nullptr;
  ErrorPrinter1 printer1_ = nullptr;
  void* context_ = nullptr;
};

// Saves the error stack at keep() and restores it in its destructor, over calls that clear the stack.
class SavedErrorStack {
 public:
  explicit SavedErrorStack(const Calls& calls) : calls_(calls) {}
  ~SavedErrorStack() {
    if (stack_ >= 0) calls_.library->H5Eset_current_stack(stack_);  // closes stack_ too
  }
  SavedErrorStack(const SavedErrorStack&) = delete;
  SavedErrorStack& operator=(const SavedErrorStack&) = delete;
  void keep() { stack_ = calls_.H5Eget_current_stack(); }

 private:
  const Calls& calls_;
  hid_t stack_ = -1;
};

}  // namespace stz::hdf5
