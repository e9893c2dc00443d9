// Compares the decoded samples of a stream with its content check.
#pragma once
#include <vector>

#include "masks/mask_coder.h"

namespace stz {

// What decoding verifies in addition to the checks of sections.
struct Verification {
  u64 blocks = 0;                    // number of blocks compared
  std::vector<u32>* made = nullptr;  // if not null, the content check is computed into this instead of compared
};

// Fails with STZ_ERROR_CONTENT if samples of level 0 (all items) differ from those that the encoder saw. `stream`: a complete stream of
// form blocks. `specials`: of all samples, or null. Does nothing if the stream has no content check. If verification.made is set, it gets a
// CRC for each block in the order of the record.
template <class S>
void verify_content(const Header& h, const u8* stream, const S* samples, const u8* specials, std::vector<LiteralElement> literals,
                    int threads, Verification& verification);

}  // namespace stz
