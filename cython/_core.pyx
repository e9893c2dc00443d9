# cython: language_level=3, boundscheck=True, embedsignature=True
"""Thin binding of the C ABI (filter/include/stz.h): no policy, no NumPy. The GIL is released during calls of the codec.

Arrays are C-ordered byte buffers described by (dtype code, byte order, shape). The core checks arguments; its error codes become
StzError. The user interface is defined in the Python modules of the package.
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
    // The box of a read: start, count and step of every axis.
    struct stz_box { uint64_t start[STZ_MAX_RANK], count[STZ_MAX_RANK], step[STZ_MAX_RANK]; };

    struct stz_code_row { const char* name; int code; const char* text; };
    static const struct stz_code_row stz_error_table[] = {
    #define STZ_CODE_ROW(name, code, text) {#name, code, text},
        STZ_ERRORS(STZ_CODE_ROW)
    };
    enum { STZ_ERROR_ROWS = sizeof stz_error_table / sizeof stz_error_table[0] };

    #ifndef STZ_H5_OWN_TYPES
    #define STZ_H5_OWN_TYPES  // without HDF5's headers
    #endif
    #include "stz_h5.h"
    static const struct stz_code_row stz_reason_table[] = {
        STZ_H5_REASONS(STZ_CODE_ROW)
    };
    #undef STZ_CODE_ROW
    enum { STZ_REASON_ROWS = sizeof stz_reason_table / sizeof stz_reason_table[0] };
    """
    struct stz_box:
        uint64_t* start
        uint64_t* count
        uint64_t* step

    struct stz_code_row:
        const char* name
        int code
        const char* text
    const stz_code_row* stz_error_table
    int STZ_ERROR_ROWS
    const stz_code_row* stz_reason_table
    int STZ_REASON_ROWS


cdef extern from "stz_cd_values.h":
    int STZ_CD_FIXED_WORDS
    int STZ_CD_FORM_INTEGER
    int STZ_CD_MAX_DECIMALS
    int STZ_CD_MAX_THREADS
    int STZ_CD_RECORD_LEARNED


cdef check_plugin():
    """Raises ImportError if the codec, which is in the plug-in, is missing."""
    import sys
    if stz_version_number() == 0:
        problem = stz_error_text(STZ_ERROR_LIBRARY).decode().removesuffix("; install h5stz again")
        if getattr(sys, "frozen", False):  # as PyInstaller, cx_Freeze and others set it
            raise ImportError(
                f"{problem}: this program was frozen without it; freeze it again with the files of h5stz/plugins (docs/packaging.md)"
            )
        raise ImportError(f"{problem}: the installation is incomplete, repeat `pip install h5stz`")


check_plugin()

FILTER_ID = STZ_FILTER_ID
VERSION = stz_version_string().decode()
FORMAT_VERSION = STZ_FORMAT_VERSION
CD_FORM_INTEGER, CD_MAX_DECIMALS, CD_MAX_THREADS = STZ_CD_FORM_INTEGER, STZ_CD_MAX_DECIMALS, STZ_CD_MAX_THREADS
CD_FIXED_WORDS, CD_MAX_WORDS, CD_RECORD_LEARNED = STZ_CD_FIXED_WORDS, STZ_CD_MAX_WORDS, STZ_CD_RECORD_LEARNED
MAX_LAYERS = STZ_MAX_LAYERS
LITTLE, BIG = STZ_LITTLE, STZ_BIG
MODES = {"lossless": STZ_LOSSLESS, "absolute": STZ_ABSOLUTE, "pointwise_relative": STZ_POINTWISE_RELATIVE}
# Keys: numpy.dtype.str without the byte order; for types that NumPy has not, their names in ml_dtypes.
DTYPES = {
    "f2": STZ_F16, "f4": STZ_F32, "f8": STZ_F64, "i1": STZ_I8, "u1": STZ_U8, "i2": STZ_I16, "u2": STZ_U16,
    "i4": STZ_I32, "u4": STZ_U32, "i8": STZ_I64, "u8": STZ_U64, "c8": STZ_C64, "c16": STZ_C128,
    "bfloat16": STZ_BF16, "float8_e4m3fn": STZ_F8_E4M3, "float8_e5m2": STZ_F8_E5M2,
}
ERROR_CODES = {stz_error_table[row].name.decode(): stz_error_table[row].code for row in range(STZ_ERROR_ROWS)}
ERROR_TEXTS = {stz_error_table[row].code: stz_error_table[row].text.decode() for row in range(STZ_ERROR_ROWS)}
H5_REASONS = {
    stz_reason_table[row].name.decode(): (stz_reason_table[row].code, stz_reason_table[row].text.decode())
    for row in range(STZ_REASON_ROWS)
}

# Error codes with a class of their own; all others raise StzError.
cdef dict ERROR_CLASSES = {ERROR_CODES["STZ_ERROR_MEMORY"]: StzMemoryError, ERROR_CODES["STZ_ERROR_READ"]: StzReadError}


cdef check(int code):
    """Raises the StzError of a code, unless it is STZ_OK."""
    if code != STZ_OK:
        raise ERROR_CLASSES.get(code, StzError)(stz_error_text(code).decode(), code)


cdef check_stream(int code, const void* stream, size_t size):
    """As check(). If the stream needs another version, the message names the missing feature."""
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


