#include "reader/remainder_reader.h"

#include <algorithm>

#include "coding/binary_coder.h"
#include "coding/checksum.h"
#include "format/convert.h"

namespace stz {
namespace {

// The offset in the output of each coordinate of a level along an axis, from `low` on; -1: not selected.
std::vector<i64> selected_places(const Selection& selection, size_t axis, i64 low, i64 count, i64 step) {
  std::vector<i64> places(size_t(count), -1);
  const Progression& p = selection.wanted;
  const i64 n = selection.run_count(p, axis), apart = selection.run_step(p, axis);
  for (const SelectedRun& run : selection.runs_between(p, axis, low * step, (low + count - 1) * step + 1))
    for (i64 k = std::max<i64>(0, (low * step - run.start + apart - 1) / apart); k < n; k++) {
      const i64 at = run.start + k * apart;
      if (at >= (low + count) * step) break;
      if (at >= low * step && at % step == 0) places[size_t(at / step - low)] = run.offset + k * selection.stride[axis];
    }
  return places;
}

// Calls f(the sample's place in the box, its offset in the output) for the selected samples of a box that no coarser level has.
template <class F>
void for_selected(const Slabs& slabs, const Box& box, const Selection& selection, F f) {
  std::array<std::vector<i64>, axes> places;
  for (size_t a = 0; a < axes; a++) places[a] = selected_places(selection, a, box.low[a], box.size[a], slabs.step[a]);
  for_slab_rows(slabs, box, [&](const Index& at, i64 apart, i64 count) {
    i64 offset = 0, inside = 0;
    for (size_t a = 0; a < 3; a++) {
      const i64 place = places[a][size_t(at[a] - box.low[a])];
      if (place < 0) return;
      offset += place;
      inside = (inside + at[a] - box.low[a]) * box.size[a + 1];
    }
    for (i64 k = 0; k < count; k++) {
      const i64 x = at[3] + k * apart - box.low[3];
      if (places[3][size_t(x)] >= 0) f(inside + x, u64(offset + places[3][size_t(x)]));
    }
  });
}

// Whether a box has selected samples that no coarser level has.
bool any_selected(const Slabs& slabs, const Box& box, const Selection& selection) {
  for (size_t a = 0; a < axes; a++) {
    const i64 low = box.low[a] * slabs.step[a], high = (box.low[a] + box.size[a] - 1) * slabs.step[a];
    if (selection.wanted.start[a] > high || selection.wanted.last(a) < low) return false;
  }
  bool own = slabs.is_base;
  for (size_t a = 0; a < axes; a++) {
    const std::vector<i64> places = selected_places(selection, a, box.low[a], box.size[a], slabs.step[a]);
    if (std::all_of(places.begin(), places.end(), [](i64 place) { return place < 0; })) return false;
    for (size_t k = 0; k < places.size() && slabs.h.level[slabs.l].split[a]; k++) own |= places[k] >= 0 && ((box.low[a] + i64(k)) & 1);
  }
  return own;
}

}  // namespace

RemainderReader::RemainderReader(const Header& h, SourcePart& source, PartReader& blocks)
    : h_(h), source_(source), blocks_(blocks), hierarchy_(hierarchy_of(h)), decoder_(h) {
  u64 offset = content_bytes(h);
  for (u64 n : h.remainder) offset -= n;
  for (size_t k = 0; k < h.remainder.size(); k++) {
    sections_.push_back({Slabs(hierarchy_, h.remainder.size() - 1 - k), offset, h.remainder[k], {}, {}});
    offset += h.remainder[k];
  }
}

void RemainderReader::read_directory(Section& section) {
  if (!section.sizes.empty()) return;
  Bytes front;
  std::vector<u64> sizes;
  u64 begin = 0;
  for (u64 wanted = std::min<u64>(section.size, 256); wanted;) {
    front.resize(size_t(wanted));
    source_.peek(section.offset, wanted, front.data());
    wanted = read_slab_directory(front.data(), front.size(), section.size, section.slabs.count(), sizes, begin);
  }
  u64 at = section.offset + begin;
  for (u64 n : sizes) {
    section.place.push_back(at);
    at += n + (n ? check_size(n) : 0);
  }
  section.sizes = std::move(sizes);
}

// The blocks with selected samples, coarse to fine, of one item: `item` is not set.
std::vector<RemainderReader::Block> RemainderReader::needed(const Selection& selection) const {
  std::vector<Block> blocks;
  for (size_t s = 0; s < sections_.size(); s++) {
    const Section& section = sections_[s];
    const Slabs& slabs = section.slabs;
    require(slabs.count() <= most_decisions(source_.size()), STZ_ERROR_CORRUPT);  // before they are looked at one by one
    for (u64 b = 0; b < slabs.blocks; b++) {
      Block block{s, 0, 0, 0, {}};
      for (u64 part = 0; part < slabs.per_block; part++) {
        const Box box = slabs.at(b * slabs.per_block + part).box;
        if (box.size[size_t(slabs.axis)] == 0) continue;
        if (!any_selected(slabs, box, selection)) continue;
        if (block.count == 0) {
          block.first = b * slabs.per_block + part;
          block.box = box;
        }
        block.count = b * slabs.per_block + part + 1 - block.first;
        block.box.size[size_t(slabs.axis)] = box.low[size_t(slabs.axis)] + box.size[size_t(slabs.axis)] - block.box.low[size_t(slabs.axis)];
      }
      if (block.count) blocks.push_back(block);
    }
  }
  return blocks;
}

// All samples of a block's slabs, those of coarser levels among them, in C order.
Selection RemainderReader::selection_of(const Block& block) const {
  const Index& step = sections_[block.section].slabs.step;
  Selection all;
  i64 stride = i64(component_size(h_.layout.dtype));
  for (size_t a = axes; a-- > 0;) {
    all.wanted.start[a] = block.box.low[a] * step[a];
    all.wanted.count[a] = block.box.size[a];
    all.wanted.step[a] = step[a];
    all.stride[a] = stride;
    stride *= block.box.size[a];
  }
  all.bytes = u64(stride);
  all.elements = u64(stride) / component_size(h_.layout.dtype);
  all.batch.push_back({block.item, 1, 1, 1, 0});
  return all;
}

template <class U>
void RemainderReader::add_slab(const Section& section, u64 number, const Box& box, const u8* elements, const Selection& selection,
                               u8* out) {
  const bool swap = swapped(h_.layout);
  Bytes bytes(size_t(section.sizes[number]));
  source_.read(section.place[number], bytes.size(), bytes.data());
  if (!bytes.empty()) {
    u8 stored[4];
    const Check check = check_of(bytes.data(), bytes.size());
    source_.read(section.place[number] + bytes.size(), check.size, stored);
    require_check(check, stored);
  }
  std::vector<U> numbers;
  std::vector<i64> index(size_t(box.size[0] * box.size[1] * box.size[2] * box.size[3]));
  for_slab_rows(section.slabs, box, [&](const Index& at, i64 apart, i64 count) {
    i64 inside = 0;
    for (size_t a = 0; a < 3; a++) inside = (inside + at[a] - box.low[a]) * box.size[a + 1];
    for (i64 k = 0; k < count; k++) {
      const i64 place = inside + at[3] + k * apart - box.low[3];
      index[size_t(place)] = i64(numbers.size());
      numbers.push_back(U(load_bits(elements + size_t(place) * sizeof(U), sizeof(U), swap)));
    }
  });
  decoder_.begin(bytes.data(), bytes.size());
  decoder_.add_row(numbers.data(), numbers.size(), 0, 1);
  decoder_.finish([&](u64 k, u64 bits) { numbers[size_t(k)] = U(bits); });
  for_selected(section.slabs, box, selection,
               [&](i64 place, u64 offset) { store_bits(out + offset, numbers[size_t(index[size_t(place)])], sizeof(U), swap); });
}

void RemainderReader::lose(const Block& block, const Selection& selection, u64 offset, size_t cause, DamageReport& report) const {
  const Section& section = sections_[block.section];
  for_selected(section.slabs, block.box, selection,
               [&](i64, u64 place) { report.lose_elements(cause, (offset + place) / element_size(h_.layout.dtype), 1); });
}

void RemainderReader::add(const Block& block, const Selection& selection, u64 offset, u8* out, int threads, DamageReport* report) {
  const Section& section = sections_[block.section];
  const Selection all = selection_of(block);
  Buffer<u8> elements(size_t(all.bytes));
  stz_layout layout = h_.layout;
  layout.rank = 1;
  layout.shape[0] = all.elements;
  DamageReport of_elements(layout, Request{nullptr, layout.shape, nullptr});
  blocks_.read(all, elements.data(), threads, report ? &of_elements : nullptr);
  if (of_elements.any()) {
    const Damage& damage = of_elements.found()[0];
    return lose(block, selection, offset, report->note(damage.error, damage.level, damage.block), *report);
  }
  for (u64 s = block.first; s < block.first + block.count; s++) {
    const Box box = section.slabs.at(s).box;
    const size_t a = size_t(section.slabs.axis);
    const u8* const of_slab = elements.data() + (box.low[a] - block.box.low[a]) * all.stride[a];
    const u64 number = s + block.item * section.slabs.blocks * section.slabs.per_block;
    try {
      if (component_size(h_.layout.dtype) == 4)
        add_slab<u32>(section, number, box, of_slab, selection, out + offset);
      else
        add_slab<u64>(section, number, box, of_slab, selection, out + offset);
    } catch (const Failure& failure) {
      if (!report || !is_damage(failure.code)) throw;
      lose({block.section, block.item, s, 1, box}, selection, offset, report->note(failure.code, int(section.slabs.l), number), *report);
    }
  }
}

void RemainderReader::read(const Selection& selection, u8* out, int threads, DamageReport* report) {
  const std::vector<Block> blocks = needed(selection);
  selection.for_items([&](u64 item, u64 offset) {
    for (Block block : blocks) {
      block.item = item;
      try {
        read_directory(sections_[block.section]);
        add(block, selection, offset, out, threads, report);
      } catch (const Failure& failure) {
        if (!report || !is_damage(failure.code)) throw;
        lose(block, selection, offset, report->note(failure.code, int(sections_[block.section].slabs.l), no_block), *report);
      }
    }
  });
}

std::vector<ByteRange> RemainderReader::plan(const Selection& selection) {
  const std::vector<Block> blocks = needed(selection);
  std::vector<ByteRange> ranges;
  selection.for_items([&](u64 item, u64) {
    for (Block block : blocks) {
      block.item = item;
      Section& section = sections_[block.section];
      read_directory(section);
      const std::vector<ByteRange> of_elements = blocks_.plan(selection_of(block));
      ranges.insert(ranges.end(), of_elements.begin(), of_elements.end());
      const u64 first = block.first + item * section.slabs.blocks * section.slabs.per_block, last = first + block.count - 1;
      const u64 end = section.place[last] + section.sizes[last] + (section.sizes[last] ? check_size(section.sizes[last]) : 0);
      if (end > section.place[first]) ranges.push_back({section.place[first], end - section.place[first]});
    }
  });
  return ranges;
}

}  // namespace stz
