// Every bit flip and every truncation of streams: an error or the right data, through every way in which a stream is read.
//
//   damage_streams [--every N] [--from K] FILE...
//
// Each file is a stream. Of the damages, which are numbered, every N-th is done from number K on: first the flips of all bits, then the
// truncations to all shorter lengths. Damaged streams are copies of exactly their size, so that a sanitizer sees an access beyond them.
// Prints how many there were, and what went wrong; the status is 1 if anything did.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "stz_reader.h"

namespace {

using Bytes = std::vector<unsigned char>;

struct Box {
  uint64_t start[STZ_MAX_RANK], count[STZ_MAX_RANK], step[STZ_MAX_RANK];
  size_t elements = 1;
};

// One way of reading a part of a stream.
struct Part {
  const char* name;
  Box box;
  double max_error;
  bool tolerant;
  Bytes expected;
};

struct Stream {
  std::string name;
  Bytes bytes;
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  size_t element = 0, component = 0;
  Bytes array;
  std::vector<Part> parts;
};

struct Counts {
  unsigned long flips = 0, truncations = 0, undetected = 0, wrong = 0, part_reads = 0, went_on = 0;
};

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "damage_streams: %s\n", what.c_str());
  std::exit(2);
}

// Begins at `first` (in samples of `step`) where the array is long enough.
Box box_of(const stz_layout& layout, bool part, uint64_t step) {
  Box box;
  for (int r = 0; r < layout.rank; r++) {
    const uint64_t n = layout.shape[r];
    box.step[r] = n > 1 ? step : 1;
    box.start[r] = part && n > 3 ? n / 3 / step * step : 0;
    const uint64_t end = part && n > 3 ? n - n / 4 : n;
    box.count[r] = end > box.start[r] ? (end - 1 - box.start[r]) / box.step[r] + 1 : 0;
    box.elements *= size_t(box.count[r]);
  }
  return box;
}

// Memory of exactly this size.
struct Exact {
  std::unique_ptr<unsigned char[]> data;
  size_t size;
  explicit Exact(const Bytes& from, size_t n) : data(new unsigned char[n]), size(n) {
    if (n) std::memcpy(data.get(), from.data(), n);
  }
};

bool fits(const Stream& s, const stz_layout& layout) {
  return layout.rank == s.info.layout.rank && layout.dtype == s.info.layout.dtype &&
         std::memcmp(layout.shape, s.info.layout.shape, sizeof(uint64_t) * size_t(layout.rank)) == 0;
}

// A read with its options; the damage that it found is left in the reader.
int read_part(stz_reader* reader, const Part& part, Bytes& out, const Bytes& mark) {
  stz_reader_max_error(reader, part.max_error);
  stz_reader_on_error(reader, part.tolerant ? mark.data() : nullptr);
  return stz_reader_read(reader, part.box.start, part.box.count, part.box.step, out.data(), out.size(), 1);
}

// The components that differ from what is right are exactly counted by the damages and lie in their boxes.
bool is_confined(const Stream& s, const Part& part, const stz_reader* reader, const Bytes& out, const Bytes& mark) {
  const int rank = s.info.layout.rank;
  std::vector<stz_damage> found(stz_reader_damage_count(reader));
  uint64_t counted = 0, lost = 0;
  for (size_t k = 0; k < found.size(); k++) {
    found[k] = STZ_DAMAGE_INIT;
    if (stz_reader_damage(reader, k, &found[k])) return false;
    counted += found[k].lost;
  }
  uint64_t at[STZ_MAX_RANK] = {};
  for (size_t e = 0; e < part.box.elements; e++) {
    bool inside = false;
    for (const stz_damage& d : found) {
      bool in = d.lost > 0;
      for (int r = 0; r < rank; r++) {
        const uint64_t x = part.box.start[r] + at[r] * part.box.step[r];
        in = in && x >= d.start[r] && x < d.start[r] + d.extent[r];
      }
      inside = inside || in;
    }
    for (size_t c = 0; c < s.element; c += s.component) {
      const unsigned char* is = out.data() + e * s.element + c;
      const bool right = std::memcmp(is, part.expected.data() + e * s.element + c, s.component) == 0;
      const bool marked = std::memcmp(is, mark.data() + c, s.component) == 0;
      if (!right && (!marked || !inside)) return false;
      lost += marked;  // no sample has these bits otherwise
    }
    for (int r = rank; r-- > 0;) {
      if (++at[r] < part.box.count[r]) break;
      at[r] = 0;
    }
  }
  return lost == counted;
}

class Checker {
 public:
  Checker(const Stream& stream, Counts& counts) : stream_(stream), counts_(counts), out_(stream.array.size()) {
    mark_.assign(stream.element, 0xa5);
  }

