// What passes for HDF5 in a fuzz target, so that the plug-in's callbacks can be called as HDF5 calls them: the functions that
// hdf5/library.h looks up, in the program itself. Datatypes and creation properties are what the fuzzer says; identifiers are places in
// tables.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "fuzz_common.h"
#include "hdf5/hdf5_abi.h"
#include "hdf5/library.h"
#include "stz_cd_values.h"

extern "C" const void* H5PLget_plugin_info();
extern "C" void stz_h5_forget();

namespace fuzz {

// A datatype: what the functions of HDF5 say of it. Negative results are failures.
struct StandInType {
  int type_class = 0, order = 0, sign = 0, norm = 0, members = 0, variable_string = 0, fields_status = 0;
  size_t size = 4, precision = 32, fields[5] = {31, 23, 8, 0, 23}, bias = 127;
  std::string name[2];
  size_t offset[2] = {0, 4};
  std::vector<StandInType> parts;  // the base type, or those of members; none: asking fails
};

// Creation properties of a dataset.
struct StandInProperties {
  int layout = 2, rank = 1, filters = 1, filter_id = STZ_FILTER_ID, fill_state = 0, fill_status = 0, modify_status = 0;
  unsigned flags = 0;
  unsigned long long chunk[STZ_MAX_RANK] = {16};
  std::vector<unsigned> words;
  std::string filter_name;
  uint8_t fill[16] = {};
};

// The one dataset that is being created, the datatypes that are open, and the memory that was given out.
struct StandIn {
  StandInProperties properties;
  std::map<int64_t, StandInType> types;
  int64_t next_type = 1;
  std::map<void*, size_t> blocks;
  std::vector<std::pair<void*, size_t>> freed;  // to be given out again, where `reuses`
  bool reuses = false;
  int fails_after = -1;  // allocations until one fails; -1: never
  std::vector<std::string> errors;

  int64_t open(const StandInType& type) {
    types[next_type] = type;
    return next_type++;
  }
  void* allocate(size_t size);
  bool release(void* block);
  void forget_memory();  // that nobody has freed, and that was freed
};
extern StandIn stand_in;

inline const auto* const filter = static_cast<const stz::hdf5::FilterClass*>(H5PLget_plugin_info());

constexpr int64_t properties_id = 1 << 20;

}  // namespace fuzz
