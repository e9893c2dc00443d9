#include "masks/content_check.h"

#include <algorithm>

#include "format/extensions.h"
#include "predict/block.h"

namespace stz {
namespace {

constexpr i64 converted_at_once = 4096;  // samples

// The bits of a sample of level 0 of kind special_literal.
u64 literal_bits(const std::vector<LiteralElement>& literals, u64 index) {
  const auto it = std::lower_bound(literals.begin(), literals.end(), index, [](const LiteralElement& o, u64 v) { return o.index < v; });
  require(it != literals.end() && it->index == index, STZ_ERROR_CORRUPT);
  return it->bits;
}

// Calls f(i, j, k) for the rows of a box.
template <class F>
void for_block_rows(const Box& box, F f) {
  const Index& low = box.low;
  for_rows({low[0], low[1], low[2], 0}, {low[0] + box.size[0], low[1] + box.size[1], low[2] + box.size[2], 1}, f);
}

}  // namespace

Bytes write_trailer(const std::vector<u32>& checks) {
  Bytes out;
  put_varint(out, tag_content_check);
  put_varint(out, 4 * checks.size());
  for (u32 crc : checks) put_le<u32>(out, crc);
  put_le<u32>(out, crc32c(out.data(), out.size()));
  return out;
}

bool find_content_check(const u8* trailer, size_t size, ByteReader& payload) {
  require(size >= smallest_trailer, STZ_ERROR_CORRUPT);
  const size_t records = size - 4;
  require_check(crc32c(trailer, records), trailer + records, 4);
  bool found = false;
  for_records(ByteReader(trailer, records), [&](u64 tag, const ByteReader& of_tag) {
    if (tag != tag_content_check) return;
    payload = of_tag;
    found = true;
  });
  return found;
}

bool read_content_check(const u8* trailer, size_t size, u64 blocks, std::vector<u32>& checks) {
  ByteReader payload(nullptr, 0);
  if (!find_content_check(trailer, size, payload)) return false;
  require(payload.left() / 4 == blocks && payload.left() % 4 == 0, STZ_ERROR_CORRUPT);
  while (payload.left()) checks.push_back(payload.get<u32>());
  return true;
}

template <class S>
void ContentCheck<S>::add(const Header& h, const GridPart<const S>& samples, const Box& box, const Special* special) {
  if (!samples_are_elements<S>(h) || h.range.any() || special || !host_is_little) return add_converted(h, samples, box, special);
  auto bytes = [&](const S* row, i64 n) { crc_ = crc32c(reinterpret_cast<const u8*>(row), size_t(n) * sizeof(S), crc_); };
  if (box.low == samples.box.low && box.size == samples.box.size)
    bytes(samples.data, box.size[0] * box.size[1] * box.size[2] * box.size[3]);
  else
    for_block_rows(box, [&](i64 i, i64 j, i64 k) { bytes(samples.at(i, j, k, box.low[3]), box.size[3]); });
}

template <class S>
void ContentCheck<S>::add_converted(const Header& h, const GridPart<const S>& samples, const Box& box, const Special* special) {
  const ElementBits<S> bits(h);
  const size_t width = component_size(h.layout.dtype);
  bytes_.resize(size_t(converted_at_once) * width);
  i64 waiting = 0;
  auto flush = [&] {
    crc_ = crc32c(bytes_.data(), size_t(waiting) * width, crc_);
    waiting = 0;
  };
  auto convert = [&](const S* row, const u8* kinds, u64 index, i64 from, i64 n) {
    u8* to = bytes_.data() + size_t(waiting) * width;
    components_of<S>(h, row + from, n, to);
    for (i64 x = from; kinds && x < from + n; x++) {
      if (kinds[x] == special_none) continue;
      const bool literal = kinds[x] == special_literal;
      const u64 component = literal ? literal_bits(special->literals, index + u64(x * special->map.step[3])) : bits(row[x], kinds[x]);
      store_bits(to + size_t(x - from) * width, component, width, !host_is_little);
    }
  };
  for_block_rows(box, [&](i64 i, i64 j, i64 k) {
    const S* row = samples.at(i, j, k, box.low[3]);
    const u8* kinds = special ? special->kinds.at(i, j, k, box.low[3]) : nullptr;
    u64 index = 0;  // of the row's first sample
    if (special) {
      const Index& step = special->map.step;
      index = special->map.item + u64(i * step[0] + j * step[1] + k * step[2] + box.low[3] * step[3]);
    }
    for (i64 from = 0; from < box.size[3];) {
      const i64 n = std::min(box.size[3] - from, converted_at_once - waiting);
      convert(row, kinds, index, from, n);
      waiting += n;
      from += n;
      if (waiting == converted_at_once) flush();
    }
  });
  flush();
}

template class ContentCheck<float>;
template class ContentCheck<double>;
template class ContentCheck<i64>;

}  // namespace stz
