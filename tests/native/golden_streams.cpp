// Golden streams on the machine that runs this program: they decode to the same bits and are encoded to the same bytes, whole and in
// parts, for any number of threads and in every floating-point setting.
//   golden_streams [--rarely] DIRECTORY [PART]     PART: of a stream's name, to take only those
// In a setting other than the default every stream is decoded and every third encoded. With --rarely each stream is decoded in a third of
// these settings, and every 16th is encoded in them and by several threads.
// DIRECTORY is what tests/support/golden_files.py writes. Its file `cases` has a line for each stream, "NAME OPTIONS PREVIOUS". NAME.stz is
// the stream, NAME.decoded its array in the byte order of the stream, NAME.layers-N that of the first N precision layers, NAME.plain that
// without enhancement. If OPTIONS is not "-", NAME.array with these options is the stream, as a rewrite of PREVIOUS if that is not "-".
// Prints what was done; exits with 1, and a line for each difference, if there are any.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "float_settings.h"
#include "simd/kernels.h"
#include "stz_cd_values.h"
#include "stz_reader.h"

namespace {

using Bytes = std::vector<unsigned char>;
using Numbers = std::vector<uint64_t>;
using float_settings::Setting;

struct Case {
  std::string name, options;
  Bytes stream, decoded, array, previous, plain;
  std::vector<Bytes> layers;  // of the first 1, 2 ... layers, if there are several
  stz_stream_info info = STZ_STREAM_INFO_INIT;

  const stz_layout& layout() const { return info.layout; }
  size_t element() const { return stz_element_size(info.layout.dtype); }
};

// In which setting and with how many threads the functions are called.
struct Host {
  Setting setting;
  int threads;
};

int differences = 0;
uint64_t comparisons = 0;

__attribute__((format(printf, 3, 4))) void report(const Case& each, const char* step, const char* format, ...) {
  if (++differences > 40) return;  // the rest is counted
  std::printf("%s, %s: ", each.name.c_str(), step);
  va_list rest;
  va_start(rest, format);
  std::vprintf(format, rest);
  va_end(rest);
  std::printf("\n");
}

// ---------------------------------------------------------------- what is compared

// Compares what a step gave with what it has to give. element: bytes of an element, for the message.
void compare(const Case& each, const std::string& step, const Bytes& got, const Bytes& expected, size_t element) {
  comparisons++;
  if (got.size() != expected.size()) {
    report(each, step.c_str(), "%zu bytes instead of %zu", got.size(), expected.size());
    return;
  }
  size_t first = 0, count = 0;
  for (size_t i = got.size(); i-- > 0;)
    if (got[i] != expected[i]) {
      first = i;
      count++;
    }
  if (!count) return;
  report(each, step.c_str(), "%zu of %zu bytes differ, first byte %zu of %s %zu: %02x instead of %02x", count, got.size(), first % element,
         element == 1 ? "byte" : "element", first / element, got[first], expected[first]);
}

// Calls a function of the library as the host would; false, with a report, where it fails or leaves the floating-point unit changed.
template <class Call>
bool call(const Case& each, const std::string& step, const Host& host, Call function) {
  const uint64_t own = float_settings::registers();
  host.setting.set();
  const uint64_t before = float_settings::registers();
  const int code = function();
  const uint64_t after = float_settings::registers();
  float_settings::restore(own);
  if (before != after)
    report(each, step.c_str(), "the floating-point registers were %llx and are %llx", (unsigned long long)before,
           (unsigned long long)after);
  if (code) report(each, step.c_str(), "%s", stz_error_text(code));
  return code == STZ_OK;
}

std::string described(const char* step, const Host& host) {
  return std::string(step) + " (" + host.setting.name + ", " + std::to_string(host.threads) +
         (host.threads == 1 ? " thread)" : " threads)");
}

// ---------------------------------------------------------------- a part of an array

struct Box {
  Numbers start, count, step;

