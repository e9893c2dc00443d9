"""Every Python and shell block of README.md and docs/ runs as it stands, or is listed here with why it does not."""

import re

import pytest

from support import document_blocks, warm_python
from support.document_blocks import Case
from support.paths import EXAMPLES, ROOT
from support.requirements import needs_packages, needs_programs, require

README = (ROOT / "README.md").read_text()
QUICKSTART = document_blocks.example("quickstart.py")
COMPRESSED = QUICKSTART + 'import os; os.rename("quickstart.h5", "compressed.h5")\n'
REGIONS, DAMAGED = (document_blocks.example(f"{name}.py") for name in ("region_reads", "damaged_file"))
SST = """
import numpy as np, xarray
values = np.random.default_rng(1).normal(15, 3, (2, 180, 360)).astype("f4")
dataset = xarray.Dataset({"sst": (("time", "lat", "lon"), values)})
"""
SAVED_SST = f"""{SST}
import h5stz
dataset.to_netcdf("sst.nc", engine="h5netcdf", encoding={{"sst": {{**h5stz.STZ(absolute=1e-3), "chunksizes": (1, 180, 360)}}}})
"""
SAME_SST = """
expected = xarray.load_dataset("sst.nc", engine="h5netcdf")
assert dataset.load().equals(expected) and expected["sst"].dtype == "f4"
"""
CLIMATE = """
import numpy as np, xarray
values = np.random.default_rng(1).normal(280, 3, (4, 90, 180)).astype("f4")
dims = ("time", "lat", "lon")
dataset = xarray.Dataset(
    {"tas": (dims, values), "pr": (dims, values / 280), "orog": (dims[1:], values[0])},
    {"lat": np.linspace(-89, 89, 90), "lon": np.arange(180.0)},
)
"""
WRITTEN_CLIMATE = f"""{CLIMATE}
import h5stz
h5stz.to_netcdf(dataset, "climate.nc", relative=1e-4)
"""
WRITTEN_COORDINATES = f"""{CLIMATE}
dataset["lat"].attrs["units"], dataset["lon"].attrs["units"] = "degrees_north", "degrees_east"
dataset["time"] = ("time", np.arange(4.0), {{"units": "days since 2000-01-01", "axis": "T"}})
import h5stz
h5stz.to_netcdf(dataset, "climate.nc", absolute=1e-2)
"""
SAME_CLIMATE = """
with xarray.open_dataset("copy.nc") as copy:
    assert copy.drop_attrs(deep=False).identical(xarray.load_dataset("climate.nc"))
"""
PARTS_OF_CLIMATE = """
assert dict(coarse.sizes) == {"time": 4, "lat": 23, "lon": 45}
assert part.compute().equals(xarray.load_dataset("climate.nc")["tas"].sel(lat=slice(30, 60)))
"""
SERVER = f"""
import sys
sys.path.insert(0, {str(EXAMPLES / "python")!r})
from range_server import RangeServer
server = RangeServer({{"regions.h5": open("regions.h5", "rb").read()}})
server.__enter__()
url = f"{{server.url}}/regions.h5"
"""
S3 = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import atexit, s3fs
from support.range_servers import s3_server
service = s3_server()
_, options = service.__enter__()
atexit.register(service.__exit__, None, None, None)
system = s3fs.S3FileSystem(**options)
system.mkdir("fields")
system.put_file("regions.h5", "s3://fields/regions.h5")
"""
PLAIN_FILES = """
import h5py, netCDF4, numpy as np
values = np.random.default_rng(1).normal(size=(64, 64, 64)).astype("f4")
with h5py.File("plain.h5", "w") as file:
    file.create_dataset("rho", data=values, chunks=(32, 64, 64))
with netCDF4.Dataset("plain.nc", "w") as file:
    for name in "zyx":
        file.createDimension(name, 64)
    file.createVariable("rho", "f4", tuple("zyx"), chunksizes=(32, 64, 64))[:] = values
"""
LAYERS = """
import h5py, h5stz, numpy as np
with h5py.File("full.h5", "w") as file:
    field = np.random.default_rng(1).normal(size=(64, 64, 64)).cumsum(0)
    file.create_dataset("rho", data=field, chunks=field.shape, **h5stz.STZ(absolute=1e-6, layers=2))
