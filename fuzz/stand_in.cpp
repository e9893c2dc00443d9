// The functions of HDF5 that the plug-in looks up, in the program (stand_in.h). They have C names and are exported by it.
#include "stand_in.h"

#include <algorithm>

namespace fuzz {

StandIn stand_in;

void* StandIn::allocate(size_t size) {
  if (fails_after >= 0 && fails_after-- == 0) return nullptr;
  const auto same = std::find_if(freed.rbegin(), freed.rend(), [&](const auto& block) { return block.second == size; });
  void* block;
  if (reuses && same != freed.rend()) {
    block = same->first;
    freed.erase(std::next(same).base());
  } else {
    block = std::malloc(size ? size : 1);
  }
  blocks[block] = size;
  return block;
}

bool StandIn::release(void* block) {
  const auto found = blocks.find(block);
  if (found == blocks.end()) return false;
  if (reuses)
    freed.push_back(*found);
  else
    std::free(block);
  blocks.erase(found);
  return true;
}

void StandIn::forget_memory() {
  for (const auto& [block, size] : blocks) std::free(block);
  for (const auto& [block, size] : freed) std::free(block);
  blocks.clear();
  freed.clear();
}

namespace {

const StandInType& type_of(int64_t id) {
  const auto found = stand_in.types.find(id);
  if (found == stand_in.types.end()) broken("a datatype is used that is not open");
  return found->second;
}
const StandInProperties& properties_of(int64_t id) {
  promise(id == properties_id, "creation properties are those of the dataset");
  return stand_in.properties;
}
int64_t open_part(int64_t id, unsigned index) {
  const StandInType& type = type_of(id);
  if (index >= type.parts.size()) return -1;
  const StandInType part = type.parts[index];
  return stand_in.open(part);
}

}  // namespace
}  // namespace fuzz

using namespace fuzz;
using hid_t = int64_t;
using herr_t = int;
using hsize_t = unsigned long long;

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED herr_t H5get_libversion(unsigned* major, unsigned* minor, unsigned* release) {
  *major = 1, *minor = 14, *release = 6;
  return 0;
}
EXPORTED void* H5allocate_memory(size_t size, bool clear) {
  void* const block = stand_in.allocate(size);
  if (block && clear) memset(block, 0, size);
  return block;
}
EXPORTED herr_t H5free_memory(void* memory) {
  promise(!memory || stand_in.release(memory), "only memory of the library is freed by the library");
  return 0;
}
EXPORTED herr_t H5Epush2(hid_t, const char*, const char*, unsigned, hid_t, hid_t, hid_t, const char* format, ...) {
  stand_in.errors.emplace_back(format);
  return 0;
}
EXPORTED hid_t H5Ecreate_stack() { return 5; }
EXPORTED herr_t H5Eset_current_stack(hid_t) { return 0; }
EXPORTED hid_t H5E_ERR_CLS_g;
EXPORTED hid_t H5E_PLINE_g;
EXPORTED hid_t H5E_CANTFILTER_g;
hid_t H5E_ERR_CLS_g = 11, H5E_PLINE_g = 12, H5E_CANTFILTER_g = 13;

EXPORTED int H5Pget_layout(hid_t properties) { return properties_of(properties).layout; }
EXPORTED int H5Pget_chunk(hid_t properties, int max_rank, hsize_t* extents) {
  const StandInProperties& p = properties_of(properties);
  for (int axis = 0; axis < std::min({p.rank, max_rank, STZ_MAX_RANK}); axis++) extents[axis] = p.chunk[axis];
  return p.rank;
}
EXPORTED int H5Pget_nfilters(hid_t properties) { return properties_of(properties).filters; }
EXPORTED int H5Pget_filter2(hid_t properties, unsigned, unsigned* flags, size_t* count, unsigned* values, size_t name_size, char* name,
                            unsigned*) {
  const StandInProperties& p = properties_of(properties);
  *flags = p.flags;
  std::copy_n(p.words.begin(), std::min(p.words.size(), *count), values);
  *count = p.words.size();
  if (name_size) {  // as HDF5: without a final 0 where the name is too long
    const size_t length = std::min(name_size, p.filter_name.size() + 1);
    memcpy(name, p.filter_name.c_str(), length);
  }
  return p.filter_id;
}
EXPORTED herr_t H5Pmodify_filter(hid_t properties, int id, unsigned flags, size_t count, const unsigned* values) {
  properties_of(properties);
  promise(id == STZ_FILTER_ID && flags == stand_in.properties.flags, "the filter's own entry is changed, but for its flags");
  if (stand_in.properties.modify_status < 0) return -1;
  stand_in.properties.words.assign(values, values + count);
  return 0;
}
EXPORTED herr_t H5Pfill_value_defined(hid_t properties, int* state) {
  *state = properties_of(properties).fill_state;
  return properties_of(properties).fill_state < 0 ? -1 : 0;
}
EXPORTED herr_t H5Pget_fill_value(hid_t properties, hid_t type, void* value) {
  const StandInProperties& p = properties_of(properties);
  if (p.fill_status >= 0) memcpy(value, p.fill, std::min<size_t>(type_of(type).size, sizeof p.fill));
  return p.fill_status;
}

EXPORTED int H5Tget_class(hid_t type) { return type_of(type).type_class; }
EXPORTED size_t H5Tget_size(hid_t type) { return type_of(type).size; }
EXPORTED size_t H5Tget_precision(hid_t type) { return type_of(type).precision; }
EXPORTED int H5Tget_order(hid_t type) { return type_of(type).order; }
EXPORTED int H5Tget_sign(hid_t type) { return type_of(type).sign; }
EXPORTED herr_t H5Tget_fields(hid_t type, size_t* sign_at, size_t* exponent_at, size_t* exponent_bits, size_t* mantissa_at,
                              size_t* mantissa_bits) {
  const StandInType& t = type_of(type);
  size_t* const fields[] = {sign_at, exponent_at, exponent_bits, mantissa_at, mantissa_bits};
  for (int k = 0; k < 5; k++) *fields[k] = t.fields[k];
  return t.fields_status;
}
EXPORTED size_t H5Tget_ebias(hid_t type) { return type_of(type).bias; }
EXPORTED int H5Tget_norm(hid_t type) { return type_of(type).norm; }
EXPORTED hid_t H5Tget_super(hid_t type) { return open_part(type, 0); }
EXPORTED int H5Tget_nmembers(hid_t type) { return type_of(type).members; }
EXPORTED char* H5Tget_member_name(hid_t type, unsigned index) {
  const StandInType& t = type_of(type);
  if (index > 1 || t.name[index].empty()) return nullptr;
  const size_t size = t.name[index].size() + 1;
  auto* const copy = static_cast<char*>(stand_in.allocate(size));
  if (copy) memcpy(copy, t.name[index].c_str(), size);
  return copy;
}
EXPORTED size_t H5Tget_member_offset(hid_t type, unsigned index) { return type_of(type).offset[index & 1]; }
EXPORTED hid_t H5Tget_member_type(hid_t type, unsigned index) { return open_part(type, index); }
EXPORTED herr_t H5Tis_variable_str(hid_t type) { return type_of(type).variable_string; }
EXPORTED herr_t H5Tclose(hid_t type) {
  promise(stand_in.types.erase(type) == 1, "a datatype is closed once");
  return 0;
}
