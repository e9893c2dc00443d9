"""One function per codec, with a common interface: array (and bound) in, (stored bytes, decoded array) out.

A peer that does not support an array raises `Unsupported`. Sizes are real bytes: of the stream, or of the chunks in an HDF5
file.
"""

import io

import h5py
import numpy as np


class Unsupported(Exception):
    """The codec has no mode for this array; the text says why."""


def write_hdf5(array, options, chunks=None):
    """The image of a closed HDF5 file in memory with one dataset, by default of one chunk."""
    image = io.BytesIO()
    with h5py.File(image, "w") as file:
        file.create_dataset("field", data=array, chunks=chunks or array.shape, **options)
    return image


def stored_bytes(image):
    """Bytes of the dataset's chunks as stored."""
    with h5py.File(image, "r") as file:
        return file["field"].id.get_storage_size()


def read_hdf5(image):
    """(bytes of the dataset's chunks as stored, array)."""
    with h5py.File(image, "r") as file:
        dataset = file["field"]
        return dataset.id.get_storage_size(), dataset[...]


def read_hdf5_into(image, out):
    """Reads the dataset into `out`, an array of its dtype and shape."""
    with h5py.File(image, "r") as file:
        file["field"].read_direct(out)
    return out


def through_hdf5(array, options, chunks=None):
    """Writes one dataset, closes the file, opens it again and reads: (bytes of its chunks, array).

    The file is closed in between because the chunk cache would otherwise hand back the samples that were never coded.
    """
    return read_hdf5(write_hdf5(array, options, chunks))


def h5stz(array, bound, chunks=None):
    """h5stz with its default settings at an absolute bound."""
    return through_hdf5(array, filter_options("h5stz", array, bound), chunks)


def h5stz_psnr(array, psnr):
    """h5stz with the loosest bound that has a PSNR of at least `psnr` dB, to within 0.7 dB or, where PSNR leaps, a bound."""
    import h5stz as package

    try:
        return through_hdf5(array, package.STZ(psnr=psnr, data=array))
    except package.StzError:
        return h5stz(array, _bound_of_psnr(array, psnr))


def _bound_of_psnr(array, psnr):
    """By bisection, to 1e-4 of itself."""
    import h5stz as package

    extent = float(array.max()) - float(array.min())
    low, high = 1e-7 * extent, extent
    while high > 1.0001 * low:
        bound = (low * high) ** 0.5
        error = package.decompress(package.compress(array, absolute=bound)).astype(np.float64) - array
        within = np.sqrt(np.mean(error**2)) <= extent * 10 ** (-psnr / 20)
        low, high = (bound, high) if within else (low, bound)
    return low


def h5stz_lossless(array):
    """h5stz without loss."""
    import h5stz as package

    return through_hdf5(array, package.STZ(lossless=True))


def sz3_compress(array, bound):
    """SZ3 3.4 (PyPI `pysz`) with its default settings at an absolute bound; float32/64 and int32/64, rank 1-4."""
    from pysz import sz, szConfig, szErrorBoundMode

    config = szConfig()
    config.errorBoundMode = szErrorBoundMode.ABS
    config.absErrorBound = bound
    return sz.compress(np.ascontiguousarray(array), config)[0]


def sz3_decompress(stream, like):
    """The array of a stream of `sz3_compress`; dtype and shape are those of `like`."""
    from pysz import sz

    return np.asarray(sz.decompress(stream, like.dtype, like.shape)[0])


def sz3(array, bound):
    """SZ3 3.4 at an absolute bound."""
    stream = sz3_compress(array, bound)
    return len(stream), sz3_decompress(stream, array)


def filter_options(name, array, bound):
    """Options of a filter for `create_dataset` at an absolute bound: h5stz with its defaults, or one of hdf5plugin.

    "sz3", "zfp" in fixed-accuracy mode, "sperr" in its point-wise error mode, and "blosc2", which is lossless: byte
    shuffle and zstd at level 5. SPERR's `swap` gives it the axes in its own order: without, its ratio on arrays with
    unequal axes is several times lower.
    """
    if name == "h5stz":
        import h5stz as package

        return package.STZ(absolute=bound, integers="lossy")
    import hdf5plugin

    if name == "sperr" and array.ndim not in (2, 3):
        raise Unsupported("SPERR is for 2-D and 3-D arrays")
    return {
        "sz3": lambda: hdf5plugin.SZ3(absolute=bound),
        "zfp": lambda: hdf5plugin.Zfp(accuracy=bound),
        "sperr": lambda: hdf5plugin.Sperr(absolute=bound, swap=True),
        "blosc2": lambda: hdf5plugin.Blosc2(cname="zstd", clevel=5, filters=hdf5plugin.Blosc2.SHUFFLE),
    }[name]()