"""
WORKERS = """
import distributed
cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
address = cluster.scheduler_address
"""
ANALYSIS = "import h5py; print('read', h5py.File('regions.h5')['rho'][40:44, 80, 3])\n"
SCAN = """
import h5py
with h5py.File("scan.nxs") as file:
    stored = file["entry/data/signal"]
    assert str(h5stz.FILTER_ID) in stored._filters and abs(stored[...] - counts).max() <= 1e-3
    assert 2 * stored.id.get_storage_size() < counts.nbytes
"""
ZARR = """
import h5stz.zarr, numpy as np, zarr
options = {"chunks": (32, 64, 64), "serializer": h5stz.zarr.StzCodec(absolute=1e-3), "compressors": None}
array = zarr.create_array("field.zarr", shape=(64, 64, 64), dtype="f4", **options)
array[...] = np.sin(np.arange(64**3) / 999).reshape(64, 64, 64)
"""
SIMULATION = """
import h5py, numpy as np
with h5py.File("out.h5", "w") as file:
    for name in ("rho", "grid/z"):
        file.create_dataset(name, data=np.sin(np.arange(32**3) / 99).reshape(32, 32, 32))
"""

WHOLE_FILES = """
import h5py, numpy as np
for name in ("plain.nc", "plain.h5", "run.h5"):
    with h5py.File(name, "w") as file:
        file["flow/u"], file["T"] = np.sin(np.arange(60000.0).reshape(20, 50, 60) / 999), np.zeros((5, 6))
