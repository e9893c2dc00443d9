// Precision layers: the quantization indices (codes) of the finest levels in parts, so that a reader may take the first parts alone.
//
// A code is its sign and the bits of its size. The section of a level holds codes without their lowest bits: the base layer. Refinements
// add the missing bits, highest first, each in sections of its own. The known part of a nonzero code stands for the middle of its possible
// values; zero stands for itself. Contexts come from the codes of the section alone. Byte by byte: docs/format.md,
// "Precision layers".
#pragma once
#include "base/bytes.h"
#include "stz.h"

namespace stz {

struct Header;

constexpr size_t max_refinements = STZ_MAX_LAYERS - 1;
constexpr int largest_byte_bits = 7;  // added to codes that were 0: these are bytes then
constexpr int bits_at_once = 8;       // added bits of codes that were not 0 are stored in pieces of at most so many

// The errors of samples against the compressed ones, as measured at compression, in the unit of the data.
struct LayerError {
  double largest, root_mean_square;
};

struct Layers {
  // Of each refinement, in the order of reading: how many bits it adds to the codes of levels 0, 1, ...; all have as many levels.
  std::vector<std::vector<u8>> added;
  std::vector<u8> missing;         // of the same levels: lowest bits that the stream does not have at all
  std::vector<LayerError> errors;  // with the base layer alone, with one refinement, ...; empty: not known

  size_t refinements() const { return added.size(); }
  size_t levels() const { return missing.size(); }
  bool any() const { return !missing.empty(); }
  // Of the codes of level l with `taken` refinements: how many of the lowest bits are unknown. Without `taken`: with the base layer alone.
  int unknown_bits(size_t l, size_t taken = 0) const {
    if (l >= levels()) return 0;
    int bits = missing[l];
    for (size_t r = taken; r < added.size(); r++) bits += added[r][l];
    return bits;
  }
  int added_bits(size_t refinement, size_t l) const { return l < levels() ? added[refinement][l] : 0; }
};

// What the elements had lost before they were compressed, in the unit of the data. Infinite if it is not known, or in another unit only.
double earlier_error(const Header& h);

// How many refinements it takes for errors of at most `max_error` from what was compressed first; all that there are if these do not
// suffice either.
size_t refinements_for(const Header& h, double max_error);

// Calls f(refinement, level) for every section of refinements, in their order in the stream.
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
// What can be judged only with the rest of the header. Fails if layers and hierarchy do not fit together.
void require_layers(const Header& h, int base_level);

}  // namespace stz
