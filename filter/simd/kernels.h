// The inner loops of the codec, on a row (n adjacent samples along the last axis of a parity class) or on a whole class.
//
// kernels.cpp has one body per kernel and is compiled once per instruction set; kernels() picks the widest that the machine has.
// Every variant returns the same bits: operations and their order are fixed, multiply-adds are not contracted, contexts are integers. Input
// NaNs must be those of arithmetic, because the compiler decides which of two NaNs is passed on.
// Arrays may be read, and outputs written, up to `row_slack` elements beyond n, unless a comment says "exactly"; the caller overwrites or
// ignores these. tests/native/kernels/ has a plain loop for each kernel and compares all variants with it and with these comments.
#pragma once
#include <type_traits>

#include "base/code_constants.h"
#include "base/sample_types.h"
#include "simd/class_tasks.h"
#include "simd/cpu_features.h"
#include "simd/field_kernels.h"
#include "simd/rans_kernels.h"
#include "simd/remainder_kernels.h"

namespace stz {

template <class S>
struct RowKernels {
  using Real = RealOf<S>;
  using Code = CodeOf<S>;
  // p[x] = sum over groups of weight * (sum of the group's taps), added in the order of the table. The first group has 2 taps.
  void (*predict)(const S* row, const TapTable& taps, const Real* weights, int n, Real* p);
  // The median of at most 80 taps; of an even number, the mean of the middle two.
  void (*median)(const S* row, const std::ptrdiff_t* offsets, int count, int n, Real* p);
  // The mean of the taps whose kind is 0, summed from +0 in their order; of all taps if there are none. Kinds have their own offsets.
  void (*mean_of_valid)(const S* row, const u8* kinds, const std::ptrdiff_t* offsets, const std::ptrdiff_t* kind_offsets, int count, int n,
                        Real* mean);
  // out[2 i] = even[i], out[2 i + 1] = odd[i]. n counts outputs, which are written exactly. Inputs may be read from 16 elements before
  // their start. `streaming`: bypass the caches; call finish_streaming() before another thread reads.
  void (*interleave)(const S* even, const S* odd, int n, S* out, bool streaming, const Limits<S>* limits);
  // The same for rows with `stride` (inputs) and `out_stride` (outputs). Inputs may be read up to row_slack elements beyond their end.
  void (*interleave_rows)(const S* even, const S* odd, std::ptrdiff_t stride, int rows, int n, S* out, std::ptrdiff_t out_stride);
  // The inverse of interleave. n counts inputs. Reads and writes exactly.
  void (*separate)(const S* in, int n, S* even, S* odd);
};

template <class T>
struct UniformKernels {
  using Code = CodeOf<T>;
  // Quantizes x[stride * i], stride 1 or 2; x is read exactly. Returns true if every error is proved within the bound and every code is
  // small. Larger codes, and reconstructions from them, are unspecified.
  bool (*quantize)(const T* x, int stride, const T* p, int n, const Uniform<T>& q, Code* code, T* reconstructed);
  // For codes up to code_limit, which is at most 2^21 (float) or 2^50 (double).
  void (*dequantize)(const Code* code, const T* p, int n, const Uniform<T>& q, T* reconstructed);
  // Codes a class: samples become reconstructions, bytes[raster index] their codes, written exactly. Samples under a mask (raster order,
  // may be null) become their prediction. Samples that miss the bound, hit the range to avoid or have no byte code are listed in any order;
  // they keep their value, and their bytes are unspecified. `failed` has room for all samples. Returns their number.
  u32 (*encode_class)(const ClassTask<T>& task, const u8* mask, u8* bytes, FailedSample<T>* failed);
  // The inverse. Samples whose byte is byte_escape become unspecified.
  void (*decode_class)(const ClassTask<T>& task, const u8* bytes);
  // The same with residual feedback. Failed samples go through feedback.requantize. When decoding, samples whose byte is byte_escape become
  // their prediction.
  void (*encode_feedback)(const ClassTask<T>& task, const FeedbackTask<T>& feedback, const u8* mask, u8* bytes);
  void (*decode_feedback)(const ClassTask<T>& task, const FeedbackTask<T>& feedback, const u8* bytes);
};

// Rows of samples that are coded in integers. x is read, and p, codes and reconstructions are written, as above.
template <class T>
struct NumberKernels {
  using Code = CodeOf<T>;
  // Codes integers x as c, with x' = rint(p) + c * step and |x - x'| at most half the step, which is odd and at most 2^20 (float) or 2^49
  // (double). Returns false, with unspecified results, if a prediction is not below 2^22 or 2^51, or differs from x by more than 2^21 or
  // 2^50.
  bool (*quantize_integers)(const T* x, const T* p, int n, T step, Code* code, T* reconstructed);
  // The inverse, for codes up to 2^21 or 2^50. Returns false if a prediction is not below 2^22 or 2^51, or c * step is above 2^23 or 2^52.
  bool (*dequantize_integers)(const Code* code, const T* p, int n, T step, T* reconstructed);
  // ULP space with a step of one: c = (index of x >> zero_bits) - (index of p, 0 for NaN, >> zero_bits) and x' = x. The most negative code
  // marks outliers: samples with nonzero zero_bits, or a code beyond 2^31 - 2 or 2^61 - 2. Returns false if there are any.
  bool (*quantize_ulps)(const T* x, const T* p, int n, int zero_bits, Code* code, T* reconstructed);
  // The inverse for any step, modulo 2^32 or 2^64.
  void (*dequantize_ulps)(const Code* code, const T* p, int n, u64 step, int zero_bits, T* reconstructed);
};

template <class Code>
struct CodeKernels {  // these read and write exactly
  // The largest |code|. The most negative code counts as the largest.
  u64 (*largest)(const Code* code, int n);
  // Activities, normalised sizes of codes: min(255, ((min(|code| >> right, 511) << left) * factor) >> 12). right is 0 to 58, also for
  // 32-bit codes.
  void (*activity)(const Code* code, int n, int right, int left, u32 factor, u8* activity);
  // Splits zig-zag numbers into symbols (all bits but the lowest `shift`, at most 255) and these lowest bits (0 for the most negative
  // code). shift is at most the width of a code minus 8.
  void (*split)(const Code* code, size_t n, int shift, u8* symbols, std::make_unsigned_t<Code>* low);
  // The inverse. Bits of a symbol that do not fit are lost.
  void (*join)(const u8* symbols, const std::make_unsigned_t<Code>* low, size_t n, int shift, Code* code);
  // Precision layers: see layer_kernels.h.
  bool (*append_bits)(Code* code, const u8* low, size_t n, int width, u64 largest);
  void (*cut_bits)(const Code* code, size_t n, int width, Code* out);
  void (*refine)(const Code* code, size_t n, int before, int after, u8* added, u8* low, u8* known);
};

// Fits of weights (encoder only). Arrays have n samples, n a multiple of 16, padded with zeros, and are read and written exactly. Sums of
// lanes have a fixed order.
template <class S>
using CollectKernel = u32(const S* row, const TapTable& taps, int odd, RealOf<S> inverse_unit, float* m, std::ptrdiff_t pitch, float* y);
// A part of a class for the fit of residual feedback. Samples of even and odd index along the last axis are stored separately, row by row.
struct FeedbackTrial {
  static constexpr int most_columns = 4;
  static constexpr float largest = 0x1p20f;  // differences beyond it mark places without a sample
  i64 rows[3];                               // along the first three axes
  i64 pitch;                                 // of rows; a multiple of 16
  const float* difference[2];                // to the stencil's prediction, in steps
  int terms;                                 // number of residuals before a sample that are used
  int axis[3];                               // the axes along which they lie, of the first three
  float before[2][3], beside;                // their weights by parity; weight of both neighbours along the last axis, for odd samples
  float soft;
  float limit;           // larger codes count as 0 in residuals
  float* residual[2];    // rows of pitch + 16; initial contents do not matter
  const u8* context[2];  // 16 times the context of each sample
  // the same plus the bin of the code's size, which is below 15; 255 where there is no sample
  u8* key[2];
};
struct FeedbackSums {
  double size, wide;
  // For each parity, [i * pitch + j] for j >= i. Columns are those that weights multiply, `before` first, and the difference last.
  static constexpr int pitch = FeedbackTrial::most_columns + 1;
  double products[2][pitch * pitch];
};
struct FitKernels {
  // Collects a run of 16 samples: y[i] = row[i] - the mean of the cubics, m[g * pitch + i] = the mean of group g - the mean of the cubics,
  // in units. 16 numbers of each are written exactly. Numbers of taps are even. Returns a bit for each sample whose numbers are all below
  // 1e15.
  CollectKernel<float>* collect32;
  CollectKernel<double>* collect64;
  CollectKernel<i64>* collect_integers;
  // The sum of log2(1 + r), each up to 2.5e-3 too small, over r = |y - sum over columns of c * column|. Writes 1 / (soft + r)^2 to
  // `weight`, unless it is null.
  double (*cost)(const float* const* column, int columns, const float* y, const float* c, int n, float soft, float* weight);
  // sums[i * columns + j] = sum of weight * column i * column j for j >= i. Sums for j < i are unspecified.
  void (*products)(const float* const* column, int columns, const float* weight, int n, double* sums);
  // Processes row by row, samples of even index first. With e = difference - sum of weight * column and c = e rounded, the residual is
  // difference - e + c, without c if it is above `limit`; outside of rows residuals are 0.
  // Adds up over all samples: |e|, the number of |c| above largest_byte_code, and products of columns divided by (soft + |e|)^2. Bins of
  // |c| begin at 0 to 3, 4, 6, and at octaves from 8 on.
  void (*feedback)(const FeedbackTrial& trial, FeedbackSums& sums);
};

// Scans an array in one pass; reads exactly.
template <class T>
struct ScanKernels {
  // Returns the largest magnitude as bits without the sign; if all exponent bits are ones it is not finite. *equal: whether any element has
  // the bits `wanted`.
  std::make_unsigned_t<CodeOf<T>> (*scan)(const T* x, size_t n, std::make_unsigned_t<CodeOf<T>> wanted, bool* equal);
};

// Elements that are integers of 1, 2 or 4 bytes in the host's byte order, at any alignment.
template <class T>
struct ElementKernels {  // these read and write exactly
  void (*load)(const void* elements, int bytes, bool is_signed, size_t n, T* samples);
  // Rounds to the nearest integers (ties to even, NaN is 0) within the range of the type.
  void (*store)(const T* samples, size_t n, int bytes, bool is_signed, void* elements);
};

// Codes as bytes. Contexts are below 16, or 255 for samples without a code.
struct ByteKernels {
  // The context of each sample: how many of the thresholds 1 to 15 (increasing, not 0) are at most the weighted sum of neighbour activities
  // modulo 2^16.
  void (*context)(const u8* row, const TapTable& taps, const u16* weights, const u16* thresholds, int n, u8* context);
  // Writes rows of a class array exactly: out = table[code] (256 entries), codes in raster order.
  void (*activities)(const u8* code, const ClassRows& rows, const u8* table, u8* out);
  void (*count_contexts)(const u8* context, size_t n, size_t* counts);
  // Stable: the counts[k] codes of context k go to bins + k * pitch. pitch >= n + 64; there is space for 17 bins.
  void (*partition_by_context)(const u8* code, const u8* context, size_t n, u8* bins, size_t pitch, size_t* counts);
  // The inverse. Samples without a context get code 0.
  void (*merge_contexts)(const u8* bins, size_t pitch, const u8* context, size_t n, u8* code);
  u8 (*largest)(const u8* code, size_t n);
  size_t (*find)(const u8* code, size_t n, u8 least, u32* index);  // places of codes >= least; room for n; returns their number
  void (*shift)(u8* code, size_t n, int shift);                    // to the right; exactly n codes
  // Packs the low `shift` bits (at most 7) of eight codes into a word, the first code lowest. Codes are read and written in eights,
  // exactly.
  void (*gather_low_bits)(const u8* code, size_t words, int shift, u64* out);
  void (*spread_low_bits)(const u64* in, size_t words, int shift, u8* code);  // code = code << shift | bits
  // Precision layers, see layer_kernels.h. Codes are written exactly. Up to 64 more fields than codes may be read.
  size_t (*count_nonzero)(const u8* code, size_t n);
  void (*spread_fields)(const u8* field, const u8* code, size_t n, u8* out);
  bool (*append_bits)(u8* code, const u8* low, size_t n, int width);
  void (*cut_bits)(const u8* code, size_t n, int width, u8* out);
  void (*refine)(const u8* code, size_t n, int before, int after, u8* added, u8* low, u8* known);
  size_t (*pack_fields)(const u8* low, const u8* known, size_t n, u8* fields);  // up to 64 more may be written
};

// A row of level 0 and its enhancement (format/enhancement.h). Samples are in units modulo 2^16.
struct EnhancementRow {
  // units: the first sample, with its neighbours around it. valid: -1 for valid samples, 0 for others; may be null.
  const i16 *units, *valid;
  const std::ptrdiff_t* offset;  // to the neighbour in each direction; its opposite has the negative offset
  const u32* weights;            // three per direction, times 2^13: for samples 0, 2, ... in the low half, for 1, 3, ... in the high half
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
  FieldKernels<u8> fields8;
  FieldKernels<u16> fields16;
  FieldKernels<u32> fields32;
  FieldKernels<u64> fields64;
  RemainderKernels<u32> remainders32;
  RemainderKernels<u64> remainders64;
  EnhancementKernels<float> enhancement32;
  EnhancementKernels<double> enhancement64;
  void (*enhancement)(const EnhancementRow& row, int n, i16* negative);  // negated corrections
  // CRC-32C of exactly n bytes on the bit-inverted register. Null: tables are as fast (checksum.cpp).
  u32 (*crc32c)(u32 crc, const u8* data, size_t n);
  void (*finish_streaming)();
  const char* isa;
  bool can_stream;  // false: `streaming` is ignored
};

const Kernels& kernels();  // the widest that this machine has, or those named by H5STZ_ISA
// The kernels of an instruction set (baseline, avx2, avx512); null if this machine lacks it.
const Kernels* kernels_of(const char* isa);
// The same for a machine with these features: kernels that need other features are never returned.
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
template <class U>
const FieldKernels<U>& field_kernels() {
  if constexpr (sizeof(U) == 1)
    return kernels().fields8;
  else if constexpr (sizeof(U) == 2)
    return kernels().fields16;
  else if constexpr (sizeof(U) == 4)
    return kernels().fields32;
  else
    return kernels().fields64;
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
