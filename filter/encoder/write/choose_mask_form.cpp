#include "encoder/write/choose_mask_form.h"

#include "base/rough_log2.h"

namespace stz {
namespace {

constexpr u64 few_samples = 1 << 13;  // in smaller blocks all rows are examined
constexpr u64 row_step = 8;
constexpr double regions_save = 0.02;            // share of the bits that regions must save, because they take longer
constexpr double fewest_bits = 0.1;              // per sample, of scattered masks: with fewer most rows have none
constexpr double learning = 40;                  // bits to learn the models of scattered masks
constexpr size_t surrounding_contexts = 6 * 27;  // contexts, as in MaskModels

struct Counts {
  u32 of[2] = {};
  double bits() const {
    if (!of[0] || !of[1]) return 0;
    const double all = of[0] + of[1];
    return all * rough_log2(all) - of[0] * rough_log2(of[0]) - of[1] * rough_log2(of[1]);
  }
  u32 all() const { return of[0] + of[1]; }
};

template <class F>
void for_class_rows(const BlockGeometry& g, int cls, F f) {
  const Index to = g.counts(cls);
  for_rows(Index{}, {to[0], to[1], to[2], 1},
           [&](i64 i, i64 j, i64 k) { f(g.start(g.bytes, cls) + g.bytes.at(i, j, k), Index{i, j, k, 0}); });
}

// The kind of all masked samples of a block; 0 if they differ or are literals.
u8 only_kind(const BlockGeometry& g, const u8* specials) {
  u8 kind = special_none, other = 0;
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    const i64 n = g.count(cls, 3);
    for_class_rows(g, cls, [&](i64 row, const Index&) {
      for (i64 x = 0; x < n && !kind; x++) kind = specials[row + x];
      for (i64 x = 0; x < n; x++) other |= u8((specials[row + x] != 0) & (specials[row + x] != kind));
    });
  }
  return other || kind == special_literal ? u8(special_none) : kind;
}

}  // namespace

MaskForm choose_mask_form(const BlockGeometry& g, const u8* specials) {
  u64 samples = 0, number = 0;
  for (int c = 0; c < g.classes.count; c++) samples += g.samples(g.classes.mask[c]);
  const u64 step = samples <= few_samples ? 1 : row_step;
  Counts in[surrounding_contexts], all;
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    const i64 n = g.count(cls, 3);
    MaskContexts around(g, cls);
    for_class_rows(g, cls, [&](i64 first, const Index& at) {
      if (number++ % step) return;
      const u8* row = specials + first;
      const RowsBefore before(g.bytes, row, at);
      around.look_around(row);
      for (i64 x = 0; x < n; x++) {
        const bool masked = row[x] != special_none;
        in[27 * around.context(x) + before.context(row, x)].of[masked]++;
        all.of[masked]++;
      }
    });
  }
  double regions = 0;
  for (const Counts& counts : in)
    if (counts.all()) regions += counts.bits() + 1 + 0.5 * rough_log2(counts.all());  // with the cost of learning its model
  MaskForm form;
  form.scattered = all.bits() > fewest_bits * all.all() && all.bits() * (1 - regions_save) + learning <= regions;
  if (form.scattered) form.kind = only_kind(g, specials);
  return form;
}

}  // namespace stz
