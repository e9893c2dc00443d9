"""One function per lossy codec, with a common interface: array and bound in, (stored bytes, decoded array) out.

Lossless codecs have one function for each way. A codec that does not support an array raises `Unsupported`. Sizes are real
bytes: of the stream, or of the chunks in an HDF5 file. `LOSSY` and `LOSSLESS` have the codecs by name.

QoZ 2 (HPEZ) and MGARD-X come in no package. They run as programs that you have built:
H5STZ_QOZ is the path of `qoz`, built from https://github.com/szcompressor/QoZ:
    cmake -S QoZ -B build -D CMAKE_BUILD_TYPE=Release -D QoZ_USE_BUNDLED_ZSTD=ON && cmake --build build    (build/test/qoz)
H5STZ_MGARD is the path of `mgard-x`, built from https://github.com/CODARcode/MGARD (needs the packages of zstd and protobuf):
    cmake -S MGARD -B build -D CMAKE_BUILD_TYPE=Release -D MGARD_ENABLE_SERIAL=ON && cmake --build build   (build/bin/mgard-x)
"""

import dataclasses
import importlib
import io
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

import h5stz as package
from shared.fields import value_range


class Unsupported(Exception):
    """The codec has no mode for this array; the text says why."""


def _require(met, why):
    if not met:
        raise Unsupported(why)


def write_hdf5(target, array, options, chunks=None):
    """Writes a closed HDF5 file with one dataset, by default of one chunk; returns `target`, a path or an io.BytesIO."""
    with h5py.File(target, "w") as file:
        file.create_dataset("field", data=array, chunks=chunks or array.shape, **options)
    return target


def stored_bytes(file):
    """Bytes of the dataset's chunks as stored."""
    with h5py.File(file, "r") as opened:
        return opened["field"].id.get_storage_size()


def read_hdf5(file, out=None):
    """The array, which is read into `out` if there is one."""
    with h5py.File(file, "r") as opened:
        if out is None:
            return opened["field"][...]
        opened["field"].read_direct(out)
        return out


def through_hdf5(array, options, chunks=None):
    """Writes one dataset, closes the file, opens it again and reads: (bytes of its chunks, array).

    The file is closed in between because the chunk cache would otherwise hand back the samples that were never coded.
    """
    image = write_hdf5(io.BytesIO(), array, options, chunks)
    return stored_bytes(image), read_hdf5(image)


def filter_options(name, array, bound):
    """Options of a filter for `create_dataset` at an absolute bound: h5stz with its defaults, or one of hdf5plugin.

    "sz3", "zfp" in fixed-accuracy mode, "sperr" in its point-wise error mode, and "blosc2", which is lossless: byte
    shuffle and zstd at level 5. SPERR's `swap` gives it the axes in its own order: without, its ratio on arrays with
    unequal axes is several times lower.
    """
    if name == "h5stz":
        return package.STZ(absolute=bound, integers="lossy")
    import hdf5plugin

    _require(name != "sperr" or array.ndim in (2, 3), "SPERR is for 2-D and 3-D arrays")
    return {
        "sz3": lambda: hdf5plugin.SZ3(absolute=bound),
        "zfp": lambda: hdf5plugin.Zfp(accuracy=bound),
        "sperr": lambda: hdf5plugin.Sperr(absolute=bound, swap=True),
        "blosc2": lambda: hdf5plugin.Blosc2(cname="zstd", clevel=5, filters=hdf5plugin.Blosc2.SHUFFLE),
    }[name]()


def _filter(name):
    return lambda array, bound: through_hdf5(array, filter_options(name, array, bound))


def h5stz(array, bound, chunks=None):
    """h5stz with its default settings at an absolute bound."""
    return through_hdf5(array, filter_options("h5stz", array, bound), chunks)


def h5stz_psnr(array, psnr):
    """h5stz with the loosest bound that has a PSNR of at least `psnr` dB, to within 0.7 dB or, where PSNR leaps, a bound."""
    try:
        return through_hdf5(array, package.STZ(psnr=psnr, data=array))
    except package.StzError:
        return h5stz(array, bound_of_psnr(array, psnr))


def bound_of_psnr(array, psnr):
    """The loosest bound with at least this PSNR, by bisection, to 1e-4 of itself."""
    extent = value_range(array)
    low, high = 1e-7 * extent, extent
    while high > 1.0001 * low:
        bound = (low * high) ** 0.5
        error = package.decompress(package.compress(array, absolute=bound)).astype(np.float64) - array
        within = np.sqrt(np.mean(error**2)) <= extent * 10 ** (-psnr / 20)
        low, high = (bound, high) if within else (low, bound)
    return low


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


