#include "decoder/decode_level.h"

#include <algorithm>

#include "base/faults.h"
#include "base/parallel.h"
#include "decoder/decode_base_section.h"
#include "decoder/decode_block.h"
#include "format/section.h"

namespace stz {
namespace {

// Larger arrays are written past the caches, because the caller would not find them there anyway. Fuzzers use small arrays on any machine.
#ifdef STZ_FUZZING
constexpr u64 streamed_bytes = 1 << 10;
constexpr bool always_shares_lines = true;
#else
constexpr u64 streamed_bytes = 4 << 20;
constexpr bool always_shares_lines = false;
#endif
constexpr u64 small_block = 1 << 16;  // samples

template <class S>
class Decoder {
 public:
  Decoder(const Header& header, std::vector<u8>& specials, std::vector<LiteralElement>& literals, int threads, size_t taken,
          const SpecialBits* of_masked, const Limits<S>* limits)
      : header_(header),
        h_(hierarchy_of(header)),
        specials_(specials),
        literals_(literals),
        masked_(header.masked),
        threads_(threads),
        taken_(taken),
        of_masked_(of_masked),
        limits_(limits) {
    quantizer_ = level_quantizers<S>(header, h_.level.size());
  }

  void run(const u8* data, size_t size, S* out) {
    ByteReader in(data, size);
    auto section = [&](size_t k) {
      u64 n = header_.section[k];
      return ByteReader(in.take(n), size_t(n));
    };
    ByteReader base = section(0);
    const size_t base_size = base.left();
    coarser_ = decode_base_section(header_, h_, quantizer_, base.take(base_size), base_size, state_, literals_);
    std::vector<ByteReader> of_level;
    for (int l = h_.base_level - 1; l >= 0; l--) of_level.push_back(section(size_t(h_.base_level - l)));
    size_t next = 0;
    for_refinements(header_.layers, [&](size_t r, size_t l) {
      const u64 n = header_.refinement[next++];
      const u8* bytes = in.take(n);
      if (r < taken_) refined_[r][l] = {bytes, n, n, n};
    });
    for (size_t l = of_level.size(); l-- > 0;) decode_level(l, of_level[of_level.size() - 1 - l], l == 0 ? out : nullptr);
    for (u64 n : header_.remainder) in.take(n);
    require(in.left() >= header_.trailer_size, STZ_ERROR_TRUNCATED);
    require(in.left() == header_.trailer_size, STZ_ERROR_CORRUPT);
    if (h_.base_level == 0) {
      const auto put = [&](S v) { return limits_ ? (*limits_)(v) : v; };
      std::transform(coarser_.samples.begin(), coarser_.samples.end(), out, put);
      specials_ = std::move(coarser_.specials);
    }
  }

 private:
  void decode_level(size_t l, ByteReader in, S* out) {
    const u64 samples = h_.level[l].samples() * h_.batch, size = in.left();
    const u8* section = in.take(size);
    LevelDirectory directory;
    read_directory(header_, h_, l, LevelSection{section, size, size, size}, state_, directory);
    std::vector<LevelDirectory> refined(taken_);
    LevelToDecode<S> level{header_, h_, l, quantizer_[l], directory};
    level.streaming = out && !masked_ && samples * sizeof(S) >= streamed_bytes;
    level.shares_lines = level.streaming && (kernels().can_stream || always_shares_lines);
    level.of_masked = out ? of_masked_ : nullptr;
    level.limits = out ? limits_ : nullptr;
    level.taken = taken_;
    for (size_t r = 0; r < taken_; r++) {
      if (!header_.layers.added_bits(r, l)) continue;
      read_refined_directory(header_, h_, l, r, directory, refined_[r][l], state_, refined[r]);
      level.refined[r] = &refined[r];
    }
    DecodedLevel<S> finer;
    if (masked_ && !level.of_masked) finer.specials.resize(samples);
    if (!out) {
      finer.samples.resize(samples);
      finer.activities.resize(samples);
    }
    S* const grid = out ? out : finer.samples.data();

    const auto block_of = [&](u64 number) { return block_to_decode(level, finer, section, grid, number); };
    decode_all(level, block_of);
    STZ_FAULT_POINT(decoded_samples, grid, size_t(samples) * sizeof(S));
    coarser_ = std::move(finer);
    if (out && masked_) specials_ = std::move(coarser_.specials);
  }

  // Finds the streams of a block, and its input and output. `grid`: receives the samples of the level. `section`: its bytes.
  BlockToDecode<S> block_to_decode(const LevelToDecode<S>& level, DecodedLevel<S>& finer, const u8* section, S* grid, u64 number) {
    const LevelDirectory& directory = level.directory;
    const Level &level_grid = h_.level[level.l], &coarser = h_.level[level.l + 1];
    const u64 item = number / directory.per_item;
    BlockToDecode<S> block;
    block.number = number;
    place_streams(directory, section, number, block.stream);
    for (size_t r = 0; r < taken_; r++)
      if (level.refined[r]) place_streams(*level.refined[r], refined_[r][level.l].data, number, block.refined[r]);
    block.coarse = whole_grid<const S>(coarser_.samples.data() + item * coarser.samples(), coarser);
    block.coarse_activities = whole_grid<const u8>(coarser_.activities.data() + item * coarser.samples(), coarser);
    block.grid = whole_grid(grid + item * level_grid.samples(), level_grid);
    if (!finer.activities.empty()) block.activities = whole_grid(finer.activities.data() + item * level_grid.samples(), level_grid);
    if (masked_) {
      block.coarse_specials = whole_grid<const u8>(coarser_.specials.data() + item * coarser.samples(), coarser);
      if (!level.of_masked) block.specials = whole_grid(finer.specials.data() + item * level_grid.samples(), level_grid);
    }
    return block;
  }
  template <class Streams>
  static void place_streams(const LevelDirectory& directory, const u8* section, u64 number, Streams& streams) {
    const u8* at = section + directory.begin + directory.offset_of(number);
    for (size_t k = 0; k < directory.per_block; k++) {
      streams[k] = at;
      at += directory.stored_size(size_t(number * directory.per_block) + k);
    }
  }

