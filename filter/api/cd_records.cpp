#include "api/cd_records.h"

#include "options/option_rules.h"
#include "options/option_table.h"
#include "stz_cd_values.h"

namespace stz {

size_t layout_words(const unsigned* values) {
  const size_t rank = values[word_type] >> 16 & 0xff;
  return values[word_form] == STZ_CD_FORM_FULL ? rank : 2 * rank;
}

namespace {

double number_at(const unsigned* values, size_t word) { return bit_cast_to<double>(join(values[word], values[word + 1])); }

// Both read the record that begins at `word` and has so many words behind its tag and their number.
int parse_layer_bounds(const unsigned* values, size_t word, size_t words, stz_options& options, Message& message) {
  if (words % 2 || words < 2 || words > 2 * (STZ_MAX_LAYERS - 1) || options.layer_bounds[0] != 0) {
    message.set("the layer bounds at cd_values word %zu take %zu words: give 2 for each of 1 to %d bounds, in one record", word, words,
                STZ_MAX_LAYERS - 1);
    return STZ_ERROR_OPTION;
  }
  for (size_t i = 0; i < words / 2; i++) options.layer_bounds[i] = number_at(values, word + 2 + 2 * i);
  if (layer_bound_count(options) != static_cast<int>(words / 2)) {
    message.set("the layer bounds at cd_values word %zu are wrong: %s", word, rule_for_layer_bounds);
    return STZ_ERROR_OPTION;
  }
  return STZ_OK;
}

int parse_valid_range(const unsigned* values, size_t word, size_t words, stz_options& options, Message& message) {
  if (words != 4 || has_valid_range(options)) {
    message.set("the valid range at cd_values word %zu takes %zu words: give 2 for each end, in one record", word, words);
    return STZ_ERROR_OPTION;
  }
  for (size_t end = 0; end < 2; end++) options.valid_range[end] = number_at(values, word + 2 + 2 * end);
  if (has_valid_range(options)) return STZ_OK;
  message.set("the valid range at cd_values word %zu is 0 to 0: leave the record out if there is none", word);
  return STZ_ERROR_OPTION;
}

int parse_more_options(const unsigned* values, size_t word, size_t words, stz_options& options, Message& message) {
  if (words != 1 || values[word + 2] == 0) {
    message.set("the further options at cd_values word %zu take %zu words: give one, which is not 0, or leave the record out", word, words);
    return STZ_ERROR_OPTION;
  }
  if (high_word(all_packed(options)) == 0) return parse_packed(values[word + 2], 32, options, message);
  message.set("cd_values word %zu begins a second record of further options: give one", word);
  return STZ_ERROR_OPTION;
}

}  // namespace

u64 all_packed(const stz_options& options) {
  u64 packed = 0;
  for (const Option& each : option_table) packed |= each.packed(options.*each.field);
  return packed;
}

int parse_packed(unsigned word, int from, stz_options& options, Message& message) {
  const char* const place = from ? "the record of further options" : "cd_values word 4 (packed options)";
  u64 known = 0;
  for (const Option& each : option_table) {
    if (each.first_bit < from || each.first_bit >= from + 32) continue;
    known |= u64{each.mask()} << (each.first_bit - from);
    const i32 value = each.unpacked(u64{word} << from);
    options.*each.field = value;
    if (each.allows(value)) continue;
    message.set("%s is 0x%08x: %s (bits %d-%d) must be 0 to %d; 0 takes every default", place, word, each.name.data(),
                each.first_bit - from, each.first_bit - from + each.bits - 1, each.largest());
    return STZ_ERROR_OPTION;
  }
  if ((word & ~known) == 0) return STZ_OK;
  message.set("%s is 0x%08x, with bits that this version does not know: update h5stz if it is newer", place, word);
  return STZ_ERROR_OPTION;
}

int parse_records(size_t count, const unsigned* values, size_t word, stz_options& options, Message& message) {
  bool has_learned = false;
  while (word < count) {
    const unsigned tag = values[word];
    const size_t words = word + 1 < count ? values[word + 1] : 0;
    if (word + 2 > count || words > count - word - 2) {
      message.set("cd_values word %zu begins a record that is cut short: it needs a tag, a number of words and these words", word);
      return STZ_ERROR_ARGUMENT;
    }
    if (tag == STZ_CD_RECORD_LEARNED) {  // read_sets() checks its words; if they are damaged, every chunk is fitted
      if (has_learned) {
        message.set("cd_values word %zu begins a second record of predictions: give one", word);
        return STZ_ERROR_OPTION;
      }
      has_learned = true;
      word += 2 + words;
      continue;
    }
    if (tag != STZ_CD_RECORD_LAYER_BOUNDS && tag != STZ_CD_RECORD_VALID_RANGE && tag != STZ_CD_RECORD_OPTIONS) {
      message.set("cd_values word %zu is the tag %u of a record that this version does not know: update h5stz if it is newer", word, tag);
      return STZ_ERROR_OPTION;
    }
    const auto parse = tag == STZ_CD_RECORD_LAYER_BOUNDS ? parse_layer_bounds
                       : tag == STZ_CD_RECORD_OPTIONS    ? parse_more_options
                                                         : parse_valid_range;
    if (const int error = parse(values, word, words, options, message)) return error;
    word += 2 + words;
  }
  return STZ_OK;
}

}  // namespace stz
