// Floating-point numbers without loss in two parts: multiples of a power of two S, which are coded with a bound of less than S / 2, and the
// bits below S, which follow as they are. Byte by byte: docs/format.md, "Remainders".
//
// An element x is cut towards zero to y = k * S: y has the sign, the exponent and the first mantissa bits of x, unless |x| < S. The
// multiple of S that is nearest to the decoded sample is y, and how many mantissa bits are left follows from y. Elements below S become 0;
// their *small numbers* are stored apart. The samples of a level that no coarser level has are cut into *slabs*, the units of reading.
#pragma once
#include <vector>

#include "base/bytes.h"
#include "base/element_type.h"
#include "grid/grid.h"

namespace stz {

struct Header;

enum class Zeros : u8 {
  as_others,  // an exact zero is a small number like others
  marked,     // a bit says whether a small number is an exact zero
  all,        // all small numbers are exact zeros
};

struct Remainders {
  bool present = false;
  double step = 0;  // S
  Zeros zeros = Zeros::as_others;
  int gap_bits = 0;   // low bits of the gaps of small numbers that are stored as they are
  int zero_bits = 0;  // lowest mantissa bits that are zero in all elements
};

// What samples are coded with: within the bound of a multiple of S, and half a quantization step on every level. The difference leaves room
// for rounding errors.
constexpr double remainder_bound = 0.5 - 0x1p-10, remainder_half_step = 0.5 - 0x1p-8;  // in S
constexpr int longest_gap = 20;  // in units of 2^gap_bits: small numbers that are as far below S, or further, are stored whole
constexpr int most_gap_bits = 5;

// What follows from the header.
struct RemainderWidths {
  explicit RemainderWidths(const Header& h);
  int number, mantissa, zero_bits;  // bits
  u64 exponent_of_step;             // exponent field of S
  u64 all_ones, fill;
  bool has_fill;

  u64 exponent(u64 bits) const { return bits >> mantissa & all_ones; }
  // Whether an element has a remainder at all: special values have none.
  bool has_remainder(u64 bits) const { return exponent(bits) != all_ones && !(has_fill && bits == fill); }
  bool is_small(u64 bits) const { return exponent(bits) < exponent_of_step; }
  // Mantissa bits of an element that are below S, without the zero bits. It is not small.
  int width(u64 bits) const {
    const i64 left = i64(mantissa) - i64(exponent(bits) - exponent_of_step) - zero_bits;
    return left < 0 ? 0 : int(left);
  }
};

// The slabs of a level: each block is cut along its first axis that has more than one sample.
struct Slabs {
  Slabs(const Hierarchy& h, size_t l);
  u64 count() const { return blocks * h.batch * per_block; }
  struct Slab {
    u64 item;
    Box box;  // in samples of the level; may be empty at the end of a short block
  };
  Slab at(u64 number) const;
  // The number of the sample of level 0 at a place of the level, in the codec's order.
  u64 number_of(u64 item, const Index& at) const {
    const Index& n = h.level[0].n;
    return item * h.level[0].samples() +
           u64(((at[0] * step[0] * n[1] + at[1] * step[1]) * n[2] + at[2] * step[2]) * n[3] + at[3] * step[3]);
  }

  const Hierarchy& h;
  const size_t l;
  const bool is_base;
  u64 blocks, per_block;  // blocks of an item
  int axis;
  i64 thickness;
  Index step{1, 1, 1, 1};  // between samples of the level, in samples of level 0
};

// Calls f(coordinates of the first sample of the level, distance along axis 3, count) for the samples of a slab that no coarser level has.
template <class F>
void for_slab_rows(const Slabs& slabs, const Box& box, F f) {
  const Level& level = slabs.h.level[slabs.l];
  for (i64 i = box.low[0]; i < box.low[0] + box.size[0]; i++)
    for (i64 j = box.low[1]; j < box.low[1] + box.size[1]; j++)
      for (i64 k = box.low[2]; k < box.low[2] + box.size[2]; k++) {
        const bool odd = (level.split[0] && i & 1) || (level.split[1] && j & 1) || (level.split[2] && k & 1);
        if (slabs.is_base || odd)
          f(Index{i, j, k, box.low[3]}, i64(1), box.size[3]);
        else if (level.split[3]) {
          const i64 first = box.low[3] | 1, end = box.low[3] + box.size[3];
          if (first < end) f(Index{i, j, k, first}, i64(2), (end - first + 1) / 2);
        }
      }
}

// Most slabs of a section of so many bytes, as of other indices: this limits the memory that a damaged section can cost.
u64 most_slabs(u64 section);

// The largest error of elements without their remainders: samples are less than half a step away from multiples, and these less than a step
// from the elements. 0: errors that the elements had before are not known to be 0, and nobody reads without remainders.
double preview_error(const Header& h);

Bytes write_remainders(const Remainders& r);
void read_remainders(ByteReader& payload, Remainders& r);
// Fails unless the header's other fields allow remainders.
void require_remainders(const Header& h);

// The directory of a level's remainders: the sizes of its slabs without their checks.
Bytes write_slab_directory(const std::vector<u64>& sizes);
// Reads it. `section`: the first `available` of its `size` bytes. Returns 0, or the number of bytes needed if that is more.
u64 read_slab_directory(const u8* section, u64 available, u64 size, u64 slabs, std::vector<u64>& sizes, u64& begin);

}  // namespace stz
