// Interleaved rANS: every number of lanes, tables of the codec and tables at their extremes.
#include "coding/code_tables.h"
#include "guarded.h"
#include "values.h"

namespace check {
namespace {

constexpr u32 rans_low = 1u << 15;

// Frequencies that add up to 4096, as the tables that kernels see.
struct Tables {
  std::vector<u32> frequency, reciprocal, step, decoding;
  std::string name;
  explicit Tables(std::vector<u32> frequencies, std::string name_)
      : frequency(std::move(frequencies)), reciprocal(64), step(64), name(name_) {
    u32 start = 0;
    for (u32 s = 0; s < frequency.size(); s++) {
      const u32 f = frequency[s];
      if (f == 1) {
        reciprocal[s] = ~0u;
        step[s] = f | (start + 4095) << 12;
      } else if (f) {
        int h = 1;
        while (1u << h < f) h++;
        reciprocal[s] = u32(((u64(1) << (31 + h)) + f - 1) / f);
        step[s] = f | start << 12 | u32(h - 1) << 28;
      }
      for (u32 k = 0; k < f; k++) decoding.push_back(s | f << 8 | k << 20);
      start += f;
    }
    if (start != 4096) wrong("frequencies of %s add up to %u", name.c_str(), start);
  }
  Tables(const CodeTable& t, std::string name);
};

Tables::Tables(const CodeTable& t, std::string name_)
    : frequency(t.freq, t.freq + t.count + 1),
      reciprocal(t.reciprocal, t.reciprocal + 64),
      step(t.step, t.step + 64),
      decoding(t.decoding(), t.decoding() + 4096),
      name(name_) {}

std::vector<Tables> make_tables(Random& random) {
  std::vector<Tables> all;
  all.emplace_back(std::vector<u32>{4095, 1}, "4095 1");
  all.emplace_back(std::vector<u32>{1, 4095}, "1 4095");
  all.emplace_back(std::vector<u32>{2048, 2048}, "2048 2048");
  all.emplace_back(std::vector<u32>(64, 64), "64 of 64");
  std::vector<u32> ones(64, 1);
  ones[63] = 4096 - 63;
  all.emplace_back(ones, "63 ones, then 4033");
  std::swap(ones[0], ones[63]);
  all.emplace_back(ones, "4033, then 63 ones");
  std::vector<u32> powers = {2049, 1023, 512, 256, 128, 64, 32, 16, 8, 4, 3, 1};
  all.emplace_back(powers, "powers of two");
  for (int k = 0; k < 40; k++) {  // random ones, with symbols that do not occur
    std::vector<u32> f(2 + random.below(63));
    for (u32 left = 4096; left; left--) f[random.below(random.below(f.size()) + 1)]++;
    if (*std::max_element(f.begin(), f.end()) < 4096) all.emplace_back(f, "random " + std::to_string(k));
  }
  Model m;
  for (; m.shape < shapes; m.shape++)
    for (m.scale = 0; m.scale < unshifted_scales + 4; m.scale++)
      all.emplace_back(direct_table(m), "direct " + std::to_string(m.shape) + " " + std::to_string(m.scale));
  for (; m.zero_run < zero_run_tables; m.zero_run++) all.emplace_back(zero_run_table(m), "zero run " + std::to_string(m.zero_run));
  for (; m.value < value_tables; m.value++) all.emplace_back(value_table(m), "value " + std::to_string(m.value));
  return all;
}

// n symbols as often as their frequencies say, or all alike, or the rarest ones.
void fill_symbols(Random& random, const Tables& t, u8* symbols, size_t n) {
  const u64 kind = random.below(4);
  std::vector<u8> order;
  for (u32 s = 0; s < t.frequency.size(); s++)
    if (t.frequency[s]) order.push_back(u8(s));
  std::sort(order.begin(), order.end(), [&](u8 a, u8 b) { return t.frequency[a] < t.frequency[b]; });
  for (size_t i = 0; i < n; i++)
    symbols[i] = kind == 0   ? order.front()
                 : kind == 1 ? order.back()
                 : kind == 2 ? order[random.below(order.size())]
                             : u8(t.decoding[random.below(4096)]);
}

// Any state, often one where division by the frequency has no remainder or the largest.
u32 random_state(Random& random, u32 frequency) {
  if (random.below(2)) {
    const u32 x = u32(random.between(rans_low, (1u << 31) - 1) >> random.below(17)) / frequency * frequency - u32(random.below(2));
    if (x >= rans_low && x < 1u << 31) return x;
  }
  const u32 edges[] = {rans_low, rans_low + 1, 0x7fffffff, 0x7ffffffe, 1u << 30};
  return random.below(4) ? rans_low + u32(random.below((1u << 31) - rans_low)) : edges[random.below(5)];
}

RansSegment segment_of(const Tables& even, const Tables& odd, const u8* symbols, size_t n) {
  return {{even.reciprocal.data(), odd.reciprocal.data()},
          {even.step.data(), odd.step.data()},
          int(std::max(even.frequency.size(), odd.frequency.size())),
          symbols,
          n};
}

// Symbols as the decoder takes their words, and its states.
struct Coded {
  std::vector<u16> words;
  std::vector<u32> state;
};
Coded encoded(const Kernels& k, const Tables& t, std::vector<u32> state, const u8* symbols, size_t n) {
  std::vector<u16> words(n + rans_slack);
  const RansSegment segment = segment_of(t, t, symbols, n);
  RansOutput output{state.data(), &segment, 1, words.data()};
  k.rans.encode(u32(state.size()), &output, 1);
  return {{words.rend() - (output.word - words.data()), words.rend()}, state};
}

// A stream to be encoded: bins in direct mode and, with two tables, tokens.
struct ToEncode {
  std::vector<std::unique_ptr<Guarded<u8>>> symbols;
  std::vector<RansSegment> segments;
  size_t n = 0;
  std::vector<u32> first_state;

