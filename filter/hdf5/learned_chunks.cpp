#include "hdf5/learned_chunks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/common.h"
#include "stz_cd_values.h"
#include "stz_learned.h"

namespace stz::hdf5 {
namespace {

constexpr size_t most_kinds = 32;  // of datasets; a memory takes some 100 KiB

struct Kind {
  stz_layout layout;
  std::vector<unsigned> client_data;
  std::shared_ptr<stz_learned> learned;

  bool is_of(const stz_layout& other, size_t count, const unsigned* values) const {
    return layout.dtype == other.dtype && layout.byte_order == other.byte_order && layout.rank == other.rank &&
           std::equal(layout.shape, layout.shape + layout.rank, other.shape) && client_data.size() == count &&
           std::equal(client_data.begin(), client_data.end(), values);
  }
};

// A thread that does not get the lock at once has no memory for its chunk. So a child of a process that forked never waits.
std::mutex mutex;

std::vector<Kind>& kinds() {
  static auto* const all = new std::vector<Kind>;  // latest first; never freed, as chunks may be written while the process ends
  return *all;
}

bool is_wanted() {
  const char* const text = std::getenv("H5STZ_LEARN");
  return !text || std::strcmp(text, "0");
}

}  // namespace

bool has_predictions(size_t count, const unsigned* values) noexcept {
  if (count <= STZ_CD_FIXED_WORDS || values[0] != STZ_CD_FORM_RECORDS) return false;
  const size_t rank = values[STZ_CD_FIXED_WORDS - 1] >> 16 & 0xff;
  for (size_t word = STZ_CD_FIXED_WORDS + 2 * rank; word + 1 < count; word += 2 + size_t{values[word + 1]})
    if (values[word] == STZ_CD_RECORD_LEARNED) return true;
  return false;
}

bool learns_in_process(const stz_options& options, size_t cd_count, const unsigned* cd_values) noexcept {
  return options.learn != STZ_LEARN_NO && !has_predictions(cd_count, cd_values) && is_wanted();
}

std::shared_ptr<stz_learned> learned_of(const stz_layout& layout, size_t cd_count, const unsigned* cd_values) noexcept {
  const bool given = has_predictions(cd_count, cd_values);
  if (!given && !is_wanted()) return nullptr;
  const auto make = [&] {
    return std::shared_ptr<stz_learned>(given ? stz_cd_values_learned(cd_count, cd_values) : stz_learned_create(), stz_learned_free);
  };
  try {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) return given ? make() : nullptr;  // given predictions decide the bytes of every chunk
    std::vector<Kind>& all = kinds();
    const auto known = std::find_if(all.begin(), all.end(), [&](const Kind& kind) { return kind.is_of(layout, cd_count, cd_values); });
    if (known != all.end()) {
      std::rotate(all.begin(), known, known + 1);
    } else {
      std::shared_ptr<stz_learned> learned = make();
      if (!learned) return nullptr;
      if (all.size() == most_kinds) all.pop_back();
      all.insert(all.begin(), Kind{layout, {cd_values, cd_values + cd_count}, std::move(learned)});
    }
    return all.front().learned;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace stz::hdf5
