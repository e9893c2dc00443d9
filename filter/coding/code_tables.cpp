#include "coding/code_tables.h"

#include <atomic>
#include <memory>

#include "base/made_once.h"

namespace stz {
namespace {

struct CodeTableSource {
  int count;
  u16 freq[50];
};
#include "coding/code_tables.inc"

void build(CodeTable& t, const CodeTableSource& source) {
  t.count = source.count;
  u32 start = 0;
  u64 expected = 0;
  for (int s = 0; s < 64; s++) t.reciprocal[s] = t.step[s] = 0;
  for (int s = 0; s <= t.count; s++) {
    const u32 f = source.freq[s];
    t.freq[s] = u16(f);
    const RansStep step = rans_step(f, start);
    t.reciprocal[s] = step.reciprocal;
    t.step[s] = step.step;
    t.cost[s] = u16(log2_fixed(probability_total) - log2_fixed(f));
    expected += u64(t.cost[s]) * f;
    start += f;
  }
  t.mean_cost = u32(expected / probability_total);
}

struct Family {
  CodeTable two_sided[shapes * unshifted_scales], one_sided[shapes * 4], zero_run[zero_run_tables], value[value_tables];
  Family() {
    for (int k = 0; k < shapes * unshifted_scales; k++) build(two_sided[k], two_sided_source[k]);
    for (int k = 0; k < shapes * 4; k++) build(one_sided[k], one_sided_source[k]);
    for (int k = 0; k < zero_run_tables; k++) build(zero_run[k], zero_run_source[k]);
    for (int k = 0; k < value_tables; k++) build(value[k], value_source[k]);
  }
};
const Family& family() {
  static std::atomic<const Family*> made;  // never destroyed: a program may still decode during exit
  return made_once(made, [] { return std::make_unique<const Family>(); });
}

}  // namespace

// Division by f as a multiplication, exact for all states below 2^31 (Granlund and Montgomery 1994).
RansStep rans_step(u32 f, u32 start) {
  if (f < 2) return {~0u, f | (start + probability_total - 1) << 12};
  const int h = ceil_log2(f);
  return {u32(((u64(1) << (h + 31)) + f - 1) / f), f | start << 12 | u32(h - 1) << 28};
}

const u32* CodeTable::decoding() const {
  u32* table = __atomic_load_n(&decoding_, __ATOMIC_ACQUIRE);
  if (table) return table;
  u32* made = new u32[probability_total];
  u32* entry = made;
  for (int s = 0; s <= count; s++)
    for (u32 k = 0; k < freq[s]; k++) *entry++ = u32(s) | u32(freq[s]) << 8 | k << 20;
  if (__atomic_compare_exchange_n(&decoding_, &table, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return made;
  delete[] made;  // another thread was first
  return table;
}

const CodeTable& direct_table(const Model& m) {
  if (m.scale < unshifted_scales) return family().two_sided[m.shape * unshifted_scales + m.scale];
  return family().one_sided[m.shape * 4 + (m.scale - unshifted_scales) % 4];
}
const CodeTable& zero_run_table(const Model& m) { return family().zero_run[m.zero_run]; }
const CodeTable& value_table(const Model& m) { return family().value[m.value]; }

int default_scale_of(int t) {
  constexpr int listed = int(sizeof default_scale);
  if (t < 0) return default_scale[0];
  if (t < listed) return default_scale[t];
  int scale = default_scale[listed - 1] + (t - listed + 1);
  return scale < scale_limit ? scale : scale_limit - 1;
}

u32 log2_fixed(u64 v) {
  int e = floor_log2(v);
  u64 m = e > 31 ? v >> (e - 31) : v << (31 - e);  // mantissa in [2^31, 2^32)
  u32 result = u32(e);
  for (int k = 0; k < 8; k++) {
    m = (m * m) >> 31;  // in [2^31, 2^33)
    result <<= 1;
    if (m >> 32) {
      result |= 1;
      m >>= 1;
    }
  }
  return result;
}

}  // namespace stz
