// The functions of the libhdf5 that is calling the plug-in. Several copies of HDF5, of different versions, can live in one process
// (h5py, netCDF4 and PyTables bring one each) and share one image of this plug-in. Ids mean something only to the copy that made them.
// So the plug-in identifies its caller by the code address on every call; there is no "the" HDF5.
#pragma once
#include "base/message.h"
#include "hdf5/hdf5_abi.h"

namespace stz::hdf5 {

// Tables of functions are lists of X(name, result, parameters). This macro declares a member for each function,
#define STZ_HDF5_MEMBER(name, result, parameters) result(*name) parameters;
// and this one looks each up. `library`, `functions` (the table) and `complete` (all were found so far) are locals of its user.
#define STZ_HDF5_LOOK_UP(name, result, parameters) complete &= stz::hdf5::find_function(library, #name, functions.name);

// A library counts as reachable only if it has all of these functions.
#define STZ_HDF5_FUNCTIONS(X)                                                                                                             \
  X(H5get_libversion, herr_t, (unsigned* major, unsigned* minor, unsigned* release))                                                      \
  X(H5allocate_memory, void*, (size_t size, bool clear))                                                                                  \
  X(H5free_memory, herr_t, (void* memory))                                                                                                \
  X(H5Epush2, herr_t,                                                                                                                     \
    (hid_t stack, const char* file, const char* function, unsigned line, hid_t error_class, hid_t major, hid_t minor, const char* format, \
     ...))                                                                                                                                \
  X(H5Ecreate_stack, hid_t, ())                                                                                                           \
  X(H5Eset_current_stack, herr_t, (hid_t stack))                                                                                          \
  X(H5Pget_layout, int, (hid_t properties))                                                                                               \
  X(H5Pget_chunk, int, (hid_t properties, int max_rank, hsize_t* extents))                                                                \
  X(H5Pget_nfilters, int, (hid_t properties))                                                                                             \
  X(H5Pget_filter2, int,                                                                                                                  \
    (hid_t properties, unsigned index, unsigned* flags, size_t* cd_count, unsigned* cd_values, size_t name_size, char* name,              \
     unsigned* config))                                                                                                                   \
  X(H5Pmodify_filter, herr_t, (hid_t properties, int filter, unsigned flags, size_t cd_count, const unsigned* cd_values))                 \
  X(H5Pfill_value_defined, herr_t, (hid_t properties, int* state))                                                                        \
  X(H5Pget_fill_value, herr_t, (hid_t properties, hid_t type, void* value))                                                               \
  X(H5Tget_class, int, (hid_t type))                                                                                                      \
  X(H5Tget_size, size_t, (hid_t type))                                                                                                    \
  X(H5Tget_precision, size_t, (hid_t type))                                                                                               \
  X(H5Tget_order, int, (hid_t type))                                                                                                      \
  X(H5Tget_sign, int, (hid_t type))                                                                                                       \
  X(H5Tget_fields, herr_t,                                                                                                                \
    (hid_t type, size_t * sign_at, size_t * exponent_at, size_t * exponent_bits, size_t * mantissa_at, size_t * mantissa_bits))           \
  X(H5Tget_ebias, size_t, (hid_t type))                                                                                                   \
  X(H5Tget_norm, int, (hid_t type))                                                                                                       \
  X(H5Tget_super, hid_t, (hid_t type))                                                                                                    \
  X(H5Tget_nmembers, int, (hid_t type))                                                                                                   \
  X(H5Tget_member_name, char*, (hid_t type, unsigned index))                                                                              \
  X(H5Tget_member_offset, size_t, (hid_t type, unsigned index))                                                                           \
  X(H5Tget_member_type, hid_t, (hid_t type, unsigned index))                                                                              \
  X(H5Tis_variable_str, herr_t, (hid_t type))                                                                                             \
  X(H5Tclose, herr_t, (hid_t type))

struct Library {
  const void* base;  // load address of the calling object
  bool reachable;    // false: the pointers below are null
  // True for a build that puts guards around each block of memory and requires that all are freed before the program ends.
  bool checks_memory;
  STZ_HDF5_FUNCTIONS(STZ_HDF5_MEMBER)
  // Newer libraries pause their error stack while a filter runs and drop pushed records. Null in libraries that do not.
  herr_t (*H5Eis_paused)(hid_t stack, bool* paused);
  // Addresses, not values: the library assigns the ids when it initialises, and anew after H5close.
  const hid_t* error_class;
  const hid_t* error_major;
  const hid_t* error_minor;
  // A program that is not position-independent code has its own copies of the three above; may be null.
  const hid_t* copied_error_class;
  const hid_t* copied_error_major;
  const hid_t* copied_error_minor;
  // The scope for further lookups (a handle of dlopen or RTLD_DEFAULT), and the prefix of the library's names.
  void* scope;
  const char* prefix;
  const Library* next;
};

// The library whose code is at `return_address`: __builtin_return_address(0), taken in the callback itself. Never null, never freed.
// Thread-safe; takes no lock of its own, which a fork could leave held.
const Library* calling_library(const void* return_address) noexcept;

// The library that a program or shared object other than HDF5 uses: the HDF5 that the dynamic linker would bind to calls of the code at
// `return_address`. Null if there is none. Thread-safe.
const Library* library_used_at(const void* return_address) noexcept;

// The address of a further function or variable of the library; null if it has none of that name.
void* library_function(const Library& library, const char* name) noexcept;

// Sets `function` to the function of that name, or to null. False if there is none.
template <class Function>
bool find_function(const Library& library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(library_function(library, name));
  return function != nullptr;
}

// Appends the message to the library's error stack. Must be the last HDF5 call of a callback: most others clear the stack.
void push_error(const Library& library, const char* function, const Message& message) noexcept;

// An id that is closed at the end of the scope.
class TypeId {
 public:
  TypeId(const Library& library, hid_t id) : library_(library), id_(id) {}
  ~TypeId() {
    if (id_ >= 0) library_.H5Tclose(id_);
  }
  TypeId(const TypeId&) = delete;
  TypeId& operator=(const TypeId&) = delete;
  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  const Library& library_;
  hid_t id_;
};

}  // namespace stz::hdf5
