// Headers of streams: every field comes back, and a header that is cut or has a wrong bit is an error.
#include "format/axis_map.h"

#include "unit.h"

using namespace unit;

namespace {

constexpr int dtypes[] = {STZ_F16, STZ_F32, STZ_F64, STZ_I8,  STZ_U8,  STZ_I16, STZ_U16,
                          STZ_I32, STZ_U32, STZ_I64, STZ_U64, STZ_C64, STZ_C128};

double random_bound(Random& random) { return bit_cast_to<double>(random.below(0x7ff) << 52 | random.below(u64(1) << 52)); }
u64 random_component(Random& random, int dtype) { return random.of_width(8 * int(component_size(dtype))); }

// One of the rows of the table of docs/format.md for the dtype.
void set_representation(Random& random, Header& h) {
  const size_t width = component_size(h.layout.dtype);
  if (random.below(5) == 0) {
    h.sample = SampleType::f32;
    h.quantizer = QuantizerKind::integer;
    h.transform = Transform::palette;
    return;
  }
  if (!is_floating(h.layout.dtype)) {
    h.sample = width <= 2 ? SampleType::f32 : width == 4 ? SampleType::f64 : SampleType::i64;
    h.quantizer = QuantizerKind::integer;
    return;
  }
  const SampleType same = width == 8 ? SampleType::f64 : SampleType::f32;
  switch (random.below(4)) {
    case 0:
      h.sample = same;
      h.quantizer = width > 2 && random.below(2) ? QuantizerKind::ulp : QuantizerKind::uniform;
      break;
    case 1:
      h.transform = width == 2 ? Transform::ulp_float16 : Transform::fixed_point;
      h.quantizer = QuantizerKind::integer;
      h.sample = width == 2 || random.below(2) ? SampleType::f32 : SampleType::f64;
      break;
    case 2:
      h.transform = Transform::logarithmic;
      h.sample = SampleType::f64;
      h.negative = random.below(2);
      break;
    default:
      h.sample = same;
  }
}

void set_blocks_fields(Random& random, Header& h) {
  set_representation(random, h);
  h.half_step = h.bound;
  if (h.quantizer != QuantizerKind::uniform)
    h.step = random.magnitude(64) | 1;
  else if (random.below(2))
    h.half_step = random_bound(random);
  if (h.transform == Transform::palette) {
    h.step = 1;
    h.palette_count = 1 + random.below(max_palette_count);
    h.palette_size = random.magnitude(64);
  }
  if (h.transform == Transform::fixed_point) {
    h.origin = -random_bound(random);
    h.delta = random_bound(random);
  }
  if (h.quantizer == QuantizerKind::ulp && random.below(2)) {
    h.zero_bits = int(random.below(h.sample == SampleType::f32 ? 23 : 52));
    if (h.zero_bits) h.step = 1;
  }
  h.masked = random.below(2);
  if (h.masked) h.nan_bits = random_component(random, h.layout.dtype);
  for (int a = 0; a < h.layout.rank; a++) h.valid[a] = h.layout.shape[a];
  h.partial = random.below(2);
  if (h.partial) {
    h.padding = random_component(random, h.layout.dtype);
    for (int a = 0; a < h.layout.rank; a++) h.valid[a] -= random.below(h.valid[a]);
  }
  if (random.below(4) == 0)
    for (int a = 0; a < h.layout.rank; a++) h.axis_map.push_back(u8(random.below(merged_role + 1)));
  if (random.below(2))
    for (int& offset : h.offset) offset = random.chance(0.2) ? never_split : int(random.below(4));
}

Header random_header(Random& random) {
  for (;;) {
    Header h;
    h.layout.dtype = dtypes[random.below(std::size(dtypes))];
    h.layout.byte_order = i32(random.below(2));
    h.layout.rank = i32(random.chance(0.1) ? random.below(STZ_MAX_RANK + 1) : random.below(6));
    h.form = Form(random.below(4) ? 2 : random.below(2));
    for (int a = 0; a < h.layout.rank; a++) h.layout.shape[a] = random.magnitude(h.layout.rank > 4 ? 3 : 12) + (h.form == Form::blocks);
    if (failure_of([&] { element_count(h.layout); })) continue;
    h.mode = i32(random.below(3));
    if (h.mode != STZ_LOSSLESS) h.bound = random_bound(random);
    h.has_fill = random.below(2);
    if (h.has_fill) h.fill = random_component(random, h.layout.dtype);
    h.block = stz_block(random.below(h.form == Form::blocks ? 3 : 2));
    if (h.form != Form::blocks) return h;
    set_blocks_fields(random, h);
    Hierarchy levels;
    if (failure_of([&] { levels = hierarchy_of(h); })) continue;
    if (random.below(2))
      for (size_t l = 0; l < levels.level.size(); l++) h.level_bound.push_back(random_bound(random) + 1e-300);
    if (random.below(2))
      for (int l = 0; l < levels.base_level; l++) {
        h.level_block.emplace_back();
        for (int& e : h.level_block.back()) e = 1 + int(random.below(5));
      }
    for (int s = 0; s <= levels.base_level; s++) h.section.push_back(random.magnitude(64));
    return h;
  }
}

bool same(const Header& a, const Header& b) {
  bool shapes = a.layout.rank == b.layout.rank;
  for (int k = 0; shapes && k < a.layout.rank; k++) shapes = a.layout.shape[k] == b.layout.shape[k] && a.valid[k] == b.valid[k];
  return shapes && a.layout.dtype == b.layout.dtype && a.layout.byte_order == b.layout.byte_order && a.mode == b.mode &&
         a.bound == b.bound && a.has_fill == b.has_fill && a.fill == b.fill && a.block == b.block && a.form == b.form &&
         a.sample == b.sample && a.quantizer == b.quantizer && a.transform == b.transform && a.step == b.step &&
         a.half_step == b.half_step && a.origin == b.origin && a.delta == b.delta && a.negative == b.negative &&
         a.zero_bits == b.zero_bits && a.palette_count == b.palette_count && a.palette_size == b.palette_size && a.masked == b.masked &&
         a.nan_bits == b.nan_bits && a.partial == b.partial && a.padding == b.padding && a.axis_map == b.axis_map && a.offset == b.offset &&
         a.level_bound == b.level_bound && a.level_block == b.level_block && a.section == b.section;
}

Header read(AtPageEnd& bytes) { return read_header(bytes.begin(), bytes.size()); }

}  // namespace

