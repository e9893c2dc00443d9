"""The examples run as users run them, and what they print is true."""

import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support import exact, warm_python
from support.document_blocks import example
from support.paths import EXAMPLES, ROOT, TESTS
from support.requirements import has_package, needs_packages, needs_programs


def run(directory, *command, python=sys.executable):
    """The output of an example run in `directory`."""
    environment = {**os.environ, "PYTHON": str(python)}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=directory,
        env=environment,
        text=True,
        timeout=240,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def run_python(directory, name, *options):
    return run(directory, sys.executable, "-W", "error", EXAMPLES / "python" / name, *options)


@pytest.fixture(scope="module")
def warm():
    """Programs that have imported matplotlib."""
    with warm_python.commands("matplotlib.pyplot", "matplotlib.colors", "matplotlib.ticker") as programs:
        yield programs


#: A program that ends with a traceback before `run` gives up: the pipes of a fork stay open when its client is killed.
DRAWING = """
import faulthandler, runpy, sys, warnings
faulthandler.dump_traceback_later(200, exit=True)
warnings.simplefilter("error")
sys.path.insert(0, {folder!r})
runpy.run_path({path!r}, run_name="__main__")
"""


def run_drawing(warm, directory, name):
    """What an example prints that draws NAME.png, which must be a picture where matplotlib is installed."""
    path = EXAMPLES / "python" / name
    output = run(directory, warm / "python", "-c", DRAWING.format(folder=str(path.parent), path=str(path)))
    picture = path.with_suffix(".png").name
    if has_package("matplotlib"):
        assert f"picture: {picture}" in output and (directory / picture).stat().st_size > 10_000
    return output


def numbers(output, label):
    """All numbers that stand behind `label:`."""
    found = [float(text) for text in re.findall(rf"{re.escape(label)}: (\S+)", output)]
    assert found, output
    return found


def check_bound(output, count=1):
    errors = numbers(output, "max error / bound")
    assert len(errors) == count
    assert all(0 <= error <= 1 for error in errors), output


def test_quickstart(warm, tmp_path):
    output = run_drawing(warm, tmp_path, "quickstart.py")
    assert numbers(output, "largest error")[0] <= 1e-3
    assert numbers(output, "ratio")[0] > 1
    with h5py.File(tmp_path / "quickstart.h5") as file:
        assert file["rho"].shape == (64, 64, 64)


def test_without_matplotlib_an_example_says_so(warm, tmp_path):
    code = "import sys; sys.modules['matplotlib'] = None" + DRAWING
    path = EXAMPLES / "python/quickstart.py"
    output = run(tmp_path, warm / "python", "-c", code.format(folder=str(path.parent), path=str(path)))
    assert "no picture: matplotlib is not installed" in output and not list(tmp_path.glob("*.png"))


def test_every_example_is_listed_and_runs_in_a_test():
    """examples/README.md links each file once in a table or sentence; each row of a table is run by a test."""
    readme = (EXAMPLES / "README.md").read_text()
    files = {
        path
        for path in EXAMPLES.rglob("*.*")
        if path.suffix in {".py", ".sh", ".c", ".f90", ".F90", ".cpp", ".h", ".txt", ".mjs"}
    }
    linked = {EXAMPLES / name for name in re.findall(r"\]\(([a-z]\S+\.\w+)\)", readme)}
    assert linked == files
    tests = "".join(path.read_text() for path in sorted(TESTS.rglob("test_*.py")))
    rows = re.findall(r"^\| \[\S+\]\((\S+)\) \| [^|]*(?:\| `(.*)` )?\|$", readme, re.MULTILINE)
    assert len(rows) > 20
    for name, command in rows:
        path = EXAMPLES / name
        assert path.stem in command or path.parent.name == "python", name
        assert f'{path.name}"' in tests or f'"{path.stem}"' in tests, f"no test runs {name}"


@needs_packages("ml_dtypes")
def test_types_of_machine_learning(tmp_path):
    output = run_python(tmp_path, "machine_learning_types.py")
    assert len(numbers(output, "ratio")) == 7 and min(numbers(output, "ratio")) > 1
    assert max(numbers(output, "largest error")) <= 0.5
    assert "read by any program: True" in output