cdef check_size(Py_ssize_t bytes, int dtype, tuple shape):
    if <size_t>bytes != stz_element_size(dtype) * <size_t>prod(shape):
        raise ValueError("the buffer has another size than dtype and shape say")


include "learned.pxi"
include "options.pxi"


def compress(data, int dtype, int byte_order, tuple shape, Options options, previous=None, bint bound_used=False, double prior_bound=0):
    """Compresses the array in the C-contiguous buffer `data`; returns the stream (bytes). `previous`: None, or the stream (bytes-like) that
    the array was decoded from before it was changed in part. `bound_used`, `prior_bound`: see stz_options."""
    cdef stz_layout layout
    cdef stz_options given = options.values
    cdef Py_buffer view, old
    cdef size_t size = 0
    cdef int code
    fill_layout(&layout, dtype, byte_order, shape)
    given.bound_used = bound_used
    given.prior_bound = min(prior_bound, STZ_UNKNOWN_BOUND)
    cdef size_t capacity = stz_max_compressed_size(&layout)
    if capacity == 0:
        check(STZ_ERROR_SHAPE)
    # Allocated at full capacity: pages that the codec does not write use no memory, and only the compressed bytes are copied.
    cdef char* out = <char*>malloc(capacity)
    if out == NULL:
        check(ERROR_CODES["STZ_ERROR_MEMORY"])
    try:
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            check_size(view.len, dtype, shape)
            if previous is None:
                with nogil:
                    code = stz_compress(&layout, view.buf, &given, out, capacity, &size)
            else:
                PyObject_GetBuffer(previous, &old, PyBUF_SIMPLE)
                with nogil:
                    code = stz_rewrite(&layout, view.buf, &given, old.buf, old.len, out, capacity, &size)
                PyBuffer_Release(&old)
        finally:
            PyBuffer_Release(&view)
        check(code)
        return PyBytes_FromStringAndSize(out, <Py_ssize_t>size)
    finally:
        free(out)


def drop_layers(stream, double max_error):
    """Returns the stream (bytes) with the fewest precision layers that keep this error."""
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


def estimate(data, int dtype, int byte_order, tuple shape, Options options):
    """Estimates the result of compress(); returns (bytes, variance of bytes, mean squared error, whether these are exact)."""
    cdef stz_layout layout
    cdef stz_size_estimate result
    cdef Py_buffer view
    cdef int code
    fill_layout(&layout, dtype, byte_order, shape)
    memset(&result, 0, sizeof(result))
    result.struct_size = sizeof(result)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        check_size(view.len, dtype, shape)
        with nogil:
            code = stz_estimate(&layout, view.buf, &options.values, &result)
    finally:
        PyBuffer_Release(&view)
    check(code)
    return result.bytes, result.variance, result.mean_squared_error, result.exact != 0


def decompress(stream, out, int threads, bint verify=False):
    """Decodes `stream` into the writable C-contiguous buffer `out`, which must have exactly array_bytes. `threads`: see stz.h. `verify`:
    compares with the content check."""
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
    """Decodes `stream` and compares it with its content check. Returns the number of blocks compared."""
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
    """The largest size of the stream of such an array. StzError if the array is impossible."""
    cdef stz_layout layout
    fill_layout(&layout, dtype, byte_order, shape)
    cdef size_t size = stz_max_compressed_size(&layout)
    if size == 0:
        check(STZ_ERROR_SHAPE)
    return size


def find_fill(data, int dtype, int byte_order, tuple shape, int mode, double bound):
    """The bits of the value that the filter detects as fill value of the array in the C-contiguous buffer `data`, or None.
    `bound` applies to integers too: pass 0 if they are lossless."""
    cdef stz_layout layout
    cdef stz_options options = Options(mode, bound, integers=STZ_INTEGERS_BOUNDED).values
    cdef Py_buffer view
    cdef int code
    fill_layout(&layout, dtype, byte_order, shape)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        check_size(view.len, dtype, shape)
        with nogil:
            code = stz_find_missing_value(&layout, view.buf, &options)
    finally:
        PyBuffer_Release(&view)
    check(code)
    return options.fill if options.has_fill else None


def threads_of_environment():
    """The number of threads that H5STZ_THREADS allows now; 0 if it is unset or invalid."""
    return stz_environment_threads()


def verify_of_environment():
    """Whether H5STZ_VERIFY now asks to compare decoded data with content checks."""
    return stz_environment_verify() != 0


def check_of_environment():
    """Whether H5STZ_CHECK now asks to check streams before they are stored."""
    return stz_environment_check() != 0


def max_bytes_of_environment():
    """The largest array, in bytes, that H5STZ_MAX_BYTES now allows a stream to claim; 0 if it is unset or invalid."""
    return stz_environment_max_bytes()


def max_error_of_environment():
    """The largest error that H5STZ_MAX_ERROR now allows when datasets are read; 0 if it is unset or invalid."""
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
        "preview_error": facts.preview_error or None,
        "preview_bytes": facts.preview_bytes or None,
        "content_check": None if facts.content_check < 0 else bool(facts.content_check),
        "layers": tuple(
            [(facts.layer_bytes[index], facts.layer_error[index], facts.layer_rmse[index]) for index in range(facts.layers)]
        ),
    }


def info(stream):
    """The contents of the header of `stream`, or of a prefix that is long enough for stz_info, as a dict."""
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


include "reader.pxi"
