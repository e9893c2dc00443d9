#include "decode_level.h"

#include <algorithm>
#include <memory>

#include "level_quantizers.h"
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

  Decoder(const Header& header, std::vector<u8>& kinds, std::vector<OtherSample>& others)
      : header_(header), h_(hierarchy_of(header)), kinds_(kinds), others_(others), masked_(header.masked) {
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
      d.load_kinds(work, d.coarse_kinds_.data(), d.h_.level[level + 1].n);
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

  MaskReader mask_reader(BinaryDecoder& in) { return {in, others_, int(8 * component_size(header_.layout.dtype))}; }

  void load_kinds(BlockWork<S>& work, const u8* coarse, const Index& n) {
    work.kinds.resize(size_t(work.geometry.total(work.geometry.bytes)));
    std::fill(work.kinds.begin(), work.kinds.end(), u8(0));
    load_coarse_magnitudes(work.geometry, coarse, n, work.kinds.data());
  }

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

  // Samples of a class from codes kept as bytes.
  static void place_bytes(const Quantizer<S>& q, int cls, const ClassParameters& p, BlockWork<S>& work) {
    if constexpr (S(0.5) != S(0)) {
      const ClassCodes<Code>& codes = work.codes[cls];
      uniform_kernels<S>().decode_class(class_task(work, cls, p, q), codes.bytes.data());
      const Index n = work.geometry.counts(cls);
      for (const Exception& e : codes.exceptions) {
        i64 rest = e.index;
        const i64 x = rest % n[3], k = (rest /= n[3]) % n[2], j = (rest /= n[2]) % n[1], i = rest / n[1];
        S* sample = work.first(cls) + work.geometry.values.at(i, j, k) + x;
        Real prediction[row_slack];
        work.plan(cls, p).predict(sample, 1, prediction);
        *sample = exceptional_sample(q, e, prediction[0]);
      }
    }
  }

  void decode_level(size_t l, ByteReader in, S* out) {
    const Level &level = h_.level[l], &coarser = h_.level[l + 1];
    const ClassList classes = classes_of(level.split_mask());
    const int active = level.active_mask();
    const size_t total = in.left();
    const u8* begin = in.take(0);
    const u64 blob_size = in.varint();
    const u8* blob = in.take(blob_size);

    // parameters and index; nothing of them is used before their check
    BinaryDecoder parameters(blob, size_t(blob_size));
    ParameterModels models;
    IndexModels index;
    ClassParameters p[16];
    const bool merged = parameters.bit(index.merged);
    StencilId reach = stencil_standard;
    const int max_shift = max_model_shift(8 * int(sizeof(Code)));
    for (int c = 0; c < classes.count; c++) {
      const int cls = classes.mask[c];
      read_class(parameters, models, state_, cls, active, max_shift, p[cls]);
      reach = std::max(reach, StencilId(p[cls].stencil));
    }
    const u64 per_item = block_count(level);
    require(per_item <= (u64(1) << 40) / h_.batch, STZ_ERROR_CORRUPT);
    const u64 per_block = u64(masked_) + (merged ? 1 : u64(classes.count));
    std::vector<u64> sizes;
    u64 sum = 0, streams = 0;
    for (u64 number = 0; number < per_item * h_.batch; number++)
      for (u64 k = 0; k < per_block; k++) {
        u64 size = masked_ && k == 0 ? parameters.number(index.mask, total)
                   : merged          ? parameters.number(index.block, total)
                                     : parameters.number(index.stream[k - u64(masked_)], total);
        sizes.push_back(size);
        sum += size;
        streams += size != 0;
        require(sum <= total, STZ_ERROR_CORRUPT);
      }
    const bool covered = sum <= covered_streams;
    const size_t checked = in.consumed() + (covered ? size_t(sum) : 0);
    require(in.left() == check_size(checked) + sum + (covered ? 0 : 2 * streams), STZ_ERROR_CORRUPT);
    if (covered) {
      // the check stands between the parameters and the streams that it covers
      Bytes bytes(begin, begin + in.consumed());
      const u8* stored = in.take(check_size(checked));
      bytes.insert(bytes.end(), stored + check_size(checked), stored + check_size(checked) + sum);
      u32 crc = crc32c(bytes.data(), bytes.size());
      for (size_t i = 0; i < check_size(checked); i++) require(stored[i] == u8(crc >> (8 * i)), STZ_ERROR_CHECKSUM);
    } else
      check(in, begin, checked);

    Buffer<S> grid;
    Buffer<u8> magnitudes;
    std::vector<u8> level_kinds;
    if (!out) {
      grid.resize(level.samples() * h_.batch);
      magnitudes.resize(grid.size());
    }
    if (masked_) level_kinds.resize(level.samples() * h_.batch);
    S* target = out ? out : grid.data();
    BlockWork<S> work;
    Buffer<u8> context;
    const bool streaming = out && !masked_ && level.samples() * h_.batch * sizeof(S) >= streamed_bytes;
    auto stream = [&](u64 size) {
      const u8* data = in.take(size);
      if (size && !covered) require(in.get<u16>() == crc16(data, size_t(size)), STZ_ERROR_CHECKSUM);
      return data;
    };
    for (u64 item = 0, s = 0; item < h_.batch; item++)
      for (u64 b = 0; b < per_item; b++) {
        work.prepare(level, block_box(level, b), reach);
        const BlockGeometry& g = work.geometry;
        load_coarse(g, grid_.data() + item * coarser.samples(), coarser.n, work.values.data());
        load_coarse_magnitudes(g, magnitudes_.data() + item * coarser.samples(), coarser.n, work.magnitudes.data());
        if (masked_) {
          u64 size = sizes[s++];
          const u8* data = stream(size);
          load_kinds(work, grid_kinds_.data() + item * coarser.samples(), coarser.n);
          if (size) {
            BinaryDecoder mask_in(data, size_t(size));
            MaskReader reader = mask_reader(mask_in);
            MaskModels mask_models;
            code_block_mask(reader, mask_models, g, level_map(h_, l, item), work.kinds.data());
            work.set_masks();
          }
          store_magnitudes(g, work.kinds.data(), level.n, level_kinds.data() + item * level.samples());
        }
        u64 size = 0;
        const u8* data = nullptr;
        if (merged) {
          size = sizes[s++];
          data = stream(size);
        }
        std::unique_ptr<CodeStreamDecoder> coder;
        if (size) coder = std::make_unique<CodeStreamDecoder>(data, size_t(size));
        for (int c = 0; c < classes.count; c++) {
          const int cls = classes.mask[c];
          const size_t n = size_t(g.samples(cls));
          if (!merged) {
            size = sizes[s++];
            data = stream(size);
            coder = size ? std::make_unique<CodeStreamDecoder>(data, size_t(size)) : nullptr;
          }
          const bool coded = coder && p[cls].mean && n;
          if (coded) class_contexts(work, cls, p[cls], context);
          if (keeps_bytes(quantizer_[l], p[cls].mean)) {
            u8* bytes = work.bytes(cls);
            if (coded)
              coder->decode_bytes<Code>(bytes, context.data(), n, p[cls].model, work.codes[cls].exceptions, 8 * int(sizeof(S)));
            else
              memset(bytes, 0, n);
            if (!merged && coder) coder->finish();
            place_bytes(quantizer_[l], cls, p[cls], work);
          } else {
            Code* code = work.numbers(cls);
            std::vector<Verbatim>& verbatim = work.codes[cls].verbatim;
            bool large = false;
            if (coded) {
              coder->decode_class(code, context.data(), n, p[cls].model, verbatim, 8 * int(sizeof(S)));
              large = code_kernels<Code>().largest(code, int(n)) > (sizeof(S) == 4 ? u64(1) << 21 : u64(1) << 50);
            } else
              std::fill(code, code + n, Code(0));
            if (!merged && coder) coder->finish();
            size_t next = 0;
            for_predicted_rows(work, cls, p[cls], [&](S* samples, const Real* prediction, int count, size_t at, const Index&) {
              dequantize_row(quantizer_[l], code + at, prediction, count, large, verbatim, next, samples);
            });
          }
          complete_class(work, cls, p[cls]);
          class_magnitudes(work, cls, p[cls].mean);
        }
        if (merged && coder) coder->finish();
        store_block(g, work.values.data(), level.n, target + item * level.samples(), streaming);
        if (masked_ && !out) fill_masked_box(g.box, level.n, level_kinds.data() + item * level.samples(), target + item * level.samples());
        if (!out) store_magnitudes(g, work.magnitudes.data(), level.n, magnitudes.data() + item * level.samples());
      }
    if (streaming) kernels().finish_streaming();
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
  (void)threads;
  Decoder<S>(h, kinds, others).run(sections, size, samples);
}
template void decode_sections(const Header&, const u8*, size_t, float*, std::vector<u8>&, std::vector<OtherSample>&, int);
template void decode_sections(const Header&, const u8*, size_t, double*, std::vector<u8>&, std::vector<OtherSample>&, int);
template void decode_sections(const Header&, const u8*, size_t, i64*, std::vector<u8>&, std::vector<OtherSample>&, int);

}  // namespace stz