def test_readme_shows_the_quickstart():
    code = example("quickstart.py").split('"""\n\n', 1)[1]
    assert code in (ROOT / "README.md").read_text()


def test_the_series_of_the_page_on_appending_grows_as_it_says(tmp_path):
    """Within the bound of what was written, and no larger than if it had been written at once."""
    section = (ROOT / "docs/rewriting.md").read_text().split("## Appending", 1)[1]
    code = example("quickstart.py") + section.split("```python\n", 1)[1].split("```", 1)[0]
    (tmp_path / "series.py").write_text(code + 'np.save("field.npy", field)\n')
    run(tmp_path, sys.executable, "series.py")
    field = np.load(tmp_path / "field.npy")
    with h5py.File(tmp_path / "series.h5") as file, h5py.File(tmp_path / "once.h5", "w") as once:
        series = file["rho"]
        exact.largest_error(field, series[...], 1e-3)
        whole = once.create_dataset("rho", data=field, chunks=series.chunks, **h5stz.STZ(absolute=1e-3, append_axis=0))
        once.flush()
        assert series.id.get_storage_size() == whole.id.get_storage_size()


@needs_packages("matplotlib")
@pytest.mark.parametrize("relative", ["1e-3", pytest.param("1e-5", marks=pytest.mark.slow)])
def test_simulation(tmp_path, relative):
    output = run_python(tmp_path, "simulation.py", "--samples", 64, "--frames", 20, "--relative", relative)
    check_bound(output)
    assert numbers(output, "PSNR")[0] > 20 * np.log10(1 / float(relative))
    assert (tmp_path / "simulation.png").stat().st_size > 10_000
    with h5py.File(tmp_path / "simulation.h5") as file:
        assert file["vorticity"].shape == (20, 64, 64)


def test_masked_climate(warm, tmp_path):
    output = run_drawing(warm, tmp_path, "masked_climate.py")
    check_bound(output, count=4)
    assert output.count("missing samples unchanged: True") == 4


@pytest.mark.slow
@needs_packages("xarray", "h5netcdf", "dask")
def test_xarray_climate(tmp_path):
    output = run_python(tmp_path, "xarray_climate.py")
    check_bound(output, count=2)
    assert numbers(output, "ratio")[0] > 4
    assert len(re.findall(r": True$", output, re.MULTILINE)) == 4
    assert "'lat': 24, 'lon': 36" in output


@pytest.mark.slow
def test_parallel(tmp_path):
    output = run_python(tmp_path, "parallel.py")
    assert "same bytes: True" in output and "same samples: True" in output
    assert float(output.split()[-1]) <= 1e-3


def test_growing_dataset(tmp_path):
    output = run_python(tmp_path, "growing_dataset.py")
    check_bound(output, count=3)
    growing, *others = numbers(output, "bytes over those of whole chunks")
    assert growing <= 1.02 and len(others) == 2


@pytest.mark.slow
def test_pointwise(warm, tmp_path):
    output = run_drawing(warm, tmp_path, "pointwise.py")
    check_bound(output)
    assert "zeros unchanged: True" in output


def test_rain(tmp_path):
    output = run_python(tmp_path, "rain.py")
    check_bound(output, count=3)
    plain, kept, small = numbers(output, "dry samples that are 0")
    assert plain < kept == small == 1
    _, of_kept, of_small = numbers(output, "bytes")
    assert of_small <= of_kept
    assert "samples unchanged: True" in output and numbers(output, "ratio")[0] > 8


def test_region_reads(warm, tmp_path):
    output = run_drawing(warm, tmp_path, "region_reads.py")
    assert output.count("as h5py reads it: True") == 4
    plane, level, region, through_h5py = numbers(output, "percent read")
    assert max(plane, region, through_h5py) < 40 and level < 15
    refined = [int(count) for count in re.findall(r"level \d: .*, (\d+) bytes so far", output)]
    assert len(refined) > 3 and refined == sorted(refined)


