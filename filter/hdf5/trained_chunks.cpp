// pyfilter/h5stz/options/training.py does the same and explains the numbers. A program that is not changed should hardly wait: so there is
// one try here, three chunks are judged, and the dataset must have more chunks.
#include "hdf5/trained_chunks.h"

#include <algorithm>
#include <memory>

#include "base/buffer.h"
#include "hdf5/learned_chunks.h"
#include "stz_cd_values.h"
#include "stz_learned.h"

namespace stz::hdf5 {
namespace {

constexpr u64 fewest_samples = u64{1} << 9, most_samples = u64{1} << 19;
constexpr u64 judged = 3;               // chunks
constexpr u64 chunks_for_each_set = 8;  // of the dataset: fewer are compressed as fast as predictions are trained
constexpr double most_loss = 0.02;
constexpr double golden = 0.6180339887498949;

u64 samples_of(const stz_layout& layout) {
  u64 samples = 1;
  for (int axis = 0; axis < layout.rank; ++axis) samples *= layout.shape[axis];
  return samples;
}

u64 sets_for(u64 samples) { return samples <= u64{1} << 13 ? 12 : samples <= u64{1} << 16 ? 8 : 5; }

// Spread over the dataset.
u64 place_of(u64 k, u64 chunks) {
  const double turns = 0.5 + static_cast<double>(k) * golden;
  return std::min(static_cast<u64>((turns - static_cast<double>(static_cast<u64>(turns))) * static_cast<double>(chunks)), chunks - 1);
}

// The bytes of a stream; 0 if there is an error.
size_t length_of(const stz_layout& layout, const void* samples, stz_options options, stz_learned* learned, Buffer<u8>& stream) {
  options.learned = learned;
  stz_find_missing_value(&layout, samples, &options);
  size_t size = 0;
  return stz_compress(&layout, samples, &options, stream.data(), stream.size(), &size) == STZ_OK ? size : 0;
}

}  // namespace

stz_learned* train_on_chunks(size_t cd_count, const unsigned* cd_values, u64 chunks, FunctionRef<const void*(u64 number)> gather) {
  stz_options options = STZ_OPTIONS_INIT;
  stz_layout layout;
  if (stz_cd_values_parse(cd_count, cd_values, &options, &layout, nullptr, 0) != STZ_OK || layout.rank < 0) return nullptr;
  const u64 samples = samples_of(layout), sets = sets_for(samples);
  const bool pays = samples >= fewest_samples && samples <= most_samples && chunks >= sets * chunks_for_each_set;
  if (!pays || !learns_in_process(options, cd_count, cd_values)) return nullptr;
  std::unique_ptr<stz_learned, void (*)(stz_learned*)> trained(stz_learned_create(), stz_learned_free);
  if (!trained) return nullptr;
  for (u64 k = 0; k < sets; ++k) {
    const void* const chunk = gather(place_of(k, chunks));
    stz_options of_chunk = options;
    if (!chunk || stz_find_missing_value(&layout, chunk, &of_chunk) != STZ_OK) return nullptr;
    if (stz_learned_train(trained.get(), &layout, chunk, &of_chunk) != STZ_OK) return nullptr;
  }
  stz_learned_fix(trained.get());
  Buffer<u8> stream(stz_max_compressed_size(&layout));
  double fitted = 0, learned = 0;
  for (u64 k = sets; k < sets + judged; ++k) {
    const void* const chunk = gather(place_of(k, chunks));
    if (!chunk) return nullptr;
    fitted += static_cast<double>(length_of(layout, chunk, options, nullptr, stream));
    learned += static_cast<double>(length_of(layout, chunk, options, trained.get(), stream));
  }
  return learned <= (1 + most_loss) * fitted ? trained.release() : nullptr;
}

}  // namespace stz::hdf5
