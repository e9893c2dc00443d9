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

// A block that a read decodes.
struct FieldReader::Job {
  u64 block;
  Bytes fetched;
  const u8* bytes = nullptr;
  Buffer<u8> numbers;
  int error = STZ_OK;
};

void FieldReader::read_directory() {
  if (!place_.empty()) return;
  const u64 size = h_.fields.directory;
  require(source_.present(h_.size, size) == size, STZ_ERROR_TRUNCATED);
  Bytes directory(static_cast<size_t>(size));
  source_.peek(h_.size, size, directory.data());
  place_ = read_field_directory(directory.data(), size, field_block_count(h_), h_.size + size, h_.fields.blocks);
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

void FieldReader::fetch(Job& job) {
  const u64 at = place_[job.block], size = place_[job.block + 1] - at;
  require(source_.present(at, size) == size, STZ_ERROR_TRUNCATED);
  if (source_.in_memory()) {
    job.bytes = source_.view(at, size);
    return;
  }
  job.fetched.resize(size_t(size));
  source_.read(at, size, job.fetched.data());
  job.bytes = job.fetched.data();
}

// Decodes the first of the needed blocks from `first` on that are not there yet: some for each thread, not all, as a read of few elements
// may need many. Those in front of it go if the cache is full. With a report, damaged blocks are noted instead.
void FieldReader::decode(const std::vector<u64>& blocks, u64 first, int threads, DamageReport* report) {
  constexpr u64 bytes_at_a_time = 1 << 21;  // of the numbers, for each thread
  const size_t width = component_size(h_.layout.dtype);
  const u64 in_block = u64(width) << h_.fields.log2_block;
  const size_t most = size_t(threads) * size_t(std::max<u64>(1, bytes_at_a_time / in_block));
  while (cached_ > limit_ && !blocks_.empty() && blocks_.begin()->first < first) forget_first();
  const FieldBlockDecoder sizes(h_);
  std::vector<Job> jobs;
  for (auto b = std::lower_bound(blocks.begin(), blocks.end(), first); b != blocks.end() && jobs.size() < most; ++b)
    if (!blocks_.count(*b)) jobs.push_back({*b, {}, nullptr, {}, STZ_OK});
  auto attempt = [&](Job& job, auto f) {
    try {
      if (job.error == STZ_OK) f();
    } catch (const Failure& failure) {
      if (!report || !is_damage(failure.code)) throw;
      job.error = failure.code;
    }
  };
  for (Job& job : jobs) attempt(job, [&] { fetch(job); });
  using Worker = std::vector<FieldBlockDecoder>;
  parallel_for<Worker>(jobs.size(), threads, [&](Worker& decoder, u64 i) {
    Job& job = jobs[i];
    if (decoder.empty()) decoder.emplace_back(h_);
    attempt(job, [&] {
      job.numbers.resize(size_t(sizes.numbers(job.block)) * width);
      decoder[0].decode(job.block, job.bytes, size_t(place_[job.block + 1] - place_[job.block]), job.numbers.data());
    });
  });
  for (Job& job : jobs)
    if (job.error == STZ_OK) {
      decoded_++;
      cached_ += job.numbers.size();
      blocks_.emplace(job.block, std::move(job.numbers));
    } else
      lost_[job.block] = report->note(job.error, 0, job.block);
}

void FieldReader::read(const Request& request, u8* out, int threads, DamageReport* report) {
  read_directory();
  lost_.clear();
  const std::vector<u64> blocks = blocks_of(request);
  const u64 parts = u64(components(h_.layout.dtype)), in_block = (u64(1) << h_.fields.log2_block) / parts;
  const size_t element = element_size(h_.layout.dtype);
  for_request_rows(h_.layout, request, [&](u64 first, u64 step, u64 n, u64 offset) {  // the elements rise
    for (u64 k = 0; k < n;) {
      const u64 at = first + k * step, block = at / in_block, inside = at % in_block;
      const u64 count = std::min(n - k, (in_block - inside - 1) / step + 1);
      u8* const to = out + (offset + k) * element;
      if (!blocks_.count(block) && !lost_.count(block)) decode(blocks, block, threads, report);
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

std::vector<ByteRange> FieldReader::plan(const Request& request) {
  read_directory();
  std::vector<ByteRange> ranges;
  for (u64 b : blocks_of(request)) {
    if (blocks_.count(b)) continue;
    if (!ranges.empty() && ranges.back().offset + ranges.back().size == place_[b])
      ranges.back().size += place_[b + 1] - place_[b];
    else
      ranges.push_back({place_[b], place_[b + 1] - place_[b]});
  }
  return source_.not_peeked(std::move(ranges));
}

void FieldReader::forget_first() {
  const auto first = blocks_.begin();
  cached_ -= first->second.size();
  blocks_.erase(first);
}

void FieldReader::limit(u64 cache_bytes) {
  limit_ = cache_bytes;
  while (cached_ > limit_) forget_first();
}

}  // namespace stz
