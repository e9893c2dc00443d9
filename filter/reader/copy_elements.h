// Copies samples of decoded blocks to the output of a partial read.
#pragma once
#include <algorithm>

#include "format/elements.h"
#include "masks/mask_coder.h"
#include "predict/block.h"
#include "reader/selection.h"

namespace stz {

// The first index of a progression whose sample is at `from` or above; at most `count`.
inline i64 first_index(const Progression& p, size_t a, i64 from) {
  return from <= p.start[a] ? 0 : std::min(p.count[a], (from - p.start[a] + p.step[a] - 1) / p.step[a]);
}

// Copies the samples of a progression that lie in a box of a level to the output, as elements. `strides`: bytes between neighbours along
// each axis. `literals`: the bits of all samples of kind special_literal in the box.
template <class S>
void copy_progression(const Header& header, const ElementBits<S>& element_bits, const Box& box, const S* samples, const u8* specials,
                      const std::vector<LiteralElement>& literals, const LevelMap& map, const Progression& p, const Index& strides,
                      u8* out) {
  Index from, to;
  for (size_t a = 0; a < axes; a++) {
    from[a] = first_index(p, a, box.low[a]);
    to[a] = first_index(p, a, box.low[a] + box.size[a]);
    if (from[a] >= to[a]) return;
  }
  const GridPart<const S> grid{samples, box};
  const GridPart<const u8> specials_grid{specials, box};
  const size_t width = component_size(header.layout.dtype);
  const bool swap = swapped(header.layout);
  const i64 step = p.step[3], stride = strides[3], n = to[3] - from[3];
  const bool numbers = !specials && !swap && element_bits.are_samples(), plain = numbers && step == 1 && stride == i64(sizeof(S));
  for_rows({from[0], from[1], from[2], 0}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
    const i64 c[axes] = {p.start[0] + i * p.step[0], p.start[1] + j * p.step[1], p.start[2] + k * p.step[2], p.start[3] + from[3] * step};
    const S* row = grid.at(c[0], c[1], c[2], c[3]);
    u8* to_row = out + i * strides[0] + j * strides[1] + k * strides[2] + from[3] * stride;
    if (plain) {
      header.range.any() ? copy_within(element_bits.limits(), row, n, to_row) : void(memcpy(to_row, row, size_t(n) * sizeof(S)));
      return;
    }
    if (numbers) {
      for (i64 x = 0; x < n; x++, row += step, to_row += stride) copy_within(element_bits.limits(), row, 1, to_row);
      return;
    }
    const u8* row_specials = specials ? specials_grid.at(c[0], c[1], c[2], c[3]) : nullptr;
    for (i64 x = 0; x < n; x++) {
      const u8 kind = row_specials ? row_specials[x * step] : u8(special_none);
      u64 bits = element_bits(row[x * step], kind);
      if (kind == special_literal) {
        u64 index = map.item;
        for (size_t a = 0; a < axes; a++) index += u64(a == 3 ? c[3] + x * step : c[a]) * u64(map.step[a]);
        auto it = std::lower_bound(literals.begin(), literals.end(), index, [](const LiteralElement& o, u64 v) { return o.index < v; });
        require(it != literals.end() && it->index == index, STZ_ERROR_CORRUPT);
        bits = it->bits;
      }
      store_bits(to_row + x * stride, bits, width, swap);
    }
  });
}

// Copies the selected samples of a box of a level to the output. `p`: the selection's progression in this level.
template <class S>
void copy_elements(const Header& header, const ElementBits<S>& element_bits, const Box& box, const S* samples, const u8* specials,
                   const std::vector<LiteralElement>& literals, const LevelMap& map, const Progression& p, const Selection& selection,
                   u8* out) {
  Progression run;
  std::array<std::vector<SelectedRun>, axes> runs;
  for (size_t a = 0; a < axes; a++) {
    run.count[a] = selection.run_count(p, a);
    run.step[a] = selection.run_step(p, a);
    runs[a] = selection.runs_between(p, a, box.low[a], box.low[a] + box.size[a]);
  }
  for (const SelectedRun& i : runs[0])
    for (const SelectedRun& j : runs[1])
      for (const SelectedRun& k : runs[2])
        for (const SelectedRun& x : runs[3]) {
          run.start = {i.start, j.start, k.start, x.start};
          copy_progression(header, element_bits, box, samples, specials, literals, map, run, selection.stride,
                           out + i.offset + j.offset + k.offset + x.offset);
        }
}

}  // namespace stz
