#include "decode_level.h"

#include <algorithm>

#include "decode_block.h"
#include "decode_masks.h"
#include "parallel.h"
#include "root.h"
#include "section.h"

namespace stz {
namespace {

constexpr u64 streamed_bytes = 4 << 20;  // arrays from here on are written past the caches: the caller will not find them there anyway

template <class S>
class Decoder {
 public:
  using Real = RealOf<S>;
  using Code = CodeOf<S>;

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
    decode_root(section(0));
    for (int l = h_.root - 1; l >= 0; l--) decode_level(size_t(l), section(size_t(h_.root - l)), l == 0 ? out : nullptr);
    require(in.left() == 0, STZ_ERROR_CORRUPT);
    if (h_.root == 0) std::copy(grid_.begin(), grid_.end(), out);
  }

 private:
  // The section's check value over `checked` bytes from its start; what is left of the reader must hold it.
  void check(ByteReader& in, const u8* begin, size_t checked) {
    size_t width = check_size(checked);
    const u8* stored = in.take(width);
    u32 crc = crc32c(begin, checked);
    for (size_t i = 0; i < width; i++) require(stored[i] == u8(crc >> (8 * i)), STZ_ERROR_CHECKSUM);
  }

  struct RootReader {
    Decoder& d;
    BinaryDecoder in;
    RootModels models;
    MaskModels mask_models;
    u64 item = 0;
    size_t level = 0;
    u8 kind_before = 0;

    Code code(std::vector<Verbatim>& verbatim, u32 index) {
      if (in.bit(models.verbatim)) {
        verbatim.push_back({index, in.raw(8 * sizeof(S))});
        models.remember(0);
        return verbatim_code<Code>;
      }
      i64 c = in.signed_number(models.next());
      require(u64(c < 0 ? -c : c) <= largest_code<Code>, STZ_ERROR_CORRUPT);
      models.remember(zigzag(Code(c)) / 2);
      return Code(c);
    }
    void begin_level(size_t l) { level = l; }
    void coarsest(u64 i, Real p, S& r) {
      u8 kind = 0;
      const Level& grid = d.h_.level[level];
      if (d.masked_) {
        const u64 index = level_zero_index(grid, level_map(d.h_, level, item), i);
        MaskReader reader = d.mask_reader(in);
        kind = reader.code(mask_models.masked[0][kind_before ? 1 : 0], mask_models, 0, kind_before, index);
        kind_before = kind;
        d.coarse_kinds_.resize(grid.samples());
        d.coarse_kinds_[i] = kind;
      }
      std::vector<Verbatim> verbatim;
      size_t next = 0;
      const Code c = kind ? Code(0) : code(verbatim, 0);
      dequantize_row(d.quantizer_[level], &c, &p, 1, true, verbatim, next, &r);
    }
    void end_level(BlockWork<S>& work, std::vector<S>& grid) {
      if (d.masked_) fill_masked_box(work.geometry.box, d.h_.level[level].n, d.coarse_kinds_.data(), grid.data());
    }
    void masks(BlockWork<S>& work) {
      if (!d.masked_) return;
      const Level& l = d.h_.level[level];
      load_block_kinds(work, d.coarse_kinds_.data(), d.h_.level[level + 1].n);
      MaskReader reader = d.mask_reader(in);
      code_block_mask(reader, mask_models, work.geometry, level_map(d.h_, level, item), work.kinds.data());
      work.set_masks();
      d.coarse_kinds_.resize(l.samples());
      store_magnitudes(work.geometry, work.kinds.data(), l.n, d.coarse_kinds_.data());
    }
    void row(BlockWork<S>& work, int cls, S* samples, const Real* p, int n, size_t index, const Index&) {
      Code* c = work.codes[cls].numbers.data() + index;
      std::vector<Verbatim>& verbatim = work.codes[cls].verbatim;
      const u8* masked = work.mask_or_null(cls) ? work.mask_or_null(cls) + index : nullptr;
      size_t next = verbatim.size();
      for (int i = 0; i < n; i++) c[i] = masked && masked[i] ? Code(0) : code(verbatim, u32(index) + u32(i));
      dequantize_row(d.quantizer_[level], c, p, n, true, verbatim, next, samples);
    }
  };

  MaskReader mask_reader(BinaryDecoder& in) { return {in, others_, mask_bits(header_)}; }

  void decode_root(ByteReader in) {
    const size_t total = in.left(), width = total < short_section + 2 ? 2 : 4;
    require(total >= width, STZ_ERROR_TRUNCATED);
    const u8* begin = in.take(total - width);
    require(check_size(total - width) == width, STZ_ERROR_CORRUPT);
    check(in, begin, total - width);
    RootReader reader{*this, BinaryDecoder(begin, total - width), {}, {}};
    const u64 samples = h_.level[size_t(h_.root)].samples();
    std::vector<Code> codes(samples * h_.batch);
    std::vector<S> grid;
    BlockWork<S> work;
    grid_.resize(samples * h_.batch);
    for (u64 item = 0; item < h_.batch; item++) {
      reader.item = item;
      walk_root<S>(h_, work, reader, grid, codes.data() + item * samples);
      std::copy(grid.begin(), grid.end(), grid_.data() + item * samples);
      if (masked_) grid_kinds_.insert(grid_kinds_.end(), coarse_kinds_.begin(), coarse_kinds_.end());
    }
    const int mean = root_magnitudes(codes, masked_ ? grid_kinds_.data() : nullptr, magnitudes_);
    if (mean) state_.mean = mean;
    if (h_.root == 0 && masked_) kinds_ = grid_kinds_;
  }

