// What the kernels for whole classes work on (simd/kernels.h): rows of samples with their neighbours, quantizers, residual feedback.
#pragma once
#include "base/common.h"
#include "base/sample_types.h"

namespace stz {

constexpr int row_slack = 128;  // elements

// Neighbours as offsets (in elements) from the sample, group by group.
struct TapTable {
  int groups = 0;
  const int* taps = nullptr;               // number of taps of each group
  const std::ptrdiff_t* offset = nullptr;  // of all taps, group by group
};

// Quantization of a float level: code (quantization index) = rint((x - p) * inverse), x' = p + code * step.
template <class T>
struct Uniform {
  T inverse, step;
  T safe;                          // an error of at most `safe`, computed in T, proves the bound
  T code_limit;                    // larger codes take the exact path
  T avoid_from = 1, avoid_to = 0;  // range in which no sample may be reconstructed (empty by default)
  T dead_zone = 0;                 // encoder: residuals smaller than this, in steps, get the code 0
};

// Decoding of samples that are integers, with codes as bytes: x' = rint(p) + code * step (coding/quantize.h).
template <class T>
struct IntegerSteps {
  T step;  // odd, at most 2^16 (float) or 2^45 (double), so that multiples are exact
  // The sample for a prediction that is not below 2^22 or 2^51, or not a number.
  T (*reconstruct)(const void* quantizer, T prediction, int code);
  const void* quantizer;
};

// Rows of a class in a class array or elsewhere: extents and strides in elements.
struct ClassRows {
  i64 n[4];
  std::ptrdiff_t stride[3];
};

// Codes as bytes: zig-zag numbers up to 2 * largest_byte_code. byte_escape marks any other code.
constexpr int largest_byte_code = 127;
constexpr u8 byte_escape = 255;

// Rows of memory to be read soon. Encoding kernels prefetch some of their cache lines before each row of their own.
struct RowsAhead {
  const char* row = nullptr;  // the next row; advances
  std::ptrdiff_t stride = 0;  // bytes
  i64 rows = 0;
  int size = 0;   // bytes of a row
  int lines = 0;  // cache lines to prefetch at a time
  int asked = 0;  // bytes of the row prefetched so far
};

// A class to be coded in place. Rows are written up to a multiple of 16 elements, so they must be that far apart, and no tap may lie there.
// Nothing else around them is written. With weights, the first group must have 2 taps.
template <class T>
struct ClassTask {
  T* samples;  // the first sample; its neighbours are around it
  ClassRows rows;
  TapTable taps;
  const T* weights;  // one per group; null: use the median of the taps of the only group
  Uniform<T> quantizer;
  // Encoder, if the samples are not in place yet: they are every second element from here on. Up to row_slack elements beyond a row are
  // read.
  const T* originals = nullptr;
  std::ptrdiff_t original_stride[3] = {};     // of rows, as rows.stride
  RowsAhead* ahead = nullptr;                 // may be null
  const IntegerSteps<T>* integers = nullptr;  // decoder: null if the quantizer is uniform
};
template <class T>
struct FailedSample {
  u32 index;  // in raster order
  T* place;
  T prediction;
};

// Additional arguments of a class task with residual feedback (predict/feedback.h).
template <class T>
struct FeedbackTask {
  static constexpr int short_row = 64, slots = 8;  // of rows with at most this many samples, several are processed at once
  int terms;                                       // number of residuals before a sample that are used
  int axis[3];                                     // the axes along which they lie
  // Weights times 64, at most 127 in magnitude. before: of these residuals, for samples of even and odd index in the row. beside: of both
  // neighbours in the row, for samples of odd index.
  i16 before[2][3], beside;
  int bits;  // residuals and sums are in units of 2^-bits steps; at most 11
  T unit;    // value of one such unit
  // The history holds one index along this axis of the task: residuals of the previous index are overwritten.
  int slowest;
  // Rows of residuals, one per index along the axes after `slowest`. Each half has the samples of even or odd index, padded with zeros.
  i16* history;
  std::ptrdiff_t pitch;  // of its rows; a multiple of 64
  const i16* zeros;      // a row of zeros
  // Work space. Sums and codes: `slots` pitches each for short rows, else two. Encoder also: half of two rows in `even`; predictions of
  // two rows, or of four short rows at the task's stride, plus row_slack.
  i16 *sums, *codes;
  T *even, *predictions;
  // Encoder: returns the byte and reconstruction of a sample that a kernel cannot code.
  u8 (*requantize)(void* encoder, u32 index, T sample, T prediction, T* reconstructed) = nullptr;
  void* encoder = nullptr;
};

}  // namespace stz
