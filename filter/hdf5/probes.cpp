// Probes lie on a rank-1 lattice (Korobov): probe i of n has the coordinate frac(i g^a / n) along the a-th axis. n is a prime, so that the
// coordinates along each axis are all multiples of 1/n, each once.
#include "hdf5/probes.h"

#include <algorithm>
#include <iterator>

#include "base/element_type.h"

namespace stz::hdf5 {
namespace {

constexpr u64 mixing = 0x9e3779b97f4a7c15;
constexpr u64 samples_per_probe = 256;

// Generators with the largest distance between probes in two, three and four dimensions.
struct Lattice {
  u64 probes, generator;
};
constexpr Lattice lattices[] = {{17, 5}, {37, 5}, {67, 9}, {131, 36}, {257, 54}};
static_assert(std::end(lattices)[-1].probes == most_probes);

u64 mixed(u64 hash, u64 value) {
  hash = (hash ^ value) * mixing;
  return hash ^ hash >> 32;
}

u32 short_hash(u64 value) {
  value = (value ^ value >> 32) * mixing;
  return u32(value >> 32);
}

// Where the probes of a layout are. Each thread keeps those of the layout it used last.
struct Positions {
  i32 dtype, byte_order, rank = -1;
  u64 shape[STZ_MAX_RANK];
  u64 layout;  // hash
  size_t width, count;
  u64 offset[most_probes];  // in bytes

  bool are_of(const stz_layout& l) const {
    return rank == l.rank && dtype == l.dtype && byte_order == l.byte_order && std::equal(shape, shape + rank, l.shape);
  }
  void find(const stz_layout& l);

