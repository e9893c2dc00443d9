# cython: language_level=3, boundscheck=True, embedsignature=True
"""Thin binding of the C ABI (filter/include/stz.h): no policy, no NumPy, the GIL is released around the codec.

Arrays are buffers of bytes in C order, described by (dtype code, byte order, shape). Arguments are checked by the core;
its error codes become StzError. What arguments mean for users is decided in the Python modules of the package.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdlib cimport free, malloc
from libc.stdint cimport UINT64_MAX, uint64_t
from libc.string cimport memcpy, memset

from math import prod

from stz cimport *

from h5stz.errors import StzError, StzMemoryError, StzReadError


cdef extern from *:
    """
    // The box of a read, one number of each for every axis.
    struct stz_box { uint64_t start[STZ_MAX_RANK], count[STZ_MAX_RANK], step[STZ_MAX_RANK]; };

    struct stz_error_row { const char* name; int code; const char* text; };
    static const struct stz_error_row stz_error_table[] = {
    #define STZ_ERROR_ROW(name, code, text) {#name, code, text},
        STZ_ERRORS(STZ_ERROR_ROW)
    #undef STZ_ERROR_ROW
    };
    enum { STZ_ERROR_ROWS = sizeof stz_error_table / sizeof stz_error_table[0] };
    """
    struct stz_box:
        uint64_t* start
        uint64_t* count
        uint64_t* step

    struct stz_error_row:
        const char* name
        int code
        const char* text
    const stz_error_row* stz_error_table
    int STZ_ERROR_ROWS


cdef extern from "stz_cd_values.h":
    int STZ_CD_FIXED_WORDS
    int STZ_CD_FORM_INTEGER
    int STZ_CD_MAX_DECIMALS
    int STZ_CD_MAX_THREADS


FILTER_ID = STZ_FILTER_ID
VERSION = stz_version_string().decode()
FORMAT_VERSION = STZ_FORMAT_VERSION
CD_FORM_INTEGER, CD_MAX_DECIMALS, CD_MAX_THREADS = STZ_CD_FORM_INTEGER, STZ_CD_MAX_DECIMALS, STZ_CD_MAX_THREADS
CD_FIXED_WORDS = STZ_CD_FIXED_WORDS
MAX_LAYERS = STZ_MAX_LAYERS
LITTLE, BIG = STZ_LITTLE, STZ_BIG
MODES = {"lossless": STZ_LOSSLESS, "absolute": STZ_ABSOLUTE, "pointwise_relative": STZ_POINTWISE_RELATIVE}
BLOCKS = {"default": STZ_BLOCK_DEFAULT, "region": STZ_BLOCK_REGION, "throughput": STZ_BLOCK_THROUGHPUT}
CHECKS = {None: STZ_CHECK_NONE, False: STZ_CHECK_NONE, True: STZ_CHECK_DECODE}
CONTENT_CHECKS = {None: STZ_CONTENT_CHECK_DEFAULT, False: STZ_CONTENT_CHECK_NONE, True: STZ_CONTENT_CHECK_WRITE}
ENHANCEMENTS = {
    "none": STZ_ENHANCE_NONE, "relaxed": STZ_ENHANCE_RELAXED, "strict": STZ_ENHANCE_STRICT, "both": STZ_ENHANCE_BOTH,
}
INTEGERS = {"lossless": STZ_INTEGERS_LOSSLESS, "lossy": STZ_INTEGERS_BOUNDED}
# The keys are numpy.dtype.str without its byte order.
DTYPES = {
    "f2": STZ_F16, "f4": STZ_F32, "f8": STZ_F64, "i1": STZ_I8, "u1": STZ_U8, "i2": STZ_I16, "u2": STZ_U16,
    "i4": STZ_I32, "u4": STZ_U32, "i8": STZ_I64, "u8": STZ_U64, "c8": STZ_C64, "c16": STZ_C128,
}
ERROR_CODES = {stz_error_table[row].name.decode(): stz_error_table[row].code for row in range(STZ_ERROR_ROWS)}
ERROR_TEXTS = {stz_error_table[row].code: stz_error_table[row].text.decode() for row in range(STZ_ERROR_ROWS)}

# The classes of errors that Python has a class for; those of all others are StzError.
cdef dict ERROR_CLASSES = {ERROR_CODES["STZ_ERROR_MEMORY"]: StzMemoryError, ERROR_CODES["STZ_ERROR_READ"]: StzReadError}


cdef check(int code):
    """Raises the StzError of a code that is not STZ_OK."""
    if code != STZ_OK:
        raise ERROR_CLASSES.get(code, StzError)(stz_error_text(code).decode(), code)


cdef check_stream(int code, const void* stream, size_t size):
    """As check(); where a stream is of another version, the message says what it calls for."""
    cdef char missing[256]
    if code == STZ_ERROR_VERSION and stz_missing_feature(stream, size, missing, sizeof(missing)) == STZ_OK and missing[0] != 0:
        raise StzError(f"{stz_error_text(code).decode()}: it needs {(<bytes>missing).decode()}", code)
    check(code)


cdef fill_layout(stz_layout* layout, int dtype, int byte_order, tuple shape):
    if len(shape) > STZ_MAX_RANK:
        check(STZ_ERROR_SHAPE)
    layout.dtype = dtype
    layout.byte_order = byte_order
    layout.rank = <int32_t>len(shape)
    layout.reserved = 0
    for axis, extent in enumerate(shape):
        layout.shape[<int>axis] = extent


cdef fill_options(stz_options* options, int mode, double bound, fill, int block, int threads, int effort, int layers,
                  int append_axis, int integers, int content_check, tuple layer_bounds, int enhance=0, int checked=0):
    """`fill` is None or the bits of the fill value as an int."""
    cdef int index
    memset(options, 0, sizeof(stz_options))
    options.struct_size = sizeof(stz_options)
    options.mode = mode
    options.bound = bound
    options.has_fill = fill is not None
    options.fill = 0 if fill is None else fill
    options.block = block
    options.threads = threads
    options.effort = effort
    options.layers = layers
    options.append_axis = append_axis
    options.integers = integers
    options.content_check = content_check
    if len(layer_bounds) >= MAX_LAYERS:
        raise StzError(f"there are {len(layer_bounds)} layer bounds: at most {MAX_LAYERS - 1} are possible", ERROR_CODES["STZ_ERROR_OPTION"])
    for index in range(len(layer_bounds)):
        options.layer_bounds[index] = layer_bounds[index]
    options.enhance = enhance
    options.check = checked


def compress(data, int dtype, int byte_order, tuple shape, int mode, double bound, fill, int block, int threads,
             int effort, int layers, int append_axis, int integers, int content_check=0, tuple layer_bounds=(), int enhance=0, int checked=0,
             previous=None, bint bound_used=False, double prior_bound=0):
    """The stream (bytes) of the array in the C-contiguous buffer `data`; `fill` is None or bits as an int. `previous` is None, or the
    stream (bytes-like) that the array came out of before it was changed in part. `bound_used`, `prior_bound`: see stz_options."""
    cdef stz_layout layout
    cdef stz_options options
    cdef Py_buffer view, old
    cdef size_t size = 0
    cdef int code
    fill_layout(&layout, dtype, byte_order, shape)
    fill_options(&options, mode, bound, fill, block, threads, effort, layers, append_axis, integers, content_check, layer_bounds, enhance, checked)
    options.bound_used = bound_used
    options.prior_bound = min(prior_bound, STZ_UNKNOWN_BOUND)
    cdef size_t capacity = stz_max_compressed_size(&layout)
    if capacity == 0:
        check(STZ_ERROR_SHAPE)
    # Pages that the codec does not write are never backed by memory; the copy is of the compressed bytes alone.
    cdef char* out = <char*>malloc(capacity)
    if out == NULL:
        check(ERROR_CODES["STZ_ERROR_MEMORY"])
    try:
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if <size_t>view.len != stz_element_size(dtype) * <size_t>prod(shape):
                raise ValueError("the buffer has another size than dtype and shape say")
            if previous is None:
                with nogil:
                    code = stz_compress(&layout, view.buf, &options, out, capacity, &size)
            else:
                PyObject_GetBuffer(previous, &old, PyBUF_SIMPLE)
                with nogil:
                    code = stz_rewrite(&layout, view.buf, &options, old.buf, old.len, out, capacity, &size)
                PyBuffer_Release(&old)
        finally:
            PyBuffer_Release(&view)
        check(code)
        return PyBytes_FromStringAndSize(out, <Py_ssize_t>size)
    finally:
        free(out)


def drop_layers(stream, double max_error):
    """The stream (bytes) with as few of its precision layers as keep this error."""
    cdef Py_buffer view
    cdef size_t size = 0
    cdef int code
    PyObject_GetBuffer(stream, &view, PyBUF_SIMPLE)
    cdef char* out = <char*>malloc(<size_t>max(view.len, 1))
    try:
        if out == NULL:
            check(ERROR_CODES["STZ_ERROR_MEMORY"])
        with nogil:
            code = stz_drop_layers(view.buf, view.len, max_error, out, view.len, &size)
        check(code)
        return PyBytes_FromStringAndSize(out, <Py_ssize_t>size)
    finally:
        PyBuffer_Release(&view)
        free(out)


def estimate(data, int dtype, int byte_order, tuple shape, int mode, double bound, fill, int block, int threads,
             int effort, int layers, int append_axis, int integers, int content_check=0, tuple layer_bounds=(), int enhance=0, int checked=0):
    """What compress() would make of the same arguments, as a tuple: bytes, their variance, the mean squared error, whether these are exact."""
    cdef stz_layout layout
    cdef stz_options options
    cdef stz_size_estimate result
    cdef Py_buffer view
    cdef int code
    fill_layout(&layout, dtype, byte_order, shape)
    fill_options(&options, mode, bound, fill, block, threads, effort, layers, append_axis, integers, content_check, layer_bounds, enhance, checked)
    memset(&result, 0, sizeof(result))
    result.struct_size = sizeof(result)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if <size_t>view.len != stz_element_size(dtype) * <size_t>prod(shape):
            raise ValueError("the buffer has another size than dtype and shape say")
        with nogil:
            code = stz_estimate(&layout, view.buf, &options, &result)
    finally:
        PyBuffer_Release(&view)
    check(code)
    return result.bytes, result.variance, result.mean_squared_error, result.exact != 0


def decompress(stream, out, int threads, bint verify=False):
    """Decodes `stream` into the writable C-contiguous buffer `out` of exactly its array_bytes; `threads` as of stz.h. `verify`: compares
    with the content check."""
    cdef Py_buffer source, target
    cdef int code
    PyObject_GetBuffer(stream, &source, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(out, &target, PyBUF_WRITABLE)
        try:
            with nogil:
                if verify:
                    code = stz_decompress_verified(source.buf, source.len, target.buf, target.len, threads, NULL)
                else:
                    code = stz_decompress_threads(source.buf, source.len, target.buf, target.len, threads)
        finally:
            PyBuffer_Release(&target)
        check_stream(code, source.buf, source.len)
    finally:
        PyBuffer_Release(&source)


def verify(stream, int threads):
    """Decodes `stream`, compares with its content check, and returns how many blocks were compared."""
    cdef Py_buffer source
    cdef uint64_t blocks = 0
    cdef int code
    PyObject_GetBuffer(stream, &source, PyBUF_SIMPLE)
    try:
        with nogil:
            code = stz_verify(source.buf, source.len, threads, &blocks)
        check_stream(code, source.buf, source.len)
    finally:
        PyBuffer_Release(&source)
    return blocks


def max_compressed_size(int dtype, int byte_order, tuple shape):
    """The most bytes that the stream of such an array has; StzError if there is no such array."""
    cdef stz_layout layout
    fill_layout(&layout, dtype, byte_order, shape)
    cdef size_t size = stz_max_compressed_size(&layout)
    if size == 0:
        check(STZ_ERROR_SHAPE)
    return size


def find_fill(data, int dtype, int byte_order, tuple shape, int mode, double bound):
    """The bits of what the filter takes for the fill value of the array in the C-contiguous buffer `data`, or None. A bound counts for
    integers too: it is 0 where they are lossless."""
    cdef stz_layout layout
    cdef stz_options options
    cdef Py_buffer view
    cdef int code
    fill_layout(&layout, dtype, byte_order, shape)
    fill_options(&options, mode, bound, None, 0, 0, 0, 0, 0, STZ_INTEGERS_BOUNDED, 0, ())
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if <size_t>view.len != stz_element_size(dtype) * <size_t>prod(shape):
            raise ValueError("the buffer has another size than dtype and shape say")
        with nogil:
            code = stz_find_missing_value(&layout, view.buf, &options)
    finally:
        PyBuffer_Release(&view)
    check(code)
    return options.fill if options.has_fill else None


def threads_of_environment():
    """The number of threads that H5STZ_THREADS allows now, 0 if it says nothing that can be used."""
    return stz_environment_threads()


def verify_of_environment():
    """Whether H5STZ_VERIFY asks now that what is decoded is compared with content checks."""
    return stz_environment_verify() != 0


def check_of_environment():
    """Whether H5STZ_CHECK asks now that streams are checked before they are stored."""
    return stz_environment_check() != 0


def max_bytes_of_environment():
    """The largest array in bytes that H5STZ_MAX_BYTES allows now to be made of what a stream claims, 0 if it says nothing usable."""
    return stz_environment_max_bytes()


def max_error_of_environment():
    """The largest error that H5STZ_MAX_ERROR allows now for what is read of datasets, 0 if it says nothing that can be used."""
    return stz_environment_max_error()


cdef info_fields(const stz_stream_info* facts):
    return {
        "dtype": facts.layout.dtype,
        "byte_order": facts.layout.byte_order,
        "shape": tuple([facts.layout.shape[index] for index in range(facts.layout.rank)]),
        "mode": facts.mode,
        "bound": facts.bound,
        "fill": facts.fill if facts.has_fill else None,
        "block": facts.block,
        "format_version": facts.format_version,
        "levels": facts.levels,
        "level_bytes": tuple([facts.level_bytes[index] for index in range(facts.levels)]),
        "array_bytes": facts.array_bytes,
        "form": facts.form.decode(),
        "patches": facts.patches,
        "bound_used": bool(facts.bound_used),
        "accumulated_bound": (float("inf") if facts.accumulated_bound == STZ_UNKNOWN_BOUND else facts.accumulated_bound) or None,
        "enhanced": bool(facts.enhanced),
        "relaxed_bound": facts.relaxed_bound,
        "content_check": None if facts.content_check < 0 else bool(facts.content_check),
        "layers": tuple(
            [(facts.layer_bytes[index], facts.layer_error[index], facts.layer_rmse[index]) for index in range(facts.layers)]
        ),
    }


def info(stream):
    """What the header of `stream` (or of a prefix that stz_info takes) says, as a dict of numbers and `form`."""
    cdef Py_buffer source
    cdef stz_stream_info facts
    cdef int code
    facts.struct_size = sizeof(facts)
    PyObject_GetBuffer(stream, &source, PyBUF_SIMPLE)
    try:
        with nogil:
            code = stz_info(source.buf, source.len, &facts)
        check_stream(code, source.buf, source.len)
    finally:
        PyBuffer_Release(&source)
    return info_fields(&facts)


cdef pack_words(const stz_options* options, const stz_layout* layout):
    cdef unsigned int words[STZ_CD_MAX_WORDS]
    cdef char message[1024]
    cdef size_t index, count = 0
    cdef int code = stz_cd_values_pack(options, layout, words, STZ_CD_MAX_WORDS, &count, message, sizeof(message))
    if code != STZ_OK:
        raise StzError((<bytes>message).decode(), code)
    return tuple([words[index] for index in range(count)])


def pack(int mode, double bound, fill, int block, int threads, int effort, int layers, int append_axis,
               int integers, int content_check,
         tuple layer_bounds=(), int enhance=0, int checked=0):
    """The client data (tuple of ints, short form of docs/cd_values.md) of these options."""
    cdef stz_options options
    fill_options(&options, mode, bound, fill, block, threads, effort, layers, append_axis, integers, content_check, layer_bounds, enhance, checked)
    return pack_words(&options, NULL)


def pack_full(int dtype, int byte_order, tuple shape, int mode, double bound, fill, int block, int threads, int effort, int layers,
              int append_axis, int integers, int content_check, tuple layer_bounds=(), int enhance=0, int checked=0):
    """The same in the full form, for chunks of this type and shape."""
    cdef stz_options options
    cdef stz_layout layout
    fill_layout(&layout, dtype, byte_order, shape)
    fill_options(&options, mode, bound, fill, block, threads, effort, layers, append_axis, integers, content_check, layer_bounds, enhance, checked)
    return pack_words(&options, &layout)


def print_text(int dtype, int mode, double bound, fill, int block, int threads, int effort, int layers, int append_axis,
               int integers, int content_check,
               tuple layer_bounds=(), int enhance=0, int checked=0):
    """These options as text; `dtype` is 0 where it is not known."""
    cdef stz_options options
    cdef char text[1024]
    cdef char message[1024]
    cdef size_t length = 0
    fill_options(&options, mode, bound, fill, block, threads, effort, layers, append_axis, integers, content_check, layer_bounds, enhance, checked)
    cdef int code = stz_options_print_text(&options, dtype, text, sizeof(text), &length, message, sizeof(message))
    if code != STZ_OK:
        raise StzError((<bytes>message).decode(), code)
    return (<bytes>text).decode()


cdef meaning_of(const stz_options* options):
    return {
        "mode": options.mode,
        "bound": options.bound,
        "fill": options.fill if options.has_fill else None,
        "block": options.block,
        "threads": options.threads,
        "effort": options.effort,
        "layers": options.layers,
        "append_axis": options.append_axis,
        "integers": options.integers,
        "content_check": options.content_check,
        "enhance": options.enhance,
        "check": options.check,
        "layer_bounds": tuple([options.layer_bounds[index] for index in range(STZ_MAX_LAYERS - 1) if options.layer_bounds[index] != 0]),
    }


def parse_text(str text, int dtype):
    """(options, dtype): what text says, a dict; and the type, 0 if neither the text nor the caller (who gives 0 then) knows it."""
    cdef stz_options options
    cdef char message[1024]
    cdef int32_t code_of_dtype = dtype
    cdef bytes encoded = text.encode()
    options.struct_size = sizeof(options)
    if b"\0" in encoded:
        raise StzError("options cannot contain the character 0", STZ_ERROR_ARGUMENT)
    cdef int code = stz_options_parse_text(encoded, &code_of_dtype, &options, message, sizeof(message))
    if code != STZ_OK:
        raise StzError((<bytes>message).decode(errors="replace"), code)
    return meaning_of(&options), code_of_dtype


def parse(words):
    """What client data (a sequence of ints, any form) say: a dict of the options; the full form adds dtype, byte_order, shape."""
    cdef unsigned int values[STZ_CD_MAX_WORDS]
    cdef stz_options options
    cdef stz_layout layout
    cdef char message[1024]
    cdef size_t index
    cdef size_t count = len(words)
    if count > STZ_CD_MAX_WORDS:
        raise StzError(f"cd_values has {count} words, at most {STZ_CD_MAX_WORDS} are possible", STZ_ERROR_ARGUMENT)
    for index in range(count):
        values[index] = words[index]
    options.struct_size = sizeof(options)
    cdef int code = stz_cd_values_parse(count, values, &options, &layout, message, sizeof(message))
    if code != STZ_OK:
        raise StzError((<bytes>message).decode(), code)
    result = meaning_of(&options)
    if layout.rank >= 0:
        result["dtype"] = layout.dtype
        result["byte_order"] = layout.byte_order
        result["shape"] = tuple([layout.shape[index] for index in range(<size_t>layout.rank)])
    return result


include "reader.pxi"
