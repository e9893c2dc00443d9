// How libFuzzer changes an input: now and then it begins with a new one of the target's own, or changes one as the target does, and else as
// libFuzzer does. So a run without any corpus has streams that mean something from the start.
#include "fuzz_common.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  fuzz::Random random(seed);
  const uint64_t way = random.below(512);
  if (way >= 64 && size) return LLVMFuzzerMutate(data, size, max_size);
  fuzz::Bytes input = way == 0 || !size ? fuzz::seed_input(random.below(1 << 20)) : fuzz::Bytes(data, data + size);
  if (way) fuzz::mutate_input(input, random.bits());
  const size_t length = input.size() < max_size ? input.size() : max_size;
  if (length) memcpy(data, input.data(), length);
  return length;
}