  size_t elements() const {
    size_t product = 1;
    for (const uint64_t extent : count) product *= extent;
    return product;
  }
};

Box every(const stz_layout& layout, uint64_t step) {
  Box box;
  for (int axis = 0; axis < layout.rank; axis++) {
    box.start.push_back(0);
    box.count.push_back((layout.shape[axis] + step - 1) / step);
    box.step.push_back(step);
  }
  return box;
}

// From a third of every axis on, with different steps.
Box middle(const stz_layout& layout) {
  Box box = every(layout, 1);
  for (int axis = 0; axis < layout.rank; axis++) {
    box.step[axis] = 1 + axis % 3;
    box.start[axis] = layout.shape[axis] / 3;
    box.count[axis] = (layout.shape[axis] - box.start[axis] + box.step[axis] - 1) / box.step[axis] * 2 / 3;
  }
  return box;
}

// The elements of a box, copied out of the whole array.
Bytes part_of(const Bytes& array, const stz_layout& layout, const Box& box) {
  const size_t element = stz_element_size(layout.dtype);
  Bytes part(box.elements() * element);
  Numbers index(box.count.size());
  for (size_t at = 0; at < part.size(); at += element) {
    uint64_t place = 0;
    for (size_t axis = 0; axis < index.size(); axis++) place = place * layout.shape[axis] + box.start[axis] + index[axis] * box.step[axis];
    std::memcpy(&part[at], &array[place * element], element);
    for (size_t axis = index.size(); axis-- > 0 && ++index[axis] == box.count[axis];) index[axis] = 0;
  }
  return part;
}

// ---------------------------------------------------------------- the steps

void decode_whole(const Case& each, const Host& host) {
  const std::string step = described("decoded whole", host);
  Bytes out(each.decoded.size());
  if (call(each, step, host,
           [&] { return stz_decompress_verified(each.stream.data(), each.stream.size(), out.data(), out.size(), host.threads, nullptr); }))
    compare(each, step, out, each.decoded, each.element());
}

// prepare: is called with the open reader before it reads.
template <class Prepare>
void read(const Case& each, const char* what, const Host& host, const Box& box, const Bytes& expected_array, Prepare prepare) {
  const std::string step = described(what, host);
  Bytes out(box.elements() * each.element());
  const bool done = call(each, step, host, [&] {
    stz_reader* reader;
    int code = stz_reader_open_memory(each.stream.data(), each.stream.size(), 1 << 16, &reader);
    if (code == STZ_OK) code = prepare(reader);
    if (code == STZ_OK)
      code = stz_reader_read(reader, box.start.data(), box.count.data(), box.step.data(), out.data(), out.size(), host.threads);
    stz_reader_close(reader);
    return code;
  });
  if (done) compare(each, step, out, part_of(expected_array, each.layout(), box), each.element());
}

void read_box(const Case& each, const Host& host) {
  read(each, "a box", host, middle(each.layout()), each.decoded, [](stz_reader* reader) { return stz_reader_verify(reader, 1); });
}

void read_levels(const Case& each, const Host& host) {
  for (int level = 1; level < each.info.levels; level++)
    read(each, ("level " + std::to_string(level)).c_str(), host, every(each.layout(), uint64_t(1) << level), each.decoded,
         [](stz_reader*) { return STZ_OK; });
}

// Fewer precision layers, read and left out; without the enhancement.
void read_less(const Case& each, const Host& host) {
  for (size_t n = 0; n < each.layers.size(); n++) {
    const double error = each.info.layer_error[n];
    const std::string words = std::to_string(n + 1) + " of " + std::to_string(each.layers.size()) + " layers";
    read(each, words.c_str(), host, every(each.layout(), 1), each.layers[n],
         [&](stz_reader* reader) { return stz_reader_max_error(reader, error); });
    const std::string step = described((words + ", dropped").c_str(), host);
    Bytes shorter(each.stream.size()), out(each.decoded.size());
    size_t size;
    if (call(each, step, host, [&] {
          const int code = stz_drop_layers(each.stream.data(), each.stream.size(), error, shorter.data(), shorter.size(), &size);
          return code ? code : stz_decompress(shorter.data(), size, out.data(), out.size());
        }))
      compare(each, step, out, each.layers[n], each.element());
  }
  if (each.info.enhanced)
    read(each, "without enhancement", host, every(each.layout(), 1), each.plain,
         [](stz_reader* reader) { return stz_reader_enhance(reader, 0); });
}

void encode(const Case& each, const Host& host) {
  if (each.options == "-") return;
  const std::string step = described(each.previous.empty() ? "encoded" : "rewritten", host);
  const stz_layout& layout = each.layout();
  const Bytes& previous = each.previous;
  Bytes out(stz_max_compressed_size(&layout));
  size_t size = 0;
  char message[256] = "";
  const bool done = call(each, step, host, [&] {
    stz_options options = STZ_OPTIONS_INIT;
    int32_t dtype = layout.dtype;
    const int code = stz_options_parse_text(each.options.c_str(), &dtype, &options, message, sizeof message);
    if (code) return code;
    options.threads = host.threads;
    if (previous.empty()) return stz_compress(&layout, each.array.data(), &options, out.data(), out.size(), &size);
    return stz_rewrite(&layout, each.array.data(), &options, previous.data(), previous.size(), out.data(), out.size(), &size);
  });
  if (*message) report(each, step.c_str(), "options %s: %s", each.options.c_str(), message);
  out.resize(size);
  if (done) compare(each, step, out, each.stream, 1);
}

// How often a case is tried elsewhere than in the default setting on one thread: of so many cases one. Encoding takes most of the time,
// with an emulator that does floating point in software minutes.
struct Frequency {
  int decoded, encoded, encoded_by_threads;
};
constexpr Frequency usual = {1, 3, 1}, rare = {3, 16, 16};

// number: of the case.
void check(const Case& each, const std::vector<Setting>& settings, int number, const Frequency& one_of) {
  for (int i = 0; i < int(settings.size()); i++) {
    const Host host = {settings[i], 1 + i % 3};
    const bool encodes = !i || (i + number) % one_of.encoded == 0;
    if (encodes || (i + number) % one_of.decoded == 0) decode_whole(each, host);
    if (!encodes) continue;
    read_box(each, host);
    encode(each, host);
  }
  for (const int threads : {2, 3}) decode_whole(each, {settings[0], threads});
  if (number % one_of.encoded_by_threads == 0) encode(each, {settings[0], 2 + number / one_of.encoded_by_threads % 2});
  read_levels(each, {settings[0], 2});
  read_less(each, {settings[0], 1});
}

// ---------------------------------------------------------------- files

Bytes contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "golden_streams: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// False, with a report, where the stream's header cannot be read or is of another array.
bool load(const std::string& directory, const std::string& previous, Case& each) {
  const std::string path = directory + "/" + each.name;
  each.stream = contents(path + ".stz");
  each.decoded = contents(path + ".decoded");
  if (each.options != "-") each.array = contents(path + ".array");
  if (previous != "-") each.previous = contents(directory + "/" + previous + ".stz");
  if (const int code = stz_info(each.stream.data(), each.stream.size(), &each.info)) {
    report(each, "header", "%s", stz_error_text(code));
    return false;
  }
  for (int n = 1; n <= each.info.layers && each.info.layers > 1; n++)
    each.layers.push_back(contents(path + ".layers-" + std::to_string(n)));
  if (each.info.enhanced) each.plain = contents(path + ".plain");
  uint64_t bytes = each.element();
  for (int axis = 0; axis < each.layout().rank; axis++) bytes *= each.layout().shape[axis];
  const bool fits = bytes == each.decoded.size() && (each.options == "-" || bytes == each.array.size());
  if (!fits) report(each, "header", "an array of %zu bytes, of %zu that are expected", size_t(bytes), each.decoded.size());
  return fits;
}

}  // namespace

int main(int count, char** words) {
  Frequency one_of = usual;
  if (count > 1 && std::string(words[1]) == "--rarely") {
    one_of = rare;
    words++;
    count--;
  }
  if (count < 2) {
    std::fprintf(stderr, "golden_streams [--rarely] DIRECTORY [PART]\n");
    return 2;
  }
  const std::vector<Setting> settings = float_settings::all();
  std::ifstream cases(std::string(words[1]) + "/cases");
  int streams = 0;
  std::string previous;
  for (Case each; cases >> each.name >> each.options >> previous; each = Case()) {
    if (count > 2 && each.name.find(words[2]) == std::string::npos) continue;
    streams++;
    if (load(words[1], previous, each)) check(each, settings, streams, one_of);
  }
  std::printf("instruction set %s, %d streams, %llu comparisons, %d differences; floating point: ", stz::kernels().isa, streams,
              (unsigned long long)comparisons, differences);
  for (const Setting& setting : settings) std::printf("%s%s", setting.name == settings[0].name ? "" : "; ", setting.name);
  std::printf("\n");
  return differences || !streams;
}
