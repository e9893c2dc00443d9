// Compares the decoded samples of a stream with its content check.
#pragma once
#include <vector>

#include "masks/mask_coder.h"

namespace stz {

// What decoding checks besides the stream's bytes.
struct Verification {
  u64 blocks = 0;                    // that were compared
  std::vector<u32>* made = nullptr;  // unless null: gets the content check, instead of a comparison
};

// Fails with STZ_ERROR_CONTENT if samples of level 0, all items, are not those that the encoder saw. `stream`: all of it, of the form
// blocks; `specials`: of all samples, or null. Of a stream without a content check nothing is compared. With verification.made, that gets a
// CRC for each block, in the order of the record.
template <class S>
void verify_content(const Header& h, const u8* stream, const S* samples, const u8* specials, std::vector<LiteralElement> literals,
                    int threads, Verification& verification);

}  // namespace stz
