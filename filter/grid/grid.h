// The hierarchy of grids: levels, parity classes and blocks of an array of up to four axes, for a batch of such arrays.
//
// Level l keeps every sample whose index along axis a is a multiple of max(1, 2^(l - offset[a])); level 0 is the array. An axis is *split*
// at level l if level l+1 has only its even samples. A class is the set of samples of a level with the same parity along the split axes;
// class 0 (all even) is level l+1. Sizes are those of the level itself unless a name says otherwise.
#pragma once
#include <array>
#include <vector>

#include "base/common.h"
#include "stz.h"

namespace stz {

constexpr int axes = 4;
constexpr int max_levels = 48;
constexpr int never_split = 63;            // axis offset of a batch-like axis
constexpr u64 base_section_samples = 256;  // levels with at most this many samples form the base section
// Most samples of a block, so that counts and raster indices in a block fit an int.
constexpr u64 largest_block = u64(1) << 22;
// Most samples in the arrays of a block including halos, which along thin axes hold many more samples than the block. Default blocks of
// levels with three axes of two samples come close to this limit.
constexpr u64 largest_block_room = u64(1) << 26;
// samples around a parity class along each axis with more than one sample: the reach of the wide stencil
constexpr u64 block_margin = 5;

using Index = std::array<i64, axes>;

struct Level {
  Index n;                       // samples per axis
  std::array<bool, axes> split;  // halved on the way to the next coarser level
  Index block;                   // in samples; even along split axes, unless it covers the axis
  int split_mask() const {       // bit a: axis a is split
    int m = 0;
    for (int a = 0; a < axes; a++) m |= int(split[a]) << a;
    return m;
  }
  int active_mask() const {  // bit a: axis a has more than one sample
    int m = 0;
    for (int a = 0; a < axes; a++) m |= int(n[a] > 1) << a;
    return m;
  }
  u64 samples() const { return u64(n[0]) * u64(n[1]) * u64(n[2]) * u64(n[3]); }
};

struct Hierarchy {
  Index n{};      // samples of one item of the batch
  u64 batch = 1;  // items; coded one after the other at every level
  std::array<int, axes> offset{};
  std::vector<Level> level;  // level[0] is the array, the last one is the coarsest
  int base_level = 0;        // this level and the coarser ones form the base section
};

// Makes levels, split axes, base level and block extents. Fails for extents below 1, and for offsets that give too many levels or a level
// that splits no axis: a decoder would spend a pass over its samples for almost no bytes of a stream.
Hierarchy make_hierarchy(const Index& n, u64 batch, const std::array<int, axes>& offset);
// The same offsets, except that axes are split at once if no other axis is left to split.
std::array<int, axes> without_unsplit_levels(Index n, std::array<int, axes> offset);
// Default block extents (log2 per axis, 0..31) of a level, see docs/format.md. The encoder may choose others.
std::array<int, axes> default_block(const Level& level, int l, stz_block blocks);
// 2^times times the extents, as far as the level extends.
std::array<int, axes> larger_block(const Level& level, std::array<int, axes> log2_extent, int times);
// Whether set_block() accepts these extents.
bool block_fits(Level level, const std::array<int, axes>& log2_extent);
// Fails if blocks have more than `largest_block` samples, or more than `largest_block_room` including halos.
void set_block(Level& level, const std::array<int, axes>& log2_extent);
// Samples in the arrays of a block of the level: all classes with their margins.
u64 block_room(const Level& level);

// The classes of a level in coding order: by number of odd axes, then by mask. Bit a of a mask: odd along axis a. Class 0 is not listed.
struct ParityClasses {
  int count = 0;
  int mask[15];
};
ParityClasses parity_classes_of(int split_mask);
// The class of level l that no other class depends on, or -1: the last one of level 0.
inline int unused_class(const ParityClasses& classes, size_t l) { return l == 0 && classes.count ? classes.mask[classes.count - 1] : -1; }
constexpr u32 all_classes = 0xffff;  // a set of classes: bit c is the c-th class of the list

// A box of one level, in samples of the level: [low, low + size).
struct Box {
  Index low, size;
};
// The part of a level's grid that is in memory: a box in C order.
template <class T>
struct GridPart {
  T* data = nullptr;
  Box box{};
  // The sample with these coordinates of the level.
  T* at(i64 i, i64 j, i64 k, i64 x) const {
    return data + (((i - box.low[0]) * box.size[1] + j - box.low[1]) * box.size[2] + k - box.low[2]) * box.size[3] + x - box.low[3];
  }
  operator GridPart<const T>() const { return {data, box}; }
};
template <class T>
GridPart<T> whole_grid(T* data, const Level& level) {
  return {data, {{}, level.n}};
}

u64 block_count(const Level& level);
Box block_box(const Level& level, u64 index);  // blocks are numbered in C order

}  // namespace stz
