#include "reader/stream_reader.h"

#include "format/convert.h"

namespace stz {

Header peek_header(SourcePart& source) {
  constexpr u64 first_peek = 512;  // most headers are shorter; those of patched streams may be much longer
  constexpr u64 longest = max_header_size + max_patches * max_patch_entry_size;
  Bytes head;
  for (u64 wanted = first_peek;; wanted *= 8) {
    const u64 have = head.size(), size = std::min(wanted, source.size());
    head.resize(size_t(size));
    source.peek(have, size - have, head.data() + have);
    try {
      return read_header(head.data(), head.size());
    } catch (const Failure& failure) {
      if (failure.code != STZ_ERROR_TRUNCATED || size == source.size() || wanted > longest) throw;
    }
  }
}

StreamReader::StreamReader(const SourcePart& source, Header header, u64 cache_bytes)
    : source_(source), header_(std::move(header)), limit_(cache_bytes) {
  if (header_.form == Form::blocks) {
    blocks_ = make_part_reader(header_, source_, cache_bytes);
    if (header_.remainders.present) remainders_ = std::make_unique<RemainderReader>(header_, source_, *blocks_);
    return;
  }
  if (header_.fields.any()) {
    require(source_.size() <= stream_bytes(header_), STZ_ERROR_CORRUPT);
    fields_ = std::make_unique<FieldReader>(header_, source_, cache_bytes);
    return;
  }
  require_stream_size(header_, source_.size());
  if (header_.form == Form::constant) load_payload();
}

void StreamReader::read(const Request& request, u8* out, int threads, DamageReport* report) {
  const Selection selection = select(header_, request);
  if (selection.empty) return;
  try {
    read(selection, request, out, threads, report);
  } catch (const Failure& failure) {
    if (!report || !is_damage(failure.code)) throw;
    report->lose_all(report->note(failure.code, -1, no_block));
  }
}

void StreamReader::read(const Selection& selection, const Request& request, u8* out, int threads, DamageReport* report) {
  if (blocks_) {
    if (selection.padded) store_padding(header_, out, selection.elements * element_size(header_.layout.dtype));
    prepare(request);
    if (selection.none_valid) return;
    blocks_->read(selection, out, threads, report);
    if (header_.slices.any()) apply_slice_grids(header_, request.start, request.count, request.step, out, threads);
    if (needs_remainders(request)) remainders_->read(selection, out, threads, report);
    return;
  }
  if (fields_)
    fields_->read(request, out, threads, report);
  else {
    if (payload_.empty()) load_payload();
    copy_payload(request, out);
  }
  limit(limit_);
}

std::vector<ByteRange> StreamReader::plan(const Request& request) {
  const Selection selection = select(header_, request);
  if (selection.empty) return {};
  if (blocks_) prepare(request);
  if (fields_) return fields_->plan(request);
  if (blocks_) {
    if (selection.none_valid) return {};
    std::vector<ByteRange> ranges = blocks_->plan(selection);
    if (!needs_remainders(request)) return ranges;
    const std::vector<ByteRange> more = remainders_->plan(selection);
    ranges.insert(ranges.end(), more.begin(), more.end());
    return source_.not_peeked(merged(std::move(ranges), 0));
  }
  return payload_.empty() ? source_.not_peeked({{0, source_.size()}}) : std::vector<ByteRange>{};
}

void StreamReader::prepare(const Request& request) {
  blocks_->take(refinements_for(header_, request.max_error));
  blocks_->enhance(request.enhance);
}

bool StreamReader::needs_remainders(const Request& request) const {
  return remainders_ && !(preview_error(header_) > 0 && request.max_error >= preview_error(header_));
}

void StreamReader::limit(u64 cache_bytes) {
  limit_ = cache_bytes;
  if (blocks_)
    blocks_->limit(cache_bytes);
  else if (fields_)
    fields_->limit(cache_bytes);
  else if (payload_.size() > cache_bytes)
    Bytes().swap(payload_);
}

// Reads the payload of a stream without blocks. This needs the whole stream, because one check covers all of it.
void StreamReader::load_payload() {
  Bytes stream(size_t(source_.size()));
  source_.read(0, stream.size(), stream.data());
  checked_payload(header_, stream.data(), stream.size());
  stream.resize(size_t(content_bytes(header_)) - 4);
  stream.erase(stream.begin(), stream.begin() + std::ptrdiff_t(header_.size));
  payload_ = std::move(stream);
}

// Copies from the array in the payload, or repeats the only element that is there.
void StreamReader::copy_payload(const Request& request, u8* out) const {
  const int rank = header_.layout.rank;
  const size_t element = element_size(header_.layout.dtype);
  if (header_.form == Form::constant) {
    u64 size = element;
    for (int r = 0; r < rank; r++) size *= request.count[r];
    if (!size) return;
    memcpy(out, payload_.data(), element);
    return repeat_bytes(out, element, size);
  }
  u64 at[STZ_MAX_RANK] = {}, stride[STZ_MAX_RANK + 1];
  stride[rank] = element;
  for (int r = rank - 1; r >= 0; r--) stride[r] = stride[r + 1] * header_.layout.shape[r];
  for (;;) {
    u64 from = 0;
    for (int r = 0; r < rank; r++) from += (request.start[r] + at[r] * request.step_of(r)) * stride[r + 1];
    const u64 n = rank ? request.count[rank - 1] : 1, step = rank ? request.step_of(rank - 1) * stride[rank] : 0;
    if (n && step == element)
      memcpy(out, payload_.data() + from, n * element);
    else
      for (u64 x = 0; x < n; x++) memcpy(out + x * element, payload_.data() + from + x * step, element);
    out += n * element;
    int r = rank - 1;
    while (r > 0 && ++at[r - 1] == request.count[r - 1]) at[--r] = 0;
    if (r <= 0) return;
  }
}

}  // namespace stz