  ToEncode(Random& random, const std::vector<Tables>& tables, u32 lanes, size_t first_table) : first_state(lanes, rans_low) {
    std::vector<u32> frequency(lanes, 1);  // of the symbol that a lane encodes first
    for (u64 k = random.below(4); k > 0; k--) {
      auto any = [&]() -> const Tables& { return random.below(2) ? tables[first_table] : tables[random.below(tables.size())]; };
      const Tables &even = any(), &odd = random.below(3) ? even : any();
      const size_t length = random.below(8) ? random.below(320) : random.below(5000);
      symbols.push_back(std::make_unique<Guarded<u8>>(random, length));
      u8* const s = symbols.back()->data();
      std::vector<u8> of_odd(length);
      fill_symbols(random, even, s, length);
      fill_symbols(random, odd, of_odd.data(), length);
      for (size_t j = 1; j < length; j += 2) s[j] = of_odd[j];
      segments.push_back(segment_of(even, odd, s, length));
      n += length;
      for (size_t j = 0; j < length; j++) frequency[j % lanes] = (j % 2 ? odd : even).frequency[s[j]];
    }
    for (u32 lane = 0; lane < lanes; lane++) first_state[lane] = random_state(random, frequency[lane]);
  }
};

void check_encode(const Kernels& tested, Random& random) {
  const std::vector<Tables> tables = make_tables(random);
  for (u32 lanes = 1; lanes <= 64; lanes *= 2)
    for (int repeat = 0; repeat < 600; repeat++) {
      const size_t first_table = size_t(repeat) < tables.size() ? size_t(repeat) : random.below(47);  // all, then the extremes
      const int count = 1 + int(random.below(6));
      note("%d streams of %u lanes, frequencies %s and others", count, lanes, tables[first_table].name.c_str());
      std::vector<std::unique_ptr<ToEncode>> sources;
      std::vector<RansOutput> outputs;
      std::vector<std::unique_ptr<Guarded<u32>>> states;
      std::vector<std::unique_ptr<Guarded<u16>>> words;
      std::vector<std::vector<u16>> expected;
      std::vector<std::vector<u32>> expected_state;
      for (int s = 0; s < count; s++) {
        sources.push_back(std::make_unique<ToEncode>(random, tables, lanes, first_table));
        const ToEncode& source = *sources.back();
        expected.emplace_back(source.n);
        expected_state.push_back(source.first_state);
        RansOutput reference_output{expected_state.back().data(), source.segments.data(), source.segments.size(), expected.back().data()};
        reference.rans.encode(lanes, &reference_output, 1);
        expected.back().resize(size_t(reference_output.word - expected.back().data()));
        states.push_back(std::make_unique<Guarded<u32>>(random, lanes));
        std::copy(source.first_state.begin(), source.first_state.end(), states.back()->data());
        words.push_back(std::make_unique<Guarded<u16>>(random, expected.back().size(), 0, rans_slack));
        remember(*states.back(), *words.back());
        for (auto& g : sources.back()->symbols) remember(*g);
        outputs.push_back({states.back()->data(), source.segments.data(), source.segments.size(), words.back()->data()});
      }
      tested.rans.encode(lanes, outputs.data(), count);
      for (size_t s = 0; s < outputs.size(); s++) {
        for (auto& g : sources[s]->symbols) g->unchanged("symbols");
        states[s]->changed_only("state", 0, lanes);
        words[s]->changed_only("words", 0, i64(expected[s].size() + rans_slack));
        same<i64>("number of words", outputs[s].word - words[s]->data(), i64(expected[s].size()));
        same("words", words[s]->data(), expected[s].data(), expected[s].size());
        same("state", states[s]->data(), expected_state[s].data(), lanes);
      }
    }
}

// A stream of n symbols, perhaps not one that an encoder wrote, and what a kernel makes of it.
struct Decoded {
  std::vector<u8> symbols;
  Coded coded;
  bool valid;
  Guarded<u8> bytes, out;
  Guarded<u32> state;