"""
XARRAY = ("xarray", "h5netcdf", "dask")
IN_ORDER = "tests/tools/test_command_line_page.py runs the blocks of this page one after another and compares what they print"
COMMAND_LINE = (
    'file["grid/z"]',
    "h5stz compress run.h5 small.h5",
    "--dry-run",
    "h5stz decompress",
    "h5stz info small.h5\n",
    "h5stz info small.h5 --json",
    "h5stz verify",
    "h5stz salvage",
    "h5stz extract",
    "h5stz compare",
    "plt.imshow(",
    "h5stz run --stats",
    "h5stz args",
    "PKG_CONFIG_PATH",
    "_H5STZ_COMPLETE",
)

KERCHUNK = ("zarr", "numcodecs", "fsspec", "xarray", "h5netcdf", "kerchunk")
KERCHUNK_SST = SAVED_SST + document_blocks.of_case(Case("zarr.md", "from kerchunk.hdf"))[0].code
IN_PARTS = f"""{SAME_SST}
import zarr
(codec,) = zarr.open_group(store, mode="r")["sst"].metadata.codecs
assert type(codec).__name__ == "StzCodec", codec
"""
CASES = [
    Case("README.md", "./run test", skipped="sets up its own environment; continuous integration begins with it (.ci/run)"),
    Case("README.md", "import numpy as np", prints="largest error: "),
    Case("README.md", "pip install .", skipped="tests/tools/test_install.py does the same"),
    Case(
        "README.md",
        "h5stz compress plain.nc",
        files=WHOLE_FILES,
        makes=("compressed.nc",),
        prints="/T: copied unchanged (less than 4096 bytes)",
    ),
    Case(
        "README.md",
        'engine="h5stz", level=2',
        before=f"import h5stz\n{SST}",
        after="assert coarse.sst.shape == (2, 45, 90)\n",
        packages=XARRAY,
        makes=("sst.nc",),
    ),
    Case("README.md", "view.level(2)", before=QUICKSTART),
    Case(
        "README.md",
        "h5stz doctor",
        files=QUICKSTART,
        programs={"sim": SIMULATION},
        host=("h5dump",),
        makes=("out.h5",),
        prints="(0,0,0):",
    ),
    Case("choosing_a_bound.md", "h5stz estimate plain.nc", files=WHOLE_FILES, prints="relative=1e-05"),
    Case("choosing_a_bound.md", "np.gradient(error", before=QUICKSTART, prints="largest error of the derivative: "),
    Case("options.md", "ml_dtypes.bfloat16", packages=("ml_dtypes",), makes=("model.h5",)),
    Case("other_programs.md", "h5stz doctor", files=QUICKSTART, host=("h5dump",), prints="(0,0,0):"),
    Case(
        "other_programs.md",
        "h5stz run --compress",
        files=QUICKSTART,
        programs={"sim": SIMULATION},
        host=("h5dump",),
        makes=("out.h5",),
        prints="(0,0,0):",
    ),
    Case(
        "other_programs.md",
        "h5stz args",
        files=PLAIN_FILES,
        host=("h5repack", "nccopy"),
        packages=("netCDF4",),
        makes=("compressed.h5", "compressed.nc"),
        prints="h5repack -f 'rho:UD=34765,0,4,102,1,1,3'",
    ),
    Case("other_programs.md", "libh5stz.so", makes=("libh5stz.so",)),
    Case("other_programs.md", "h5repack -f NONE", files=QUICKSTART, host=("h5repack",), makes=("plain.h5",)),
    Case("c_api.md", "--prefix PREFIX", skipped="tests/tools/test_install.py does the same"),
    Case(
        "c_api.md", "cc program.c", skipped="needs what the block before it installs; tests/tools/test_install.py does the same"
    ),
    *(Case("command_line.md", text, skipped=IN_ORDER) for text in COMMAND_LINE),
    Case(
        "connector.md",
        "--through connector",
        files=REGIONS,
        programs={"analysis.py": ANALYSIS, "simulation.py": SIMULATION},
        makes=("out.h5",),
        prints="1 read, 0 of them by HDF5 alone",
    ),
    Case("connector.md", "HDF5_VOL_CONNECTOR=", files=REGIONS, programs={"analysis.py": ANALYSIS}, prints="read ["),
    Case("parallel.md", "h5stz.read(file", makes=("parallel.h5",)),
    Case("dask.md", "da.random.normal", packages=("dask",), makes=("run.h5",)),
    Case(
        "dask.md",
        "scheduler=address",
        before=PLAIN_FILES + WORKERS,
        packages=("distributed", "netCDF4"),
        makes=("compressed.h5",),
    ),
    Case("packaging.md", "build_wheel.py", skipped="tests/tools/test_wheels.py does the same"),
    Case("packaging.md", "cmake --install build/aarch64", skipped="tests/stream/test_machines.py builds for the same machine"),
    Case("packaging.md", "cmake --preset aarch64", skipped="tests/stream/test_machines.py does the same"),
    Case("parallel_hdf5.md", "mpirun", skipped="tests/intercept/test_parallel_hdf5.py does the same with a program of MPI"),
    Case("simulation_codes.md", "--prefix PREFIX", skipped="tests/tools/test_install.py does the same"),
    Case(
        "simulation_codes.md",
        "effect.py",
        skipped="needs what the block before it installs; tests/tools/test_simulation_codes.py does the same",
    ),
    Case("simulation_codes.md", "MINIAPPS_PARALLEL", skipped="the same"),
    Case(
        "simulation_codes.md",
        "python -m venv mpi",
        skipped="tests/support/parallel_h5py.py does the same, and takes two minutes",
    ),
    Case("simulation_codes.md", "h5pcc examples", skipped="tests/tools/test_simulation_codes.py does the same"),
    Case(
        "simulation_codes.md",
        "series.collective",
        skipped="a part of examples/simulation_codes/parallel_h5py.py, which runs on ranks",
    ),
    Case(
        "recipes.md",
        "cdo -s infon",
        files=WRITTEN_COORDINATES,
        host=("cdo",),
        packages=XARRAY,
        makes=("mean.nc", "copy.nc"),
        prints="/tas: float32 4x90x180\n      bound: absolute 0.01\n",
    ),
    Case(
        "recipes.md",
        "ncks -H",
        files=WRITTEN_COORDINATES,
        host=("ncks",),
        packages=XARRAY,
        makes=("part.nc", "plain.nc", "compressed.nc"),
        prints="lat = 1 ;",
    ),
    Case(
        "recipes.md",
        "octave-cli",
        files=QUICKSTART,
        host=("octave-cli",),
        makes=("octave.h5",),
        prints="/x/value: float64 256x256\n          bound: absolute 0.001\n",
    ),
    Case("recipes.md", "h5stz args --absolute", prints="\n103,1,3539053052,1062232653,0,0,0,0,196610,64,64,64\n"),
    Case("recipes.md", "openpmd_api.Series", packages=("openpmd_api",), makes=("data.h5",), prints="largest error: 0.000"),
    Case("recipes.md", "vtkHDFReader", packages=("vtkmodules",), makes=("image.vtkhdf",), prints="largest error: 0.000"),
    Case("recipes.md", "anndata.AnnData", packages=("anndata",), makes=("cells.h5ad",), prints="largest error: 0.000"),
    Case("recipes.md", "from nexusformat.nexus import", packages=("nexusformat",), makes=("scan.nxs",), after=SCAN),
    Case("recipes.md", "tables.open_file", files=QUICKSTART, packages=("tables",), prints="first samples: [0."),
    Case("damage.md", 'view = h5stz.view(file["rho"], on_error="nan")', files=DAMAGED, prints="checksum does not match"),
    Case(
        "damage.md", "h5stz salvage damaged.h5", files=f"{DAMAGED}import os; os.remove('salvaged.h5')\n", makes=("salvaged.h5",)
    ),
    Case(
        "damage.md",
        "broken = bytearray(stream)",
        before="import warnings, h5stz, numpy as np\nwarnings.simplefilter('ignore')\n"
        "stream = h5stz.compress(np.random.default_rng(1).standard_normal((99, 99, 99)), absolute=0.1)\n",
        after="assert 0 < np.isnan(array).sum() < array.size / 2 and not np.isnan(coarse[::4, ::4, ::4]).any()\n",
    ),
    Case("precision_layers.md", "view.layer_errors()", makes=("layers.h5",), prints="["),
    Case(
        "precision_layers.md",
        "preview = view.at_error(accepted)",
        before="import h5py, h5stz\nimport numpy as np\n",
        after="assert 0 < abs(preview.astype('f8') - walk).max() <= accepted and view.stats.bytes_saved > walk.nbytes / 10\n",
    ),
    Case("guarantees.md", "check=True", makes=("checked.h5",), prints="absolute=0.001,check=yes"),
    Case("enhancement.md", "enhance=False", makes=("enhanced.h5",), prints="plain 24767 bytes, enhanced 16494"),
    Case("precision_layers.md", "repack --max-error", files=LAYERS, makes=("preview.h5",), prints="absolute=0.001"),
    Case("recipes.md", "emcmake", skipped="tests/stream/test_wasm.py does the same"),
    Case("recipes.md", "xarray.tests.test_backends", skipped="the suite of another project, two minutes"),
    Case("region_reads.md", "cache_bytes=128 << 20", files=REGIONS),
    Case("region_reads.md", "h5stz.dask_array", before=f"{REGIONS}\n", packages=("dask", "xarray")),
    Case("region_reads.md", "partial_reads() as stats", before=f"{REGIONS}\nfile = h5py.File('regions.h5')\n"),
    Case(
        "region_reads.md",
        "h5stz run --stats",
        files=REGIONS,
        programs={"analysis.py": ANALYSIS},
        host=("h5dump",),
        prints="1 read, 0 of them by HDF5 alone",
    ),
    Case("region_reads.md", "HTTPFileSystem", before=REGIONS + SERVER, packages=("fsspec", "aiohttp")),
    Case("remote.md", "pip install", skipped="installs from PyPI; the extra `test` of pyproject.toml has the same packages"),
    Case(
        "remote.md", "overview = rho.level(2)", before=REGIONS + SERVER, packages=("fsspec", "aiohttp"), prints="RemoteStats("
    ),
    Case("remote.md", "with fsspec.open(url) as remote", before=REGIONS + SERVER, packages=("fsspec", "aiohttp")),
    Case(
        "remote.md", "h5stz info https://example.org", skipped="no such server; tests/tools/test_remote_commands.py has these"
    ),
    Case("remote.md", "s3://fields/regions.h5", before=REGIONS + S3, packages=("s3fs", "moto")),
    Case("remote.md", "xarray.open_dataset(url", before=REGIONS + SERVER, packages=("fsspec", "aiohttp", *XARRAY)),
    Case(
        "region_reads_c.md",
        "h5cc program.c",
        examples={"program.c": "simulation_codes/read_slab.c", "program.f90": "simulation_codes/read_slab.f90"},
        host=("h5cc", "h5fc", "pkg-config"),
        makes=("program",),
    ),
    Case("rewriting.md", "append_axis=0", before=QUICKSTART, makes=("series.h5",)),
    Case(
        "rewriting.md",
        "h5stz.rewrite(",
        before="import h5stz, numpy\nbetter = numpy.ones((10, 8))\nstream = h5stz.compress(numpy.eye(30, 8), absolute=1)\n",
        after="assert abs(h5stz.decompress(stream)[10:20] - 1).max() <= 1e-3\n",
    ),
    Case(
        "run_compress.md",
        "./sim input.txt",
        programs={"sim": SIMULATION, "simulation.py": SIMULATION},
        makes=("out.h5",),
    ),
    Case("run_compress.md", "--threads 4", programs={"sim": SIMULATION}, makes=("out.h5",), prints="threads"),
    Case("choosing_by_effect.md", "h5stz.choose_bounds(", makes=("chosen.h5",), prints="calls of metric"),
    Case("effect_of_loss.md", "h5stz.effect(", prints="mean over 10 seeds"),
    Case("estimates.md", "h5stz.estimate(rho", prints="for a tenth of the size: absolute="),
    Case("xarray.md", "dataset.to_netcdf(", before=CLIMATE, packages=XARRAY, makes=("climate.nc",)),
    Case("xarray.md", '"orog"', before=WRITTEN_CLIMATE, after="assert len(encoding) == 3\n", packages=XARRAY),
    Case("xarray.md", "copy.nc", before=WRITTEN_CLIMATE, after=SAME_CLIMATE, packages=XARRAY, makes=("copy.nc",)),
    Case("xarray.md", "coarse =", before=WRITTEN_CLIMATE, after=PARTS_OF_CLIMATE, packages=XARRAY),
    Case("zarr.md", 'encoding = {"rho"', packages=("zarr", "numcodecs", "xarray"), prints="largest error: 0.000"),
    Case("zarr.md", '"trained.zarr"', packages=("zarr", "numcodecs"), prints="trained=12 sets)"),
    Case("zarr.md", "threading.max_workers", files=ZARR, packages=("zarr", "numcodecs"), after="assert plane.size\n"),
    Case("zarr.md", "h5stz.zarr.level(array, 1", files=ZARR, packages=("zarr", "numcodecs"), after="assert region.size\n"),
    Case("zarr.md", '"zarr_format": 2', packages=("zarr", "numcodecs")),
    Case("zarr.md", "from kerchunk.hdf", files=SAVED_SST, after=SAME_SST, packages=KERCHUNK, makes=("sst.json",)),
    Case("zarr.md", "KerchunkJSONParser", files=KERCHUNK_SST, after=IN_PARTS, packages=(*KERCHUNK, "virtualizarr", "obstore")),
]


@pytest.fixture(scope="module")
def programs():
    """`h5stz` and `python` for the blocks."""
    with warm_python.commands("netCDF4", "xarray.backends.api", "h5netcdf", "dask.array", "zarr", "fsspec", "scipy") as folder:
        yield folder


def test_every_block_has_one_case():
    found = [block for case in CASES for block in document_blocks.of_case(case)]
    assert {case.name: len(document_blocks.of_case(case)) for case in CASES} == {case.name: 1 for case in CASES}
    assert [block for block in document_blocks.blocks() if block not in found] == []


#: Documents whose blocks the fast tier runs. A block takes a second or more, most of it imports.
FAST = ("README.md",)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=() if case.document in FAST else pytest.mark.slow)
        for case in CASES
        if not case.skipped
    ],
)
def test_blocks_run(case, tmp_path, programs):
    for mark in (needs_programs(*case.host), needs_packages(*case.packages)):
        require(mark)
    (block,) = document_blocks.of_case(case)
    printed = document_blocks.run(block, case, tmp_path, programs)
    assert case.prints in printed
    for name in case.makes:
        assert (tmp_path / name).stat().st_size > 0


def test_readme_says_what_its_first_block_prints(tmp_path, programs):
    case = Case("README.md", "import numpy as np")
    (block,) = document_blocks.of_case(case)
    printed = [
        float(number) for number in re.findall(r": (\S+)$", document_blocks.run(block, case, tmp_path, programs), re.MULTILINE)
    ]
    said = re.search(r"This prints a ratio of (\S+) for a very smooth field, and a largest error of (\S+)\.\n", README)
    assert printed == pytest.approx([float(number) for number in said.groups()], rel=0.01)
