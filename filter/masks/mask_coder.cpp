#include "masks/mask_coder.h"

namespace stz {

LevelMap level_map(const Hierarchy& h, size_t level, u64 item) {
  LevelMap map;
  i64 stride = 1;
  for (size_t a = axes; a-- > 0;) {
    i64 step = 1;
    for (size_t l = 0; l < level; l++)
      if (h.level[l].split[a]) step *= 2;
    map.step[a] = step * stride;
    stride *= h.n[a];
  }
  map.item = item * u64(stride);
  return map;
}

u64 level_zero_index(const Level& level, const LevelMap& map, u64 i) {
  u64 index = map.item;
  for (size_t a = axes; a-- > 0;) {
    index += i % u64(level.n[a]) * u64(map.step[a]);
    i /= u64(level.n[a]);
  }
  return index;
}

}  // namespace stz