@pytest.mark.slow
def test_precision_layers(warm, tmp_path):
    output = run_drawing(warm, tmp_path, "precision_layers.py")
    steps = [[float(text) for text in step] for step in re.findall(r"up to (\S+), found (\S+), from (\d+) bytes", output)]
    assert len(steps) == 3 and all(found <= 1.05 * promised for promised, found, _ in steps)  # two digits are printed
    assert [size for *_, size in steps] == sorted(size for *_, size in steps)
    accepted, found, read, whole = re.search(r"preview: error (\S+), seen (\S+); (\d+) of (\d+)", output).groups()
    assert 0 < float(found) <= float(accepted) and int(read) < 0.3 * int(whole)


@pytest.mark.slow
def test_enhancement(warm, tmp_path):
    """As docs/enhancement.md says: a third fewer bytes for the same PSNR."""
    output = run_drawing(warm, tmp_path, "enhancement.py")
    sizes = {kind: int(size) for kind, size in re.findall(r"enhance=(\w+) +(\d+) bytes", output)}
    assert sizes["True"] == min(sizes.values()) and 0.35 < 1 - sizes["True"] / sizes["None"] < 0.37
    assert min(numbers(output, "PSNR")) >= 34
    plain, strict, *filtered, without_filter = numbers(output, "max error / bound")
    assert max(plain, strict, without_filter) <= 1 and max(filtered) <= 1.5


def test_damaged_file(warm, tmp_path):
    output = run_drawing(warm, tmp_path, "damaged_file.py")
    (lost,) = numbers(output, "lost")
    assert 0 < lost <= 32**3
    assert "all others have their bits: True" in output and "salvaged: True, 1 damaged part" in output
    assert output.count("level 0, block") == 2


@pytest.mark.slow
@needs_packages("xarray", "dask")
def test_lazy_arrays(tmp_path):
    output = run_python(tmp_path, "lazy_arrays.py")
    assert output.count("as h5py reads it: True") == 2
    assert max(numbers(output, "percent read")) < 20
    assert "as another process reads it: True" in output and "computed after the file was closed: True" in output


@pytest.mark.slow
@needs_packages("dask")
def test_dask_writing(tmp_path):
    output = run_python(tmp_path, "dask_writing.py")
    assert numbers(output, "largest error")[0] <= numbers(output, "bound")[0]
    assert numbers(output, "ratio")[0] > 50 and "same chunks by another scheduler: True" in output


@pytest.mark.slow
@needs_packages("fsspec", "aiohttp")
def test_remote_regions(tmp_path):
    output = run_python(tmp_path, "remote_regions.py")
    assert output.count("as h5py reads it: True") == 10
    assert "remote.h5: /rho: 8 chunks decoded" in output
    dataset = numbers(output, "bytes of the dataset")[0]
    sent = [int(size) for size in re.findall(r"requests +(\d+) bytes", output)]
    opening, box, level, plainly, again, rest, given, box_of_given, view, box_of_view = sent
    assert 0 < box < dataset / 50 and 0 < level < dataset / 20 and opening < dataset / 20
    assert plainly + again + rest >= dataset and view + box_of_view < dataset / 50
    assert given + box_of_given < dataset / 30


@pytest.mark.slow
@needs_packages("zarr", "numcodecs")
def test_zarr_store(tmp_path):
    output = run_python(tmp_path, "zarr_store.py")
    check_bound(output, count=3)
    assert re.search(r"written with StzCodec\(absolute=0.001, trained=\d+ sets\)", output)
    assert output.count("as the whole array has it: True") == 3
    box, plane, level = numbers(output, "percent read")
    assert box < 10 and plane < 30 and level < 5


BROWSER = """
// As in a browser: no process, no modules of node. The module of the core is an empty one.
globalThis.process = undefined;
const asked = [];
const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
globalThis.fetch = async (place) => ({ arrayBuffer: async () => (asked.push(place), empty.buffer) });
const { load, decode } = await import(EXAMPLE);
await load("https://example.org/stz.wasm");
await load(empty);
console.log(asked.join(), typeof decode);
"""


