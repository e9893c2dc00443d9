#include "reader/patched_reader.h"

#include <algorithm>

#include "base/buffer.h"

namespace stz {
namespace {

double elements_of(const u64* extent, int rank) {
  double elements = 1;
  for (int r = 0; r < rank; r++) elements *= double(extent[r]);
  return elements;
}

}  // namespace

// The part of a request that lies in a patch: elements first[r] + i, i < count[r], of the request along axis r. In the patch they begin at
// start[r].
struct PatchedReader::Overlap {
  u64 first[STZ_MAX_RANK], count[STZ_MAX_RANK], start[STZ_MAX_RANK];
  u64 elements = 1;
  bool everything = true;  // the whole request lies in the patch
};

// Returns false if the request does not intersect the patch. The request must not be empty.
bool PatchedReader::overlaps(const Patch& patch, const Request& request, Overlap& overlap) const {
  const int rank = header_.layout.rank;
  overlap = {};
  for (int r = 0; r < rank; r++) {
    const u64 low = patch.origin[r], high = low + patch.extent[r], start = request.start[r], step = request.step_of(r);
    const u64 from = start >= low ? 0 : (low - start - 1) / step + 1;
    const u64 to = start >= high ? 0 : std::min(request.count[r], (high - 1 - start) / step + 1);
    if (from >= to) return false;
    overlap.first[r] = from;
    overlap.count[r] = to - from;
    overlap.start[r] = start + from * step - low;
    overlap.elements *= to - from;
    overlap.everything &= to - from == request.count[r];
  }
  return true;
}

PatchedReader::PatchedReader(Source& source, Header header, u64 cache_bytes)
    : source_(source), header_(std::move(header)), limit_(cache_bytes), patches_(header_.patches.size()) {
  require(header_.base_offset <= source.size(), STZ_ERROR_TRUNCATED);
  require(source.size() <= stream_bytes(header_), STZ_ERROR_CORRUPT);
  SourcePart base(source, header_.base_offset, std::min(header_.base_size, source.size() - header_.base_offset));
  const int rank = header_.layout.rank;
  elements_ = elements_of(header_.layout.shape, rank);
  for (const Patch& patch : header_.patches) elements_ += elements_of(patch.extent, rank);
  Header base_header = peek_header(base);
  require_inner_stream(header_, base_header, header_.layout);
  require(stream_bytes(base_header) == header_.base_size, STZ_ERROR_CORRUPT);
  base_ = std::make_unique<StreamReader>(base, std::move(base_header), share(header_.layout.shape));
}

void PatchedReader::read(const Request& request, u8* out, int threads, DamageReport* report) {
  if (requested_elements(header_.layout, request) == 0) return;
  read_below(header_.patches.size(), request, out, threads, report);
}

// Reads from the array that the base and the first `patches` patches make.
void PatchedReader::read_below(size_t patches, const Request& request, u8* out, int threads, DamageReport* report) {
  bool base_is_visible;
  const std::vector<size_t> visible = visible_patches(patches, request, base_is_visible);
  if (base_is_visible) base_->read(of_base(request), out, threads, report);
  for (size_t v = visible.size(); v-- > 0;) read_patch(visible[v], request, out, threads, report);
}

std::vector<ByteRange> PatchedReader::plan(const Request& request) {
  if (requested_elements(header_.layout, request) == 0) return {};
  std::vector<ByteRange> ranges;
  plan_below(header_.patches.size(), request, ranges);
  return source_.not_peeked(merged(std::move(ranges), 0));  // a patch's reader may have kept bytes of the next patch
}

// What is asked of the base. Errors of a source would not be those of the elements that come from it, so repeats need all of its precision.
Request PatchedReader::of_base(const Request& request) const {
  return has_repeats() ? Request{request.start, request.count, request.step} : request;
}

// Adds the ranges that read_below() would fetch.
void PatchedReader::plan_below(size_t patches, const Request& request, std::vector<ByteRange>& ranges) {
  const auto add = [&](const std::vector<ByteRange>& more) { ranges.insert(ranges.end(), more.begin(), more.end()); };
  bool base_is_visible;
  const std::vector<size_t> visible = visible_patches(patches, request, base_is_visible);
  if (base_is_visible) add(base_->plan(of_base(request)));
  for (const size_t k : visible) {
    Overlap overlap;
    overlaps(header_.patches[k], request, overlap);
    with_patch(k, [&](StreamReader& patch) { add(patch.plan({overlap.start, overlap.count, request.step})); });
    if (has_repeats()) {
      u64 start[STZ_MAX_RANK], first[STZ_MAX_RANK];
      others_of(k, overlap.start, overlap.count, request.step, start);
      if (!is_within(request, start, overlap.count, first)) plan_below(k, {start, overlap.count, request.step}, ranges);
    }
  }
}

// Of the first `patches` patches those that intersect a request, newest first. Patches beneath one that replaces the whole request are left
// out.
std::vector<size_t> PatchedReader::visible_patches(size_t patches, const Request& request, bool& base_is_visible) const {
  std::vector<size_t> visible;
  base_is_visible = true;
  for (size_t k = patches; k-- > 0 && base_is_visible;) {
    Overlap overlap;
    if (!overlaps(header_.patches[k], request, overlap)) continue;
    visible.push_back(k);
    base_is_visible = !overlap.everything || header_.patches[k].transparent;
  }
  return visible;
}

// Calls use(reader) with the reader of a patch. Opens it if needed.
template <class F>
void PatchedReader::with_patch(size_t k, F use) {
  const Patch& patch = header_.patches[k];
  PatchReader& p = patches_[k];
  const u64 may_keep = share(patch.extent);
  const auto close = [&] {
    if (p.reader) p.decoded_before += p.reader->blocks_decoded();
    p.reader = nullptr;
  };
  try {
    if (!p.reader) {
      SourcePart part(source_, patch.offset, patch.size);
      Header header = peek_header(part);
      require_inner_stream(header_, header, patch_layout(header_, patch));
      require(stream_bytes(header) == patch.size, STZ_ERROR_CORRUPT);
      p.reader = std::make_unique<StreamReader>(part, std::move(header), may_keep);
      p.blocks_present = p.reader->blocks_present();
      p.reader->verify(verify_);
    }
    use(*p.reader);
  } catch (...) {
    close();
    throw;
  }
  if (p.reader->fixed_bytes() > may_keep) close();
}

// Reads the elements of a request that lie in a patch, and lays them over the output.
void PatchedReader::read_patch(size_t k, const Request& request, u8* out, int threads, DamageReport* report) {
  const Patch& patch = header_.patches[k];
  const size_t element = element_size(header_.layout.dtype);
  Overlap overlap;
  overlaps(patch, request, overlap);
  if (has_repeats()) return read_repeat(k, overlap, request, out, threads, report);
  const bool direct = overlap.everything && !patch.transparent && !report;
  Buffer<u8> samples(direct ? 0 : size_t(overlap.elements * element));
  const Request of_patch{overlap.start, overlap.count, request.step};
  if (report) {
    DamageReport found(header_.layout, of_patch);
    try {
      with_patch(k, [&](StreamReader& reader) { reader.read(of_patch, samples.data(), threads, &found); });
    } catch (const Failure& failure) {
      if (!is_damage(failure.code)) throw;
      found.lose_all(found.note(failure.code, -1, no_block));
    }
    return report->lay_over(found, int(k), overlap.first, overlap.count, patch, samples.data(), out);
  }
  with_patch(k, [&](StreamReader& reader) { reader.read(of_patch, direct ? out : samples.data(), threads, nullptr); });
  if (direct) return;
  stz_layout requested = header_.layout;
  std::copy(request.count, request.count + requested.rank, requested.shape);
  lay_over(requested, overlap.first, overlap.count, patch, samples.data(), out);
}

// The same for a patch of differences.
void PatchedReader::read_repeat(size_t k, const Overlap& overlap, const Request& request, u8* out, int threads, DamageReport* report) {
  const Patch& patch = header_.patches[k];
  const size_t bytes = size_t(overlap.elements * element_size(header_.layout.dtype));
  Buffer<u8> others(bytes), samples(bytes);
  u64 start[STZ_MAX_RANK], first[STZ_MAX_RANK];
  others_of(k, overlap.start, overlap.count, request.step, start);
  const bool read_before = !report && is_within(request, start, overlap.count, first);
  const Request of_patch{overlap.start, overlap.count, request.step}, of_others{start, overlap.count, request.step};
  stz_layout requested = header_.layout;
  std::copy(request.count, request.count + requested.rank, requested.shape);
  DamageReport found(header_.layout, of_patch);
  try {
    if (read_before)
      take_box(requested, first, overlap.count, out, others.data());
    else
      read_below(k, of_others, others.data(), threads, nullptr);
    with_patch(k, [&](StreamReader& reader) { reader.read(of_patch, samples.data(), threads, nullptr); });
    add_differences(header_, header_.repeats[k], overlap.count, others.data(), samples.data());
  } catch (const Failure& failure) {
    if (!report || !is_damage(failure.code)) throw;
    found.lose_all(found.note(failure.code, -1, no_block));
  }
  if (report) return report->lay_over(found, int(k), overlap.first, overlap.count, patch, samples.data(), out);
  lay_over(requested, overlap.first, overlap.count, patch, samples.data(), out);
}

// Whether elements start[r] + i * step, i < count[r], are among those of a request with this step. Its element first[r] is then the first.
bool PatchedReader::is_within(const Request& request, const u64* start, const u64* count, u64* first) const {
  for (int r = 0; r < header_.layout.rank; r++) {
    if (start[r] < request.start[r] || (start[r] - request.start[r]) % request.step_of(r)) return false;
    first[r] = (start[r] - request.start[r]) / request.step_of(r);
    if (count[r] > request.count[r] - std::min(first[r], request.count[r])) return false;
  }
  return true;
}

// Where the source of a part of a patch begins in the array. The part: elements from[r] + i * step[r], i < count[r], of the patch.
void PatchedReader::others_of(size_t k, const u64* from, const u64* count, const u64* step, u64* start) const {
  const Patch& patch = header_.patches[k];
  const Repeat& repeat = header_.repeats[k];
  for (int r = 0; r < header_.layout.rank; r++) {
    const u64 last = from[r] + (count[r] - 1) * (step ? step[r] : 1);
    start[r] = repeat.source[r] + (repeat.mirrored >> r & 1 ? patch.extent[r] - 1 - last : from[r]);
  }
}

u64 PatchedReader::cached_bytes() const {
  u64 bytes = base_->cached_bytes();
  for (const PatchReader& p : patches_)
    if (p.reader) bytes += p.reader->cached_bytes();
  return bytes;
}

u64 PatchedReader::blocks_decoded() const {
  u64 blocks = base_->blocks_decoded();
  for (const PatchReader& p : patches_) blocks += p.decoded_before + (p.reader ? p.reader->blocks_decoded() : 0);
  return blocks;
}

u64 PatchedReader::blocks_present() const {
  u64 blocks = base_->blocks_present();
  for (const PatchReader& p : patches_) blocks += p.blocks_present;
  return blocks;
}

void PatchedReader::limit(u64 cache_bytes) {
  limit_ = cache_bytes;
  base_->limit(share(header_.layout.shape));
  for (size_t k = 0; k < patches_.size(); k++)
    if (patches_[k].reader) patches_[k].reader->limit(share(header_.patches[k].extent));
}

void PatchedReader::verify(bool on) {
  verify_ = on;
  base_->verify(on);
  for (PatchReader& p : patches_)
    if (p.reader) p.reader->verify(on);
}

// The bytes that the base or a patch of this extent may cache: proportional to its elements.
u64 PatchedReader::share(const u64* extent) const {
  constexpr u64 no_limit = u64(1) << 62;
  return u64(double(std::min(limit_, no_limit)) * (elements_of(extent, header_.layout.rank) / elements_));
}

}  // namespace stz
