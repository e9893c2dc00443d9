#include "decoder/decode_level.h"

#include <algorithm>

#include "base/parallel.h"
#include "decoder/decode_block.h"
#include "decoder/decode_root.h"

namespace stz {
namespace {

constexpr u64 streamed_bytes = 4 << 20;  // arrays from here on are written past the caches: the caller will not find them there anyway

template <class S>
class Decoder {
 public:
  Decoder(const Header& header, std::vector<u8>& kinds, std::vector<OtherSample>& others, int threads)
      : header_(header), h_(hierarchy_of(header)), kinds_(kinds), others_(others), masked_(header.masked), threads_(threads) {
    quantizer_ = level_quantizers<S>(header, h_.level.size());
  }

  void run(const u8* data, size_t size, S* out) {
    ByteReader in(data, size);
    auto section = [&](size_t k) {
      u64 n = header_.section[k];
      return ByteReader(in.take(n), size_t(n));
    };
    ByteReader root = section(0);
    const size_t root_size = root.left();
    coarser_ = decode_root(header_, h_, quantizer_, root.take(root_size), root_size, state_, others_);
    for (int l = h_.root - 1; l >= 0; l--) decode_level(size_t(l), section(size_t(h_.root - l)), l == 0 ? out : nullptr);
    require(in.left() == 0, STZ_ERROR_CORRUPT);
    if (h_.root == 0) {
      std::copy(coarser_.samples.begin(), coarser_.samples.end(), out);
      kinds_ = std::move(coarser_.kinds);
    }
  }

 private:
  void decode_level(size_t l, ByteReader in, S* out) {
    const Level &own = h_.level[l], &coarser = h_.level[l + 1];
    const u64 samples = own.samples() * h_.batch, size = in.left();
    const u8* section = in.take(size);
    LevelDirectory directory;
    read_directory(header_, h_, l, 8 * int(sizeof(S)), section, size, size, state_, directory);
    const LevelToDecode<S> level{header_, h_, l, quantizer_[l], directory, out && !masked_ && samples * sizeof(S) >= streamed_bytes};
    DecodedLevel<S> finer;
    if (masked_) finer.kinds.resize(samples);
    if (!out) {
      finer.samples.resize(samples);
      finer.magnitudes.resize(samples);
    }
    S* const grid = out ? out : finer.samples.data();

    auto decode_block = [&](BlockDecoder<S>& decoder, u64 number) {
      const u64 item = number / directory.per_item;
      BlockToDecode<S> block;
      block.number = number;
      const u8* at = section + directory.begin + directory.offset_of(number);
      for (size_t k = 0; k < directory.per_block; k++) {
        block.stream[k] = at;
        at += directory.stored_size(size_t(number * directory.per_block) + k);
      }
      block.coarse = whole_grid<const S>(coarser_.samples.data() + item * coarser.samples(), coarser);
      block.coarse_magnitudes = whole_grid<const u8>(coarser_.magnitudes.data() + item * coarser.samples(), coarser);
      block.grid = whole_grid(grid + item * own.samples(), own);
      if (!out) block.magnitudes = whole_grid(finer.magnitudes.data() + item * own.samples(), own);
      if (masked_) {
        block.coarse_kinds = whole_grid<const u8>(coarser_.kinds.data() + item * coarser.samples(), coarser);
        block.kinds = whole_grid(finer.kinds.data() + item * own.samples(), own);
      }
      decoder.decode(level, block);
    };
    const u64 blocks = directory.per_item * h_.batch, together = items_per_task(samples / blocks);
    std::mutex mutex;
    struct Worker {
      BlockDecoder<S> decoder;
    };
    parallel_for<Worker>((blocks + together - 1) / together, threads_, [&](Worker& worker, u64 task) {
      for (u64 number = task * together; number < std::min(blocks, (task + 1) * together); number++) decode_block(worker.decoder, number);
      if (level.streaming) kernels().finish_streaming();
      if (worker.decoder.others.empty()) return;
      std::lock_guard lock(mutex);
      others_.insert(others_.end(), worker.decoder.others.begin(), worker.decoder.others.end());
      worker.decoder.others.clear();
    });
    coarser_ = std::move(finer);
    if (out && masked_) kinds_ = std::move(coarser_.kinds);
  }

  const Header& header_;
  Hierarchy h_;
  std::vector<u8>& kinds_;
  std::vector<OtherSample>& others_;
  bool masked_;
  const int threads_;
  std::vector<Quantizer<S>> quantizer_;
  DecodedLevel<S> coarser_;  // the level decoded last
  ParameterState state_;
};

}  // namespace

template <class S>
void decode_sections(const Header& h, const u8* sections, size_t size, S* samples, std::vector<u8>& kinds, std::vector<OtherSample>& others,
                     int threads) {
  Decoder<S>(h, kinds, others, threads).run(sections, size, samples);
}
template void decode_sections(const Header&, const u8*, size_t, float*, std::vector<u8>&, std::vector<OtherSample>&, int);
template void decode_sections(const Header&, const u8*, size_t, double*, std::vector<u8>&, std::vector<OtherSample>&, int);
template void decode_sections(const Header&, const u8*, size_t, i64*, std::vector<u8>&, std::vector<OtherSample>&, int);

}  // namespace stz
