#include "decoder/verify_content.h"

#include "base/parallel.h"
#include "masks/content_check.h"

namespace stz {

template <class S>
void verify_content(const Header& h, const u8* stream, const S* samples, const u8* specials, std::vector<LiteralElement> literals,
                    int threads, Verification& verification) {
  const bool compares = verification.made == nullptr;
  if (compares && h.trailer_size == 0) return;
  const Hierarchy hierarchy = hierarchy_of(h);
  const u64 blocks = checked_blocks(hierarchy), per_item = blocks / hierarchy.batch;
  std::vector<u32> read;
  if (compares && !read_content_check(stream + content_bytes(h), size_t(h.trailer_size), blocks, read)) return;
  if (!compares) verification.made->assign(size_t(blocks), 0);
  std::vector<u32>& checks = compares ? read : *verification.made;
  sort_literals(literals);
  const Level& level = hierarchy.level[0];
  const u64 per_task = items_per_task(level.samples() / per_item);
  parallel_for<ContentCheck<S>>((blocks + per_task - 1) / per_task, threads, [&](ContentCheck<S>& check, u64 task) {
    for (u64 number = task * per_task; number < std::min(blocks, (task + 1) * per_task); number++) {
      const u64 item = number / per_item, first = item * level.samples();
      const Box box = hierarchy.base_level > 0 ? block_box(level, number % per_item) : Box{{}, level.n};
      const typename ContentCheck<S>::Special special{whole_grid(specials + (specials ? first : 0), level), literals,
                                                      level_map(hierarchy, 0, item)};
      check.add(h, whole_grid(samples + first, level), box, specials ? &special : nullptr);
      const u32 crc = check.take();
      require(!compares || crc == checks[size_t(number)], STZ_ERROR_CONTENT);
      checks[size_t(number)] = crc;
    }
  });
  if (compares) verification.blocks += blocks;
}

template void verify_content(const Header&, const u8*, const float*, const u8*, std::vector<LiteralElement>, int, Verification&);
template void verify_content(const Header&, const u8*, const double*, const u8*, std::vector<LiteralElement>, int, Verification&);
template void verify_content(const Header&, const u8*, const i64*, const u8*, std::vector<LiteralElement>, int, Verification&);

}  // namespace stz
