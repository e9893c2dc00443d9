#include "reader/field_reader.h"

#include <algorithm>

#include "base/parallel.h"

namespace stz {
namespace {

// Calls f(index of the first element, step, elements, offset in the output in elements) for each row of a request.
template <class F>
void for_request_rows(const stz_layout& layout, const Request& request, F f) {
  const int rank = layout.rank;
  u64 at[STZ_MAX_RANK] = {}, stride[STZ_MAX_RANK + 1];
  stride[rank] = 1;
  for (int r = rank - 1; r >= 0; r--) stride[r] = stride[r + 1] * layout.shape[r];
  const u64 n = rank ? request.count[rank - 1] : 1, step = rank ? request.step_of(rank - 1) : 1;
  for (u64 offset = 0;; offset += n) {
    u64 first = 0;
    for (int r = 0; r < rank; r++) first += (request.start[r] + at[r] * request.step_of(r)) * stride[r + 1];
    f(first, step, n, offset);
    int r = rank - 1;
    while (r > 0 && ++at[r - 1] == request.count[r - 1]) at[--r] = 0;
    if (r <= 0) return;
  }
}

}  // namespace

void FieldReader::read_directory() {
  if (!extents_.empty()) return;
  Bytes directory(size_t(h_.fields.directory));
  source_.peek(h_.size, directory.size(), directory.data());
  u64 offset = h_.size + h_.fields.directory;
  for (u64 size : read_field_directory(directory.data(), directory.size(), field_block_count(h_), h_.fields.blocks)) {
    extents_.push_back({offset, size});
    offset += size;
  }
}

// The blocks that a request needs, in rising order.
std::vector<u64> FieldReader::blocks_of(const Request& request) const {
  const u64 parts = u64(components(h_.layout.dtype));
  const int log2_block = h_.fields.log2_block;
  std::vector<bool> needed(size_t(field_block_count(h_)));
  for_request_rows(h_.layout, request, [&](u64 first, u64 step, u64 n, u64) {
    if (step == 1) {
      const u64 last = (first + n - 1) * parts >> log2_block;
      for (u64 b = first * parts >> log2_block; b <= last; b++) needed[b] = true;
    } else
      for (u64 k = 0; k < n; k++) needed[(first + k * step) * parts >> log2_block] = true;
  });
  std::vector<u64> blocks;
  for (u64 b = 0; b < needed.size(); b++)
    if (needed[b]) blocks.push_back(b);
  return blocks;
}

// Decodes the blocks that are not there yet. With a report, damaged blocks are noted instead.
void FieldReader::decode(const std::vector<u64>& blocks, int threads, DamageReport* report) {
  struct Job {
    u64 block;
    Bytes bytes, numbers;
    int error = STZ_OK;
  };
  const size_t width = component_size(h_.layout.dtype);
  const FieldBlockDecoder sizes(h_);
  std::vector<Job> jobs;
  for (u64 b : blocks)
    if (!blocks_.count(b)) jobs.push_back({b, {}, {}, STZ_OK});
  for (Job& job : jobs) try {
      job.bytes.resize(size_t(extents_[job.block].size));
      source_.read(extents_[job.block].offset, job.bytes.size(), job.bytes.data());
    } catch (const Failure& failure) {
      if (!report || !is_damage(failure.code)) throw;
      job.error = failure.code;
    }
  using Worker = std::vector<FieldBlockDecoder>;
  parallel_for<Worker>(jobs.size(), threads, [&](Worker& decoder, u64 i) {
    Job& job = jobs[i];
    if (job.error != STZ_OK) return;
    if (decoder.empty()) decoder.emplace_back(h_);
    job.numbers.resize(size_t(sizes.numbers(job.block)) * width);
    try {
      decoder[0].decode(job.block, job.bytes.data(), job.bytes.size(), job.numbers.data());
    } catch (const Failure& failure) {
      if (!report || !is_damage(failure.code)) throw;
      job.error = failure.code;
    }
    Bytes().swap(job.bytes);
  });
  for (Job& job : jobs)
    if (job.error == STZ_OK) {
      decoded_++;
      cached_ += job.numbers.size();
      blocks_.emplace(job.block, std::move(job.numbers));
    } else
      lost_[job.block] = report->note(job.error, 0, job.block);
}

void FieldReader::copy(const Request& request, u8* out, DamageReport* report) {
  const u64 parts = u64(components(h_.layout.dtype)), in_block = (u64(1) << h_.fields.log2_block) / parts;
  const size_t element = element_size(h_.layout.dtype);
  for_request_rows(h_.layout, request, [&](u64 first, u64 step, u64 n, u64 offset) {
    for (u64 k = 0; k < n;) {
      const u64 at = first + k * step, block = at / in_block, inside = at % in_block;
      const u64 count = std::min(n - k, (in_block - inside - 1) / step + 1);
      u8* const to = out + (offset + k) * element;
      const auto decoded = blocks_.find(block);
      if (decoded == blocks_.end())
        report->lose_elements(lost_.at(block), offset + k, count);
      else if (step == 1)
        memcpy(to, decoded->second.data() + inside * element, count * element);
      else
        for (u64 x = 0; x < count; x++) memcpy(to + x * element, decoded->second.data() + (inside + x * step) * element, element);
      k += count;
    }
  });
}

void FieldReader::read(const Request& request, u8* out, int threads, DamageReport* report) {
  read_directory();
  lost_.clear();
  decode(blocks_of(request), threads, report);
  copy(request, out, report);
}

std::vector<ByteRange> FieldReader::plan(const Request& request) {
  read_directory();
  std::vector<ByteRange> ranges;
  for (u64 b : blocks_of(request)) {
    if (blocks_.count(b)) continue;
    if (!ranges.empty() && ranges.back().offset + ranges.back().size == extents_[b].offset)
      ranges.back().size += extents_[b].size;
    else
      ranges.push_back({extents_[b].offset, extents_[b].size});
  }
  return source_.not_peeked(std::move(ranges));
}

void FieldReader::limit(u64 cache_bytes) {
  while (cached_ > cache_bytes) {
    const auto first = blocks_.begin();
    cached_ -= first->second.size();
    blocks_.erase(first);
  }
}

}  // namespace stz