 private:
  void place(u64 samples);
};
thread_local Positions positions_of_thread;

void Positions::find(const stz_layout& l) {
  dtype = l.dtype, byte_order = l.byte_order, rank = l.rank;
  std::copy(l.shape, l.shape + rank, shape);
  layout = mixed(mixed(u64(dtype), u64(byte_order)), u64(rank));
  width = component_size(dtype);
  u64 samples = u64(components(dtype));
  for (int axis = 0; axis < rank; ++axis) {
    layout = mixed(layout, shape[axis]);
    samples *= shape[axis];
  }
  place(samples);
}

void Positions::place(u64 samples) {
  const u64 wanted = samples / samples_per_probe;
  const Lattice* lattice = lattices;
  while (lattice != std::end(lattices) - 1 && lattice->probes < wanted) ++lattice;
  count = size_t(std::min(samples, lattice->probes));
  if (samples <= lattice->probes) {
    for (u64 i = 0; i < samples; ++i) offset[i] = i * width;
    return;
  }
  std::fill_n(offset, count, 0);
  u64 stride = width, factor = 1;
  const auto place_along = [&](u64 extent) {
    if (extent > 1) {
      // (2 r + 1) extent / 2 n rounded down, without overflow
      const u64 n = lattice->probes, whole = extent / n, rest = extent % n;
      for (u64 i = 0; i < n; ++i) {
        const u64 r = i * factor % n;
        offset[i] += (r * whole + (whole * n + (2 * r + 1) * rest) / (2 * n)) * stride;
      }
      factor = factor * lattice->generator % n;
    }
    stride *= extent;
  };
  place_along(u64(components(dtype)));
  for (int axis = rank - 1; axis >= 0; --axis) place_along(shape[axis]);
}

u64 load_native(const u8* data) {
  u64 word;
  memcpy(&word, data, sizeof word);
  return word;
}

template <class T>
T swap_bytes(T value) {
  return T(__builtin_bswap64(value) >> (64 - 8 * sizeof value));
}

// is_swapped: the samples have the other byte order than the host. infinity: of a floating-point type, else all bits but the first.
template <class T, bool is_swapped>
void load(const Positions& positions, const u8* samples, T infinity, Probes& probes) {
  constexpr T magnitude = T(-1) >> 1;
  for (size_t i = 0; i < positions.count; ++i) __builtin_prefetch(samples + positions.offset[i]);  // most are in no near cache
  for (size_t i = 0; i < positions.count; ++i) {
    T bits;
    memcpy(&bits, samples + positions.offset[i], sizeof bits);
    if constexpr (is_swapped) bits = swap_bytes(bits);
    probes.values[i] = bits;
    probes.hashes[i] = short_hash(bits);
    probes.is_number[i] = T((bits & magnitude) - 1) < infinity;
  }
}

template <class T>
void load(const Positions& positions, const u8* samples, Probes& probes) {
  T infinity = T(-1);
  if (is_floating(positions.dtype)) infinity = T(T(-1) >> 1) & T(~((u64(1) << mantissa_bits(positions.dtype)) - 1));
  if ((positions.byte_order == STZ_BIG) == host_is_little)
    load<T, true>(positions, samples, infinity, probes);
  else
    load<T, false>(positions, samples, infinity, probes);
}

void load(const Positions& positions, const void* samples, Probes& probes) {
  const auto* const bytes = static_cast<const u8*>(samples);
  switch (positions.width) {
    case 1:
      return load<u8>(positions, bytes, probes);
    case 2:
      return load<u16>(positions, bytes, probes);
    case 4:
      return load<u32>(positions, bytes, probes);
    default:
      return load<u64>(positions, bytes, probes);
  }
}

// Finds which values occur once, by a table of the first probe that has each. Returns a probe with the most frequent value.
size_t find_distinctive(Probes& probes) {
  constexpr u16 empty = 0xffff;
  u16 first_with[1024];
  size_t slots = 64;
  while (slots < 3 * probes.count) slots *= 2;
  std::fill_n(first_with, slots, empty);
  u16 times[most_probes];
  size_t most = 0;
  for (size_t i = 0; i < probes.count; ++i) {
    size_t slot = probes.hashes[i] & (slots - 1);
    while (first_with[slot] != empty && probes.values[first_with[slot]] != probes.values[i]) slot = (slot + 1) & (slots - 1);
    if (first_with[slot] == empty) first_with[slot] = u16(i);
    times[i] = 0;
    const size_t first = first_with[slot];
    if (++times[first] > times[most]) most = first;
  }
  probes.most_frequent = probes.count ? probes.hashes[most] : 0;
  u8 distinctive[256];
  size_t number = 0;
  for (size_t i = 0; i < std::min<size_t>(probes.count, 256); ++i)
    if (times[i] == 1 && probes.is_number[i]) distinctive[number++] = u8(i);
  const size_t kept = std::min(number, most_kept_probes);
  probes.kept.count = u8(kept);
  for (size_t k = 0; k < kept; ++k) {
    probes.kept.position[k] = distinctive[k * number / kept];
    probes.kept.hash[k] = probes.hashes[probes.kept.position[k]];
  }
  return most;
}

constexpr size_t run_bytes = 256;

// Whether words are all the same, and a hash of those that are not: sums of products of the two halves of each word, made different by its
// place, in loops that compilers make vectors of.
bool is_all(u64 word, const u8* data) {
  u64 differences[8] = {};
  for (size_t at = 0; at < run_bytes; at += sizeof differences)
    for (size_t k = 0; k < 8; ++k) differences[k] |= load_native(data + at + 8 * k) ^ word;
  u64 different = 0;
  for (u64 each : differences) different |= each;
  return different == 0;
}
u64 hash_of_run(const u8* data, u64 place) {
  u64 sums[8] = {}, keys[8];
  for (size_t k = 0; k < 8; ++k) keys[k] = (place + k + 1) * mixing;
  for (size_t at = 0; at < run_bytes; at += sizeof sums)
    for (size_t k = 0; k < 8; ++k) {
      const u64 word = load_native(data + at + 8 * k), keyed = word ^ keys[k];
      sums[k] += (keyed & 0xffffffff) * (keyed >> 32) + word;
      keys[k] += 0x9fb21c651e98df25;
    }
  u64 hash = place;
  for (u64 sum : sums) hash = mixed(hash, sum);
  return hash;
}

// Of all bytes; of chunks that do not fit in a cache one quarter, in stretches of several pages. `usual`: what most words are; little time
// is spent on these.
u64 hash_of_bytes(const u8* data, size_t bytes, u64 usual) {
  constexpr size_t in_cache = size_t(1) << 20, stretch = 16384;
  u64 hash = mixed(bytes, usual);
  const auto add = [&](size_t from, size_t to) {
    for (size_t at = from; at < to; at += run_bytes)
      if (!is_all(usual, data + at)) hash = mixed(hash, hash_of_run(data + at, at));
  };
  if (bytes <= in_cache) {
    add(0, bytes / run_bytes * run_bytes);
    for (size_t at = bytes / run_bytes * run_bytes; at < bytes; ++at) hash = mixed(hash, data[at]);
  } else {
    for (size_t i = 0; (i + 1) * 4 * stretch <= bytes; ++i) add((4 * i + 3 * i % 4) * stretch, (4 * i + 3 * i % 4 + 1) * stretch);
  }
  return hash;
}

}  // namespace

void take_probes(const stz_layout& layout, const void* samples, Probes& probes) noexcept {
  Positions& positions = positions_of_thread;
  if (!positions.are_of(layout)) positions.find(layout);
  probes.layout = positions.layout;
  probes.count = positions.count;
  load(positions, samples, probes);
  const size_t most = find_distinctive(probes);
  for (size_t at = 0; at < sizeof probes.usual_word; at += positions.width)
    memcpy(reinterpret_cast<u8*>(&probes.usual_word) + at, static_cast<const u8*>(samples) + positions.offset[most], positions.width);
}

u64 Probes::fingerprint(const void* samples, size_t bytes) const noexcept {
  u64 hash = mixed(layout, u64(is_distinct()));
  if (!is_distinct()) return mixed(hash, hash_of_bytes(static_cast<const u8*>(samples), bytes, usual_word));
  u64 sums[4] = {1, 2, 3, 4};  // each waits for its own multiplications only
  // Without the most frequent value: programs that copy a dataset may have another one behind its end.
  for (size_t i = 0; i < count; ++i) sums[i % 4] = mixed(sums[i % 4], hashes[i] == most_frequent ? 0 : values[i]);
  for (u64 sum : sums) hash = mixed(hash, sum);
  return hash;
}

size_t Probes::how_many_have(u32 hash) const noexcept { return size_t(std::count(hashes, hashes + count, hash)); }

}  // namespace stz::hdf5