  // Decodes all blocks, several at a time; threads share them. `block_of` gives a block.
  template <class BlockOf>
  void decode_all(const LevelToDecode<S>& level, const BlockOf& block_of) {
    const u64 samples = h_.level[level.l].samples() * h_.batch;
    constexpr u64 most_together = u64(BlockDecoder<S>::most_together);
    const u64 blocks = level.directory.per_item * h_.batch;
    // Short streams have few lanes, so decoding more of them at a time helps. With large blocks their arrays would overflow the caches.
    const u64 useful = samples / blocks <= small_block ? most_together : most_together / 2;
    const u64 together = std::clamp<u64>(blocks / u64(std::max(threads_, 1)), 1, useful);
    const u64 blocks_per_task = (items_per_task(samples / blocks) + together - 1) / together * together;
    std::mutex mutex;
    struct Worker {
      std::vector<BlockDecoder<S>> decoder;
    };
    parallel_for<Worker>((blocks + blocks_per_task - 1) / blocks_per_task, threads_, [&](Worker& worker, u64 task) {
      if (worker.decoder.empty()) worker.decoder = std::vector<BlockDecoder<S>>(together);
      const u64 end = std::min(blocks, (task + 1) * blocks_per_task);
      for (u64 number = task * blocks_per_task; number < end; number += together) {
        const u64 count = std::min(together, end - number);
        BlockToDecode<S> group[most_together];
        for (u64 b = 0; b < count; b++) group[b] = block_of(number + b);
        try {
          BlockDecoder<S>::decode(level, worker.decoder.data(), group, int(count));
        } catch (const Failure&) {  // retry one by one, so that the error is that of the first damaged block
          for (u64 b = 0; b < count; b++) BlockDecoder<S>::decode(level, worker.decoder.data(), group + b, 1);
          throw;
        }
      }
      if (level.streaming) kernels().finish_streaming();
      for (BlockDecoder<S>& decoder : worker.decoder) {
        if (decoder.literals.empty()) continue;
        std::lock_guard lock(mutex);
        literals_.insert(literals_.end(), decoder.literals.begin(), decoder.literals.end());
        decoder.literals.clear();
      }
    });
  }

  const Header& header_;
  Hierarchy h_;
  std::vector<u8>& specials_;
  std::vector<LiteralElement>& literals_;
  bool masked_;
  const int threads_;
  const size_t taken_;  // refinements to use
  const SpecialBits* const of_masked_;
  const Limits<S>* const limits_;
  std::vector<Quantizer<S>> quantizer_;
  DecodedLevel<S> coarser_;  // the level decoded last
  ParameterState state_;
  std::array<std::array<LevelSection, max_levels>, max_refinements> refined_{};  // sections of refinements
};

}  // namespace

void verify_sections(const Header& h, const u8* stream, size_t size, size_t taken) {
  require_stream_size(h, size);
  ByteReader in(stream, size);
  in.take(h.size);
  if (h.transform == Transform::palette) checked_coder_bytes(in.take(h.palette_size), h.palette_size);
  checked_coder_bytes(in.take(h.section[0]), h.section[0]);
  for (size_t k = 1; k < h.section.size(); k++) verify_section(in.take(h.section[k]), h.section[k]);
  size_t next = 0;
  for_refinements(h.layers, [&](size_t r, size_t) {
    const u64 bytes = h.refinement[next++];
    const u8* section = in.take(bytes);
    if (r < taken) verify_section(section, bytes);
  });
}

template <class S>
void decode_sections(const Header& h, const u8* sections, size_t size, S* samples, std::vector<u8>& specials,
                     std::vector<LiteralElement>& literals, int threads, size_t taken, const SpecialBits* of_masked,
                     const Limits<S>* limits) {
  Decoder<S>(h, specials, literals, threads, taken, of_masked, limits).run(sections, size, samples);
}
template void decode_sections(const Header&, const u8*, size_t, float*, std::vector<u8>&, std::vector<LiteralElement>&, int, size_t,
                              const SpecialBits*, const Limits<float>*);
template void decode_sections(const Header&, const u8*, size_t, double*, std::vector<u8>&, std::vector<LiteralElement>&, int, size_t,
                              const SpecialBits*, const Limits<double>*);
template void decode_sections(const Header&, const u8*, size_t, i64*, std::vector<u8>&, std::vector<LiteralElement>&, int, size_t,
                              const SpecialBits*, const Limits<i64>*);

}  // namespace stz
