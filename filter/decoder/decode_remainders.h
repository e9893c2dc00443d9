// Puts the remainders of elements (format/remainders.h) into the elements.
#pragma once
#include <vector>

#include "format/frame.h"
#include "simd/remainder_kernels.h"

namespace stz {

// Adds a slab's remainders to its elements, row by row. Small numbers stand behind all others: `small` says which elements they are.
class SlabDecoder {
 public:
  explicit SlabDecoder(const Header& h);

  // `slab`: the bytes of a slab without their check. Begins it.
  void begin(const u8* slab, u64 size);
  // Adds to the next n elements as decoded, whose bits are host-endian. Element i has the number first + i * apart.
  template <class U>
  void add_row(U* elements, u64 n, u64 first, u64 apart);
  // Calls put(number, bits) for each small number. Fails unless the slab holds exactly what its elements need.
  template <class Put>
  void finish(Put put) {
    begin_small();
    for (u64 number : small_) put(number, take_small());
    require_end();
  }

 private:
  void begin_small();
  u64 take_small();
  void require_end() const;
  u64 take(int bits);

  RemainderForm form_;
  int number_bits_;
  Zeros zeros_;
  int gap_bits_;
  const u8* slab_ = nullptr;
  u64 size_ = 0, at_ = 0;  // bytes; bits
  std::vector<u32> small_of_row_;
  std::vector<u64> small_;
};

// Adds all remainders to a decoded array. `remainders`: the bytes from the first of their sections on.
void add_remainders(const Header& h, const u8* remainders, u64 size, u8* array, int threads);

}  // namespace stz
