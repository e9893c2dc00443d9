// Precision layers: the quantization indices of the finest levels are stored in parts, so that a reader can stop after the first parts.
//
// An index is a sign and the bits of its magnitude. The section of a level holds indices without their lowest bits: the base layer. Each
// refinement adds missing bits, highest first, in its own sections. A nonzero index with unknown bits stands for the middle of its possible
// values; zero stands for zero. Contexts depend on the base layer only. Byte by byte: docs/format.md, "Precision layers".
#pragma once
#include "base/bytes.h"
#include "stz.h"

namespace stz {

struct Header;

constexpr size_t max_refinements = STZ_MAX_LAYERS - 1;
constexpr int largest_byte_bits = 7;  // most bits added to indices that were 0, so that they fit in bytes
constexpr int bits_at_once = 8;       // added bits of other indices are stored in pieces of at most this many

// Errors of decoded samples against the compressed array, measured at compression, in the unit of the data.
struct LayerError {
  double largest, root_mean_square;
};

struct Layers {
  // For each refinement, in reading order: the bits it adds to the indices of levels 0, 1, ...; all have the same number of levels.
  std::vector<std::vector<u8>> added;
  std::vector<u8> missing;         // for the same levels: lowest bits that the stream does not have
  std::vector<LayerError> errors;  // with the base layer only, with one refinement, ...; empty: not known

  size_t refinements() const { return added.size(); }
  size_t levels() const { return missing.size(); }
  bool any() const { return !missing.empty(); }
  // The number of unknown lowest bits of the indices of level l after `taken` refinements. 0: the base layer only.
  int unknown_bits(size_t l, size_t taken = 0) const {
    if (l >= levels()) return 0;
    int bits = missing[l];
    for (size_t r = taken; r < added.size(); r++) bits += added[r][l];
    return bits;
  }
  int added_bits(size_t refinement, size_t l) const { return l < levels() ? added[refinement][l] : 0; }
};

// The error that the elements had before compression, in the unit of the data. Infinite if it is unknown, or known in another unit only.
double earlier_error(const Header& h);

// The number of refinements needed for errors of at most `max_error` against the originals that were compressed first; all refinements if
// even these do not suffice.
size_t refinements_for(const Header& h, double max_error);

// Calls f(refinement, level) for every section of a refinement, in their order in the stream.
template <class F>
void for_refinements(const Layers& layers, F f) {
  for (size_t r = 0; r < layers.refinements(); r++)
    for (size_t l = layers.levels(); l-- > 0;)
      if (layers.added[r][l]) f(r, l);
}

// The payloads of the records tag_layers and tag_layer_errors.
Bytes write_layers(const Layers& layers);
Bytes write_layer_errors(const Layers& layers);
void read_layers(ByteReader& payload, Layers& layers);
void read_layer_errors(ByteReader& payload, Layers& layers);
// Checks that need the rest of the header. Fails if layers and hierarchy do not fit together.
void require_layers(const Header& h, int base_level);

}  // namespace stz