def hdf5plugin_sz3(array, bound):
    """The SZ3 of hdf5plugin, an older one than pysz's."""
    return through_hdf5(array, filter_options("sz3", array, bound))


def zfp(array, bound):
    """ZFP of hdf5plugin."""
    return through_hdf5(array, filter_options("zfp", array, bound))


def sperr(array, bound):
    """SPERR of hdf5plugin; 2-D and 3-D only."""
    return through_hdf5(array, filter_options("sperr", array, bound))


def ebcc(array, bound):
    """EBCC (PyPI `numcodecs-wasm-ebcc`): JPEG 2000 and a residual at an absolute bound; 2-D and 3-D float32.

    The settings are those of ClimateBenchPress. The codec runs in WebAssembly: its sizes are EBCC's, its speed is not.
    """
    from numcodecs_wasm_ebcc import Ebcc

    if array.dtype != np.float32:
        raise Unsupported("EBCC is for float32")
    if array.ndim not in (2, 3):
        raise Unsupported("EBCC is for 2-D and 3-D arrays")
    return _through_numcodecs(Ebcc(residual="absolute", error=bound, base_cr=100, chunk_shape="auto"), array)


def lc(array, bound):
    """LC (PyPI `numcodecs-wasm-lc`): quantization at an absolute bound, then differences, bit shuffle, zero removal.

    LC is a framework that searches a pipeline for each kind of data; this one is fixed, for float32 and any rank. It
    runs in WebAssembly: its sizes are LC's, its speed is not.
    """
    from numcodecs_wasm_lc import Lc

    if array.dtype != np.float32:
        raise Unsupported("the pipeline is for float32")
    quantize = {"id": "QUANT", "dtype": "f32", "kind": "ABS", "error_bound": bound, "decorrelation": "0"}
    steps = [{"id": "DIFFNB", "size": 4}, {"id": "BIT", "size": 4}, {"id": "RZE", "size": 1}]
    return _through_numcodecs(Lc(preprocessors=[quantize], components=steps), array)


def _through_numcodecs(codec, array):
    stream = np.asarray(codec.encode(np.ascontiguousarray(array)))
    return stream.nbytes, np.asarray(codec.decode(stream)).reshape(array.shape)


def fpzip(array):
    """fpzip in lossless mode; float32 and float64."""
    import fpzip as package

    if array.dtype.kind != "f" or array.dtype.itemsize < 4:
        raise Unsupported("fpzip takes no such type")

    stream = package.compress(array, precision=0, order="C")
    return len(stream), package.decompress(stream, order="C").reshape(array.shape)


def pcodec(array):
    """pcodec at its highest level, the array as one row; no 8-bit and no complex types."""
    import pcodec as package

    if array.dtype.itemsize == 1 or array.dtype.kind not in "iuf":
        raise Unsupported("pcodec takes no such type")
    stream = package.standalone.simple_compress(array.ravel(), package.ChunkConfig(compression_level=12))
    return len(stream), package.standalone.simple_decompress(stream).reshape(array.shape)


def blosc2(array, shuffle="SHUFFLE"):
    """Blosc2: byte shuffle and zstd at its highest level, one thread."""
    import blosc2 as package

    stream = package.compress2(
        array,
        typesize=array.dtype.itemsize,
        codec=package.Codec.ZSTD,
        clevel=9,
        filters=[package.Filter[shuffle]],
        nthreads=1,
    )
    return len(stream), np.frombuffer(package.decompress2(stream), array.dtype).reshape(array.shape)


def blosc2_bits(array):
    """Blosc2 with bit shuffle."""
    return blosc2(array, "BITSHUFFLE")


def chunk_shape(array, edge):
    """Chunks of `edge` samples per axis, fewer where the array is thinner (HDF5 wants no chunk longer than a fixed
    axis).
    """
    return tuple(min(edge, extent) for extent in array.shape)


def hdf5_chunks(array, edge):
    """The chunks of an array as HDF5 hands them to a filter: all of `chunk_shape`, edge chunks padded.

    Yields (chunk array, box of the valid samples as slices). They are read back from a file without a filter, so that
    the padding is HDF5's own.
    """
    image = write_hdf5(array, {}, chunk_shape(array, edge))
    with h5py.File(image, "r") as file:
        dataset = file["field"]
        for index in range(dataset.id.get_num_chunks()):
            offset = dataset.id.get_chunk_info(index).chunk_offset
            _, raw = dataset.id.read_direct_chunk(offset)
            box = tuple(slice(start, min(start + edge, extent)) for start, extent in zip(offset, array.shape, strict=True))
            yield np.frombuffer(raw, array.dtype).reshape(dataset.chunks), box
