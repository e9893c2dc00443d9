// The filter's client data: converts an array of 32-bit words to options and chunk layout, and back (docs/cd_values.md). Invariants:
// parse() accepts what pack() writes and returns the same options; parse() reads no word beyond `count`; every rejection names the word or
// the option. Words come from files and users and are not trusted.
#include "base/common.h"
#include "base/floating_environment.h"
#include "stz_cd_values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "api/cd_records.h"
#include "base/message.h"
#include "base/struct_size.h"
#include "options/option_rules.h"
#include "options/option_table.h"

namespace stz {
namespace {

constexpr size_t integer_form_word_packed = 4;

// Most bytes of a chunk of form 104: the largest difference of pointers.
constexpr u64 most_wide_bytes = ~u64{0} >> 1;

// The range of plausible bounds. If only the swapped words give such a number, the words were probably swapped.
bool looks_like_a_bound(double value) { return value >= 1e-30 && value <= 1e30; }

int parse_bound(const unsigned* values, double& bound, Message& message) {
  const double given = bit_cast_to<double>(join(values[word_bound_low], values[word_bound_high]));
  const double swapped = bit_cast_to<double>(join(values[word_bound_high], values[word_bound_low]));
  const bool valid = std::isfinite(given) && given >= 0;
  // 0.5 with its words swapped is 5.3e-315: a valid bound, but hardly the intended one.
  const bool tiny = values[word_form] == STZ_CD_FORM_SHORT && given > 0 && given < 0x1p-1022;
  if (valid && !(tiny && looks_like_a_bound(swapped))) {
    bound = given;
    return STZ_OK;
  }
  message.set("cd_values words 2 and 3 (bound) are the double %g: %s", given,
              looks_like_a_bound(swapped) ? "the two words seem to be swapped; the low word comes first"
                                          : "give a finite number that is zero or more, its low word first");
  return STZ_ERROR_BOUND;
}

int parse_decimal_bound(unsigned mantissa, unsigned decimals, double& bound, Message& message) {
  if (decimals > STZ_CD_MAX_DECIMALS) {
    message.set("cd_values word 3 (e of the bound m x 10^-e) is %u: use 0 to %u", decimals, STZ_CD_MAX_DECIMALS);
    return STZ_ERROR_BOUND;
  }
  // Goes through decimal text, because strtod rounds correctly. Without a decimal point it does not depend on the locale.
  char text[32];
  std::snprintf(text, sizeof text, "%ue-%u", mantissa, decimals);
  bound = std::strtod(text, nullptr);
  return STZ_OK;
}

int parse_fill(const unsigned* values, stz_options& options, Message& message) {
  if (values[word_fill_kind] > 1) {
    message.set("cd_values word 5 (fill kind) is %u: use 0 for no fill value, or 1 if its bits follow", values[word_fill_kind]);
    return STZ_ERROR_OPTION;
  }
  options.has_fill = static_cast<i32>(values[word_fill_kind]);
  options.fill = options.has_fill ? join(values[word_fill_low], values[word_fill_high]) : 0;
  return STZ_OK;
}

int parse_layout(size_t count, const unsigned* values, stz_layout& layout, Message& message) {
  const unsigned type = values[word_type];
  const unsigned rank = type >> 16 & 0xff;
  const bool wide = values[word_form] != STZ_CD_FORM_FULL;
  const size_t words_per_extent = wide ? 2 : 1;
  const u64 most_bytes = wide ? most_wide_bytes : STZ_MAX_CHUNK_BYTES;
  layout.dtype = static_cast<i32>(type & 0xff);
  layout.byte_order = static_cast<i32>(type >> 8 & 0xff);
  u64 bytes = stz_element_size(layout.dtype);
  if (bytes == 0 || layout.byte_order > STZ_BIG || type >> 24 != 0) {
    message.set("cd_values word 8 (type) is 0x%08x: this version does not know this element type and byte order", type);
    return STZ_ERROR_DTYPE;
  }
  if (rank < 1 || rank > STZ_MAX_RANK || count != word_dims + words_per_extent * rank) {
    message.set("cd_values word 8 (type) has %u axes, but %zu words follow: give %zu for each axis, and 1 to %d axes", rank,
                count - word_dims, words_per_extent, STZ_MAX_RANK);
    return STZ_ERROR_SHAPE;
  }
  layout.rank = static_cast<i32>(rank);
  for (unsigned axis = 0; axis < rank; ++axis) {
    const size_t word = word_dims + words_per_extent * axis;
    const u64 extent = wide ? join(values[word], values[word + 1]) : values[word];
    if (extent == 0 || extent > most_bytes / bytes) {
      message.set("cd_values word %zu (extent of the chunk's axis %u) is %llu: %s", word, axis, static_cast<unsigned long long>(extent),
                  extent == 0 ? "it must be 1 or more"
                  : wide      ? "a chunk must stay below 2^63 bytes"
                              : "a chunk of this form must stay below 4 GiB; use form 104 for larger chunks");
      return STZ_ERROR_SHAPE;
    }
    bytes *= extent;
    layout.shape[axis] = extent;
  }
  return STZ_OK;
}

// Whether a form may have this number of words. `needed`: text for the message. Mode 0 needs no bound.
bool length_fits(unsigned form, unsigned mode, size_t count, const char*& needed) {
  const bool mode_alone = mode == STZ_LOSSLESS && count == 2;
  switch (form) {
    case STZ_CD_FORM_SHORT:
      needed = "4, 5 or 8 (2 for lossless): 101, mode, bound low, bound high, packed, fill kind, fill low, fill high";
      return mode_alone || count == 4 || count == 5 || count == 8;
    case STZ_CD_FORM_INTEGER:
      needed = "4 or 5 (2 for lossless): 102, mode, m, e, packed";
      return mode_alone || count == 4 || count == 5;
    case STZ_CD_FORM_FULL:
      needed = "10 to 41: 103, mode, bound low, bound high, packed, fill kind, fill low, fill high, type, dims";
      return count > word_dims && count <= word_dims + STZ_MAX_RANK;
    case STZ_CD_FORM_WIDE:
      needed = "11 to 73: 104, the words 1 to 8 of form 103, two words for each extent";
      return count > word_dims && count <= word_dims + 2 * STZ_MAX_RANK;
    default:
      needed = "9 or more: 105, the words 1 to 8 of form 103, two words for each extent, records";
      return count >= word_dims && count <= STZ_CD_MAX_WORDS;
  }
}

int parse(size_t count, const unsigned* values, stz_options& options, stz_layout& layout, Message& message) {
  options = stz_options{};  // missing words mean 0: the defaults
  std::memset(&layout, 0, sizeof layout);
  layout.rank = -1;
  if (count == 0) return STZ_OK;

  const unsigned form = values[word_form];
  if (form < STZ_CD_FORM_SHORT || form > STZ_CD_FORM_RECORDS) {
    message.set(
        "cd_values word 0 (version and form) is %u: this version knows 101 (bound as a double), 102 (bound m x 10^-e),"
        " 103 (full), 104 (full, chunks from 4 GiB on) and 105 (full, with records)%s",
        form, form > STZ_CD_FORM_RECORDS && form < 1000 ? "; update h5stz if it is newer" : "");
    return STZ_ERROR_ARGUMENT;
  }
  const unsigned mode = count > word_mode ? values[word_mode] : unsigned{STZ_ABSOLUTE};
  if (mode > STZ_POINTWISE_RELATIVE) {
    message.set("cd_values word 1 (mode) is %u: use 0 lossless, 1 absolute or 2 point-wise relative", mode);
    return STZ_ERROR_MODE;
  }
  const char* needed = nullptr;
  if (!length_fits(form, mode, count, needed)) {
    message.set("cd_values has %zu words, but form %u has %s", count, form, needed);
    return STZ_ERROR_ARGUMENT;
  }
  options.mode = static_cast<i32>(mode);

  int error = STZ_OK;
  double bound = 0;
  if (mode != STZ_LOSSLESS) {
    error = form == STZ_CD_FORM_INTEGER ? parse_decimal_bound(values[word_bound_low], values[word_bound_high], bound, message)
                                        : parse_bound(values, bound, message);
  }
  options.bound = bound;
  static_assert(word_packed == integer_form_word_packed);
  if (!error && count > word_packed) error = parse_packed(values[word_packed], 0, options, message);
  if (!error && count > word_fill_high) error = parse_fill(values, options, message);
  const bool has_records = form == STZ_CD_FORM_RECORDS;
  const bool has_layout = form >= STZ_CD_FORM_FULL && !(has_records && values[word_type] == 0);
  const size_t records = has_records ? word_dims + layout_words(values) : count;
  if (!error && records > count) {
    message.set("cd_values has %zu words, but the extents of form 105 end at word %zu", count, records);
    error = STZ_ERROR_ARGUMENT;
  }
  if (!error && has_layout) error = parse_layout(records, values, layout, message);
  if (!error) error = parse_records(count, values, records, options, message);
  if (!error) error = check_rules(options, has_layout ? &layout : nullptr, message);
  return error;
}

// Rejects what does not fit in the words. parse() may still refuse the rest.
int check_option_widths(const stz_options& options, Message& message) {
  if (options.mode < 0 || options.mode > STZ_POINTWISE_RELATIVE) {
    message.set("mode is %d: use 0 lossless, 1 absolute or 2 point-wise relative", options.mode);
    return STZ_ERROR_MODE;
  }
  for (const Option& each : option_table)
    if (!each.allows(options.*each.field)) {
      message.set("%s is %d: use 0 to %d", each.name.data(), options.*each.field, each.largest());
      return STZ_ERROR_OPTION;
    }
  if (layer_bound_count(options) < 0) {
    message.set("%s", rule_for_layer_bounds);
    return STZ_ERROR_OPTION;
  }
  if (options.bound_used != 0 || options.prior_bound != 0) {
    message.set("bound_used and prior_bound belong to one array, and client data to all chunks: set both to 0");
    return STZ_ERROR_OPTION;
  }
  return STZ_OK;
}

int check_layout_widths(const stz_layout& layout, Message& message) {
  const auto in_byte = [](i32 value) { return value >= 0 && value <= 0xff; };
  if (layout.reserved != 0) {
    message.set("the reserved field of the layout is %d: set it to 0", layout.reserved);
    return STZ_ERROR_ARGUMENT;
  }
  if (!in_byte(layout.dtype) || !in_byte(layout.byte_order)) {
    message.set("this version does not know type %d with byte order %d", layout.dtype, layout.byte_order);
    return STZ_ERROR_DTYPE;
  }
  if (layout.rank < 1 || layout.rank > STZ_MAX_RANK) {
    message.set("the chunk has %d axes: use 1 to %d", layout.rank, STZ_MAX_RANK);
    return STZ_ERROR_SHAPE;
  }
  return STZ_OK;
}

// Whether the chunk has 4 GiB or more, so that only form 104 can hold it.
bool needs_wide_form(const stz_layout& layout) {
  u64 bytes = stz_element_size(layout.dtype);
  for (int axis = 0; axis < layout.rank; ++axis)
    if (__builtin_mul_overflow(bytes, layout.shape[axis], &bytes) || bytes > STZ_MAX_CHUNK_BYTES) return true;
  return false;
}

// Writes the words and returns their number. The arguments have passed the checks above.
size_t pack(const stz_options& options, const stz_layout* layout, unsigned* out) {
  const double bound = options.mode == STZ_LOSSLESS ? 0.0 : options.bound;
  const u64 bound_bits = bit_cast_to<u64>(bound);
  const u64 fill = options.has_fill ? options.fill : 0;
  const int layer_bounds = layer_bound_count(options);
  const u64 packed = all_packed(options);
  const bool has_records = layer_bounds > 0 || has_valid_range(options) || high_word(packed);
  const bool wide = layout && (has_records || needs_wide_form(*layout));
  out[word_form] = has_records ? STZ_CD_FORM_RECORDS : wide ? STZ_CD_FORM_WIDE : layout ? STZ_CD_FORM_FULL : STZ_CD_FORM_SHORT;
  out[word_mode] = static_cast<unsigned>(options.mode);
  out[word_bound_low] = low_word(bound_bits);
  out[word_bound_high] = high_word(bound_bits);
  out[word_packed] = low_word(packed);
  out[word_fill_kind] = options.has_fill ? 1 : 0;
  out[word_fill_low] = low_word(fill);
  out[word_fill_high] = high_word(fill);
  if (!layout && !has_records) {
    if (options.has_fill) return word_fill_high + 1;
    if (out[word_packed]) return word_packed + 1;
    return options.mode == STZ_LOSSLESS ? word_mode + 1 : word_bound_high + 1;
  }
  out[word_type] = !layout ? 0
                           : static_cast<unsigned>(layout->dtype) | static_cast<unsigned>(layout->byte_order) << 8 |
                                 static_cast<unsigned>(layout->rank) << 16;
  size_t count = word_dims;
  for (int axis = 0; layout && axis < layout->rank; ++axis) {
    out[count++] = low_word(layout->shape[axis]);
    if (wide) out[count++] = high_word(layout->shape[axis]);
  }
  const auto put_record = [&](unsigned tag, const double* numbers, int n) {
    if (n == 0) return;
    out[count++] = tag;
    out[count++] = 2 * static_cast<unsigned>(n);
    for (int i = 0; i < n; i++) {
      out[count++] = low_word(bit_cast_to<u64>(numbers[i]));
      out[count++] = high_word(bit_cast_to<u64>(numbers[i]));
    }
  };
  put_record(STZ_CD_RECORD_LAYER_BOUNDS, options.layer_bounds, layer_bounds);
  put_record(STZ_CD_RECORD_VALID_RANGE, options.valid_range, has_valid_range(options) ? 2 : 0);
  if (high_word(packed))
    for (unsigned word : {unsigned(STZ_CD_RECORD_OPTIONS), 1u, high_word(packed)}) out[count++] = word;
  return count;
}

// Packs, and verifies that the words can be parsed again.
int pack_checked(const stz_options& options, const stz_layout* layout, unsigned* out, size_t& count, Message& message) {
  int error = check_option_widths(options, message);
  if (!error && layout) error = check_layout_widths(*layout, message);
  if (error) return error;
  count = pack(options, layout, out);
  stz_options options_read;
  stz_layout layout_read;
  const int refused = parse(count, out, options_read, layout_read, message);
  if (refused == STZ_ERROR_BOUND && std::isfinite(options.bound) && options.bound >= 0)
    message.set("the bound %g cannot be distinguished from one with swapped words: use the lossless mode", options.bound);
  return refused;
}

}  // namespace
}  // namespace stz