@needs_programs("node")
def test_decode_mjs_is_loaded_by_browsers(tmp_path):
    assert not re.search(r"^import .* from \"node:", (EXAMPLES / "browser/decode.mjs").read_text(), re.MULTILINE)
    (tmp_path / "page.mjs").write_text(BROWSER.replace("EXAMPLE", json.dumps((EXAMPLES / "browser/decode.mjs").as_uri())))
    done = subprocess.run(["node", "page.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.stdout == "https://example.org/stz.wasm function\n", done.stderr


@needs_packages("numcodecs")
def test_climatebenchpress(tmp_path):
    """Without the project: the codecs of its two kinds of bounds."""
    output = run_python(tmp_path, "climatebenchpress_h5stz.py")
    absolute, relative = (float(error) for error in re.findall(r"largest error ([0-9.e-]+)", output))
    assert 0 < absolute <= 0.01 and 0 < relative <= 1e-4


@needs_programs("bash", "h5repack", "h5dump", "h5ls", "nccopy")
def test_command_line(tmp_path):
    with warm_python.commands() as programs:
        output = run(tmp_path, "bash", EXAMPLES / "command_line/command_line.sh", python=programs / "python")
    check_bound(output, count=4)
    assert "h5repack -f 'rho:UD=34765,0,4,102,1,1,3'" in output, "the line typed in the example is another one"
    assert output.count("(0,0,0):") == 2
    for name in ("compressed.h5", "compressed.nc"):
        ratio = float(re.search(re.escape(name) + r": ratio ([0-9.]+)", output).group(1))
        assert ratio > 10, f"{name} is hardly compressed"


def check_figures(output, page, *labels):
    """The page of docs/ says what the example prints, but for the rounding of other machines."""
    for label in labels:
        assert numbers(output, label) == pytest.approx(numbers((ROOT / "docs" / page).read_text(), label), rel=0.1), label


@pytest.fixture
def one_thread(monkeypatch):
    """Linear algebra in one thread: those of several tests would wait for each other."""
    for library in ("OMP", "OPENBLAS", "MKL"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "1")


@pytest.mark.usefixtures("one_thread")
def test_bounds_of_weights(tmp_path):
    """Two thirds of the bytes of groups of 4-bit integers, and less loss on pictures that nothing has seen."""
    output = run_python(tmp_path, "bounds_of_weights.py")
    (integers, chosen), rises = numbers(output, "bits per weight"), numbers(output, "loss rises by")
    assert integers == 4.25 and chosen < 0.7 * integers and 0 < rises[1] < rises[0]
    check_figures(output, "choosing_by_effect.md", "bits per weight")
    search, verify = (float(rise) for rise in re.findall(r"^(?:search|verify) .* (\S+) +0\.002$", output, re.MULTILINE))
    assert 0 < search <= 0.7 * 0.002 and verify <= 0.002


@pytest.mark.usefixtures("one_thread")
def test_bounds_of_climate(warm, tmp_path):
    output = run_drawing(warm, tmp_path, "bounds_of_climate.py")
    check_figures(output, "choosing_by_effect.md", "bits per sample", "change in K")
    chosen, for_all = numbers(output, "bits per sample")
    assert chosen < 0.8 * for_all and max(numbers(output, "change in K")) <= 0.01
    assert re.search(r"^pr .* lossless .*the metric does not use it$", output, re.MULTILINE)


@pytest.mark.usefixtures("one_thread")
def test_effect_of_loss(warm, tmp_path):
    """The ratios of docs/effect_of_loss.md, and which bounds the analyses notice."""
    output = run_drawing(warm, tmp_path, "effect_of_loss.py")
    page = (ROOT / "docs/effect_of_loss.md").read_text()
    row = re.compile(r"^(relative=\S+) +(\S+) .*?(noticed)?$", re.MULTILINE)
    (printed, said) = (row.findall(text) for text in (output, page))
    assert len(printed) == 12 and [(bound, noticed) for bound, _, noticed in printed] == [(b, n) for b, _, n in said]
    assert [float(ratio) for _, ratio, _ in printed] == pytest.approx([float(ratio) for _, ratio, _ in said], rel=0.1)


@pytest.mark.slow
def test_choosing_a_bound(warm, tmp_path):
    output = run_drawing(warm, tmp_path, "choose_bound.py")
    assert output.index("0.1 ") < output.index("1e-05")
    assert 10 <= numbers(output, "ratio")[0] <= 10.3
