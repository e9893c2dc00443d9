#include "decoder/decode.h"

#include <algorithm>

#include "base/buffer.h"
#include "base/parallel.h"
#include "base/threads.h"
#include "decoder/decode_fields.h"
#include "decoder/decode_level.h"
#include "decoder/decode_patched.h"
#include "decoder/decode_remainders.h"
#include "format/convert.h"
#include "format/elements.h"
#include "format/enhancement.h"
#include "format/palette.h"
#include "format/sample_order.h"

namespace stz {
namespace {

constexpr u64 small_item = u64(1) << 18;  // samples

void put_special_bits(const u8* kinds, u64 n, const SpecialBits& special, size_t width, u8* out) {
  width == 1   ? put_special_bits<u8>(kinds, n, special, out)
  : width == 2 ? put_special_bits<u16>(kinds, n, special, out)
  : width == 4 ? put_special_bits<u32>(kinds, n, special, out)
               : put_special_bits<u64>(kinds, n, special, out);
}

template <class S>
void enhance_samples(const Header& h, S* samples, const std::vector<u8>& specials, int threads) {
  const Hierarchy hierarchy = hierarchy_of(h);
  const Level& level = hierarchy.level[0];
  const u64 in_item = level.samples();
  const bool many = in_item < small_item;  // items are too small to be shared by threads
  parallel_for<std::vector<Enhancer<S>>>(hierarchy.batch, many ? threads : 1, [&](std::vector<Enhancer<S>>& enhancer, u64 item) {
    if (enhancer.empty()) enhancer.emplace_back(h, hierarchy);
    const GridPart<S> grid = whole_grid(samples + item * in_item, level);
    enhancer[0].run(grid, specials.empty() ? nullptr : specials.data() + item * in_item, grid, many ? 1 : threads);
  });
}

// Stores samples, which are in the codec's order, as elements of the array, with padding and special values.
template <class S>
void put_elements(const Header& h, const SampleOrder& order, const ElementBits<S>& bits, const S* samples, const u8* specials, u8* out) {
  const size_t width = component_size(h.layout.dtype);
  const u64 parts = u64(components(h.layout.dtype)), valid = valid_elements(h);
  const bool swap = swapped(h.layout);
  const SpecialBits of_masked = special_bits(bits);
  if (h.partial) store_padding(h, out, element_count(h.layout) * parts * width);
  for (u64 part = 0; part < parts; part++) {
    const S* of_part = samples + part * valid;
    const u8* kinds = specials ? specials + part * valid : nullptr;
    order.for_each_run([&](u64 number, u64 element, u64 n, u64 stride) {
      for (u64 x = 0; x < n; x += special_run) {
        const u64 count = std::min(special_run, n - x);
        const S* from = of_part + number + x;
        const u8* special = kinds && any_special(kinds + number + x, count) ? kinds + number + x : nullptr;
        auto place_of = [&](u64 k) { return out + ((element + (x + k) * stride) * parts + part) * width; };
        if (host_is_little && !swap && stride == 1 && parts == 1) {
          components_of<S>(h, from, i64(count), place_of(0));
          if (special) put_special_bits(special, count, of_masked, width, place_of(0));
        } else
          for (u64 k = 0; k < count; k++) store_bits(place_of(k), bits(from[k], special ? special[k] : u8(special_none)), width, swap);
      }
    });
  }
}

// Whether samples can be decoded directly into the array: native numbers in the order of elements.
template <class S>
bool decodes_in_place(const Header& h, const SampleOrder& order, const u8* out) {
  const i32 dtype = h.layout.dtype;
  return !h.partial && order.as_stored() && components(dtype) == 1 && !swapped(h.layout) && h.transform == Transform::none &&
         component_size(dtype) == sizeof(S) && is_floating(dtype) && reinterpret_cast<uintptr_t>(out) % sizeof(S) == 0;
}

template <class S>
void decode_blocks(Header& h, const u8* stream, size_t size, u8* out, int threads, size_t taken, Verification* verification, bool enhance) {
  const size_t width = component_size(h.layout.dtype);
  const u64 parts = u64(components(h.layout.dtype)), valid = valid_elements(h);
  start_threads();
  std::vector<u8> specials;
  std::vector<LiteralElement> literals;
  const u64 sections = sections_offset(h);
  verify_sections(h, stream, size, taken);  // before any memory is allocated
  if (h.transform == Transform::palette) read_palette(h, stream + h.size);
  const bool enhanced = enhance && h.enhancement.any();
  const bool with_kinds =
      enhanced || (verification && (h.trailer_size != 0 || verification->made));  // special values are needed in addition to samples
  // `limits`: for samples that become elements where they are
  auto decode_to = [&](S* samples, const SpecialBits* of_masked, const Limits<S>* limits) {
    decode_sections<S>(h, stream + sections, size_t(size - sections), samples, specials, literals, threads, taken,
                       with_kinds ? nullptr : of_masked, enhanced ? nullptr : limits);
    if (verification) verify_content<S>(h, stream, samples, specials.empty() ? nullptr : specials.data(), literals, threads, *verification);
    if constexpr (std::is_floating_point_v<S>)
      if (enhanced) enhance_samples<S>(h, samples, specials, threads);
  };
  const SampleOrder order(h);
  const ElementBits<S> bits(h);
  if (decodes_in_place<S>(h, order, out)) {
    const SpecialBits of_masked = special_bits(bits);
    decode_to(reinterpret_cast<S*>(out), &of_masked, h.range.any() ? &bits.limits() : nullptr);
    for (u64 from = 0; from < specials.size(); from += special_run) {
      const u64 count = std::min(special_run, u64(specials.size()) - from);
      if (any_special(&specials[from], count)) put_special_bits(&specials[from], count, of_masked, width, out + from * width);
    }
  } else {
    Buffer<S> samples(valid * parts);
    decode_to(samples.data(), nullptr, nullptr);
    put_elements(h, order, bits, samples.data(), specials.empty() ? nullptr : specials.data(), out);
  }
  for (const LiteralElement& o : literals) {
    require(o.index < valid * parts, STZ_ERROR_CORRUPT);
    store_bits(out + (order.element_of(o.index % valid) * parts + o.index / valid) * width, o.bits, width, swapped(h.layout));
  }
  if (h.slices.any()) {
    const u64 start[STZ_MAX_RANK] = {};
    apply_slice_grids(h, start, h.layout.shape, nullptr, out, threads);
  }
  if (h.remainders.present) {
    u64 bytes = 0;
    for (u64 n : h.remainder) bytes += n;
    add_remainders(h, stream + content_bytes(h) - bytes, bytes, out, threads);
  }
}

}  // namespace

void decode(const u8* stream, size_t size, u8* out, size_t out_size, int threads, Verification* verification, size_t refinements,
            bool enhance) {
  Header h = read_header(stream, size);
  const size_t bytes = array_bytes(h.layout);
  require(bytes == out_size, STZ_ERROR_CAPACITY);
  threads = useful_threads(threads, sample_count(h.layout));
  const Team team(threads);
  const size_t element = element_size(h.layout.dtype);
  const size_t taken = std::min(refinements, h.layers.refinements());
  if (h.form == Form::patched) {
    decode_patched(h, stream, size, out, out_size, threads, verification);
  } else if (h.fields.any()) {
    decode_fields(h, stream, size, out, threads);
  } else if (h.form == Form::raw) {
    const u8* payload = checked_payload(h, stream, size);
    if (bytes) memcpy(out, payload, bytes);
  } else if (h.form == Form::constant) {
    const u8* payload = checked_payload(h, stream, size);
    if (!bytes) return;
    memcpy(out, payload, element);
    repeat_bytes(out, element, bytes);
  } else if (h.sample == SampleType::f32)
    decode_blocks<float>(h, stream, size, out, threads, taken, verification, enhance);
  else if (h.sample == SampleType::f64)
    decode_blocks<double>(h, stream, size, out, threads, taken, verification, enhance);
  else
    decode_blocks<i64>(h, stream, size, out, threads, taken, verification, enhance);
}

}  // namespace stz
