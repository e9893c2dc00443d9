// If HDF5 fails to answer a query, the program's own call is made unchanged, and reports the error.
#include "intercept/compressed_creation.h"

#include <algorithm>
#include <iterator>

#include "hdf5/datatype.h"
#include "intercept/chunk_shape.h"
#include "region/dataset_facts.h"

namespace stz::intercept {
namespace {

using hdf5::ScopedId;

constexpr int layout_contiguous = 1;                       // H5D_CONTIGUOUS
constexpr int allocate_early = 1, allocate_in_pieces = 3;  // H5D_ALLOC_TIME_EARLY, H5D_ALLOC_TIME_INCR
constexpr unsigned mandatory = 0;                          // H5Z_FLAG_MANDATORY
constexpr hsize_t smallest_dataset = 64 << 10;
constexpr hsize_t smallest_chunk = 4 << 10;  // smaller chunks hardly gain: each stream has a header
constexpr double full_chunks_first = 1;      // chunks that were written completely leave the cache first

struct Shape {
  int rank = 0;
  hsize_t extents[STZ_MAX_RANK], limits[STZ_MAX_RANK], chunk[STZ_MAX_RANK];
  hsize_t element_size = 0;
  bool chunked = false;  // whether the program set chunks
  int dtype = 0;

  bool grows() const { return !std::equal(extents, extents + rank, limits); }
};

// Returns false if the size does not fit in 64 bits.
bool bytes_of(const Shape& shape, const hsize_t* extents, hsize_t& bytes) {
  bytes = shape.element_size;
  for (int axis = 0; axis < shape.rank; ++axis)
    if (__builtin_mul_overflow(bytes, extents[axis], &bytes)) return false;
  return true;
}

int rank_of(const CreateCalls& calls, hid_t space) {
  const int rank = calls.region->H5Sget_simple_extent_ndims(space);
  return rank > STZ_MAX_RANK ? -1 : rank;
}

Outcome look_at_type(const CreateCalls& calls, hid_t type, Shape& shape) {
  hdf5::ElementType element;
  Message unused;
  if (!hdf5::element_type(*calls.region->library, type, element, unused)) return Outcome::type;
  if (element.dtype != STZ_F16 && element.dtype != STZ_F32 && element.dtype != STZ_F64) return Outcome::type;
  shape.dtype = element.dtype;
  shape.element_size = stz_element_size(element.dtype);
  return Outcome::compressed;
}

Outcome look_at_space(const CreateCalls& calls, hid_t space, Shape& shape) {
  shape.rank = rank_of(calls, space);
  if (shape.rank < 0) return Outcome::refused;
  if (shape.rank == 0) return Outcome::rank;
  if (calls.region->H5Sget_simple_extent_dims(space, shape.extents, shape.limits) != shape.rank) return Outcome::refused;
  hsize_t bytes;
  if (!bytes_of(shape, shape.extents, bytes)) return Outcome::refused;
  return bytes < smallest_dataset && !shape.grows() ? Outcome::small : Outcome::compressed;
}

Outcome look_at_properties(const CreateCalls& calls, hid_t creation, Shape& shape) {
  const hdf5::Library& library = *calls.region->library;
  const int filters = library.H5Pget_nfilters(creation);
  if (filters != 0) return filters < 0 ? Outcome::refused : Outcome::filters;
  const int layout = library.H5Pget_layout(creation);
  shape.chunked = layout == hdf5::layout_chunked;
  if (!shape.chunked && (layout != layout_contiguous || shape.grows())) return Outcome::layout;
  if (calls.H5Pget_external_count(creation) != 0) return Outcome::layout;
  int time = allocate_early;
  if (calls.H5Pget_alloc_time(creation, &time) < 0) return Outcome::refused;
  if (time == allocate_early) return Outcome::allocation;
  return shape.chunked && library.H5Pget_chunk(creation, STZ_MAX_RANK, shape.chunk) != shape.rank ? Outcome::refused : Outcome::compressed;
}

Outcome look_at_chunks(const Shape& shape) {
  hsize_t bytes;
  if (!bytes_of(shape, shape.chunk, bytes)) return Outcome::refused;
  return bytes < smallest_chunk ? Outcome::small_chunks : Outcome::compressed;
}

// 1 + the axis along which the dataset grows, if its chunks have more than one plane across it. It must be the only unlimited axis;
// otherwise 0.
int append_axis_of(const Shape& shape) {
  int append_axis = 0;
  for (int axis = 0; axis < shape.rank; ++axis) {
    if (shape.limits[axis] != hdf5::unlimited) continue;
    if (append_axis != 0) return 0;
    append_axis = axis + 1;
  }
  return append_axis != 0 && shape.chunk[append_axis - 1] > 1 ? append_axis : 0;
}

Outcome look_at_file(const CreateCalls& calls, hid_t location) {
  const hdf5::Calls& region = *calls.region;
  const ScopedId file(region.H5Fclose, region.H5Iget_file_id(location));
  if (!file.valid()) return Outcome::refused;
  if (region::may_use_mpi(region, file.get())) return Outcome::parallel;  // other ranks may not have this library
  const ScopedId access(region.H5Pclose, region.H5Fget_access_plist(file.get()));
  if (!access.valid()) return Outcome::refused;
  unsigned long flags = 0;
  const hid_t driver = region.H5Pget_driver(access.get());
  if (driver < 0 || region.H5FDdriver_query(driver, &flags) < 0) return Outcome::refused;
  return flags & hdf5::driver_has_mpi ? Outcome::parallel : Outcome::compressed;
}

hid_t copy_of(const CreateCalls& calls, hid_t properties, hid_t list_class) {
  return properties == hdf5::default_properties ? calls.H5Pcreate(list_class) : calls.H5Pcopy(properties);
}

bool set_creation(const CreateCalls& calls, hid_t creation, const Shape& shape, stz_options options) {
  if (options.append_axis == 0) options.append_axis = append_axis_of(shape);
  if (options.append_axis > shape.rank) options.append_axis = 0;  // the rule was meant for datasets with more axes
  if (options.append_axis > 31) options.append_axis = 0;          // client data cannot hold the last of 32 axes
  unsigned words[STZ_CD_MAX_WORDS];
  size_t count = 0;
  return stz_cd_values_pack(&options, nullptr, words, STZ_CD_MAX_WORDS, &count, nullptr, 0) == STZ_OK &&
         (shape.chunked || calls.H5Pset_chunk(creation, shape.rank, shape.chunk) >= 0) &&
         calls.H5Pset_alloc_time(creation, allocate_in_pieces) >= 0 &&
         calls.H5Pset_filter(creation, STZ_FILTER_ID, mandatory, count, words) >= 0;
}

// A chunk that is evicted before it is full is encoded, and decoded again for the next write, which is slow. With a preemption of 1, HDF5
// (1.10 to 2.0) evicts complete chunks only and exceeds the limit if there are none.
bool set_access(const CreateCalls& calls, hid_t access, const Shape& shape) {
  size_t slots = 0, bytes = 0;
  double preemption = 0;
  if (calls.H5Pget_chunk_cache(access, &slots, &bytes, &preemption) < 0) return false;
  const ChunkCache cache = cache_for(shape.rank, shape.extents, shape.chunk, shape.element_size, cache_bytes());
  return calls.H5Pset_chunk_cache(access, std::max(slots, cache.slots), std::max(bytes, cache.bytes), full_chunks_first) >= 0;
}

}  // namespace

const char* outcome_name(Outcome outcome) noexcept {
  constexpr const char* names[] = {"compressed", "type",       "rank",         "one axis", "small",  "layout",
                                   "filters",    "allocation", "small chunks", "parallel", "refused"};
  static_assert(std::size(names) == static_cast<size_t>(Outcome::refused) + 1);
  return names[static_cast<size_t>(outcome)];
}

std::string path_of(const CreateCalls& calls, hid_t location, const char* name) {
  std::string given = name;
  if (given.empty()) return {};
  if (given.front() != '/') {
    const std::string base = name_of(calls, location);
    if (base.empty()) return {};
    given = base + "/" + given;
  }
  std::string path;  // HDF5 ignores repeated slashes and "." components
  for (size_t at = 0; at < given.size();) {
    const size_t end = std::min(given.find('/', at), given.size());
    const std::string part = given.substr(at, end - at);
    if (!part.empty() && part != ".") path += "/" + part;
    at = end + 1;
  }
  return path;
}

const Rule* rule_for(const CreateCalls& calls, const std::string& path, hid_t space, Outcome& outcome) {
  outcome = Outcome::compressed;
  const Rule* passed_over = nullptr;
  for (const Rule& rule : rules()) {
    const Match found = match(rule, path);
    if (found == Match::none) continue;
    if (found == Match::path || rank_of(calls, space) != 1) return &rule;
    if (!passed_over) passed_over = &rule;
  }
  if (passed_over) outcome = Outcome::one_axis;
  return passed_over;
}

Outcome compressed_properties(const CreateCalls& calls, const CreateArguments& arguments, const Rule& rule, Properties& properties) {
  const hdf5::SuppressErrors suppressed(*calls.region);  // the program's own call will report errors
  properties.creation.emplace(calls.region->H5Pclose, copy_of(calls, arguments.creation, calls.creation_class));
  properties.access.emplace(calls.region->H5Pclose, copy_of(calls, arguments.access, calls.access_class));
  const hid_t creation = properties.creation->get(), access = properties.access->get();
  if (creation < 0 || access < 0) return Outcome::refused;
  Shape shape;
  Outcome outcome = look_at_type(calls, arguments.type, shape);
  if (outcome == Outcome::compressed) outcome = look_at_space(calls, arguments.space, shape);
  if (outcome == Outcome::compressed) outcome = look_at_properties(calls, creation, shape);
  if (outcome != Outcome::compressed) return outcome;
  if (!shape.chunked) choose_chunk(shape.rank, shape.extents, shape.element_size, shape.chunk);
  outcome = look_at_chunks(shape);
  if (outcome == Outcome::compressed) outcome = look_at_file(calls, arguments.location);
  if (outcome != Outcome::compressed) return outcome;

  const stz_options& options = rule.options[shape.dtype - STZ_F16];
  return set_creation(calls, creation, shape, options) && set_access(calls, access, shape) ? Outcome::compressed : Outcome::refused;
}

}  // namespace stz::intercept
