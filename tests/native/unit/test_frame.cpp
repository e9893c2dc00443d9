// Limits of headers. That both decoders agree on any header: tests/stream/test_header_limits.py.
#include "format/axis_map.h"

#include "unit.h"

using namespace unit;

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
    CHECK((failure_of([&] { read_header(bytes.begin(), bytes.size()); }) == 0) == (last <= 8), "2^%d samples", 14 + last);
  }
}