extern "C" {

int stz_cd_values_parse(size_t count, const unsigned* values, stz_options* options, stz_layout* layout, char* message,
                        size_t message_size) {
  const stz::FloatingEnvironment environment;  // the rounding mode affects strtod
  stz::Message text;
  stz_options parsed{};
  stz_layout unused;
  int error = STZ_ERROR_ARGUMENT;
  if (!options || (!values && count))
    text.set("options or values is a null pointer");
  else if (!stz::valid_struct_size(options))
    text.set("struct_size of the options is %zu: set it to sizeof(stz_options), %zu", options->struct_size, sizeof *options);
  else
    error = stz::parse(count, values, parsed, layout ? *layout : unused, text);
  if (!error) stz::give_output(parsed, options);
  text.copy_to(message, message_size);
  return error;
}

int stz_cd_values_pack(const stz_options* options, const stz_layout* layout, unsigned* out, size_t capacity, size_t* count, char* message,
                       size_t message_size) {
  const stz::FloatingEnvironment environment;
  stz::Message text;
  stz_options given;
  unsigned words[STZ_CD_MAX_WORDS];
  size_t word_count = 0;
  int error = STZ_ERROR_ARGUMENT;
  if (count) *count = 0;
  if (!options || !count || (!out && capacity))
    text.set("options, out or count is a null pointer");
  else if ((error = stz::take_input(options, given)) != STZ_OK)
    text.set("this version does not know the structure of the options (struct_size %zu, here %zu): use STZ_OPTIONS_INIT, or update h5stz",
             options->struct_size, sizeof *options);
  else
    error = stz::pack_checked(given, layout, words, word_count, text);
  if (!error) {
    *count = word_count;
    if (word_count > capacity) {
      text.set("the output has room for %zu words, but %zu are needed", capacity, word_count);
      error = STZ_ERROR_CAPACITY;
    } else {
      std::memcpy(out, words, word_count * sizeof *out);
    }
  }
  text.copy_to(message, message_size);
  return error;
}

}  // extern "C"
