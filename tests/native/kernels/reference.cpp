// The table of all reference kernels.
#include "reference_coding.h"
#include "reference_enhancement.h"
#include "reference_fields.h"
#include "reference_integers.h"
#include "reference_layers.h"
#include "reference_numbers.h"
#include "reference_remainders.h"
#include "reference_rows.h"

namespace check {

const Kernels reference = {
    {predict<float>, median<float>, mean_of_valid<float>, interleave<float>, interleave_rows<float>, separate<float>},
    {predict<double>, median<double>, mean_of_valid<double>, interleave<double>, interleave_rows<double>, separate<double>},
    {predict<i64>, median<i64>, mean_of_valid<i64>, interleave<i64>, interleave_rows<i64>, separate<i64>},
    {quantize<float>, dequantize<float>, encode_class<float>, decode_class<float>, encode_feedback<float>, decode_feedback<float>},
    {quantize<double>, dequantize<double>, encode_class<double>, decode_class<double>, encode_feedback<double>, decode_feedback<double>},
    {quantize_integers<float>, dequantize_integers<float>, quantize_ulps<float>, dequantize_ulps<float>},
    {quantize_integers<double>, dequantize_integers<double>, quantize_ulps<double>, dequantize_ulps<double>},
    {largest<i32>, activity<i32>, split<i32>, join<i32>, append_bits<i32>, cut_bits<i32>, refine<i32>},
    {largest<i64>, activity<i64>, split<i64>, join<i64>, append_bits<i64>, cut_bits<i64>, refine<i64>},
    {scan<float>},
    {scan<double>},
    {load_elements<float>, store_elements<float>},
    {load_elements<double>, store_elements<double>},
    {collect<float>, collect<double>, collect<i64>, cost, products, feedback},
    {rans_decode, rans_encode},
    {context, activities, count_contexts, partition_by_context, merge_contexts, largest_byte, find, shift, gather_low_bits, spread_low_bits,
     count_nonzero, spread_fields, append_bits, cut_bits, refine, pack_fields},
    {tops<u8>, put_rests<u8>, take_rests<u8>, join_fields<u8>},
    {tops<u16>, put_rests<u16>, take_rests<u16>, join_fields<u16>},
    {tops<u32>, put_rests<u32>, take_rests<u32>, join_fields<u32>},
    {tops<u64>, put_rests<u64>, take_rests<u64>, join_fields<u64>},
    {put_remainders<u32>},
    {put_remainders<u64>},
    {to_units<float>, subtract_units<float>},
    {to_units<double>, subtract_units<double>},
    enhancement,
    crc32c,
    finish_streaming,
    "scalar",
    false,
};

}  // namespace check
