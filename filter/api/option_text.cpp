// Converts options to text and back: "absolute=1e-3,block=region" (docs/cd_values.md has the grammar). Invariants: parse() reads what
// print() writes as the same options; numbers are exact and independent of the locale; every rejection names the key. Text comes from
// users, files and the environment and is not trusted.
#include "api/dtype_names.h"
#include "api/number_text.h"
#include "api/option_names.h"
#include "base/common.h"
#include "base/element_type.h"
#include "base/floating_environment.h"
#include "base/guard.h"
#include "base/message.h"
#include "base/struct_size.h"
#include "coding/short_floats.h"
#include "options/option_rules.h"
#include "options/option_table.h"
#include "stz_cd_values.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace stz {
namespace {

using Text = std::string_view;

// For "%.*s": limits the length in messages.
int shown(Text text) { return static_cast<int>(std::min<size_t>(text.size(), 60)); }
#define STZ_SHOWN(text) shown(text), (text).data()

Text trimmed(Text text) {
  constexpr Text blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  return first == text.npos ? Text() : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string list_of_keys() {
  std::string list;
  for (const Text key : all_keys()) list.append(list.empty() ? "" : ", ").append(key);
  return list;
}

template <size_t n>
const Name* find_name(const Name (&names)[n], Text text) {
  for (const Name& each : names)
    if (each.text == text) return &each;
  return nullptr;
}

template <size_t n>
Text name_of(const Name (&names)[n], i32 value) {
  for (const Name& each : names)
    if (each.value == value) return each.text;
  return {};
}

// The bits of an integer of type Value; accepts also 1e3 and -9999.0.
template <class Value>
bool integer_bits(Text text, u64& bits) {
  Value value;
  double number;
  if (!parse_number(text, value)) {
    // The limits are powers of two or one less. As a double, `above` is the first number that does not fit.
    constexpr double above = 2.0 * static_cast<double>(Value{1} << (std::numeric_limits<Value>::digits - 1));
    if (!parse_number(text, number) || number != std::trunc(number)) return false;
    if (!(number < above && number >= static_cast<double>(std::numeric_limits<Value>::min()))) return false;
    value = static_cast<Value>(number);
  }
  bits = static_cast<std::make_unsigned_t<Value>>(value);
  return true;
}

// The same for a floating-point type, rounded once from double. Returns false for numbers beyond the type. NaN and infinities need no fill
// value; `has_fill` is then 0.
bool floating_bits(Text text, i32 dtype, u64& bits, i32& has_fill) {
  double number;
  if (!parse_number(text, number)) return false;
  has_fill = std::isfinite(number);
  bits = 0;
  if (!has_fill) return true;
  double kept = number;
  if (dtype == STZ_F64) {
    bits = bit_cast_to<u64>(number);
  } else if (dtype == STZ_F32) {
    kept = static_cast<float>(number);
    bits = bit_cast_to<u32>(static_cast<float>(number));
  } else {
    bits = short_from_double(float_format(dtype), number);
    kept = short_to_float(float_format(dtype), static_cast<u16>(bits));
  }
  return std::isfinite(kept);
}

bool fill_bits(Text text, i32 dtype, stz_options& options) {
  options.has_fill = 1;
  switch (dtype) {
    case STZ_I8:
      return integer_bits<int8_t>(text, options.fill);
    case STZ_U8:
      return integer_bits<u8>(text, options.fill);
    case STZ_I16:
      return integer_bits<int16_t>(text, options.fill);
    case STZ_U16:
      return integer_bits<u16>(text, options.fill);
    case STZ_I32:
      return integer_bits<i32>(text, options.fill);
    case STZ_U32:
      return integer_bits<u32>(text, options.fill);
    case STZ_I64:
      return integer_bits<i64>(text, options.fill);
    case STZ_U64:
      return integer_bits<u64>(text, options.fill);
    default:
      return floating_bits(text, dtype, options.fill, options.has_fill);
  }
}

// Parses one text. Each option may occur once.
class Parser {
 public:
  Parser(i32 dtype, stz_options& options, Message& message) : dtype_(dtype), options_(options), message_(message) {}

  int parse(Text text) {
    while (true) {
      const size_t end = text.find(',');
      if (const int error = item(trimmed(text.substr(0, end)))) return error;
      if (end == text.npos) break;
      text.remove_prefix(end + 1);
    }
    if (const int error = bounds_ == 1 ? check_rules(options_, nullptr, message_) : STZ_OK) return error;
    if (bounds_ == 1) return fill_value();
    message_.set("%s: give exactly one of absolute=, pointwise_relative= and lossless",
                 bounds_ ? "two bounds are given" : "no bound is given");
    return STZ_ERROR_MODE;
  }

  i32 dtype() const { return dtype_; }

 private:
  int item(Text item) {
    const size_t separator = item.find_first_of("=:");
    const Text key = trimmed(item.substr(0, separator));
    const bool has_value = separator != item.npos;
    const Text value = has_value ? trimmed(item.substr(separator + 1)) : Text();
    if (seen_.find("," + std::string(key) + ",") != seen_.npos)
      return wrong(STZ_ERROR_OPTION, key, value, "it is given twice; give it once");
    seen_ += std::string(key) + ",";
    if (key == "lossless") return lossless(key, value, has_value);
    if (key == "absolute") return bound(key, value, STZ_ABSOLUTE);
    if (key == "pointwise_relative") return bound(key, value, STZ_POINTWISE_RELATIVE);
    if (key == "dtype") return type(key, value);
    if (key == "layer_bounds") return layer_bounds(key, value);
    if (key == "valid_range") return valid_range(key, value);
    for (const Option& each : option_table)
      if (key == each.name) return number(each, value);
    if (key == "fill_value") {
      fill_text_ = value;
      return value.empty() ? wrong(STZ_ERROR_OPTION, key, value, "it needs a number, such as fill_value=-999") : STZ_OK;
    }
    if (is_measured(key))
      return wrong(STZ_ERROR_MODE, key, value, "it depends on the whole dataset; give absolute=, which h5stz args computes from it");
    const Text meant = nearest_key(key);
    const std::string instead = meant.empty() ? "the options are " + list_of_keys() : "did you mean " + std::string(meant) + "?";
    message_.set("'%.*s' is not an option: %s", STZ_SHOWN(key), instead.c_str());
    return STZ_ERROR_OPTION;
  }

  int wrong(int error, Text key, Text value, const char* what) {
    message_.set("%.*s=%.*s: %s", STZ_SHOWN(key), STZ_SHOWN(value), what);
    return error;
  }

  int lossless(Text key, Text value, bool has_value) {
    ++bounds_;
    options_.mode = STZ_LOSSLESS;
    if (has_value && !is_yes(value)) return wrong(STZ_ERROR_MODE, key, value, "write lossless alone, or lossless=1");
    return STZ_OK;
  }

  int bound(Text key, Text value, i32 mode) {
    ++bounds_;
    options_.mode = mode;
    if (!value.empty() && value.back() == '%')
      return wrong(STZ_ERROR_BOUND, key, value,
                   mode == STZ_ABSOLUTE
                       ? "it must be a number in the units of the data, not a percentage; h5stz args --relative computes it"
                       : "it must be a number, not a percentage: 1% is 0.01");
    if (!parse_number(value, options_.bound) || !std::isfinite(options_.bound) || options_.bound < 0)
      return wrong(STZ_ERROR_BOUND, key, value, "it must be a finite number that is zero or more");
    return STZ_OK;
  }

  int number(const Option& option, Text value) {
    i32 given = option.value_of(plain_word(option, value));
    if (!option.is_word() && (!parse_number(value, given) || given < option.least || given > option.most)) given = -1;
    if (given < 0) {
      message_.set("%.*s=%.*s: it must be %s", STZ_SHOWN(option.name), STZ_SHOWN(value), choices(option).c_str());
      return STZ_ERROR_OPTION;
    }
    options_.*option.field = given + option.offset;
    return STZ_OK;
  }

  // Reads up to `most` numbers with a slash between them. Returns how many; -1 for another text.
  static int numbers(Text list, double* out, int most) {
    for (int count = 0; count < most; count++) {
      const size_t end = list.find('/');
      if (!parse_number(trimmed(list.substr(0, end)), out[count])) return -1;
      if (end == list.npos) return count + 1;
      list.remove_prefix(end + 1);
    }
    return -1;
  }

  int layer_bounds(Text key, Text list) {
    double* const bounds = options_.layer_bounds;
    const int count = numbers(list, bounds, STZ_MAX_LAYERS - 1);
    if (count > 0 && std::all_of(bounds, bounds + count, [](double each) { return each > 0 && std::isfinite(each); })) return STZ_OK;
    return wrong(STZ_ERROR_OPTION, key, list, "give 1 to 6 finite numbers above 0, such as 1e-2/1e-4");
  }

  int valid_range(Text key, Text ends) {
    if (numbers(ends, options_.valid_range, 2) == 2 && has_valid_range(options_)) return STZ_OK;
    return wrong(STZ_ERROR_OPTION, key, ends, "give the smallest and the largest valid value, such as 0/100 or 0/inf");
  }

  // Accepts a byte order before the type, as in a dataset's dtype. The bits of a fill value do not depend on it.
  int type(Text key, Text value) {
    const Text plain = value.substr(!value.empty() && Text("<>=|").find(value.front()) != Text::npos ? 1 : 0);
    const Name* const name = find_name(dtype_names, plain);
    if (!name)
      return wrong(STZ_ERROR_DTYPE, key, value,
                   "it must be f2, f4, f8, i1 to i8, u1 to u8, c8, c16, bfloat16, float8_e4m3fn or float8_e5m2");
    if (dtype_ != 0 && dtype_ != name->value) return wrong(STZ_ERROR_DTYPE, key, value, "the dataset has another type; leave dtype= out");
    dtype_ = name->value;
    return STZ_OK;
  }

  int fill_value() {
    constexpr Text key = "fill_value";
    if (fill_text_.empty()) return STZ_OK;
    if (dtype_ == 0) return wrong(STZ_ERROR_OPTION, key, fill_text_, "its bits depend on the type; give dtype= too, such as dtype=f4");
    if (is_complex(dtype_))
      return wrong(STZ_ERROR_OPTION, key, fill_text_, "complex data cannot have a fill value; mark missing samples with NaN");
    if (!fill_bits(fill_text_, dtype_, options_))
      return wrong(STZ_ERROR_OPTION, key, fill_text_, "it is not a number that the type can hold");
    return STZ_OK;
  }

  i32 dtype_;
  stz_options& options_;
  Message& message_;
  int bounds_ = 0;
  std::string seen_ = ",";  // the keys so far, with a comma after each
  Text fill_text_;
};

std::string fill_text(u64 bits, i32 dtype) {
  switch (dtype) {
    case STZ_F16:
    case STZ_BF16:
    case STZ_F8_E4M3:
    case STZ_F8_E5M2:
      return shortest(short_to_float(float_format(dtype), static_cast<u16>(bits)));
    case STZ_F32:
      return shortest(bit_cast_to<float>(static_cast<u32>(bits)));
    case STZ_F64:
      return shortest(bit_cast_to<double>(bits));
    case STZ_I8:
      return shortest(i32{static_cast<int8_t>(bits)});
    case STZ_I16:
      return shortest(static_cast<int16_t>(bits));
    case STZ_I32:
      return shortest(static_cast<i32>(bits));
    case STZ_I64:
      return shortest(static_cast<i64>(bits));
    default:
      return shortest(bits);
  }
}

std::string print(const stz_options& options, i32 dtype) {
  std::string text = options.mode == STZ_LOSSLESS   ? "lossless"
                     : options.mode == STZ_ABSOLUTE ? "absolute=" + shortest(options.bound)
                                                    : "pointwise_relative=" + shortest(options.bound);
  const auto add = [&](Text key, Text value) { text.append(",").append(key).append("=").append(value); };
  if (options.has_fill) {
    add("fill_value", fill_text(options.fill, dtype));
    add("dtype", name_of(dtype_names, dtype));
  }
  for (const Option& each : option_table)
    if (const i32 value = options.*each.field)
      add(each.name, each.is_word() ? std::string(each.word_of(value)) : shortest(i64{value} - each.offset));
  std::string layer_bounds;
  for (int i = 0; i < layer_bound_count(options); i++) layer_bounds += (i ? "/" : "") + shortest(options.layer_bounds[i]);
  if (!layer_bounds.empty()) add("layer_bounds", layer_bounds);
  if (has_valid_range(options)) add("valid_range", shortest(options.valid_range[0]) + "/" + shortest(options.valid_range[1]));
  return text;
}

// Whether parse() returns these options for the text; `message` says why not.
int check_printed(const stz_options& options, i32 dtype, const std::string& text, Message& message) {
  stz_options again{};
  Parser parser(0, again, message);
  const int error = parser.parse(text);
  if (error) return error;
  const bool same = again.mode == options.mode && (again.mode == STZ_LOSSLESS || again.bound == options.bound) &&
                    again.has_fill == (options.has_fill != 0) && (!again.has_fill || again.fill == options.fill) &&
                    std::all_of(std::begin(option_table), std::end(option_table),
                                [&](const Option& each) { return again.*each.field == options.*each.field; }) &&
                    std::equal(std::begin(again.layer_bounds), std::end(again.layer_bounds), options.layer_bounds) &&
                    std::equal(std::begin(again.valid_range), std::end(again.valid_range), options.valid_range);
  if (same && options.bound_used == 0 && options.prior_bound == 0) return STZ_OK;
  message.set(
      "the options cannot be written as text: a fill value needs a real type (dtype is %d), and bound_used and prior_bound must be 0",
      dtype);
  return STZ_ERROR_OPTION;
}

}  // namespace
}  // namespace stz

