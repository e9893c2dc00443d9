// Predictions of a memory in client data: a record of form 105 (docs/cd_values.md).
#include <algorithm>
#include <vector>

#include "api/cd_records.h"
#include "base/guard.h"
#include "encoder/learning.h"
#include "stz_cd_values.h"
#include "stz_learned.h"

namespace stz {
namespace {

using Words = std::vector<unsigned>;

// The words of a record before the coded bytes: tag, number of words, number of bytes.
constexpr size_t words_before_bytes = 3;
// With these words a layout of 8 axes and all layer bounds have room, so that set_local can add a layout to the short form.
constexpr size_t most_coded_words = STZ_CD_MAX_WORDS - (STZ_CD_FIXED_WORDS + 2 * 8 + 2 + 2 * (STZ_MAX_LAYERS - 1)) - words_before_bytes;

// The position of the record with predictions; `count` if there is none. The words were parsed without an error.
size_t place_of_record(size_t count, const unsigned* values) {
  if (count == 0 || values[word_form] != STZ_CD_FORM_RECORDS) return count;
  size_t word = word_dims + layout_words(values);
  while (word < count && values[word] != STZ_CD_RECORD_LEARNED) word += 2 + values[word + 1];
  return word;
}

// The same client data in form 105, without predictions.
Words with_records(const stz_options& options, const stz_layout& layout) {
  unsigned packed[STZ_CD_MAX_WORDS];
  size_t words = 0;
  const int error = stz_cd_values_pack(&options, layout.rank < 0 ? nullptr : &layout, packed, STZ_CD_MAX_WORDS, &words, nullptr, 0);
  require(error == STZ_OK, error);
  Words out(packed, packed + words);
  if (packed[word_form] == STZ_CD_FORM_RECORDS) return out;
  const bool narrow = packed[word_form] == STZ_CD_FORM_FULL;
  out.resize(std::max<size_t>(narrow ? word_dims : words, word_dims));  // what the short form leaves out is 0
  for (size_t word = word_dims; narrow && word < words; word++) {
    out.push_back(packed[word]);
    out.push_back(0);
  }
  out[word_form] = STZ_CD_FORM_RECORDS;
  return out;
}

void append_record(const LearnedSets& sets, Words& words) {
  require(words.size() + words_before_bytes + 2 <= STZ_CD_MAX_WORDS, STZ_ERROR_CAPACITY);  // room for no set
  const size_t room = std::min(STZ_CD_MAX_WORDS - words.size() - words_before_bytes, most_coded_words);
  const Bytes bytes = write_sets(sets, room * sizeof(unsigned));
  Words coded((bytes.size() + sizeof(unsigned) - 1) / sizeof(unsigned));
  for (size_t i = 0; i < bytes.size(); i++) coded[i / 4] |= unsigned{bytes[i]} << 8 * (i % 4);
  words.push_back(STZ_CD_RECORD_LEARNED);
  words.push_back(static_cast<unsigned>(1 + coded.size()));
  words.push_back(static_cast<unsigned>(bytes.size()));
  words.insert(words.end(), coded.begin(), coded.end());
}

LearnedSets sets_of_record(const unsigned* record) {
  const size_t words = record[1];
  require(words > 0 && record[2] <= sizeof(unsigned) * (words - 1), STZ_ERROR_CORRUPT);
  Bytes bytes(record[2]);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = u8(record[words_before_bytes + i / 4] >> 8 * (i % 4));
  return read_sets(bytes.data(), bytes.size());
}

}  // namespace
}  // namespace stz

using namespace stz;

extern "C" {

int stz_cd_values_add_learned(const stz_learned* learned, unsigned* words, size_t capacity, size_t* count) {
  if (!words || !count) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    stz_options options = STZ_OPTIONS_INIT;
    stz_layout layout;
    const int error = stz_cd_values_parse(*count, words, &options, &layout, nullptr, 0);
    require(error == STZ_OK, error);
    Words made = with_records(options, layout);
    append_record(learned ? learned->sets() : LearnedSets{}, made);
    *count = made.size();
    require(made.size() <= capacity, STZ_ERROR_CAPACITY);
    std::copy(made.begin(), made.end(), words);
  });
}

stz_learned* stz_cd_values_learned(size_t count, const unsigned* words) {
  if (!words) return nullptr;
  stz_learned* learned = nullptr;
  guarded([&] {
    stz_options options = STZ_OPTIONS_INIT;
    require(stz_cd_values_parse(count, words, &options, nullptr, nullptr, 0) == STZ_OK, STZ_ERROR_ARGUMENT);
    const size_t at = place_of_record(count, words);
    if (at < count) learned = new stz_learned(sets_of_record(words + at));
  });
  return learned;
}

}  // extern "C"