  Decoded(Random& random, const Tables& t, u32 lanes, size_t n, bool valid_)
      : symbols(n + 1),
        coded(code(random, t, lanes, n)),
        valid(valid_),
        bytes(random, 2 * coded.words.size() + random.below(3) * random.below(200)),  // some belong to something else
        out(random, n),
        state(random, lanes) {
    if (!valid)
      for (u32& s : coded.state) s = u32(random.next() >> random.below(64));
    for (size_t w = 0; w < coded.words.size() && valid; w++) bytes[2 * w] = u8(coded.words[w]), bytes[2 * w + 1] = u8(coded.words[w] >> 8);
    std::copy(coded.state.begin(), coded.state.end(), state.data());
    remember(bytes, out, state);
  }
  RansStream stream() { return {state.data(), out.data(), out.size(), 7, bytes.data(), bytes.data() + bytes.size()}; }

  void check(const RansStream& s, const u32* table, u32 lanes) {
    bytes.unchanged("words");
    state.changed_only("state", 0, lanes);
    out.changed_only("symbols", 0, i64(out.size()));
    if (s.done % lanes || s.done > s.n) wrong("%zu symbols decoded of %zu, with %u lanes", s.done, s.n, lanes);
    if (s.n - s.done >= lanes && size_t(s.end - s.word) >= 2 * lanes + 32)
      wrong("stops after %zu symbols with %zu bytes left", s.done, size_t(s.end - s.word));
    // the reference goes as far
    std::vector<u32> expected_state = coded.state;
    std::vector<u8> expected(s.done + 1);
    RansStream r{expected_state.data(), expected.data(), s.done, 0, bytes.data(), s.end};
    reference.rans.decode(table, lanes, &r, 1);
    same("symbols done", s.done, r.done);
    same("symbols", out.data(), expected.data(), s.done);
    same("state", state.data(), expected_state.data(), lanes);
    same<i64>("words taken", s.word - bytes.data(), r.word - bytes.data());
    if (valid) same("symbols, encoded and decoded", out.data(), symbols.data(), s.done);
  }

 private:
  Coded code(Random& random, const Tables& t, u32 lanes, size_t n) {
    fill_symbols(random, t, symbols.data(), n);
    return encoded(reference, t, std::vector<u32>(lanes, rans_low), symbols.data(), n);
  }
};

void check_decode(const Kernels& tested, Random& random) {
  const std::vector<Tables> tables = make_tables(random);
  for (u32 lanes = 1; lanes <= 64; lanes *= 2)
    for (int repeat = 0; repeat < 600; repeat++) {
      const Tables& t = tables[size_t(repeat) < tables.size() ? size_t(repeat) : random.below(47)];  // all, then the extremes
      const int count = 1 + int(random.below(6));
      note("%d streams of %u lanes, frequencies %s", count, lanes, t.name.c_str());
      Guarded<u32> table(random, 4096);
      std::copy(t.decoding.begin(), t.decoding.end(), table.data());
      remember(table);
      std::vector<std::unique_ptr<Decoded>> decoded;
      std::vector<RansStream> streams;
      for (int s = 0; s < count; s++) {
        const size_t n = random.below(8) ? random.below(320) : random.below(5000);
        decoded.push_back(std::make_unique<Decoded>(random, t, lanes, n, random.below(8) != 0));
        streams.push_back(decoded.back()->stream());
      }
      tested.rans.decode(table.data(), lanes, streams.data(), count);
      table.unchanged("table");
      for (size_t s = 0; s < decoded.size(); s++) decoded[s]->check(streams[s], table.data(), lanes);
    }
}

}  // namespace

void add_rans(std::vector<Entry>& entries) {
  entries.push_back({CHECK_SLOT(rans.decode), check_decode});
  entries.push_back({CHECK_SLOT(rans.encode), check_encode});
}

}  // namespace check
