// A chunk is cut into stretches of equal length, one for each probe. A probe lies at a pseudo-random place within its stretch. So every
// interval of two stretches holds a probe, and unchanged samples, wherever they are, are probed in proportion to their number.
#include "recognition/probes.h"

#include <algorithm>
#include <bit>

#include "base/element_type.h"

namespace stz::recognition {
namespace {

constexpr u64 mixing = 0x9e3779b97f4a7c15;
constexpr u64 most_probes = 1024;         // of either kind, in chunks of up to 2^22 samples
constexpr u64 samples_per_probe = 4096;   // in larger chunks
constexpr u64 most_probes_of_any = 4096;  // of either kind
constexpr u64 few_samples = 256;          // in chunks of up to this size all samples are probes
constexpr u64 samples_per_run = 64, samples_per_single = 16;

u64 mixed(u64 hash, u64 value) {
  hash = (hash ^ value) * mixing;
  return hash ^ hash >> 32;
}

// Never 0. Each decoded chunk takes some thousand of these hashes, so values of up to four bytes take only one multiplication.
template <class T>
u32 short_hash(T value) {
  u64 hash = (value + u64(1)) * mixing;
  if constexpr (sizeof(T) == 8) hash = mixed(hash, value >> 32);
  return u32(hash >> 32) | 1;
}

// The result is a power of two, so that no place takes a division.
u64 probes_in(u64 samples, u64 samples_per_probe_of_small) {
  const u64 wanted =
      std::max(std::min(samples / samples_per_probe_of_small, most_probes), std::min(samples / samples_per_probe, most_probes_of_any));
  return std::bit_floor(wanted);
}
u64 singles_in(u64 samples) { return samples <= few_samples ? samples : std::max(few_samples, probes_in(samples, samples_per_single)); }

// The places of `count` probes of `length` samples, spread evenly over the chunk: next() gives the first sample of each in turn. A chunk
// has less than 2^48 samples.
class Places {
 public:
  Places(u64 samples, u64 count, u64 length) : samples_(samples), length_(length), shift_(count ? std::countr_zero(count) : 0) {}
  u64 next() {
    const u64 begin = sum_ >> shift_;
    sum_ += samples_;
    const u64 room = (sum_ >> shift_) - begin - length_ + 1, random = random_ >> 40;
    random_ += mixing;
    return begin + (random * room >> 24);
  }

 private:
  const u64 samples_, length_;
  const int shift_;
  u64 sum_ = 0, random_ = 5 * mixing;
};

template <class T>
T load(const u8* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void take_singles(const u8* data, u64 samples, u64 count, u32* to) {
  if (count == samples) {
    for (u64 i = 0; i < count; ++i) to[i] = short_hash(load<T>(data + i * sizeof(T)));
    return;
  }
  Places places(samples, count, 1);
  for (u64 i = 0; i < count; ++i) to[i] = short_hash(load<T>(data + places.next() * sizeof(T)));
}

// Runs have at least four samples and 16 bytes. A run of equal samples occurs in many chunks and says nothing: its hash is 0.
template <class T>
void take_runs(const u8* data, u64 samples, u64 count, u32* to) {
  constexpr size_t words = sizeof(T) == 8 ? 4 : 2, length = words * 8 / sizeof(T);
  Places places(samples, count, length);
  for (u64 i = 0; i < count; ++i) {
    const u8* const at = data + places.next() * sizeof(T);
    const u64 first = load<u64>(at);
    u64 hash = mixed(0, first), differences = first ^ std::rotl(first, int(8 * sizeof(T) % 64));
    for (size_t k = 1; k < words; ++k) {
      const u64 word = load<u64>(at + 8 * k);
      hash = mixed(hash, word);
      differences |= word ^ first;
    }
    to[i] = differences == 0 ? 0 : u32(hash) | 1;
  }
}

template <class T>
void take(const u8* data, u64 samples, u64 runs, Probes& probes) {
  take_singles<T>(data, samples, probes.singles, probes.hashes.data());
  take_runs<T>(data, samples, runs, probes.hashes.data() + probes.singles);
}

}  // namespace

u64 layout_hash(const stz_layout& layout) noexcept {
  u64 hash = mixing;  // not 0: small numbers alone would cancel each other
  for (const u64 each : {u64(layout.dtype), u64(layout.byte_order), u64(layout.rank)}) hash = mixed(hash, each);
  for (int axis = 0; axis < layout.rank; ++axis) hash = mixed(hash, layout.shape[axis]);
  return hash;
}

Probes take_probes(const stz_layout& layout, const void* samples) {
  u64 count = u64(components(layout.dtype));
  for (int axis = 0; axis < layout.rank; ++axis) count *= layout.shape[axis];
  const u64 runs = probes_in(count, samples_per_run);
  Probes probes;
  probes.layout = layout_hash(layout);
  probes.singles = size_t(singles_in(count));
  probes.hashes.resize(probes.singles + size_t(runs));
  const auto* const data = static_cast<const u8*>(samples);
  switch (component_size(layout.dtype)) {
    case 1:
      take<u8>(data, count, runs, probes);
      break;
    case 2:
      take<u16>(data, count, runs, probes);
      break;
    case 4:
      take<u32>(data, count, runs, probes);
      break;
    default:
      take<u64>(data, count, runs, probes);
  }
  return probes;
}

size_t Probes::leave_out_frequent() noexcept {
  constexpr size_t looked_at = 64, often = 4;  // a frequent value is that of a sixteenth of the samples
  u32 some[looked_at];
  const size_t count = std::min(looked_at, singles);
  // The places are irregular, as padding may lie between regular ones.
  for (size_t i = 0; i < count; ++i) some[i] = hashes[(i * singles + mixed(mixing, i) % singles) / count];
  std::sort(some, some + count);
  for (size_t i = 0; i + often <= count; ++i)
    if (some[i] != 0 && some[i] == some[i + often - 1] && (i == 0 || some[i - 1] != some[i]))
      for (size_t k = 0; k < singles; ++k)
        if (hashes[k] == some[i]) hashes[k] = 0;
  return hashes.size() - size_t(std::count(hashes.begin(), hashes.end(), 0u));
}

}  // namespace stz::recognition
