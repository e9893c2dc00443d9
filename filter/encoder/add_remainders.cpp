#include "encoder/add_remainders.h"

#include "base/faults.h"
#include "base/parallel.h"
#include "coding/checksum.h"
#include "encoder/make_stream.h"
#include "encoder/represent/floating_array.h"
#include "encoder/write/raw_bits.h"
#include "format/sample_order.h"

namespace stz {
namespace {

// Writes the remainders of slabs.
class SlabEncoder {
 public:
  SlabEncoder(const Array& a, const Header& h)
      : a_(a), w_(h), zeros_(h.remainders.zeros), gap_bits_(h.remainders.gap_bits), order_(h), valid_(valid_elements(h)) {}

  // The bytes of a slab and their check. `row`: the number of the first sample of the level's row, and the distance of its samples.
  template <class Rows>
  Bytes encode(const Rows& for_rows_of_slab) const {
    RawBitsWriter raw;
    std::vector<u64> smalls;
    for_rows_of_slab([&](u64 first, u64 apart, i64 count) {
      raw.put_each(size_t(count), 64, [&](size_t k, RawFields& fields) {
        const u64 number = first + k * apart, bits = a_.bits(order_.element_of(number % valid_), int(number / valid_));
        if (!w_.has_remainder(bits)) return;
        if (w_.is_small(bits))
          smalls.push_back(bits);
        else {
          const int width = w_.width(bits);
          fields.put_long(bits >> w_.zero_bits & low_bits(width), width);
        }
      });
    });
    Bytes out(raw.data(), raw.data() + raw.size());
    raw.clear();
    if (zeros_ != Zeros::all)
      for (u64 bits : smalls) put_small(raw, bits);
    out.insert(out.end(), raw.data(), raw.data() + raw.size());
    return out;
  }

 private:
  static u64 low_bits(int count) { return count ? ~u64(0) >> (64 - count) : 0; }
  void put_small(RawBitsWriter& raw, u64 bits) const {
    raw.put_each(1, 192, [&](size_t, RawFields& fields) {
      if (zeros_ == Zeros::marked) {
        fields.put(bits == 0, 1);
        if (bits == 0) return;
      }
      fields.put(bits >> (w_.number - 1), 1);
      const u64 exponent = w_.exponent(bits), gap = w_.exponent_of_step - 1 - exponent;
      if (exponent == 0 || gap >> gap_bits_ >= u64(longest_gap)) {
        fields.put(0, longest_gap);
        fields.put_long(bits & low_bits(w_.number - 1), w_.number - 1);
        return;
      }
      fields.put(u64(1) << (gap >> gap_bits_), int(gap >> gap_bits_) + 1);
      fields.put(gap & low_bits(gap_bits_), gap_bits_);
      fields.put_long(bits >> w_.zero_bits & low_bits(w_.mantissa - w_.zero_bits), w_.mantissa - w_.zero_bits);
    });
  }

  const Array& a_;
  const RemainderWidths w_;
  const Zeros zeros_;
  const int gap_bits_;
  const SampleOrder order_;
  const u64 valid_;
};

// Writes the section of a level.
Bytes level_section(const SlabEncoder& encoder, const Slabs& slabs, int threads) {
  std::vector<Bytes> coded(slabs.count());
  struct Nothing {};
  parallel_for<Nothing>(coded.size(), threads, [&](Nothing&, u64 number) {
    const Slabs::Slab slab = slabs.at(number);
    coded[number] = encoder.encode([&](auto f) {
      for_slab_rows(slabs, slab.box,
                    [&](const Index& at, i64 apart, i64 count) { f(slabs.number_of(slab.item, at), u64(apart * slabs.step[3]), count); });
    });
  });
  std::vector<u64> sizes;
  for (const Bytes& b : coded) sizes.push_back(b.size());
  Bytes section = write_slab_directory(sizes);
  for (const Bytes& b : coded) {
    section.insert(section.end(), b.begin(), b.end());
    if (!b.empty()) put_check(section, check_of(b.data(), b.size()));
  }
  return section;
}

void add(const Array& a, const CutNumbers&, int threads, Stream& stream) {
  Header h = read_header(stream.bytes.data(), stream.bytes.size());
  const size_t front = h.size, end = size_t(content_bytes(h));
  const Hierarchy hierarchy = hierarchy_of(h);
  const SlabEncoder encoder(a, h);
  Bytes sections;
  h.remainder.clear();
  for (size_t k = 0; k < h.section.size(); k++) {
    const Slabs slabs(hierarchy, h.section.size() - 1 - k);
    const Bytes section = level_section(encoder, slabs, threads);
    if (slabs.count() > most_slabs(section.size())) return stream.bytes.clear();
    h.remainder.push_back(section.size());
    sections.insert(sections.end(), section.begin(), section.end());
  }
  STZ_FAULT_POINT(raw_bits, sections.data(), sections.size());
  Bytes all = write_header(h);
  all.insert(all.end(), stream.bytes.begin() + std::ptrdiff_t(front), stream.bytes.begin() + std::ptrdiff_t(end));
  all.insert(all.end(), sections.begin(), sections.end());
  all.insert(all.end(), stream.bytes.begin() + std::ptrdiff_t(end), stream.bytes.end());
  stream.bytes = std::move(all);
}

void add(const Array&, const CutNumbers& cut, int, SizeEstimate& estimate) {
  constexpr double directories = 1.001;
  estimate.bytes += cut.remainder_bits / 8 * directories;
  estimate.squared_error = 0;
}

}  // namespace

template <class Out>
Out stream_with_remainders(const Array& a, const Header& h, const StreamRequest& request, double step) {
  const std::optional<CutNumbers> cut = cut_numbers(a, h, step);
  if (!cut) return {};
  const Array multiples{a.layout, cut->elements.data()};
  auto make = [&](auto type) -> Out {
    const FloatingArray<decltype(type)> array(multiples, h, request);
    constexpr double least_steps = 64;  // in units in the last place: samples are rounded to the type
    if (step < least_steps * array.ulp()) return {};
    return make_stream<Out>(array.multiples(cut->remainders));
  };
  Out out = a.width == 4 ? make(float()) : make(double());
  if (!out.empty()) add(a, *cut, request.threads, out);
  return out;
}

template Stream stream_with_remainders(const Array&, const Header&, const StreamRequest&, double);
template SizeEstimate stream_with_remainders(const Array&, const Header&, const StreamRequest&, double);

}  // namespace stz
