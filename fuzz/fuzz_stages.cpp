// Fuzz target: the stages of the codec by themselves, with what a valid caller may pass: arbitrary bytes to decode, or arbitrary values to
// write and read back. The first byte selects the stage: code streams (code_stages.h), the binary coder, parameters of parity classes,
// masks of a block, palettes, records of a header, blocks of floating-point fields, directories of remainders.
//
// Bytes give values within their limits or an error of damage; values come back. Buffers end where nothing may be read.
#include "code_stages.h"
#include "coding/checksum.h"
#include "format/extensions.h"
#include "format/float_fields.h"
#include "format/frame.h"
#include "format/palette.h"
#include "format/remainders.h"
#include "masks/scattered_mask.h"
#include "predict/parameter_coding.h"

namespace fuzz {
namespace {

// ---------------------------------------------------------------- binary coder

struct CoderModels {
  BitModel bit[4];
  NumberModel number[2];
  SignedModel signed_number[2];
};
struct Call {
  int kind, model;
  uint64_t value;
};

Call choose_call(Choices& choose) {
  Call call{};
  const int byte = choose.byte();
  call.kind = byte % 8, call.model = byte / 8 % 2;
  const int bits = byte / 16 * 4 + 1;
  const uint64_t value = choose.left() && byte >= 128 ? choose.word() : choose.byte();
  call.value = value & ((uint64_t(1) << bits) - 1);
  return call;
}
constexpr int width_of(const Call& call) { return 1 + int(call.value % 64); }
constexpr u32 count_of(const Call& call) { return 1 + u32(call.value % 65536); }

void write_call(BinaryEncoder& out, CoderModels& m, const Call& c) {
  const uint64_t v = c.value;
  if (c.kind <= 2) out.bit(m.bit[c.kind], int(v & 1));
  if (c.kind == 3) out.raw(v & 0xffff, 16);
  if (c.kind == 4) out.plain(v & ((uint64_t(1) << (width_of(c) - 1)) - 1), width_of(c));
  if (c.kind == 5) out.below(u32(v % count_of(c)), count_of(c));
  if (c.kind == 6) out.number(m.number[c.model], v & ((uint64_t(1) << 62) - 1));
  if (c.kind == 7) out.signed_number(m.signed_number[c.model], (v & 2 ? -1 : 1) * i64(v & ((uint64_t(1) << 62) - 1)));
}

bool reads_as_written(BinaryDecoder& in, CoderModels& m, const Call& c) {
  const uint64_t v = c.value;
  if (c.kind <= 2) return (c.kind == 1 ? in.uncertain_bit(m.bit[c.kind]) : in.bit(m.bit[c.kind])) == int(v & 1);
  if (c.kind == 3) return in.raw(16) == (v & 0xffff);
  if (c.kind == 4) return in.plain(width_of(c)) == (v & ((uint64_t(1) << (width_of(c) - 1)) - 1));
  if (c.kind == 5) {
    const u32 read = in.below(count_of(c));
    promise(read < count_of(c), "numbers below a limit are below it");
    return read == u32(v % count_of(c));
  }
  if (c.kind == 6) return in.number(m.number[c.model]) == (v & ((uint64_t(1) << 62) - 1));
  return in.signed_number(m.signed_number[c.model]) == (v & 2 ? -1 : 1) * i64(v & ((uint64_t(1) << 62) - 1));
}

std::vector<Call> choose_calls(Choices& choose) {
  std::vector<Call> calls(choose.byte());
  for (Call& call : calls) call = choose_call(choose);
  return calls;
}

void binary_coder(Choices& choose, bool written) {
  const std::vector<Call> calls = choose_calls(choose);
  auto models = std::make_unique<CoderModels>();
  BinaryEncoder out;
  for (const Call& call : calls) write_call(out, *models, call);
  Bytes bytes = written ? out.finish() : rest_of(choose);
  bytes.shrink_to_fit();
  *models = {};
  bool same = true;
  const int code = damage_of([&] {
    BinaryDecoder in(bytes.data(), bytes.size());
    for (const Call& call : calls) same &= reads_as_written(in, *models, call);
  });
  promise(!written || (same && !code), "what the binary coder writes it reads");
}

// ---------------------------------------------------------------- parameters

void parameters(Choices& choose) {
  const ParameterContext of_level{int(choose.below(16)), choose.below(2) ? max_model_shift(32) : max_model_shift(64), choose.below(2) != 0};
  const int count = 1 + int(choose.below(15));
  const Bytes bytes = rest_of(choose);
  ClassParameters p[15] = {}, again[15] = {};
  int read = 0;
  damage_of([&] {
    BinaryDecoder in(bytes.data(), bytes.size());
    const auto models = std::make_unique<ParameterModels>();
    ParameterState state;
    for (; read < count; read++) read_class(in, *models, state, 1 + read, of_level, p[read]);
  });
  for (int k = 0; k < read; k++)
    for (const Model& m : p[k].model) promise(m.shift() <= of_level.max_shift, "models are within their limits");
  Bytes written;
  {
    BinaryEncoder out;
    const auto models = std::make_unique<ParameterModels>();
    ParameterState state;
    for (int k = 0; k < read; k++) write_class(out, *models, state, 1 + k, of_level, p[k]);
    written = out.finish();
    written.shrink_to_fit();
  }
  const int code = damage_of([&] {
    BinaryDecoder in(written.data(), written.size());
    const auto models = std::make_unique<ParameterModels>();
    ParameterState state;
    for (int k = 0; k < read; k++) {
      read_class(in, *models, state, 1 + k, of_level, again[k]);
      const bool same = p[k].predictor == again[k].predictor && p[k].stencil == again[k].stencil && p[k].mean == again[k].mean &&
                        std::equal(p[k].weight, p[k].weight + max_groups, again[k].weight) && p[k].feedback == again[k].feedback &&
                        std::equal(p[k].model, p[k].model + contexts, again[k].model);
      promise(same, "parameters come back");
    }
  });
  promise(code == 0, "parameters that were written are read");
}

// ---------------------------------------------------------------- masks

struct MaskCase {
  Hierarchy h;
  size_t l = 0;
  BlockGeometry g;
};

bool choose_mask_case(Choices& choose, MaskCase& c) {
  Index n;
  for (i64& extent : n) extent = choose.below(3) ? 1 + i64(choose.below(24)) : 1;
  if (choose.below(4) == 0) n[3] = 1 + i64(choose.below(300));
  try {
    c.h = make_hierarchy(n, 1, without_unsplit_levels(n, {}));
  } catch (const Failure&) {
    return false;
  }
  if (c.h.level.size() < 2) return false;
  c.l = choose.below(c.h.level.size() - 1);
  Level& level = c.h.level[c.l];
  if (level.split_mask() == 0) return false;
  std::array<int, axes> log2_extent;
  for (int& e : log2_extent) e = 1 + int(choose.below(5));
  set_block(level, log2_extent);
  c.g = block_geometry(level, block_box(level, choose.below(block_count(level))), stencil_standard);
  return true;
}

template <class F>
void for_class_bytes(const BlockGeometry& g, F f) {
  for (int k = 0; k < g.classes.count; k++) {
    const int cls = g.classes.mask[k];
    const Index to = g.counts(cls);
    for_rows({}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 r) {
      for (i64 x = 0; x < to[3]; x++) f(size_t(g.start(g.bytes, cls) + g.bytes.at(i, j, r) + x));
    });
  }
}

uint64_t bits_of(u64 index) { return index * 0x9e3779b9 & 0xffffffff; }

void masks(Choices& choose, bool written) {
  MaskCase c;
  if (!choose_mask_case(choose, c)) return;
  const BlockGeometry& g = c.g;
  const uint64_t share = choose.byte(), kinds = choose.byte();
  Random random(choose.word());
  const Level& coarser = c.h.level[c.l + 1];
  std::vector<u8> coarse(coarser.samples());
  const auto kind = [&]() -> u8 { return random.below(256) < share ? u8(1 + random.below(kinds % 3 ? 1 : special_values - 1)) : u8(0); };
  for (u8& k : coarse) k = kind();
  const size_t size = size_t(g.total(g.bytes));
  std::vector<u8> original(size, 77), read(size, 77);
  const GridPart<const u8> grid = whole_grid<const u8>(coarse.data(), coarser);
  load_coarse_bytes(g, grid, original.data());
  load_coarse_bytes(g, grid, read.data());
  uint32_t possible = (1u << special_values) - 2;
  Bytes bytes;
  if (written) {
    for_class_bytes(g, [&](size_t at) { original[at] = kind(); });
    for (int k = 0; k < g.classes.count; k++) fill_halo_of_bytes(g, g.classes.mask[k], original.data());
    BinaryEncoder out;
    MaskWriter<uint64_t (*)(u64)> writer{out, bits_of, 32};
    MaskForm form;
    form.scattered = choose.below(2);
    if (kinds % 3 && choose.below(2)) form.kind = 1;
    if (form.kind == special_literal) form.kind = special_none;
    code_block_mask(writer, g, level_map(c.h, c.l, 0), original.data(), form);
    bytes = out.finish();
  } else {
    possible &= uint32_t(choose.byte()) << 1;
    bytes = rest_of(choose);
  }
  bytes.shrink_to_fit();
  std::vector<LiteralElement> literals;
  const int code = damage_of([&] {
    BinaryDecoder in(bytes.data(), bytes.size());
    MaskReader reader{in, literals, 32, possible};
    code_block_mask(reader, g, level_map(c.h, c.l, 0), read.data(), MaskForm{});
  });
  promise(!written || !code, "masks that were written are read");
  if (code) return;
  for_class_bytes(g, [&](size_t at) {
    promise(written ? read[at] == original[at] : read[at] < special_values, "kinds come back, and are possible ones");
  });
  for (const LiteralElement& literal : literals)
    promise(literal.index < c.h.level[0].samples() && (!written || literal.bits == bits_of(literal.index)), "literals have their bits");
}

// ---------------------------------------------------------------- palettes and headers

void palette(Choices& choose) {
  Header h;
  h.layout.dtype = STZ_F16 + i32(choose.below(dtypes));
  h.palette_count = 1 + choose.below(2000);
  const Bytes bytes = rest_of(choose);
  h.palette_size = bytes.size();
  if (damage_of([&] { read_palette(h, bytes.data()); })) return;
  promise(h.palette && h.palette->size() == h.palette_count, "a palette has as many values as its header says");
  Bytes written = write_palette(h.layout.dtype, *h.palette);
  if (written.empty()) return;
  written.shrink_to_fit();
  Header again = h;
  again.palette_size = written.size();
  promise(!damage_of([&] { read_palette(again, written.data()); }) && *again.palette == *h.palette, "a palette comes back");
}

void records(Choices& choose) {
  Header h;
  h.layout.dtype = STZ_F16 + i32(choose.below(dtypes));
  h.layout.rank = i32(choose.below(6));
  for (int axis = 0; axis < h.layout.rank; axis++) h.layout.shape[axis] = 1 + choose.below(300);
  h.form = Form(choose.below(4));
  const int kind = choose.byte() % 5;
  const Bytes bytes = rest_of(choose);
  damage_of([&] {
    ByteReader in(bytes.data(), bytes.size());
    if (kind == 0) read_extensions(in, h);
    if (kind == 1) read_layers(in, h.layers), read_layer_errors(in, h.layers);
    if (kind == 2) read_enhancement(in, h.enhancement);
    if (kind == 3) read_patch_table(in, h, true);
    if (kind == 4) for_records(in, [&](u64, ByteReader payload) { payload.varint(); });
  });
}

// ---------------------------------------------------------------- floating-point fields

bool same_block(const FieldBlock& a, const FieldBlock& b) {
  const auto same_symbol = [](const FieldSymbol& s, const FieldSymbol& t) {
    return s.top == t.top && s.kind == t.kind && s.rest == t.rest && s.frequency == t.frequency;
  };
  return std::equal(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end(), same_symbol) &&
         a.escape_frequency == b.escape_frequency && a.escapes == b.escapes && a.zeros == b.zeros && a.short_zeros == b.short_zeros &&
         a.shorts == b.shorts && a.constants == b.constants && a.log2_lanes == b.log2_lanes && a.words == b.words;
}

void field_block(Choices& choose) {
  constexpr i32 types[] = {STZ_F16, STZ_F32, STZ_F64};
  const i32 dtype = types[choose.below(3)];
  const FieldWidths w(dtype, int(choose.below(dtype == STZ_F16 ? 11 : 6)));
  const u64 n = 1 + (choose.word() & ((u64(1) << most_log2_block) - 1));
  const Bytes coded = rest_of(choose);
  Bytes bytes;
  put_varint(bytes, coded.size());
  bytes.insert(bytes.end(), coded.begin(), coded.end());
  const auto read = [&](Bytes& from, FieldBlock& b) {
    from.shrink_to_fit();
    return damage_of([&] {
      ByteReader in(from.data(), from.size());
      b = read_field_block(in, w, n);
      promise(in.left() == 0, "parameters are as long as they say");
    });
  };
  FieldBlock b, again;
  if (read(bytes, b)) return;
  promise(b.symbols.size() + (b.escapes != 0) <= most_field_symbols && b.words <= n, "symbols and words are within their limits");
  promise(FieldBlockLayout(b, w, n).size() <= 4 * most_field_lanes + 12 * n + 4, "the parts of a block are within their limits");
  Bytes written = write_field_block(b, w);
  promise(!read(written, again) && same_block(b, again), "the parameters of a block come back");
}

// ---------------------------------------------------------------- remainders

// Directories of slabs are read from more and more bytes, as partial reads do.
void slab_directory(Choices& choose) {
  const bool written = choose.below(2);
  std::vector<u64> sizes(choose.below(200)), read;
  for (u64& size : sizes) size = choose.below(3) ? choose.below(5000) : 0;
  u64 available = choose.byte(), section = choose.byte(), begin = 0;
  Bytes bytes = written ? write_slab_directory(sizes) : rest_of(choose);
  if (written) section = 0;
  for (u64 size : sizes) section += written && size ? size + check_size(size) : 0;
  section += bytes.size();
  available = std::min<u64>(available, bytes.size());
  for (u64 needed = 1; needed; available = needed) {
    Bytes front(bytes.begin(), bytes.begin() + std::ptrdiff_t(available));
    front.shrink_to_fit();
    const int code = damage_of([&] { needed = read_slab_directory(front.data(), available, section, sizes.size(), read, begin); });
    promise(!written || !code, "a directory of slabs that was written is read");
    if (code) return;
    promise(!needed || (needed > available && needed <= section && read.empty()), "more bytes are asked for, and no more than there are");
    if (needed > bytes.size()) return;
  }
  u64 end = begin;
  for (u64 size : read) end += size + (size ? check_size(size) : 0);
  promise(read.size() == sizes.size() && end == section, "slabs fill their section");
  promise(!written || read == sizes, "sizes of slabs come back");
}

}  // namespace

Bytes seed_input(uint64_t number) {
  Random random(number);
  Bytes input = random_bytes(random, 30 + random.below(300));
  input[0] = uint8_t(number);
  return input;
}

void mutate_input(Bytes& input, uint64_t random_seed) { replace_bytes(input, random_seed); }

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fuzz;
  Choices choose(data, size);
  switch (choose.byte() % 14) {
    case 0:
      decode_codes<stz::i32>(choose);
      break;
    case 1:
      decode_codes<stz::i64>(choose);
      break;
    case 2:
      decode_bytes(choose);
      break;
    case 3:
      codes_come_back<stz::i32>(choose);
      break;
    case 4:
      codes_come_back<stz::i64>(choose);
      break;
    case 5:
    case 6:
      binary_coder(choose, data[0] % 14 == 5);
      break;
    case 7:
      parameters(choose);
      break;
    case 8:
    case 9:
      masks(choose, data[0] % 14 == 8);
      break;
    case 10:
      palette(choose);
      break;
    case 11:
      field_block(choose);
      break;
    case 12:
      slab_directory(choose);
      break;
    default:
      records(choose);
      break;
  }
  return 0;
}
