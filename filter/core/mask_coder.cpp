#include "mask_coder.h"

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

}  // namespace stz
