#include "decoder/decode_remainders.h"

#include <algorithm>
#include <optional>

#include "base/buffer.h"
#include "base/parallel.h"
#include "coding/checksum.h"
#include "format/convert.h"
#include "format/sample_order.h"
#include "simd/kernels.h"

namespace stz {

SlabDecoder::SlabDecoder(const Header& h)
    : number_bits_(8 * int(component_size(h.layout.dtype))), zeros_(h.remainders.zeros), gap_bits_(h.remainders.gap_bits) {
  const RemainderWidths w(h);
  form_ = {h.remainders.step, 1 / h.remainders.step, w.mantissa, w.zero_bits, w.exponent_of_step, w.all_ones, w.fill, w.has_fill};
}

void SlabDecoder::begin(const u8* slab, u64 size) {
  slab_ = slab;
  size_ = size;
  at_ = 0;
  small_.clear();
}

template <class U>
void SlabDecoder::add_row(U* elements, u64 n, u64 first, u64 apart) {
  const auto add = [] {
    if constexpr (sizeof(U) == 4)
      return kernels().remainders32.add;
    else
      return kernels().remainders64.add;
  }();
  if (small_of_row_.size() < n) small_of_row_.resize(size_t(n));
  size_t smalls = 0;
  at_ = add(slab_, size_, at_, elements, size_t(n), form_, small_of_row_.data(), &smalls);
  for (size_t k = 0; k < smalls; k++) small_.push_back(first + small_of_row_[k] * apart);
}
template void SlabDecoder::add_row(u32*, u64, u64, u64);
template void SlabDecoder::add_row(u64*, u64, u64, u64);

void SlabDecoder::begin_small() { at_ = (at_ + 7) / 8 * 8; }

// The next bits, the low ones first; zeros behind the end.
u64 SlabDecoder::take(int bits) {
  u64 v = 0;
  for (int done = 0; done < bits;) {
    const int shift = int(at_ % 8), count = std::min(8 - shift, bits - done);
    const u64 byte = at_ / 8 < size_ ? slab_[at_ / 8] : 0;
    v |= (byte >> shift & ((1u << count) - 1)) << done;
    done += count;
    at_ += u64(count);
  }
  return v;
}

u64 SlabDecoder::take_small() {
  require(at_ <= 8 * size_, STZ_ERROR_CORRUPT);
  if (zeros_ == Zeros::all || (zeros_ == Zeros::marked && take(1))) return 0;
  const u64 sign = take(1) << (number_bits_ - 1);
  u64 gap = 0;
  while (gap < longest_gap && !take(1)) gap++;
  if (gap == longest_gap) return sign | take(number_bits_ - 1);
  gap = gap << gap_bits_ | take(gap_bits_);
  require(form_.exponent_of_step > gap + 1, STZ_ERROR_CORRUPT);
  return sign | (form_.exponent_of_step - 1 - gap) << form_.mantissa | take(form_.mantissa - form_.zero_bits) << form_.zero_bits;
}

void SlabDecoder::require_end() const { require((at_ + 7) / 8 == size_, STZ_ERROR_CORRUPT); }

namespace {

// The elements of an array, by the numbers of their samples.
class Places {
 public:
  explicit Places(const Header& h)
      : order_(h),
        as_stored_(order_.as_stored()),
        parts_(u64(components(h.layout.dtype))),
        valid_(valid_elements(h)),
        width_(component_size(h.layout.dtype)) {}
  bool in_order() const { return as_stored_ && parts_ == 1; }
  u64 operator()(u64 number) const {  // offset in bytes
    return (order_.element_of(number % valid_) * parts_ + number / valid_) * width_;
  }

 private:
  const SampleOrder order_;
  const bool as_stored_;
  const u64 parts_, valid_, width_;
};

template <class U>
void add_level(const Header& h, const Slabs& slabs, const u8* section, u64 size, u8* array, int threads) {
  std::vector<u64> sizes, offset;
  u64 begin = 0;
  require(read_slab_directory(section, size, size, slabs.count(), sizes, begin) == 0, STZ_ERROR_TRUNCATED);
  for (u64 n : sizes) {
    offset.push_back(begin);
    begin += n + (n ? check_size(n) : 0);
  }
  const Places place(h);
  const bool swap = swapped(h.layout), plain = place.in_order() && !swap && reinterpret_cast<uintptr_t>(array) % sizeof(U) == 0;
  const SlabDecoder fresh(h);
  struct Worker {
    std::optional<SlabDecoder> decoder;
    Buffer<U> elements;
  };
  parallel_for<Worker>(slabs.count(), threads, [&](Worker& worker, u64 number) {
    const Slabs::Slab slab = slabs.at(number);
    if (!worker.decoder) worker.decoder = fresh;
    worker.elements.resize(size_t(slab.box.size[3]) + 1);
    const u8* const bytes = section + offset[number];
    if (sizes[number]) require_check(check_of(bytes, size_t(sizes[number])), bytes + sizes[number]);
    worker.decoder->begin(bytes, sizes[number]);
    for_slab_rows(slabs, slab.box, [&](const Index& at, i64 apart, i64 count) {
      const u64 first = slabs.number_of(slab.item, at), distance = u64(apart * slabs.step[3]), n = u64(count);
      U* const row = plain ? reinterpret_cast<U*>(array) + first : nullptr;
      if (row && distance == 1) return worker.decoder->add_row(row, n, first, distance);
      U* const elements = worker.elements.data();
      for (u64 x = 0; x < n; x++)
        elements[x] = row ? row[x * distance] : U(load_bits(array + place(first + x * distance), sizeof(U), swap));
      worker.decoder->add_row(elements, n, first, distance);
      for (u64 x = 0; x < n; x++)
        if (row)
          row[x * distance] = elements[x];
        else
          store_bits(array + place(first + x * distance), elements[x], sizeof(U), swap);
    });
    worker.decoder->finish([&](u64 sample, u64 bits) { store_bits(array + place(sample), bits, sizeof(U), swap); });
  });
}

}  // namespace

void add_remainders(const Header& h, const u8* remainders, u64 size, u8* array, int threads) {
  const Hierarchy hierarchy = hierarchy_of(h);
  ByteReader in(remainders, size_t(size));
  for (size_t k = 0; k < h.remainder.size(); k++) {
    const Slabs slabs(hierarchy, h.remainder.size() - 1 - k);
    const u8* const section = in.take(h.remainder[k]);
    if (component_size(h.layout.dtype) == 4)
      add_level<u32>(h, slabs, section, h.remainder[k], array, threads);
    else
      add_level<u64>(h, slabs, section, h.remainder[k], array, threads);
  }
}

}  // namespace stz