def ebcc(array, bound):
    """EBCC (PyPI `numcodecs-wasm-ebcc`): JPEG 2000 and a residual at an absolute bound; 2-D and 3-D float32.

    The settings are those of ClimateBenchPress. The codec runs in WebAssembly: its sizes are EBCC's, its speed is not.
    """
    from numcodecs_wasm_ebcc import Ebcc

    _require(array.dtype == np.float32 and array.ndim in (2, 3), "EBCC is for 2-D and 3-D arrays of float32")
    codec = Ebcc(residual="absolute", error=bound, base_cr=100, chunk_shape="auto")
    stream = np.asarray(codec.encode(np.ascontiguousarray(array)))
    return stream.nbytes, np.asarray(codec.decode(stream)).reshape(array.shape)


def qoz(array, bound):
    """QoZ 2 with all features of HPEZ (level 4), tuned for the ratio; ranks 1 to 4, the fastest axis first."""
    options = [f"-{array.ndim}", *reversed(array.shape), "-M", "ABS", repr(bound), "-q", 4, "-T", "CR"]
    return _through_program(
        "H5STZ_QOZ", array, lambda source, stream, out: [["-f", "-i", source, "-z", stream, "-o", out, *options]]
    )


def mgard(array, bound):
    """MGARD-X on the processor, absolute bound in the maximum norm (s = infinity), Huffman coding and zstd."""
    _require(array.ndim <= 4 and min(array.shape) >= 3, "MGARD-X is for up to four axes of 3 samples or more")
    options = ["-dt", "s", "-dim", array.ndim, *array.shape, "-em", "abs", "-e", repr(bound), "-s", "inf", "-l", "huffman-zstd"]
    return _through_program(
        "H5STZ_MGARD",
        array,
        lambda source, stream, out: [
            ["-z", "-i", source, "-o", stream, *options, "-d", "serial"],
            ["-x", "-i", stream, "-o", out, "-d", "serial"],
        ],
    )


def _through_program(variable, array, calls):
    """Runs the program that the environment names with the arguments of each call: (bytes of the stream, array)."""
    program = os.environ.get(variable)
    _require(program, f"{variable} names no program")
    _require(array.dtype == np.float32, "measured for float32 only")
    with tempfile.TemporaryDirectory() as directory:
        source, stream, out = (Path(directory) / name for name in ("in", "stream", "out"))
        array.tofile(source)
        for words in calls(source, stream, out):
            done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
            _require(done.returncode == 0, f"{program} failed: {done.stderr.strip()}")
        return stream.stat().st_size, np.fromfile(out, np.float32).reshape(array.shape)


@dataclasses.dataclass(frozen=True)
class Lossless:
    """A codec without loss, in memory, with one thread.

    Attributes:
        compress: array -> stream, whose length counts.
        decompress: (stream, array of the same dtype and shape, whose samples are not looked at) -> array.
        modules: Python modules that must be importable.
    """

    compress: Callable
    decompress: Callable
    modules: tuple = ()

    def missing(self):
        """Why the codec cannot run here; None if it can."""
        try:
            for name in self.modules:
                importlib.import_module(name)
        except ImportError as error:
            return str(error)
        return None


def installed():
    """Those of `LOSSLESS` that can run here. A line names each of the others."""
    found = {}
    for name, codec in LOSSLESS.items():
        why = codec.missing()
        if why:
            print(f"{name} is left out: {why} (pip install {' '.join(codec.modules)})", flush=True)
        else:
            found[name] = codec
    return found


def _integers(array):
    """The bits of the samples as unsigned integers."""
    return np.ascontiguousarray(array).view(f"u{array.itemsize}").ravel()


def _like(flat, array):
    """The decoded samples with the dtype and shape of `array`."""
    return np.asarray(flat).view(array.dtype).reshape(array.shape)


def h5stz_exact(array):
    """h5stz without loss."""
    try:
        return package.compress(array, lossless=True, threads=1)
    except package.StzTypeError as error:
        raise Unsupported(str(error)) from error


def fpzip_compress(array):
    """fpzip in lossless mode; float32 and float64."""
    import fpzip as codec

    _require(array.dtype in (np.float32, np.float64), "fpzip takes float32 and float64")
    return codec.compress(array, precision=0, order="C")


def fpzip_decompress(stream, like):
    import fpzip as codec

    return codec.decompress(stream, order="C").reshape(like.shape)


def pcodec_compress(array):
    """pcodec at its highest level, the array as one row; bfloat16 as uint16, no 8-bit types."""
    import pcodec as codec

    _require(array.dtype.itemsize > 1, "pcodec takes no 8-bit types")
    row = _integers(array) if array.dtype.name == "bfloat16" else array.ravel()
    return codec.standalone.simple_compress(row, codec.ChunkConfig(compression_level=12))


