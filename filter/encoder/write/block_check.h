// The CRCs of the blocks of level 0, as they will be decoded (encoder): masks/content_check.h.
#pragma once
#include "encoder/block/level_source.h"
#include "masks/content_check.h"

namespace stz {

// Samples of level 0 as they will be decoded.
template <class S>
void check_samples(const LevelSource<S>& source, u64 item, const GridPart<const S>& part, ContentCheck<S>& check) {
  if (!source.has_specials()) return check.add(source.header(), part, part.box, nullptr);
  const typename ContentCheck<S>::Special special{source.specials(0, item), source.literals(), level_map(source.hierarchy(), 0, item)};
  check.add(source.header(), part, part.box, &special);
}

}  // namespace stz