  // Parameters, index and checks of a level; nothing of them is used before its check.
  void read_level(ByteReader& in, LevelToDecode<S>& level) {
    const Level& own = h_.level[level.l];
    const ClassList classes = classes_of(own.split_mask());
    const size_t total = in.left();
    const u8* begin = in.take(0);
    const u64 blob_size = in.varint();
    const u8* blob = in.take(blob_size);
    BinaryDecoder parameters(blob, size_t(blob_size));
    ParameterModels models;
    IndexModels index;
    level.merged = parameters.bit(index.merged);
    for (int c = 0; c < classes.count; c++) {
      const int cls = classes.mask[c];
      read_class(parameters, models, state_, cls, own.active_mask(), max_model_shift(8 * int(sizeof(Code))), level.p[cls]);
      level.reach = std::max(level.reach, StencilId(level.p[cls].stencil));
    }
    level.per_item = block_count(own);
    require(level.per_item <= (u64(1) << 40) / h_.batch, STZ_ERROR_CORRUPT);
    level.per_block = u64(masked_) + (level.merged ? 1 : u64(classes.count));
    u64 sum = 0, streams = 0;
    for (u64 number = 0; number < level.per_item * h_.batch; number++)
      for (u64 k = 0; k < level.per_block; k++) {
        u64 size = masked_ && k == 0 ? parameters.number(index.mask, total)
                   : level.merged    ? parameters.number(index.block, total)
                                     : parameters.number(index.stream[k - u64(masked_)], total);
        level.sizes.push_back(size);
        sum += size;
        streams += size != 0;
        require(sum <= total, STZ_ERROR_CORRUPT);
      }
    level.with_checks = sum > covered_streams;
    const size_t checked = in.consumed() + (level.with_checks ? 0 : size_t(sum));
    require(in.left() == check_size(checked) + sum + (level.with_checks ? 2 * streams : 0), STZ_ERROR_CORRUPT);
    if (level.with_checks)
      check(in, begin, checked);
    else {
      // the check stands between the parameters and the streams that it covers
      Bytes bytes(begin, begin + in.consumed());
      const u8* stored = in.take(check_size(checked));
      bytes.insert(bytes.end(), stored + check_size(checked), stored + check_size(checked) + sum);
      u32 crc = crc32c(bytes.data(), bytes.size());
      for (size_t i = 0; i < check_size(checked); i++) require(stored[i] == u8(crc >> (8 * i)), STZ_ERROR_CHECKSUM);
    }
    level.streams = in.take(in.left());
    u64 offset = 0;
    for (size_t s = 0; s < level.sizes.size(); s++) {
      if (s % level.per_block == 0) level.offsets.push_back(offset);
      offset += level.sizes[s] + (level.with_checks && level.sizes[s] ? 2 : 0);
    }
  }

  void decode_level(size_t l, ByteReader in, S* out) {
    const Level& own = h_.level[l];
    const u64 samples = own.samples() * h_.batch;
    LevelToDecode<S> level{header_, h_, l, quantizer_[l]};
    read_level(in, level);
    Buffer<S> grid;
    Buffer<u8> magnitudes;
    std::vector<u8> level_kinds(masked_ ? samples : 0);
    if (!out) {
      grid.resize(samples);
      magnitudes.resize(samples);
    }
    level.coarse = grid_.data();
    level.coarse_magnitudes = magnitudes_.data();
    level.coarse_kinds = masked_ ? grid_kinds_.data() : nullptr;
    level.grid = out ? out : grid.data();
    level.magnitudes = magnitudes.data();
    level.kinds = level_kinds.data();
    level.streaming = out && !masked_ && samples * sizeof(S) >= streamed_bytes;

    const u64 blocks = level.per_item * h_.batch, together = items_per_task(samples / blocks);
    std::mutex mutex;
    struct Worker {
      BlockDecoder<S> decoder;
    };
    parallel_for<Worker>((blocks + together - 1) / together, threads_, [&](Worker& worker, u64 task) {
      for (u64 number = task * together; number < std::min(blocks, (task + 1) * together); number++) worker.decoder.decode(level, number);
      if (level.streaming) kernels().finish_streaming();
      if (worker.decoder.others.empty()) return;
      std::lock_guard lock(mutex);
      others_.insert(others_.end(), worker.decoder.others.begin(), worker.decoder.others.end());
      worker.decoder.others.clear();
    });
    grid_ = std::move(grid);
    magnitudes_ = std::move(magnitudes);
    grid_kinds_ = std::move(level_kinds);
    if (out && masked_) kinds_ = std::move(grid_kinds_);
  }

  const Header& header_;
  Hierarchy h_;
  std::vector<u8>& kinds_;
  std::vector<OtherSample>& others_;
  bool masked_;
  const int threads_;
  std::vector<Quantizer<S>> quantizer_;
  Buffer<S> grid_;
  Buffer<u8> magnitudes_;
  std::vector<u8> grid_kinds_, coarse_kinds_;
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