def pcodec_decompress(stream, like):
    import pcodec as codec

    return _like(codec.standalone.simple_decompress(stream), like)


def zipnn_compress(array):
    """ZipNN with its default method, the array as bytes of its type; float32, float16 and bfloat16."""
    _require(array.dtype.name in ("float32", "float16", "bfloat16"), "ZipNN takes float32, float16 and bfloat16")
    return _zipnn(array).compress(bytearray(np.ascontiguousarray(array).view(np.uint8)))


def zipnn_decompress(stream, like):
    return _like(np.frombuffer(_zipnn(like).decompress(stream), np.uint8), like)


def _zipnn(array):
    import zipnn as codec

    return codec.ZipNN(input_format="byte", bytearray_dtype=array.dtype.name, threads=1)


def openzl_compress(array):
    """OpenZL's generic graph at its default level; it gets the bits of the samples as numbers."""
    import openzl.ext as codec

    compressor = codec.Compressor()
    compressor.set_parameter(codec.CParam.FormatVersion, codec.MAX_FORMAT_VERSION)
    compressor.select_starting_graph(codec.graphs.Compress()(compressor))
    context = codec.CCtx()
    context.ref_compressor(compressor)
    return context.compress([codec.Input(codec.Type.Numeric, _integers(array))])


def openzl_decompress(stream, like):
    import openzl.ext as codec

    return _like(codec.DCtx().decompress(stream)[0].content.as_nparray(), like)


def _blosc2(codec_name, level, shuffle):
    def compress(array):
        import blosc2 as codec

        options = {"codec": codec.Codec[codec_name], "clevel": level, "filters": [codec.Filter[shuffle]], "nthreads": 1}
        return codec.compress2(_integers(array), typesize=array.dtype.itemsize, **options)

    def decompress(stream, like):
        import blosc2 as codec

        return _like(np.frombuffer(codec.decompress2(stream, nthreads=1), np.uint8), like)

    return Lossless(compress, decompress, ("blosc2",))


#: {name: function of an array and an absolute bound}. SPERR and ZFP are those of hdf5plugin.
LOSSY = {
    "h5stz": h5stz,
    "SZ3 3.4": sz3,
    "QoZ 2": qoz,
    "SPERR": _filter("sperr"),
    "ZFP": _filter("zfp"),
    "MGARD-X": mgard,
    "EBCC": ebcc,
}
#: {name: Lossless}. The levels of Blosc2 are the highest ones. Its bit shuffle and LZ4 are what the filter "bitshuffle" does.
LOSSLESS = {
    "h5stz": Lossless(h5stz_exact, lambda stream, like: package.decompress(stream, threads=1)),
    "Blosc2 zstd, byte shuffle": _blosc2("ZSTD", 9, "SHUFFLE"),
    "Blosc2 zstd, bit shuffle": _blosc2("ZSTD", 9, "BITSHUFFLE"),
    "Blosc2 LZ4, byte shuffle": _blosc2("LZ4", 9, "SHUFFLE"),
    "bit shuffle and LZ4": _blosc2("LZ4", 9, "BITSHUFFLE"),
    "fpzip": Lossless(fpzip_compress, fpzip_decompress, ("fpzip",)),
    "pcodec": Lossless(pcodec_compress, pcodec_decompress, ("pcodec",)),
    "ZipNN": Lossless(zipnn_compress, zipnn_decompress, ("torch", "zipnn")),
    "OpenZL": Lossless(openzl_compress, openzl_decompress, ("openzl",)),
}


def chunk_shape(array, edge):
    """Chunks of `edge` samples per axis, fewer where the array is thinner (HDF5 wants no chunk longer than a fixed axis)."""
    return tuple(min(edge, extent) for extent in array.shape)


def hdf5_chunks(array, edge):
    """The chunks of an array as HDF5 hands them to a filter: all of `chunk_shape`, edge chunks padded.

    Yields (chunk array, box of the valid samples as slices). They are read back from a file without a filter, so that
    the padding is HDF5's own.
    """
    with h5py.File(write_hdf5(io.BytesIO(), array, {}, chunk_shape(array, edge)), "r") as file:
        dataset = file["field"]
        for index in range(dataset.id.get_num_chunks()):
            offset = dataset.id.get_chunk_info(index).chunk_offset
            _, raw = dataset.id.read_direct_chunk(offset)
            box = tuple(slice(start, min(start + edge, extent)) for start, extent in zip(offset, array.shape, strict=True))
            yield np.frombuffer(raw, array.dtype).reshape(dataset.chunks), box
