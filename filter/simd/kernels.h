// The inner loops of the codec: on one row (n neighbouring samples along the last axis of a parity class) or on a whole class.
//
// kernels.cpp holds one body per kernel and is compiled once per instruction set; kernels() picks the widest that the machine has.
// Every variant returns the same bits: operations and their order are fixed, no multiply-add is contracted, contexts are integers. NaNs
// must be those of arithmetic: which one of two others would be passed on is the compiler's choice.
// Arrays may be read, and outputs written, up to `row_slack` elements beyond n (garbage that the caller overwrites or ignores), unless a
// comment says "exactly". tests/native/kernels/ has a plain loop for each kernel and holds all variants to it and to these comments.
#pragma once
#include <type_traits>

#include "base/code_constants.h"
#include "base/sample_types.h"
#include "simd/cpu_features.h"
#include "simd/rans_kernels.h"

namespace stz {

constexpr int row_slack = 128;  // elements

// Neighbours as offsets (in elements) from the sample, group by group.
struct TapTable {
  int groups = 0;
  const int* taps = nullptr;               // number of taps of each group
  const std::ptrdiff_t* offset = nullptr;  // of all taps, group after group
};

// How a float level is quantised: code (quantization index) = rint((x - p) * inverse), x' = p + code * step.
template <class T>
struct Uniform {
  T inverse, step;
  T safe;                          // an error of at most `safe`, computed in T, proves the bound
  T code_limit;                    // larger codes take the exact path
  T avoid_from = 1, avoid_to = 0;  // no sample may be reconstructed in that range (empty by default)
  T dead_zone = 0;                 // encoder: what is nearer to its prediction, in steps, has the index 0
};

// Rows of a class in a class array, or elsewhere: extents and distances in elements.
struct ClassRows {
  i64 n[4];
  std::ptrdiff_t stride[3];
};

// Codes as bytes: zig-zag numbers up to 2 * largest_byte_code; byte_escape stands for any other code.
constexpr int largest_byte_code = 127;
constexpr u8 byte_escape = 255;

// Rows of memory that will be read soon. Kernels that encode ask for some of their lines before each of their own rows, so that they
// arrive meanwhile.
struct RowsAhead {
  const char* row = nullptr;  // what is next; moves on
  std::ptrdiff_t stride = 0;  // bytes
  i64 rows = 0;
  int size = 0;   // bytes of a row
  int lines = 0;  // at a time
  int asked = 0;  // bytes of the row
};

// A class to be coded in place. Rows are written up to a multiple of 16 elements, so they must be that far apart; nothing else around them
// is, and no tap may be there. With weights the first group has 2 taps.
template <class T>
struct ClassTask {
  T* samples;  // the first one; its neighbours are around it
  ClassRows rows;
  TapTable taps;
  const T* weights;  // per group; null: the median of the taps of the only group
  Uniform<T> quantizer;
  // Encoder, if the samples are not in place yet: every second element from here on, up to row_slack elements beyond a row being read.
  const T* originals = nullptr;
  std::ptrdiff_t original_stride[3] = {};  // of rows, as rows.stride
  RowsAhead* ahead = nullptr;              // or null
};
template <class T>
struct FailedSample {
  u32 index;  // raster order
  T* place;
  T prediction;
};

// What residual feedback (predict/feedback.h) adds to a class task.
template <class T>
struct FeedbackTask {
  static constexpr int short_row = 64, slots = 8;  // of rows of at most that many samples several are worked on at once
  int terms;                                       // residuals before a sample that count
  int axis[3];                                     // along these axes
  i16 before[2][3], beside;  // their weights times 64, at most 127 in magnitude, in the same order, for samples of even and odd index in
                             // the row; of both neighbours in the row, for odd ones
  int bits;                  // residuals and their sums are in units of 2^-bits steps; up to 11
  T unit;                    // what one of these is worth
  int slowest;           // the axis of the task along which the history has one row: residuals of the index before are replaced by new ones
  i16* history;          // rows of residuals, of axis 2 and, behind `slowest`, axis 1: in each half those of even or odd index and zeros
  std::ptrdiff_t pitch;  // of its rows, a multiple of 64
  const i16* zeros;      // a row of zeros
  // Space: `slots` pitches of sums and as many of codes for short rows, else two; for the encoder also half a row, and predictions of a
  // row, or of four short ones at the distance of the task's, and row_slack.
  i16 *sums, *codes;
  T *even, *predictions;
  // Encoder: the byte and the reconstruction of a sample that a kernel cannot code.
  u8 (*requantize)(void* encoder, u32 index, T sample, T prediction, T* reconstructed) = nullptr;
  void* encoder = nullptr;
};

template <class S>
struct RowKernels {
  using Real = RealOf<S>;
  using Code = CodeOf<S>;
  // p[x] = sum over groups of weight * (sum of the group's taps), added up in the table's order. The first group has 2 taps.
  void (*predict)(const S* row, const TapTable& taps, const Real* weights, int n, Real* p);
  // median of the taps, at most 80 (the mean of the middle two if their number is even)
  void (*median)(const S* row, const std::ptrdiff_t* offsets, int count, int n, Real* p);
  // mean of those taps whose kind is 0 (summed from +0, in their order), or of all taps where none is; the kinds of taps have offsets of
  // their own
  void (*mean_of_valid)(const S* row, const u8* kinds, const std::ptrdiff_t* offsets, const std::ptrdiff_t* kind_offsets, int count, int n,
                        Real* mean);
  // out[2 i] = even[i], out[2 i + 1] = odd[i]; n counts the outputs, which are written exactly. Inputs may be read from 16 elements before
  // their start. `streaming`: written past the caches; finish_streaming() before another thread reads.
  void (*interleave)(const S* even, const S* odd, int n, S* out, bool streaming);
  // The same for rows: inputs `stride` elements apart, outputs `out_stride`. Inputs may be read up to row_slack elements beyond their end.
  void (*interleave_rows)(const S* even, const S* odd, std::ptrdiff_t stride, int rows, int n, S* out, std::ptrdiff_t out_stride);
  // the reverse of interleave; n counts the inputs. Reads and writes exactly.
  void (*separate)(const S* in, int n, S* even, S* odd);
};

template <class T>
struct UniformKernels {
  using Code = CodeOf<T>;
  // Quantises x[stride * i], stride 1 or 2, x read exactly; returns true if every error is proved within the bound and every code is
  // small. A code that is not small has any value, and so has what is reconstructed from it.
  bool (*quantize)(const T* x, int stride, const T* p, int n, const Uniform<T>& q, Code* code, T* reconstructed);
  // for codes up to code_limit, at most 2^21 (float) or 2^50 (double)
  void (*dequantize)(const Code* code, const T* p, int n, const Uniform<T>& q, T* reconstructed);
  // Codes a class: samples become reconstructions, bytes[raster index] their codes. Samples under a mask (raster order, may be null) become
  // their prediction. Samples that fail the bound, the range to avoid or the range of bytes are listed (in any order) and keep their
  // value; their bytes may be any. `failed` has room for all. Returns their number. Bytes are written exactly.
  u32 (*encode_class)(const ClassTask<T>& task, const u8* mask, u8* bytes, FailedSample<T>* failed);
  // The reverse; samples whose byte is byte_escape get any value.
  void (*decode_class)(const ClassTask<T>& task, const u8* bytes);
  // The same with residual feedback. Samples that fail go through feedback.requantize; samples whose byte is byte_escape get their
  // prediction.
  void (*encode_feedback)(const ClassTask<T>& task, const FeedbackTask<T>& feedback, const u8* mask, u8* bytes);
  void (*decode_feedback)(const ClassTask<T>& task, const FeedbackTask<T>& feedback, const u8* bytes);
};

// Rows of samples that are coded in integers: x read and p, codes and reconstructions written as elsewhere.
template <class T>
struct NumberKernels {
  using Code = CodeOf<T>;
  // Integers x to codes c and x' = rint(p) + c * step, |x - x'| being at most half the step, which is odd and at most 2^20 (float) or 2^49
  // (double). False, and nothing is to be used, if a prediction is not below 2^22 or 2^51, or 2^21 or 2^50 less than an x's distance from
  // it.
  bool (*quantize_integers)(const T* x, const T* p, int n, T step, Code* code, T* reconstructed);
  // The reverse, for codes up to 2^21 or 2^50. False if a prediction is not below 2^22 or 2^51, or c * step above 2^23 or 2^52.
  bool (*dequantize_integers)(const Code* code, const T* p, int n, T step, T* reconstructed);
  // Places in the order of numbers (ULP space) with a step of one: c = (place of x >> zero_bits) - (place of p, 0 for NaN, >> zero_bits);
  // x' = x. The most negative code marks samples that have other bits than zeros there or a code beyond 2^31 - 2 or 2^61 - 2: false if any.
  bool (*quantize_ulps)(const T* x, const T* p, int n, int zero_bits, Code* code, T* reconstructed);
  // The reverse with any step, modulo 2^32 or 2^64.
  void (*dequantize_ulps)(const Code* code, const T* p, int n, u64 step, int zero_bits, T* reconstructed);
};

template <class Code>
struct CodeKernels {  // read and write exactly
  // the largest |code|; the most negative code counts as the largest of all
  u64 (*largest)(const Code* code, int n);
  // activities, normalised sizes of codes: min(255, ((min(|code| >> right, 511) << left) * factor) >> 12); right is 0 to 58, also of
  // codes of 32 bits
  void (*activity)(const Code* code, int n, int right, int left, u32 factor, u8* activity);
  // Of each zig-zag number: symbols, all bits but the lowest `shift`, 255 if that is more; these lowest bits, 0 of the most negative code.
  // shift is at most the width of a code less 8
  void (*split)(const Code* code, size_t n, int shift, u8* symbols, std::make_unsigned_t<Code>* low);
  // The reverse; bits of a symbol that do not fit are lost.
  void (*join)(const u8* symbols, const std::make_unsigned_t<Code>* low, size_t n, int shift, Code* code);
  // Precision layers: see layer_kernels.h.
  bool (*append_bits)(Code* code, const u8* low, size_t n, int width, u64 largest);
  void (*cut_bits)(const Code* code, size_t n, int width, Code* out);
  void (*refine)(const Code* code, size_t n, int before, int after, u8* added, u8* low, u8* known);
};

// Fits of weights (encoder only). Arrays of n samples, n a multiple of 16, padded with zeros, read and written exactly; the sums of their
// lanes are formed in a fixed order.
template <class S>
using CollectKernel = u32(const S* row, const TapTable& taps, int odd, RealOf<S> inverse_unit, float* m, std::ptrdiff_t pitch, float* y);
// A part of a class for the fit of residual feedback. Samples of even and of odd index along the last axis are apart, row after row.
struct FeedbackTrial {
  static constexpr int most_columns = 4;
  static constexpr float largest = 0x1p20f;  // differences beyond it are no samples
  i64 rows[3];                               // along the first three axes
  i64 pitch;                                 // of rows, a multiple of 16
  const float* difference[2];                // from the stencil's prediction, in steps
  int terms;                                 // residuals before a sample that count
  int axis[3];                               // along these of the first three axes
  float before[2][3], beside;                // their weights, by parity; of both neighbours along the last axis, for odd samples
  float soft;
  float limit;           // larger codes count as 0 in residuals
  float* residual[2];    // rows of pitch + 16; any contents
  const u8* context[2];  // 16 times that of each sample
  u8* key[2];            // the same with the bin of the size of the code, below 15; 255 where no sample is
};
struct FeedbackSums {
  double size, wide;
  // Of each parity, [i * pitch + j] for j >= i: of the columns that weights multiply, `before` first, and the difference, the last.
  static constexpr int pitch = FeedbackTrial::most_columns + 1;
  double products[2][pitch * pitch];
};
struct FitKernels {
  // One run of 16 samples: y[i] = row[i] - the mean of the cubics, m[g * pitch + i] = the mean of group g - the mean of the cubics, in
  // units; 16 of each are written exactly. Numbers of taps are even. Returns a bit for each sample all of whose numbers are below 1e15.
  CollectKernel<float>* collect32;
  CollectKernel<double>* collect64;
  CollectKernel<i64>* collect_integers;
  // Sum of log2(1 + r), each up to 2.5e-3 too small, over r = |y - sum over columns of c * column|. `weight`: null or 1 / (soft + r)^2 of
  // each.
  double (*cost)(const float* const* column, int columns, const float* y, const float* c, int n, float soft, float* weight);
  // sums[i * columns + j] = sum of weight * column i * column j for j >= i; those for j < i may be anything
  void (*products)(const float* const* column, int columns, const float* weight, int n, double* sums);
  // Row after row, of each the samples of even index first: with e = difference - sum of weight * column and c = e rounded, the residual
  // is difference - e + c, without c above `limit`; outside the rows residuals are 0. Adds up, over what is a sample: |e|, how many |c| are
  // above largest_byte_code, and products of the columns over (soft + |e|)^2. Bins of |c| are 0 to 3, 4, 6, and octaves from 8 on.
  void (*feedback)(const FeedbackTrial& trial, FeedbackSums& sums);
};

// What an array holds, one pass over it, which reads exactly.
template <class T>
struct ScanKernels {
  // The largest magnitude as bits without the sign (from exponent bits all ones on: not finite); *equal: does any element have these bits?
  std::make_unsigned_t<CodeOf<T>> (*scan)(const T* x, size_t n, std::make_unsigned_t<CodeOf<T>> wanted, bool* equal);
};

// Elements that are integers of 1, 2 or 4 bytes, in the order of the host and anywhere in memory.
template <class T>
struct ElementKernels {  // read and write exactly
  void (*load)(const void* elements, int bytes, bool is_signed, size_t n, T* samples);
  // The nearest integers (ties to even, NaN is 0) within the range of the type.
  void (*store)(const T* samples, size_t n, int bytes, bool is_signed, void* elements);
};

// Codes as bytes. Contexts are below 16, or 255 for samples without a code.
struct ByteKernels {
  // context of each sample: how many of the thresholds 1 to 15, which rise and are not 0, are not above the weighted sum of neighbour
  // activities modulo 2^16
  void (*context)(const u8* row, const TapTable& taps, const u16* weights, const u16* thresholds, int n, u8* context);
  // rows of a class array, written exactly: out = table[code] (256 entries), codes in raster order
  void (*activities)(const u8* code, const ClassRows& rows, const u8* table, u8* out);
  void (*count_contexts)(const u8* context, size_t n, size_t* counts);
  // Stable: the codes of context k, counts[k] of them, go to bins + k * pitch, pitch >= n + 64; there is space for 17 bins.
  void (*partition_by_context)(const u8* code, const u8* context, size_t n, u8* bins, size_t pitch, size_t* counts);
  // The reverse; samples without a context get code 0.
  void (*merge_contexts)(const u8* bins, size_t pitch, const u8* context, size_t n, u8* code);
  u8 (*largest)(const u8* code, size_t n);
  size_t (*find)(const u8* code, size_t n, u8 least, u32* index);  // where codes are at least that; room for n; returns how many
  void (*shift)(u8* code, size_t n, int shift);                    // to the right, exactly n of them
  // The low `shift` bits, at most 7, of eight codes per word, the first code lowest; codes are read and written in eights, exactly.
  void (*gather_low_bits)(const u8* code, size_t words, int shift, u64* out);
  void (*spread_low_bits)(const u64* in, size_t words, int shift, u8* code);  // code = code << shift | bits
  // Precision layers: see layer_kernels.h. Codes are written exactly; of fields, 64 more may be read than there are codes.
  size_t (*count_nonzero)(const u8* code, size_t n);
  void (*spread_fields)(const u8* field, const u8* code, size_t n, u8* out);
  bool (*append_bits)(u8* code, const u8* low, size_t n, int width);
  void (*cut_bits)(const u8* code, size_t n, int width, u8* out);
  void (*refine)(const u8* code, size_t n, int before, int after, u8* added, u8* low, u8* known);
  size_t (*pack_fields)(const u8* low, const u8* known, size_t n, u8* fields);  // may write 64 more
};

// A row of level 0 and what enhances it (format/enhancement.h): samples in units modulo 2^16.
struct EnhancementRow {
  const i16 *units, *valid;      // the first sample, with its neighbours around it; -1 for those that count, 0 for others, or null
  const std::ptrdiff_t* offset;  // of a neighbour in each direction; the other one is on the other side
  const u32* weights;            // three for each direction, times 2^13: those of samples 0, 2, ..., and << 16 those of 1, 3, ...
  int directions;
  i16 limit;
};
template <class T>
struct EnhancementKernels {
  void (*to_units)(const T* x, int n, double inverse, i16* units);  // written exactly
  void (*subtract)(T* x, const i16* units, int n, T unit);          // written exactly
};

struct Kernels {
  RowKernels<float> f32;
  RowKernels<double> f64;
  RowKernels<i64> int64;
  UniformKernels<float> uniform32;
  UniformKernels<double> uniform64;
  NumberKernels<float> number32;
  NumberKernels<double> number64;
  CodeKernels<i32> code32;
  CodeKernels<i64> code64;
  ScanKernels<float> scan32;
  ScanKernels<double> scan64;
  ElementKernels<float> element32;
  ElementKernels<double> element64;
  FitKernels fit;
  RansKernels rans;
  ByteKernels bytes;
  EnhancementKernels<float> enhancement32;
  EnhancementKernels<double> enhancement64;
  void (*enhancement)(const EnhancementRow& row, int n, i16* negative);  // corrections, their sign changed
  // CRC-32C of exactly n bytes on the bit-inverted register, or null: tables do as well (checksum.cpp)
  u32 (*crc32c)(u32 crc, const u8* data, size_t n);
  void (*finish_streaming)();
  const char* isa;
  bool can_stream;  // else nothing is written past the caches, whatever is asked for
};

const Kernels& kernels();  // the widest that this machine has, or those that H5STZ_ISA names
// Those of an instruction set (baseline, avx2, avx512); null if this machine lacks it.
const Kernels* kernels_of(const char* isa);
// The same for a machine with these features: no kernels that were compiled for others.
const Kernels& choose_kernels(const char* wanted, CpuFeatures features);
const Kernels* kernels_of(const char* isa, CpuFeatures features);

template <class S>
const RowKernels<S>& row_kernels() {
  if constexpr (sizeof(S) == 4)
    return kernels().f32;
  else if constexpr (std::is_floating_point_v<S>)
    return kernels().f64;
  else
    return kernels().int64;
}
template <class T>
const UniformKernels<T>& uniform_kernels() {
  if constexpr (sizeof(T) == 4)
    return kernels().uniform32;
  else
    return kernels().uniform64;
}
template <class T>
const NumberKernels<T>& number_kernels() {
  if constexpr (sizeof(T) == 4)
    return kernels().number32;
  else
    return kernels().number64;
}
template <class T>
const ScanKernels<T>& scan_kernels() {
  if constexpr (sizeof(T) == 4)
    return kernels().scan32;
  else
    return kernels().scan64;
}
template <class T>
const ElementKernels<T>& element_kernels() {
  if constexpr (sizeof(T) == 4)
    return kernels().element32;
  else
    return kernels().element64;
}
template <class T>
const EnhancementKernels<T>& enhancement_kernels() {
  if constexpr (sizeof(T) == 4)
    return kernels().enhancement32;
  else
    return kernels().enhancement64;
}
template <class S>
CollectKernel<S>* collect_kernel() {
  if constexpr (sizeof(S) == 4)
    return kernels().fit.collect32;
  else if constexpr (std::is_floating_point_v<S>)
    return kernels().fit.collect64;
  else
    return kernels().fit.collect_integers;
}
template <class Code>
const CodeKernels<Code>& code_kernels() {
  if constexpr (sizeof(Code) == 4)
    return kernels().code32;
  else
    return kernels().code64;
}

}  // namespace stz
