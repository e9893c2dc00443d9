// Implementation of can_apply and set_local (dataset.h), called from plugin.cpp. It makes no call that it expects to fail, as some HDF5
// versions print the errors of nested calls.
#include "hdf5/dataset.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/element_type.h"
#include "stz_cd_values.h"
#include "stz_learned.h"

namespace stz::hdf5 {
namespace {

// Names of the library's own filters, which have no name in the pipeline before their first use.
const char* builtin_filter_name(int id) {
  static constexpr const char* names[] = {"", "deflate (gzip)", "shuffle", "fletcher32", "szip", "nbit", "scaleoffset"};
  return id > 0 && id < static_cast<int>(sizeof names / sizeof *names) ? names[id] : "";
}

struct OwnFilter {
  unsigned flags = 0;
  size_t count = 0;
  unsigned values[STZ_CD_MAX_WORDS] = {};
};

// Another filter in front would pass on bytes that are no longer samples (shuffled bytes, for example). A bound on them is no bound on
// the data.
bool find_first_in_pipeline(const Library& library, hid_t properties, OwnFilter& filter, Message& message) {
  if (library.H5Pget_nfilters(properties) < 1) {
    message.set("the dataset's creation properties have no filters: add h5stz with H5Pset_filter");
    return false;
  }
  char name[64] = "";
  filter.count = STZ_CD_MAX_WORDS;
  const int id = library.H5Pget_filter2(properties, 0, &filter.flags, &filter.count, filter.values, sizeof name, name, nullptr);
  if (id == STZ_FILTER_ID) return true;
  name[sizeof name - 1] = '\0';
  const char* const shown = name[0] ? name : builtin_filter_name(id);
  message.set(
      "filter %d%s%s%s is in front of h5stz in the pipeline: remove it (in h5py: %s), because h5stz must see the "
      "samples themselves; fletcher32 may follow it",
      id, *shown ? " (" : "", shown, *shown ? ")" : "",
      id == 2   ? "shuffle=False"
      : id == 6 ? "scaleoffset=None"
                : "no other compression");
  return false;
}

// `parts`: as in ElementType.
bool chunk_shape(const Library& library, hid_t properties, int parts, stz_layout& layout, Message& message) {
  hsize_t extents[STZ_MAX_RANK] = {};
  if (library.H5Pget_layout(properties) != layout_chunked) {
    message.set("the dataset is not chunked: give it a chunk shape");
    return false;
  }
  const int rank = library.H5Pget_chunk(properties, STZ_MAX_RANK, extents);
  const int most = parts == 1 ? STZ_MAX_RANK : STZ_MAX_RANK - 1;
  if (rank < 1 || rank > most) {
    message.set("the chunk has %d axes: use 1 to %d", rank, most);
    return false;
  }
  layout.rank = rank;
  if (parts != 1) layout.shape[layout.rank++] = u64(parts);
  u64 bytes = stz_element_size(layout.dtype) * size_t(parts);
  for (int axis = 0; axis < rank; ++axis) {
    if (extents[axis] == 0 || __builtin_mul_overflow(bytes, extents[axis], &bytes)) {
      message.set("the chunk has %s: use chunks of 1 to 64 MiB", extents[axis] ? "2^64 bytes or more" : "an axis of length 0");
      return false;
    }
    layout.shape[axis] = extents[axis];
  }
  const u64 capacity = stz_max_compressed_size(&layout);
  if (capacity == 0) {
    message.set("the chunk has 2^56 elements or more: use chunks of 1 to 64 MiB");
    return false;
  }
  // The stream of incompressible samples is longer than the samples. If HDF5 stores sizes of chunks in 32 bits, it would refuse such a
  // chunk only when the file is closed. It refuses larger chunks earlier by itself, unless it stores 64 bits.
  if (bytes <= STZ_MAX_CHUNK_BYTES && capacity > STZ_MAX_CHUNK_BYTES) {
    message.set("the chunk has almost 4 GiB, and may have more when it is compressed: use chunks of 1 to 64 MiB");
    return false;
  }
  return true;
}

// Takes the dataset's own fill value, as the bits of a host-endian integer. Types of several components have no fill value in the codec.
bool take_fill_value(const Library& library, hid_t properties, hid_t type, const ElementType& element, stz_options& options,
                     Message& message) {
  int state = 0;
  if (is_complex(element.dtype) || element.parts != 1) return true;
  if (library.H5Pfill_value_defined(properties, &state) < 0 || state != fill_user_defined) return true;
  unsigned char bytes[8] = {};
  const size_t size = stz_element_size(element.dtype);
  if (library.H5Pget_fill_value(properties, type, bytes) < 0) {
    message.set("the dataset's fill value cannot be converted to its type: set a fill value of that type");
    return false;
  }
  options.has_fill = 1;
  options.fill = 0;
  for (size_t i = 0; i < size; ++i) {
    const size_t significance = element.byte_order == STZ_BIG ? size - 1 - i : i;
    options.fill |= u64{bytes[i]} << 8 * significance;
  }
  return true;
}

// Opaque elements are bfloat16 or FP8 if client data in the full form say so. That is how programs store them that know no such type of
// HDF5.
bool named_type(const Library& library, const OwnFilter& filter, hid_t type, ElementType& element) {
  if (library.H5Tget_class(type) != type_opaque || filter.count > STZ_CD_MAX_WORDS) return false;
  stz_options options = STZ_OPTIONS_INIT;
  stz_layout given;
  Message unused;
  if (stz_cd_values_parse(filter.count, filter.values, &options, &given, unused.text, sizeof unused.text) != STZ_OK) return false;
  if (given.rank < 0 || given.dtype < STZ_BF16 || library.H5Tget_size(type) != element_size(given.dtype)) return false;
  element.dtype = given.dtype;
  element.byte_order = given.byte_order;
  return true;
}

}  // namespace

bool check_dataset(const Library& library, hid_t properties, hid_t type, ElementType& element, Message& message) {
  OwnFilter filter;
  return find_first_in_pipeline(library, properties, filter, message) &&
         (named_type(library, filter, type, element) || element_type(library, type, element, message));
}

bool complete_cd_values(const Library& library, hid_t properties, hid_t type, const ElementType& element, Message& message) {
  OwnFilter filter;
  if (!find_first_in_pipeline(library, properties, filter, message)) return false;
  if (filter.count > STZ_CD_MAX_WORDS) {
    message.set("cd_values has %zu words, but no form has more than %d", filter.count, STZ_CD_MAX_WORDS);
    return false;
  }
  stz_options options = STZ_OPTIONS_INIT;
  stz_layout given;
  if (stz_cd_values_parse(filter.count, filter.values, &options, &given, message.text, sizeof message.text) != STZ_OK) return false;

  if (element.parts != 1 && options.mode != STZ_LOSSLESS) {
    message.set("cannot compress floats of 16 bytes (long double) with a bound: use mode 0 (lossless), or store them as float64");
    return false;
  }
  const bool integers = is_integer(element.dtype);
  if (element.exact_only || (integers && options.integers != STZ_INTEGERS_BOUNDED)) {
    options.mode = STZ_LOSSLESS;  // so that the file states the true promise for its chunks
    options.bound = 0;
  }
  if (options.mode == STZ_POINTWISE_RELATIVE && integers) {
    message.set("a point-wise relative bound is only for floating-point data: use mode 1 (absolute) or 0 (lossless) for integers");
    return false;
  }

  stz_layout layout{};
  layout.dtype = element.dtype;
  layout.byte_order = element.byte_order;
  if (!chunk_shape(library, properties, element.parts, layout, message)) return false;
  // Properties copied from a dataset of another type contain its fill value, whose bits mean nothing here.
  const bool copied_from_other_type = given.rank >= 0 && given.dtype != layout.dtype;
  if (copied_from_other_type) options.has_fill = 0;
  if (given.rank >= 0 && given.rank != layout.rank) options.append_axis = 0;  // the same for its growing axis
  if (!options.has_fill && !take_fill_value(library, properties, type, element, options, message)) return false;

  using Learned = std::unique_ptr<stz_learned, decltype(&stz_learned_free)>;
  const bool of_such_chunks = given.rank < 0 || (given.dtype == layout.dtype && given.rank == layout.rank &&
                                                 std::equal(given.shape, given.shape + given.rank, layout.shape));
  const Learned learned(of_such_chunks ? stz_cd_values_learned(filter.count, filter.values) : nullptr, stz_learned_free);
  unsigned words[STZ_CD_MAX_WORDS];
  size_t count = 0;
  if (stz_cd_values_pack(&options, &layout, words, STZ_CD_MAX_WORDS, &count, message.text, sizeof message.text) != STZ_OK) return false;
  if (learned) stz_cd_values_add_learned(learned.get(), words, STZ_CD_MAX_WORDS, &count);  // no room, or no memory: none then
  if (library.H5Pmodify_filter(properties, STZ_FILTER_ID, filter.flags, count, words) < 0) {
    message.set("internal error: the client data cannot be written back; please report it");
    return false;
  }
  return true;
}

}  // namespace stz::hdf5