TEST(every_field_comes_back) {
  Random random(1);
  int blocks = 0;
  for (int turn = 0; turn < 4000; turn++) {
    const Header h = random_header(random);
    const Bytes written = write_header(h);
    AtPageEnd bytes(written);
    const Header got = read(bytes);
    CHECK(same(h, got), "header %d of dtype %d, form %d", turn, h.layout.dtype, int(h.form));
    CHECK(got.size == written.size());
    blocks += h.form == Form::blocks;
  }
  CHECK(blocks > 1000);
}

TEST(sections_may_follow_a_header) {
  Random random(2);
  for (int turn = 0; turn < 300; turn++) {
    const Header h = random_header(random);
    Bytes bytes = write_header(h);
    const size_t size = bytes.size();
    for (u64 k = random.below(20); k > 0; k--) bytes.push_back(u8(random.bits()));
    AtPageEnd stream(bytes);
    const Header got = read(stream);
    CHECK(same(h, got) && got.size == size);
  }
}

// Headers of the forms raw and constant have no check of their own: the stream's covers them.
TEST(a_wrong_bit_is_an_error) {
  Random random(3);
  for (int turn = 0; turn < 150; turn++) {
    const Header h = random_header(random);
    if (h.form != Form::blocks) continue;
    const Bytes bytes = write_header(h);
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
      AtPageEnd damaged(bytes);
      damaged.begin()[bit / 8] ^= u8(1 << bit % 8);
      const int code = failure_of([&] {
        const Header got = read(damaged);
        // a bit of the form may make a form of it that has no check
        if (got.form != Form::blocks) fail(STZ_ERROR_CHECKSUM);
      });
      CHECK(code != 0 && code != STZ_ERROR_INTERNAL, "bit %zu of %zu bytes", bit, bytes.size());
    }
  }
}

TEST(a_header_that_is_cut_is_an_error) {
  Random random(4);
  for (int turn = 0; turn < 600; turn++) {
    const Bytes bytes = write_header(random_header(random));
    for (size_t size = 0; size < bytes.size(); size++) {
      AtPageEnd cut(bytes.data(), size);
      CHECK(failure_of([&] { read(cut); }) == STZ_ERROR_TRUNCATED, "%zu of %zu bytes", size, bytes.size());
    }
  }
}

TEST(junk_behind_the_magic_is_read_within_its_end) {
  Random random(5);
  for (int turn = 0; turn < 100000; turn++) {
    Bytes bytes{'S', 'T', 'Z', STZ_FORMAT_VERSION, u8(random.below(64)), u8(random.below(48)), u8(random.below(5))};
    for (u64 k = random.below(60); k > 0; k--) bytes.push_back(random.chance(0.5) ? u8(random.below(4)) : u8(random.bits()));
    AtPageEnd junk(bytes);
    const int code = failure_of([&] { read(junk); });
    CHECK(code != STZ_ERROR_INTERNAL);
  }
}

TEST(elements_are_counted_up_to_a_limit) {
  stz_layout layout{};
  CHECK(element_count(layout) == 1, "a scalar");
  layout.rank = 2;
  layout.shape[0] = u64(1) << 30;
  layout.shape[1] = (u64(1) << 26) - 1;
  CHECK(element_count(layout) == (u64(1) << 30) * ((u64(1) << 26) - 1));
  layout.shape[1]++;
  CHECK(failure_of([&] { element_count(layout); }) == STZ_ERROR_SHAPE);
  layout.shape[1] = 0;
  CHECK(element_count(layout) == 0);
  layout.rank = 3;
  layout.shape[2] = u64(1) << 30;
  CHECK(failure_of([&] { element_count(layout); }) == STZ_ERROR_SHAPE, "also beside an axis of length 0");
  layout.rank = STZ_MAX_RANK + 1;
  CHECK(failure_of([&] { element_count(layout); }) == STZ_ERROR_SHAPE);
}

TEST(blocks_have_at_most_so_many_samples) {
  Header h;
  h.form = Form::blocks;
  h.layout.dtype = STZ_F32;
  h.layout.rank = 3;
  for (int a = 0; a < 3; a++) h.layout.shape[a] = 1000;
  const Hierarchy levels = hierarchy_of(h);
  h.section.assign(size_t(levels.base_level) + 1, 1);
  for (int last : {7, 8, 9}) {
    h.level_block.assign(size_t(levels.base_level), {1, 1, 1, 1});
    h.level_block[0] = {1, 7, 7, last};
    AtPageEnd bytes(write_header(h));
    CHECK((failure_of([&] { read(bytes); }) == 0) == (last <= 8), "2^%d samples", 14 + last);
  }
}
