// Fuzz target: client data. Arbitrary words, and datasets of arbitrary types, shapes, fill values and pipelines, through can_apply and
// set_local of the plug-in; words and texts through stz_cd_values_* and stz_options_*.
//
// What is accepted can be read back as the same, also by set_local itself; a chunk of such a dataset is compressed and comes back within
// its bound. What is refused has a message. No datatype stays open, no memory is kept.
#include <algorithm>
#include <iterator>

#include "judge.h"
#include "stand_in.h"
#include "stz_learned.h"

namespace fuzz {
namespace {

constexpr size_t largest_chunk = 1 << 13;

double choose_number(Choices& choose) {
  static const double numbers[] = {0, 1e-3, 0.5, 1, 20, 1e-300, 1e300, 5e-324};
  const int byte = choose.byte();
  if (byte < 200) return numbers[byte % 8];
  const uint64_t bits = choose.word();
  double number;
  memcpy(&number, &bits, 8);
  return number;
}

std::vector<unsigned> choose_words(Choices& choose) {
  std::vector<unsigned> words;
  const int form = choose.byte();
  if (form < 150) words.push_back(100 + unsigned(form % 7));
  size_t count = form < 150 ? choose.below(16) : choose.below(STZ_CD_MAX_WORDS + 4);
  for (; count; count--) {
    const int kind = choose.byte();
    if (kind >= 250) {
      const double number = choose_number(choose);
      unsigned pair[2];
      memcpy(pair, &number, 8);
      words.insert(words.end(), pair, pair + 2);
    } else {
      words.push_back(kind < 200 ? unsigned(kind % 20) : kind < 230 ? choose.byte() : unsigned(choose.word()));
    }
  }
  return words;
}

// Options with any values, most of them possible ones.
stz_options choose_options(Choices& choose) {
  stz_options options = STZ_OPTIONS_INIT;
  int32_t* const fields[] = {&options.mode,          &options.has_fill, &options.block,       &options.threads,
                             &options.effort,        &options.layers,   &options.append_axis, &options.integers,
                             &options.content_check, &options.enhance,  &options.bound_used};
  for (int32_t* field : fields) {
    const int byte = choose.byte();
    *field = byte < 230 ? byte % 4 % 3 : int32_t(choose.word());
  }
  options.bound = choose_number(choose);
  options.fill = choose.below(2) ? choose.word() : choose.byte();
  if (choose.below(4) == 0)
    for (double& bound : options.layer_bounds) bound = choose.below(2) ? 0 : choose_number(choose);
  if (choose.below(4) == 0)
    for (double& end : options.valid_range) end = choose_number(choose);
  return options;
}

stz_layout choose_layout(Choices& choose) {
  stz_layout layout{};
  layout.dtype = int32_t(choose.below(15));
  layout.byte_order = int32_t(choose.below(8) ? choose.below(2) : choose.byte());
  layout.rank = int32_t(choose.below(16) ? choose.below(4) : choose.byte());
  for (int axis = 0; axis < std::min<int>(layout.rank, STZ_MAX_RANK); axis++)
    layout.shape[axis] = choose.below(16) ? 1 + choose.below(40) : choose.word() >> choose.below(64);
  return layout;
}

// ---------------------------------------------------------------- words and texts

bool same_options(const stz_options& a, const stz_options& b) { return memcmp(&a, &b, sizeof a) == 0; }

void pack(const stz_options& options, const stz_layout* layout) {
  unsigned words[STZ_CD_MAX_WORDS], again[STZ_CD_MAX_WORDS];
  size_t count = 0, count_again = 0;
  char message[256] = "?";
  const int error = stz_cd_values_pack(&options, layout, words, STZ_CD_MAX_WORDS, &count, message, sizeof message);
  promise(error != STZ_ERROR_INTERNAL && (error != 0) == (message[0] != 0), "what cannot be packed has a message");
  if (error) return;
  stz_options read = STZ_OPTIONS_INIT;
  stz_layout layout_read;
  promise(stz_cd_values_parse(count, words, &read, &layout_read, nullptr, 0) == STZ_OK, "what was packed can be read");
  promise((layout_read.rank >= 0) == (layout != nullptr), "words have a layout if they were given one");
  promise(stz_cd_values_pack(&read, layout ? &layout_read : nullptr, again, STZ_CD_MAX_WORDS, &count_again, nullptr, 0) == STZ_OK &&
              count == count_again && memcmp(words, again, count * sizeof *words) == 0,
          "what was read is packed as it was");
}

// Predictions: what is read from client data can be written to others, and is read there as the same.
void predictions(const std::vector<unsigned>& given) {
  stz_learned* const learned = stz_cd_values_learned(given.size(), given.data());
  if (!learned) return;
  unsigned words[STZ_CD_MAX_WORDS], again[STZ_CD_MAX_WORDS];
  size_t count = 0, count_again = 0;
  promise(stz_cd_values_add_learned(learned, words, STZ_CD_MAX_WORDS, &count) == STZ_OK, "predictions can be added to no words");
  stz_learned* const read = stz_cd_values_learned(count, words);
  promise(read && stz_cd_values_add_learned(read, again, STZ_CD_MAX_WORDS, &count_again) == STZ_OK && count == count_again &&
              memcmp(words, again, count * sizeof *words) == 0,
          "predictions are read as they were written");
  stz_learned_free(read);
  stz_learned_free(learned);
}

void words(Choices& choose) {
  const std::vector<unsigned> given = choose_words(choose);
  stz_options options = STZ_OPTIONS_INIT;
  stz_layout layout;
  char message[256] = "?";
  const int error = stz_cd_values_parse(given.size(), given.data(), &options, &layout, message, sizeof message);
  promise((error != 0) == (message[0] != 0), "what is refused has a message, what is accepted has none");
  if (!error) pack(options, layout.rank >= 0 ? &layout : nullptr);
  predictions(given);
  const stz_options any = choose_options(choose);
  const stz_layout any_layout = choose_layout(choose);
  pack(any, choose.below(2) ? &any_layout : nullptr);
}

void print_and_parse(const stz_options& options, int32_t dtype) {
  char text[1000], again[1000], message[256] = "?";
  size_t length = 0;
  const int error = stz_options_print_text(&options, dtype, text, sizeof text, &length, message, sizeof message);
  promise(error != STZ_ERROR_INTERNAL && error != STZ_ERROR_CAPACITY && (error != 0) == (message[0] != 0), "options are short texts");
  if (error) return;
  promise(strlen(text) == length, "a text has the length that is told");
  stz_options read = STZ_OPTIONS_INIT;
  int32_t dtype_read = dtype;
  promise(stz_options_parse_text(text, &dtype_read, &read, message, sizeof message) == STZ_OK, "a text that was printed can be read");
  promise(stz_options_print_text(&read, dtype, again, sizeof again, &length, nullptr, 0) == STZ_OK && strcmp(text, again) == 0,
          "what was read is printed as it was");
}

void texts(Choices& choose) {
  static const char* const keys[] = {"absolute=",      "pointwise_relative=",
                                     "lossless",       "fill_value=",
                                     "dtype=",         "block=",
                                     "threads=",       "effort=",
                                     "layers=",        "layer_bounds=",
                                     "append_axis=",   "integers=",
                                     "content_check=", "enhance=",
                                     "valid_range=",   "keep_range=",
                                     "keep_zeros=",    "favour="};
  static const char* const values[] = {"1e-3", "0", "nan",   "f4",     "<i2",        "region", "lossy",
                                       "no",   "3", "1/0.5", "0x1p-3", "throughput", "-9999",  "inf"};
  std::string text;
  int32_t dtype = int32_t(choose.below(16));
  for (uint64_t count = choose.below(8); count; count--) {
    const int byte = choose.byte();
    text += byte < 200 ? keys[size_t(byte) % std::size(keys)] : std::string(1, char(choose.byte()));
    text += byte % 5 ? values[choose.below(14)] : std::string(1, char(choose.byte()));
    text += byte % 16 ? "," : "";
  }
  if (!text.empty() && choose.below(4)) text.pop_back();
  stz_options options = choose_options(choose);
  const stz_options before = options;
  print_and_parse(options, dtype);
  char message[256] = "?";
  const int error = stz_options_parse_text(text.c_str(), &dtype, &options, message, sizeof message);
  promise((error != 0) == (message[0] != 0), "a text that is refused has a message");
  promise(!error || same_options(options, before), "options stay as they are where a text is refused");
  if (!error) print_and_parse(options, dtype);
}

// ---------------------------------------------------------------- datasets

StandInType number_type(int kind, bool big) {
  StandInType type;
  type.order = big;
  if (kind < 3) {
    static constexpr size_t formats[3][6] = {{2, 10, 5, 10, 15, 15}, {4, 23, 8, 23, 127, 31}, {8, 52, 11, 52, 1023, 63}};
    const size_t* f = formats[kind];
    type.type_class = 1;
    type.size = f[0], type.precision = 8 * f[0], type.bias = f[4];
    const size_t fields[5] = {f[5], f[1], f[2], 0, f[3]};
    std::copy_n(fields, 5, type.fields);
  } else {
    type.size = size_t(1) << (kind - 3) / 2 % 4;
    type.precision = 8 * type.size;
    type.sign = kind & 1;
  }
  return type;
}

StandInType choose_type(Choices& choose, int depth = 0) {
  const int byte = choose.byte();
  StandInType type = number_type(byte % 11, byte / 16 % 4 == 0);
  if (byte >= 192 && depth < 3) {  // of other types
    static constexpr int classes[] = {8, 6, 11, 4, 6, 10, 9, 3};
    type.type_class = classes[byte % 8];
    type.parts.push_back(choose_type(choose, depth + 1));
    type.parts.push_back(choose.below(4) ? type.parts[0] : choose_type(choose, depth + 1));
    type.members = int(choose.below(4) ? 2 : choose.below(5));
    const bool named = choose.below(4) != 0;
    type.name[0] = named ? "r" : "real", type.name[1] = named ? "i" : "";
    if (type.type_class == 6) type.size = 2 * type.parts[0].size, type.offset[1] = type.parts[0].size;
  }
  for (uint64_t wrong = choose.below(16) / 14 * (1 + choose.below(3)); wrong; wrong--) {
    const int value = int(choose.below(5) ? choose.below(70) : choose.word());
    int* const numbers[] = {&type.type_class, &type.order,           &type.sign,         &type.norm,
                            &type.members,    &type.variable_string, &type.fields_status};
    size_t* const sizes[] = {&type.size, &type.precision, &type.bias, &type.offset[0], &type.offset[1], &type.fields[choose.below(5)]};
    const size_t which = choose.below(13);
    which < 7 ? void(*numbers[which] = value) : void(*sizes[which - 7] = size_t(value));
  }
  return type;
}

StandInProperties choose_properties(Choices& choose) {
  StandInProperties p;
  p.words = choose_words(choose);
  p.flags = choose.below(2);
  const int odd = choose.byte();
  if (odd == 1) p.layout = int(choose.below(4)) - 1;
  if (odd == 2) p.filters = int(choose.below(3)) - 1;
  if (odd == 3) p.filter_id = int(choose.below(10)), p.filter_name = std::string(choose.below(100), 'x');
  if (odd == 4) p.modify_status = -1;
  p.rank = int(odd == 5 ? choose.byte() : 1 + choose.below(4));
  for (int axis = 0; axis < std::min(p.rank, STZ_MAX_RANK); axis++)
    p.chunk[axis] = odd == 6 ? choose.word() >> choose.below(64) : odd == 7 ? choose.below(3) : 1 + choose.below(14);
  p.fill_state = int(choose.below(4)) - (odd == 8);
  if (odd == 9) p.fill_status = -1;
  for (uint8_t& byte : p.fill) byte = choose.byte();
  return p;
}

// The chunk goes through the filter and back.
void check_chunk(Choices& choose, const std::vector<unsigned>& cd_values) {
  stz_options options = STZ_OPTIONS_INIT;
  stz_layout layout;
  promise(stz_cd_values_parse(cd_values.size(), cd_values.data(), &options, &layout, nullptr, 0) == STZ_OK && layout.rank >= 0,
          "client data that set_local has written tell type and shape");
  const size_t capacity = stz_max_compressed_size(&layout), width = number_size(layout.dtype);
  promise(capacity > 0, "a dataset that was created has chunks that can be compressed");
  if (capacity > largest_chunk) return;
  const size_t bytes = capacity - 64;
  Random random(choose.word());
  Bytes array(bytes);
  const uint64_t kind = random.below(3);
  for (size_t i = 0; i + width <= bytes; i += width)
    store_number(&array[i], kind ? bits_of_number(layout.dtype, double(i) * 0.25 + (kind == 1 ? random.normal() : 0)) : random.bits(),
                 width, swapped(layout));
  stz_h5_forget();
  void* buffer = stand_in.allocate(bytes);
  memcpy(buffer, array.data(), bytes);
  size_t buffer_size = bytes;
  const size_t size = filter->filter(0, cd_values.size(), cd_values.data(), bytes, &buffer_size, &buffer);
  promise(size > 0 && size <= buffer_size, "a chunk of a dataset that was created is compressed");
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  promise(stz_info(buffer, size, &info) == STZ_OK, "a chunk is a stream");
  const size_t back = filter->filter(stz::hdf5::flag_reverse, cd_values.size(), cd_values.data(), size, &buffer_size, &buffer);
  promise(back == bytes, "a chunk that was compressed is decoded");
  Bound bound(layout, options);
  if (info.enhanced) bound.bound = info.relaxed_bound;
  for (size_t i = 0; i + width <= bytes; i += width)
    promise(
        bound.kept(load_number(&array[i], width, swapped(layout)), load_number(static_cast<uint8_t*>(buffer) + i, width, swapped(layout))),
        "a chunk comes back within the bound of its client data");
  stand_in.release(buffer);
}

void dataset(Choices& choose) {
  const StandInType type = choose_type(choose);
  stand_in.properties = choose_properties(choose);
  const StandInProperties before = stand_in.properties;
  stand_in.types.clear();
  stand_in.errors.clear();
  const int64_t id = stand_in.open(type);
  const int applies = filter->can_apply(properties_id, id, 0);
  const size_t messages = stand_in.errors.size();
  promise((applies == 0) == (messages == 1), "a dataset that the filter cannot take has a message");
  promise(stand_in.properties.words == before.words, "can_apply changes nothing");
  const int set = filter->set_local(properties_id, id, 0);
  promise(set == 1 || (set == -1 && stand_in.errors.size() == messages + 1), "a dataset that is refused has a message");
  promise(applies || set == -1, "what cannot be applied is refused");
  if (set == 1) {
    const std::vector<unsigned> completed = stand_in.properties.words;
    promise(filter->set_local(properties_id, id, 0) == 1 && stand_in.properties.words == completed, "set_local may run on its own result");
    stand_in.types.erase(id);
    inputs_accepted++;
    check_chunk(choose, completed);
  } else {
    stand_in.types.erase(id);
    promise(stand_in.properties.words == before.words, "what is refused stays as it is");
  }
  promise(stand_in.types.empty() && stand_in.blocks.empty(), "nothing is left open");
}

}  // namespace

Bytes seed_input(uint64_t number) {
  Random random(number);
  Bytes input = random_bytes(random, 20 + random.below(120));
  input[0] = uint8_t(number % 3);
  if (number % 3 == 0) {  // a dataset of plain numbers with client data of form 101
    input[1] = uint8_t(random.below(192)), input[2] = 0;
  }
  return input;
}

void mutate_input(Bytes& input, uint64_t random_seed) { replace_bytes(input, random_seed); }

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fuzz;
  Choices choose(data, size);
  const int what = choose.byte() % 3;
  if (what == 0) dataset(choose);
  if (what == 1) words(choose);
  if (what == 2) texts(choose);
  return 0;
}