  void check(const Exact& damaged, const std::string& what) {
    stz_stream_info info = STZ_STREAM_INFO_INIT;
    const int told = stz_info(damaged.data.get(), damaged.size, &info);
    uint64_t blocks;
    const int decoded = stz_decompress_verified(damaged.data.get(), damaged.size, out_.data(), out_.size(), 1, &blocks);
    if (decoded == STZ_OK) {
      counts_.undetected++;
      std::printf("%s: %s is not detected\n", stream_.name.c_str(), what.c_str());
    }
    if (told == STZ_OK && fits(stream_, info.layout)) {  // the trailer is not looked at
      const int plain = stz_decompress(damaged.data.get(), damaged.size, out_.data(), out_.size());
      if (plain == STZ_OK && out_ != stream_.array) wrong(what, "decoding");
    }
    stz_reader* reader;
    for (const Part& part : stream_.parts) {
      if (stz_reader_open_memory(damaged.data.get(), damaged.size, 1 << 20, &reader)) return;
      check_part(reader, part, what);
      stz_reader_close(reader);
    }
  }

 private:
  void check_part(stz_reader* reader, const Part& part, const std::string& what) {
    stz_stream_info info = STZ_STREAM_INFO_INIT;
    if (stz_reader_info(reader, &info) || !fits(stream_, info.layout)) return;  // then a read of what the header says fails
    Bytes out(part.expected.size());
    const int code = read_part(reader, part, out, mark_);
    counts_.part_reads++;
    if (part.tolerant && code == STZ_OK) {
      counts_.went_on++;
      if (!is_confined(stream_, part, reader, out, mark_)) wrong(what, part.name);
    } else if (part.tolerant)
      wrong(what, "going on");
    else if (code == STZ_OK && out != part.expected)
      wrong(what, part.name);
  }
  void wrong(const std::string& what, const char* how) {
    counts_.wrong++;
    std::printf("%s: %s: %s gives wrong data\n", stream_.name.c_str(), what.c_str(), how);
  }

  const Stream& stream_;
  Counts& counts_;
  Bytes out_, mark_;
};

Stream load(const std::string& path) {
  Stream s;
  s.name = path;
  std::ifstream file(path, std::ios::binary);
  s.bytes.assign(std::istreambuf_iterator<char>(file), {});
  if (stz_info(s.bytes.data(), s.bytes.size(), &s.info)) give_up(path + " is no stream");
  s.element = stz_element_size(s.info.layout.dtype);
  s.component = s.info.layout.dtype == STZ_C64 || s.info.layout.dtype == STZ_C128 ? s.element / 2 : s.element;
  s.array.resize(size_t(s.info.array_bytes));
  if (stz_decompress(s.bytes.data(), s.bytes.size(), s.array.data(), s.array.size())) give_up(path + " cannot be decoded");
  const double coarse = s.info.layers > 1 ? s.info.layer_error[0] : 0;
  const stz_layout& layout = s.info.layout;
  s.parts = {{"a region", box_of(layout, true, 1), 0, false, {}},
             {"a level", box_of(layout, false, 2), 0, false, {}},
             {"going on", box_of(layout, false, 1), 0, true, {}},
             {"going on in a region", box_of(layout, true, 1), 0, true, {}},
             {"going on on a level", box_of(layout, false, 2), 0, true, {}}};
  if (coarse > 0) s.parts.push_back({"one layer", box_of(layout, false, 1), coarse, true, {}});
  stz_reader* reader;
  if (stz_reader_open_memory(s.bytes.data(), s.bytes.size(), 0, &reader)) give_up(path + " cannot be opened");
  const Bytes mark(s.element, 0xa5);
  for (Part& part : s.parts) {
    part.expected.resize(part.box.elements * s.element);
    if (read_part(reader, part, part.expected, mark)) give_up(path + ": a part cannot be read");
    if (stz_reader_damage_count(reader)) give_up(path + ": a whole stream is said to be damaged");
  }
  stz_reader_close(reader);
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned long every = 1, number = 0;
  Counts counts;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "--every" && i + 1 < argc) {
      every = std::strtoul(argv[++i], nullptr, 10);
      continue;
    }
    if (word == "--from" && i + 1 < argc) {
      number = every - std::strtoul(argv[++i], nullptr, 10) % every;
      continue;
    }
    const Stream stream = load(word);
    Checker checker(stream, counts);
    Exact whole(stream.bytes, stream.bytes.size());
    for (size_t bit = 0; bit < 8 * whole.size; bit++) {
      if (number++ % every) continue;
      counts.flips++;
      whole.data[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
      checker.check(whole, "flipped bit " + std::to_string(bit));
      whole.data[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    }
    for (size_t size = 0; size < stream.bytes.size(); size++) {
      if (number++ % every) continue;
      counts.truncations++;
      checker.check(Exact(stream.bytes, size), "truncated to " + std::to_string(size));
    }
  }
  std::printf("%lu flips, %lu truncations, %lu reads of parts, %lu of them went on: %lu undetected, %lu wrong\n", counts.flips,
              counts.truncations, counts.part_reads, counts.went_on, counts.undetected, counts.wrong);
  return counts.undetected || counts.wrong;
}
