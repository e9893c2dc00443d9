// Reads what refinements (format/layers.h) add to the codes of a block, and joins it with the codes.
#include <algorithm>

#include "base/stages.h"
#include "coding/checksum.h"
#include "decoder/decode_block.h"

namespace stz {

// Opens the k-th stream of a refinement. Returns false if it is empty.
template <class S>
bool BlockDecoder<S>::open_refined(const LevelToDecode<S>& level, const BlockToDecode<S>& block, size_t r, size_t k) {
  const LevelDirectory& d = *level.refined[r];
  const size_t n = size_t(d.sizes[size_t(block.number * d.per_block) + k]);
  const u8* data = block.refined[r][k];
  if (n && d.with_checks) require_check(check_of(data, n), data + n);
  if (refined_coders_.size() < level.taken) refined_coders_.resize(level.taken);
  if (n) refined_coders_[r].open(data, n);
  return n != 0;
}

// Reads what a refinement adds to zero codes of a class. Returns true if these are bytes that are still to be decoded.
template <class S>
bool BlockDecoder<S>::read_added(const LevelToDecode<S>& level, size_t r, int cls, CodeStreamDecoder::ByteClass& bytes) {
  const size_t n = size_t(work_.geometry.samples(cls));
  const ClassParameters& p = level.refined[r]->p[cls];
  joiner_.start(work_.codes[cls], n);
  const bool coded = refined_open_[r] && p.mean && joiner_.nonzero() < n;
  if (coded) {
    refined_contexts(work_, r, cls, level.directory.p[cls], context_);
    joiner_.keep_contexts_of_zeros(context_.data());
  }
  added_.as_bytes = level.header.layers.added_bits(r, level.l) <= largest_byte_bits;
  added_.wide_codes.clear();
  added_.outliers.clear();
  if (added_.as_bytes) {
    added_.bytes.resize(n + row_slack);
    if (!coded) memset(added_.bytes.data(), 0, n);
    bytes = {&refined_coders_[r], context_.data(), n, added_.bytes.data(), &added_.wide_codes};
    return coded;
  }
  added_.numbers.resize(n + row_slack);
  Code* const numbers = added_.numbers.data();
  if (coded)
    refined_coders_[r].decode_class(numbers, context_.data(), n, p.model, added_.outliers, 8 * int(sizeof(S)));
  else
    std::fill(numbers, numbers + n, Code(0));
  return false;
}

// Joins the added codes and bits with the codes. `mean`: of the result. Codes stay bytes as long as they are small.
template <class S>
void BlockDecoder<S>::add_bits(const LevelToDecode<S>& level, size_t r, int cls, int mean) {
  ClassCodes<Code>& codes = work_.codes[cls];
  require(added_.wide_codes.empty() && added_.outliers.empty(), STZ_ERROR_CORRUPT);
  if (!uses_byte_indices(level.quantizer, level.directory.p[cls]) && (mean > largest_byte_mean || !added_.as_bytes))
    make_numbers(codes, size_t(work_.geometry.samples(cls)));
  for (int left = level.header.layers.added_bits(r, level.l); left > 0;) {
    const int width = std::min(left, bits_at_once);
    u8* const fields = joiner_.fields();
    if (refined_open_[r])
      refined_coders_[r].take_fields(fields, joiner_.nonzero(), width);
    else
      std::fill_n(fields, joiner_.nonzero(), u8(0));
    joiner_.append(width);
    left -= width;
  }
  joiner_.replace_zeros(added_);
}

// Converts the codes of a class to the form that samples are decoded from.
template <class S>
void BlockDecoder<S>::complete_class_codes(const LevelToDecode<S>& level, int cls) {
  const size_t n = size_t(work_.geometry.samples(cls));
  if (!uses_byte_indices(level.quantizer, level.directory.p[cls])) make_numbers(work_.codes[cls], n);
  const int missing = level.header.layers.unknown_bits(level.l, level.taken);
  if (!missing) return;
  joiner_.start(work_.codes[cls], n);
  joiner_.complete(missing);
}

// Refines the codes of the c-th class of several blocks at the same time.
template <class S>
void BlockDecoder<S>::refine_codes(const LevelToDecode<S>& level, BlockDecoder* decoders, const BlockToDecode<S>* blocks, int count,
                                   size_t c) {
  STZ_STAGE(symbols);
  const bool merged = level.directory.merged;
  const int cls = decoders->work_.geometry.classes.mask[c];
  int mean = level.directory.p[cls].mean;
  for (size_t r = 0; r < level.taken; r++) {
    if (!level.refined[r]) continue;
    mean = refined_mean(mean, level.header.layers.added_bits(r, level.l), level.refined[r]->p[cls].mean);
    CodeStreamDecoder::ByteClass coded[most_together];
    int coded_count = 0;
    for (int b = 0; b < count; b++) {
      BlockDecoder& one = decoders[b];
      if (!merged || c == 0) one.refined_open_[r] = one.open_refined(level, blocks[b], r, merged ? 0 : c);
      coded_count += one.read_added(level, r, cls, coded[coded_count]);
    }
    if (coded_count) CodeStreamDecoder::decode_bytes<Code>(coded, coded_count, level.refined[r]->p[cls].model, 8 * int(sizeof(S)));
    for (int b = 0; b < count; b++) {
      decoders[b].add_bits(level, r, cls, mean);
      if (int(c) + 1 < decoders[b].work_.geometry.classes.count) refine_activities(decoders[b].work_, r, cls, mean);
      if (!merged && decoders[b].refined_open_[r]) decoders[b].refined_coders_[r].finish();
    }
  }
  for (int b = 0; b < count; b++) decoders[b].complete_class_codes(level, cls);
}

// Finishes the refinement streams of blocks with one stream for all classes.
template <class S>
void BlockDecoder<S>::finish_refined(const LevelToDecode<S>& level) {
  for (size_t r = 0; r < level.taken; r++)
    if (level.refined[r] && refined_open_[r]) refined_coders_[r].finish();
}

#define STZ_INSTANTIATE(S)                                                                                                   \
  template void BlockDecoder<S>::refine_codes(const LevelToDecode<S>&, BlockDecoder*, const BlockToDecode<S>*, int, size_t); \
  template void BlockDecoder<S>::finish_refined(const LevelToDecode<S>&);
STZ_INSTANTIATE(float)
STZ_INSTANTIATE(double)
STZ_INSTANTIATE(i64)
#undef STZ_INSTANTIATE

}  // namespace stz
