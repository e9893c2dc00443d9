"""Mistakes that the fast tier must notice: each changes one line of the source, and names a test that then fails.

run.py makes them one after the other; test_mistakes.py sees to it that the lines and the tests are still there.
"""

from typing import NamedTuple


class Mistake(NamedTuple):
    """`before` stands in the file once; `test` is a file of tests, or one test, that fails with `after` in its place."""

    what: str
    file: str
    before: str
    after: str
    test: str


MISTAKES = [
    Mistake(
        "blocks end one sample early",
        "filter/grid/block_geometry.cpp",
        "box.low[a] + box.size[a] < level.n[a];",
        "box.low[a] + box.size[a] + 1 < level.n[a];",
        "stream/test_golden.py",
    ),
    Mistake(
        "the quantizer allows more than the bound",
        "filter/coding/quantize.cpp",
        "bound_ * (1 - 4 * double(",
        "bound_ * (1 + 4 * double(",
        "codec/test_codec_bound.py",
    ),
    Mistake(
        "a fill value has another bit",
        "filter/format/elements.h",
        "        return h_.fill;",
        "        return h_.fill ^ 1;",
        "stream/test_golden.py",
    ),
    Mistake(
        "the check of a trailer is not looked at",
        "filter/masks/content_check.cpp",
        "  require_check(crc32c(trailer, records), trailer + records, 4);\n",
        "",
        "stream/test_corruption.py",
    ),
    Mistake(
        "a value of a palette has the rank of the next one",
        "filter/encoder/represent/find_palette.cpp",
        ".number = i + 1;",
        ".number = i + 1 + (i == 17);",
        "codec/test_palette.py",
    ),
    Mistake(
        "the longer stream is kept",
        "filter/encoder/plan/result.h",
        "candidate.size() < best.size()",
        "candidate.size() > best.size()",
        "stream/test_golden.py",
    ),
    Mistake(
        "a chunk that still grows is stored with loss",
        "filter/encoder/encode.cpp",
        "  if (h.mode != STZ_LOSSLESS && still_grows(a, h, options.append_axis)) make_lossless(h);\n",
        "",
        "codec/test_append_axis.py",
    ),
    Mistake(
        "no content check is written",
        "filter/encoder/make_stream.cpp",
        "if (plan.content_check) trailer",
        "if (plan.content_check && plan.effort > 9) trailer",
        "stream/test_content_check.py",
    ),
    Mistake(
        "sizes of streams may pass the end of their section",
        "filter/decoder/level_directory.cpp",
        "require(offset == stream_bytes && (sum > covered_streams)",
        "require(offset <= stream_bytes && (sum > covered_streams)",
        "stream/test_two_decoders.py",
    ),
    Mistake(
        "bits of a precision layer are lost",
        "filter/decoder/join_codes.cpp",
        "i64(size << width | low[i])",
        "i64(size << width)",
        "stream/test_layers.py",
    ),
    Mistake(
        "the first block is never compared with the content check",
        "filter/decoder/verify_content.cpp",
        "require(!compares || crc ==",
        "require(!compares || number == 0 || crc ==",
        "stream/test_content_check.py",
    ),
    Mistake(
        "the final states of a stream are not looked at",
        "filter/decoder/code_stream_decoder.cpp",
        "  for (u32 lane = 0; lane < lanes_; lane++) require(state_[lane] == rans_low, STZ_ERROR_CORRUPT);\n",
        "",
        "stream/test_lanes.py",
    ),
    Mistake(
        "two axes of a part are swapped",
        "filter/reader/copy_elements.h",
        "i * strides[0] + j * strides[1] + k * strides[2]",
        "i * strides[0] + k * strides[1] + j * strides[2]",
        "reader/test_reader.py",
    ),
    Mistake(
        "a literal loses its bits in a part",
        "filter/reader/copy_elements.h",
        "        bits = it->bits;\n",
        "",
        "reader/test_reader.py",
    ),
    Mistake(
        "the dataset's fill value is ignored",
        "filter/hdf5/dataset.cpp",
        "&state) < 0 || state != fill_user_defined) return true;",
        "&state) < 0 || state != fill_user_defined || state) return true;",
        "hdf5/test_hdf5_missing_values.py",
    ),
    Mistake(
        "what was lost before a copy is forgotten",
        "filter/hdf5/chunk.cpp",
        "const double lost = std::max(info.accumulated_bound, info.relaxed_bound);",
        "const double lost = 0 * info.accumulated_bound;",
        "hdf5/test_histories.py",
    ),
    Mistake(
        "a row of a region is one sample short",
        "filter/region/chunk_part.cpp",
        "    std::memcpy(to, from, span.count * size);",
        "    std::memcpy(to, from, (span.count - 1) * size);",
        "region/test_c_region.py",
    ),
    Mistake(
        "a chunk stored without the filter is taken for a stream",
        "filter/region/chunk_part.cpp",
        "if (!fetched || mask != 0) return Route::by_hdf5;",
        "if (!fetched) return Route::by_hdf5;",
        "region/test_c_region_fallbacks.py",
    ),
    Mistake(
        "the old stream is returned although one sample changed",
        "filter/rewrite/rewrite.cpp",
        "    if (equal_ == element_count(layout_))",
        "    if (equal_ + 1 >= element_count(layout_))",
        "hdf5/test_rewriting.py",
    ),
    Mistake(
        "half of the probes are kept",
        "filter/recognition/probes.cpp",
        "  return std::bit_floor(wanted);",
        "  return std::bit_floor(wanted) / 2;",
        "hdf5/test_rewriting_recognised.py",
    ),
    Mistake(
        "slices are one sample short",
        "pyfilter/h5stz/reading/selection.py",
        "return Axis(covered.start, len(covered), covered.step)",
        "return Axis(covered.start, max(0, len(covered) - 1), covered.step)",
        "region/test_view.py",
    ),
    Mistake(
        "a file that changed in place is read as if it had not",
        "pyfilter/h5stz/reading/chunk_index.py",
        "return state.st_mtime_ns, state.st_size",
        "return 0, state.st_size",
        "region/test_view_faults.py",
    ),
    Mistake(
        "chunks at the edge that have no filter are taken for streams",
        "pyfilter/h5stz/reading/chunk_index.py",
        "return not (self._raw_edges and self._at_edge(chunk))",
        "return True",
        "region/test_view_fallbacks.py",
    ),
    Mistake(
        "attributes are not copied",
        "pyfilter/h5stz/files/copy_tree.py",
        "                count = h5py.h5a.get_num_attrs(item)\n",
        "                count = 0\n",
        "repack/test_copy_tree.py",
    ),
    Mistake(
        "a chunk stored without the filter is cut where layers are left out",
        "pyfilter/h5stz/files/dropping_layers.py",
        "        if mask:  # stored without",
        "        if mask > 1:  # stored without",
        "region/test_view_precision.py",
    ),
    Mistake(
        "_FillValue and missing_value are ignored",
        "pyfilter/h5stz/hdf5/missing_numbers.py",
        'NAMES = ("_FillValue", "missing_value")',
        'NAMES = ("_fillvalue",)',
        "repack/test_hazards.py",
    ),
    Mistake(
        "levels have the chunks of the whole variable",
        "pyfilter/h5stz/xarray/store.py",
        "tuple(max(1, -(-n >> self.reading.level)) if axis in axes else n",
        "tuple(n if axis in axes else n",
        "python/test_xarray_backend.py",
    ),
    Mistake(
        "a part of a zarr chunk replaces all of it",
        "pyfilter/h5stz/zarr/codec.py",
        "                array = self._chunk(previous, chunk_spec, None)\n",
        "                array = np.full(chunk_spec.shape, _fill(chunk_spec), dtype)\n",
        "zarr_stores",
    ),
    Mistake(
        "verify ends well on damage",
        "pyfilter/h5stz/cli/verify.py",
        "    return int(not sound)",
        "    return 0",
        "tools/test_verify_command.py",
    ),
    Mistake(
        "threads write although HDF5's chunk cache has samples of the dataset",
        "filter/intercept/whole_requests.cpp",
        "if (way != Way::threads && identity != 0) written_by_hdf5",
        "if (way != Way::threads && identity == 0) written_by_hdf5",
        "intercept/test_run_threads.py::test_products_with_a_chunk_cache",
    ),
    Mistake(
        "threads pad edge chunks without the fill value",
        "filter/intercept/whole_write.cpp",
        "memcpy(samples.data() + at, whole_.padding, whole_.element_size)",
        "memset(samples.data() + at, 0, whole_.element_size)",
        "intercept/test_run_threads.py::test_products_without_a_chunk_cache",
    ),
    Mistake(
        "a small number is read as if the slab had one bit fewer",
        "filter/decoder/decode_remainders.cpp",
        "while (gap < longest_gap && !take(1)) gap++;",
        "while (gap < longest_gap - 1 && !take(1)) gap++;",
        "stream/test_golden.py",
    ),
    Mistake(
        "the check of a slab is not looked at",
        "filter/decoder/decode_remainders.cpp",
        "    if (sizes[number]) require_check(check_of(bytes, size_t(sizes[number])), bytes + sizes[number]);\n",
        "",
        "reader/test_remainders.py",
    ),
    Mistake(
        "readers take no notice of the check of a slab",
        "filter/reader/remainder_reader.cpp",
        "    require_check(check, stored);\n",
        "",
        "reader/test_remainders.py",
    ),
    Mistake(
        "a preview is taken where its error is not accepted",
        "filter/reader/stream_reader.cpp",
        "request.max_error >= preview_error(header_)",
        "request.max_error > 0",
        "reader/test_remainders.py",
    ),
    Mistake(
        "the views of whole chunks do not know of previews",
        "pyfilter/h5stz/reading/readers.py",
        " and not precision.takes_preview(self.info)",
        "",
        "region/test_view_precision.py::test_a_preview_of_lossless_data",
    ),
    Mistake(
        "escaped numbers of floating-point fields keep their top bits from the table",
        "filter/decoder/decode_fields.cpp",
        "    v = U(v | U(U(tops.take(widths_.top)) << widths_.low));\n",
        "    v = U(v | U(U(tops.take(widths_.top)) & 0));\n",
        "stream/test_golden.py",
    ),
    Mistake(
        "decoded elements leave the range of values",
        "filter/format/convert.cpp",
        "return h.range.any() ? in_range(h, bits) : bits;",
        "return bits;",
        "codec/test_value_range.py",
    ),
    Mistake(
        "decimals are multiples of a rounded power",
        "filter/format/decimals.cpp",
        "return sample / powers[d.digits];",
        "return sample * (1 / powers[d.digits]);",
        "codec/test_decimals.py",
    ),
    Mistake(
        "a part of an array has the grids of its first slices",
        "filter/format/slice_grids.cpp",
        "start[s.axis] + run % slices",
        "run % slices",
        "codec/test_slice_grids.py",
    ),
    Mistake(
        "what a box comes from is read from the base alone",
        "filter/reader/patched_reader.cpp",
        "read_below(k, of_others,",
        "read_below(0, of_others,",
        "codec/test_repeats.py",
    ),
    Mistake(
        "gaps of small numbers lose their low bits",
        "filter/decoder/decode_remainders.cpp",
        "gap = gap << gap_bits_ | take(gap_bits_);",
        "gap = gap << gap_bits_ | (take(gap_bits_) & 1);",
        "reader/test_remainders.py",
    ),
]