extern "C" {

int stz_options_parse_text(const char* text, int32_t* dtype, stz_options* options, char* message, size_t message_size) {
  using namespace stz;
  Message said;
  int error = STZ_ERROR_ARGUMENT;
  if (!text || !options || !valid_struct_size(options)) {
    said.set("text or options is a null pointer, or struct_size of the options is not set: initialise them with STZ_OPTIONS_INIT");
  } else {
    stz_options parsed{};
    i32 type = dtype ? *dtype : 0;
    error = guarded([&] {
      Parser parser(type, parsed, said);
      const int code = parser.parse(text);
      type = parser.dtype();
      require(code == STZ_OK, code);
    });
    if (!error) give_output(parsed, options);
    if (!error && dtype) *dtype = type;
    if (error == STZ_ERROR_MEMORY) said.set("out of memory");
  }
  said.copy_to(message, message_size);
  return error;
}

int stz_options_print_text(const stz_options* options, int32_t dtype, char* text, size_t capacity, size_t* length, char* message,
                           size_t message_size) {
  using namespace stz;
  Message said;
  int error = STZ_ERROR_ARGUMENT;
  if (length) *length = 0;
  stz_options given;
  if (!options || !length || (!text && capacity)) {
    said.set("options, text or length is a null pointer");
  } else if ((error = take_input(options, given)) != STZ_OK) {
    said.set("this version does not know the structure of the options (struct_size %zu, here %zu): use STZ_OPTIONS_INIT, or update h5stz",
             options->struct_size, sizeof *options);
  } else {
    error = guarded([&] {
      const std::string written = print(given, dtype);
      const int code = check_printed(given, dtype, written, said);
      require(code == STZ_OK, code);
      *length = written.size();
      if (written.size() >= capacity) {
        said.set("the output has room for %zu bytes, but %zu are needed", capacity, written.size() + 1);
        require(false, STZ_ERROR_CAPACITY);
      }
      memcpy(text, written.c_str(), written.size() + 1);
    });
    if (error == STZ_ERROR_MEMORY) said.set("out of memory");
  }
  said.copy_to(message, message_size);
  return error;
}

}  // extern "C"
