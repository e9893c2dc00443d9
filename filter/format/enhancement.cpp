#include "format/enhancement.h"

#include <algorithm>
#include <bit>

#include "base/parallel.h"
#include "format/frame.h"
#include "simd/kernels.h"

namespace stz {

double relaxed_bound(const Header& h) {
  return h.enhancement.any() ? h.bound * (1 + double(h.enhancement.promise) / relaxation_units) : h.bound;
}

EnhancementShape::EnhancementShape(const Level& level) : split(level.split_mask()), sets(std::popcount(u32(level.split_mask()))) {
  for (const bool wanted : {true, false})
    for (int a = axes; a-- > 0 && axis.size() < size_t(enhanced_axes);)
      if (level.split[size_t(a)] == wanted && level.n[size_t(a)] > 1) axis.push_back(a);
  std::sort(axis.begin(), axis.end());
  int combinations = 1;
  for (size_t k = 0; k < axis.size(); k++) combinations *= 3;
  for (int c = combinations / 2 + 1; c < combinations; c++) {  // the first nonzero step goes upwards
    Index step{};
    int rest = c, along = 0;
    for (size_t k = axis.size(); k-- > 0; rest /= 3) {
      step[size_t(axis[k])] = rest % 3 - 1;
      along += rest % 3 != 1;
    }
    direction.push_back(step);
    group.push_back(along - 1);
  }
  for (const int a : axis) {
    direction.push_back({});
    direction.back()[size_t(a)] = 2;
    group.push_back(int(axis.size()));
  }
}

bool can_be_enhanced(const Header& h) {
  const bool floating = h.layout.dtype == STZ_F32 || h.layout.dtype == STZ_F64 || h.layout.dtype == STZ_C64 || h.layout.dtype == STZ_C128;
  return h.form == Form::blocks && h.mode == STZ_ABSOLUTE && h.bound > 0 && h.half_step > 0 && floating &&
         h.quantizer == QuantizerKind::uniform && h.transform == Transform::none && !h.layers.any();
}

Bytes write_enhancement(const Enhancement& e) {
  Bytes payload{e.limit, e.promise, u8(e.shared), e.shift};
  for (const i8 w : e.weights) payload.push_back(u8(w));
  return payload;
}

void read_enhancement(ByteReader& payload, Enhancement& e) {
  e.limit = payload.get<u8>();
  e.promise = payload.get<u8>();
  const u8 kind = payload.get<u8>();
  require(kind <= 1, STZ_ERROR_VERSION);
  e.shared = kind != 0;
  e.shift = payload.get<u8>();
  require(e.limit >= 1 && e.limit <= relaxation_units && e.shift >= least_weight_shift && e.shift <= most_weight_shift, STZ_ERROR_CORRUPT);
  while (payload.left()) e.weights.push_back(i8(payload.get<u8>()));
}

void require_enhancement(const Header& h, const Hierarchy& hierarchy) {
  const Enhancement& e = h.enhancement;
  if (!e.any()) return;
  require(can_be_enhanced(h) && hierarchy.base_level > 0, STZ_ERROR_CORRUPT);
  require(e.weights.size() == EnhancementShape(hierarchy.level[0]).weights(e.shared), STZ_ERROR_CORRUPT);
}

template <class S>
Enhancer<S>::Enhancer(const Header& h, const Hierarchy& hierarchy)
    : level_(hierarchy.level[0]),
      shape_(level_),
      inverse_(units_per_half_step / h.half_step),
      unit_(S(h.half_step / result_units)),
      limit_(i16(h.enhancement.limit * (result_units / relaxation_units))),
      has_range_(h.range.any()),
      range_(limits_of<S>(h)) {
  const Enhancement& e = h.enhancement;
  const size_t of_set = shape_.groups(e.shared) * enhancement_clips;
  auto weight = [&](int odd, size_t at) {
    return u32(u16(odd ? e.weights[size_t(odd - 1) * of_set + at] * (1 << (most_weight_shift - e.shift)) : 0));
  };
  const bool last = level_.split[3];
  for (int odd = 0; odd + int(last) <= shape_.sets; odd++)
    for (size_t d = 0; d < shape_.direction.size(); d++)
      for (size_t c = 0; c < size_t(enhancement_clips); c++) {
        const size_t at = shape_.at(d, e.shared) + c;
        weights_[odd].push_back(weight(odd, at) | weight(odd + int(last), at) << 16);
      }
}

template <class S>
Box Enhancer<S>::with_neighbours(const Box& box) const {
  Box wide = box;
  for (const int axis : shape_.axis) {
    const size_t a = size_t(axis);
    wide.low[a] = std::max<i64>(0, box.low[a] - enhancement_reach);
    wide.size[a] = std::min(level_.n[a], box.low[a] + box.size[a] + enhancement_reach) - wide.low[a];
  }
  return wide;
}

// Loads the samples of a box and their neighbours, in units. Beyond the edge of the level the outermost sample is repeated.
template <class S>
void Enhancer<S>::load(const GridPart<const S>& plain, const u8* kinds, const Box& box, int threads) {
  margin_ = {};
  for (const int axis : shape_.axis) margin_[size_t(axis)] = enhancement_reach;
  i64 pitch = 1;
  for (size_t a = axes; a-- > 0;) {
    extent_[a] = box.size[a] + 2 * margin_[a];
    pitch_[a] = pitch;
    pitch *= extent_[a];
  }
  units_.resize_defined(size_t(pitch) + row_slack);
  if (kinds)
    valid_.resize_defined(size_t(pitch) + row_slack);
  else
    valid_.clear();
  const GridPart<const u8> special{kinds, plain.box};
  const i64 rows = extent_[0] * extent_[1] * extent_[2], m = margin_[3], n = box.size[3];
  const i64 left = std::max<i64>(box.low[3] - m, 0), right = std::min(box.low[3] + n + m, level_.n[3]);  // the part that the level has
  const i64 skipped = left - (box.low[3] - m), there = right - left;
  const auto extend = [&](i16* row) {
    for (i64 x = 0; x < skipped; x++) row[x] = row[skipped];
    for (i64 x = skipped + there; x < extent_[3]; x++) row[x] = row[skipped + there - 1];
  };
  const u64 per_task = items_per_task(u64(extent_[3]));
  struct None {};
  parallel_for<None>((u64(rows) + per_task - 1) / per_task, threads, [&](None&, u64 task) {
    for (i64 r = i64(task * per_task); r < std::min(rows, i64((task + 1) * per_task)); r++) {
      const i64 at[3] = {r / (extent_[1] * extent_[2]), r / extent_[2] % extent_[1], r % extent_[2]};
      i64 c[3];
      for (size_t a = 0; a < 3; a++) c[a] = std::clamp<i64>(box.low[a] + at[a] - margin_[a], 0, level_.n[a] - 1);
      i16* const row = units_.data() + r * extent_[3];
      enhancement_kernels<S>().to_units(plain.at(c[0], c[1], c[2], left), int(there), inverse_, row + skipped);
      extend(row);
      if (!kinds) continue;
      i16* const valid = valid_.data() + r * extent_[3];
      const u8* const kind = special.at(c[0], c[1], c[2], left);
      for (i64 x = 0; x < there; x++) valid[skipped + x] = i16(-(kind[x] == special_none));
      extend(valid);
    }
  });
}

// The same as the kernel, for one sample.
template <class S>
void Enhancer<S>::features(const Index& in_box, i16* f) const {
  i64 centre = 0;
  for (size_t a = 0; a < axes; a++) centre += (in_box[a] + margin_[a]) * pitch_[a];
  for (const Index& d : shape_.direction) {
    const i64 offset = d[0] * pitch_[0] + d[1] * pitch_[1] + d[2] * pitch_[2] + d[3] * pitch_[3];
    const auto unit = [&](i64 at) { return u32(u16(units_[size_t(at)])); };
    int v = i16(u16(unit(centre - offset) + unit(centre + offset) - 2 * unit(centre)));
    if (!valid_.empty() && !(valid_[size_t(centre - offset)] & valid_[size_t(centre + offset)])) v = 0;
    for (const int most : {32, 128, 512}) *f++ = i16(std::clamp(v, -most, most) * 32);
  }
}

template <class S>
void Enhancer<S>::run(const GridPart<const S>& plain, const u8* kinds, const GridPart<S>& out, int threads) {
  const Box& box = out.box;
  load(plain, kinds, box, threads);
  std::vector<std::ptrdiff_t> offset;
  for (const Index& d : shape_.direction) offset.push_back(d[0] * pitch_[0] + d[1] * pitch_[1] + d[2] * pitch_[2] + d[3] * pitch_[3]);
  const i64 rows = box.size[0] * box.size[1] * box.size[2], n = box.size[3];
  const u64 per_task = items_per_task(u64(n));
  parallel_for<Buffer<i16>>((u64(rows) + per_task - 1) / per_task, threads, [&](Buffer<i16>& negative, u64 task) {
    negative.resize(size_t(n) + row_slack);
    std::vector<u32> swapped;
    for (i64 r = i64(task * per_task); r < std::min(rows, i64((task + 1) * per_task)); r++) {
      const i64 at[3] = {r / (box.size[1] * box.size[2]), r / box.size[2] % box.size[1], r % box.size[2]};
      S* const row_out = out.at(box.low[0] + at[0], box.low[1] + at[1], box.low[2] + at[2], box.low[3]);
      int odd = 0;
      i64 first = margin_[3];
      for (size_t a = 0; a < 3; a++) {
        odd += int((box.low[a] + at[a]) & 1 & i64(level_.split[a]));
        first += (at[a] + margin_[a]) * pitch_[a];
      }
      const auto bring_into_range = [&] {
        for (i64 x = 0; has_range_ && x < n; x++) row_out[x] = range_(row_out[x]);
      };
      if (odd == 0 && !level_.split[3]) {
        bring_into_range();
        continue;
      }
      const std::vector<u32>* weights = &weights_[odd];
      if (box.low[3] & 1) {
        swapped = *weights;
        for (u32& w : swapped) w = w << 16 | w >> 16;
        weights = &swapped;
      }
      const EnhancementRow row{
          units_.data() + first, kinds ? valid_.data() + first : nullptr, offset.data(), weights->data(), int(offset.size()), limit_};
      kernels().enhancement(row, int(n), negative.data());
      enhancement_kernels<S>().subtract(row_out, negative.data(), int(n), unit_);
      bring_into_range();
    }
  });
}

template class Enhancer<float>;
template class Enhancer<double>;

}  // namespace stz
