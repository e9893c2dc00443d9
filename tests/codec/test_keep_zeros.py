"""keep_zeros: zeros come back bit for bit under every bound, whoever reads the stream, and other samples keep the bound."""

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import h5stz
import reference_decoder
from h5stz import _core, cli
from support import boxes, exact, fields, written_in_parts
from support.host_tools import FILTER_ID, run
from support.requirements import needs_programs

KINDS = ["<f2", ">f4", "<f4", "<f8", "<c8", "<i1", ">i2", "<i4", "<i8", "<u1", "<u2", "<u8"]
SHAPES = [(70,), (700,), (30, 40), (9, 10, 11), (17, 18, 19), (3, 20, 21), (40, 50, 33)]
BOUNDS = {"absolute": [0.3, 1, 7, 30, 300], "pointwise_relative": [0.01, 0.9]}


def zeros_of(array):
    """Which components are +0 or -0."""
    return exact.components(array) == 0


def judge_zeros(array, found, what):
    """Zeros of an array have the same bits in another one."""
    zeros = zeros_of(array)
    assert (exact.bits(exact.components(array))[zeros] == exact.bits(exact.components(found))[zeros]).all(), what


def check(array, stream, rng, rewritten=False):
    """All readers give zeros exactly. `rewritten`: not in the first layers; the slow second decoder is not asked."""
    info = h5stz.info(stream)
    ones, start = (1,) * array.ndim, (0,) * array.ndim
    decoded = h5stz.decompress(stream, threads=2)
    judge_zeros(array, decoded, "whole")
    for layer in () if rewritten else info.layers[:-1]:
        if np.isfinite(layer.max_error):
            judge_zeros(array, h5stz.decompress(stream, max_error=layer.max_error), f"layers up to {layer.max_error}")
    reader = _core.Reader.of_bytes(stream, 1 << 20)
    for _ in range(3):
        box = boxes.random_request(rng, info.shape)
        part = boxes.read(reader, info.dtype, *box)
        judge_zeros(boxes.cut(array, *box), part, f"box {box}")
        assert exact.same_bits(part, boxes.cut(decoded, *box)), "readers agree"
    for level in range(1, info.levels):
        request = start, tuple(-(-extent // 2**level) for extent in info.shape), tuple(2**level for _ in ones)
        judge_zeros(boxes.cut(array, *request), boxes.read(reader, info.dtype, *request), f"level {level}")
    reader.enhance(False)
    judge_zeros(array, boxes.read(reader, info.dtype, start, info.shape), "plain")
    assert rewritten or reference_decoder.decode(stream).tobytes() == decoded.tobytes(), "the second decoder"
    return decoded


def draw_numbers(draw, rng, shape, dtype):
    """Numbers of which some, or whole regions, are zero; of either sign."""
    numbers = np.cumsum(rng.standard_normal((*shape, 2)), len(shape) - 1) * 20
    share = draw(st.sampled_from([0, 0.02, 0.3, 0.8]))
    pattern = draw(st.sampled_from(["scattered", "regions", "clipped"]))
    if pattern == "clipped":
        numbers = numbers.clip(0)
    where = rng.random(numbers.shape) < share
    if pattern == "regions":
        where = np.abs(np.cumsum(rng.standard_normal(numbers.shape), len(shape) - 1)) < 5 * share
    numbers[where] = 0
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return numbers[..., 0].clip(max(limits.min, -(2**40)), min(limits.max, 2**40)).astype(dtype)
    minus = draw(st.sampled_from([0, 0.01, 1]))
    numbers[(numbers == 0) & (rng.random(numbers.shape) < minus)] = -0.0
    if dtype.kind != "c":
        return numbers[..., 0].astype(dtype)
    array = np.empty(shape, dtype)
    array.real, array.imag = numbers[..., 0], numbers[..., 1]  # arithmetic would lose -0
    return array


@st.composite
def requests(draw):
    """(array, options, generator)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape, dtype = draw(st.sampled_from(SHAPES)), np.dtype(draw(st.sampled_from(KINDS)))
    array = draw_numbers(draw, rng, shape, dtype)
    options = {
        "keep_zeros": True,
        "fill_value": False,
        "integers": "lossy",
        "block": draw(st.sampled_from(["default", "region", "throughput"])),
        "threads": draw(st.integers(1, 3)),
        "content_check": draw(st.sampled_from([None, True])),
        "check": draw(st.booleans()),
        "keep_range": draw(st.booleans()),
    }
    if dtype.kind in "fc" and draw(st.booleans()):
        array[rng.random(shape) < 0.1] = draw(st.sampled_from([np.nan, np.inf]))
    if dtype.kind != "c" and draw(st.booleans()):
        options["fill_value"] = draw(st.sampled_from([0, 1, 99]))
        array[rng.random(shape) < draw(st.sampled_from([0.05, 0.5]))] = options["fill_value"]
    mode = draw(st.sampled_from(["absolute", "absolute", "pointwise_relative"])) if dtype.kind in "fc" else "absolute"
    options[mode] = draw(st.sampled_from(BOUNDS[mode]))
    extra = draw(st.sampled_from([{}, {}, {"layers": 2}, {"layers": 5}, {"enhance": "relaxed"}, {"enhance": "both"}]))
    if "enhance" not in extra or mode == "absolute":
        options |= extra
    return array, options, rng


def judge_others(array, found, options, stream):
    """The other samples keep the bound, the fill value and its places."""
    info = h5stz.info(stream)
    bound = options.get("absolute", options.get("pointwise_relative"))
    judged = exact.judge(array, found, max(bound, info.relaxed_bound), "pointwise_relative" in options)
    assert not judged.wrong
    fill = options["fill_value"]
    if fill is not False:
        x, y = exact.components(array), exact.components(found)
        bits = exact.bits(np.array([fill], x.dtype))[0]
        assert ((exact.bits(x) == bits) == (exact.bits(y) == bits)).all()


@given(requests())
@settings(max_examples=30)
def test_zeros_are_exact(request):
    array, options, rng = request
    stream = h5stz.compress(array, **options)
    judge_others(array, check(array, stream, rng), options, stream)


@given(requests())
@settings(max_examples=30)
def test_zeros_of_rewritten_arrays_are_exact(request):
    array, options, rng = request
    stream = h5stz.compress(array, **options)
    now = h5stz.decompress(stream)
    for _ in range(3):
        before = now.copy()
        with np.errstate(invalid="ignore"):  # infinity * 0
            now[tuple(slice(start := int(rng.integers(n)), start + 1 + n // 3) for n in now.shape)] *= (
                0  # keeps the sign of zeros
            )
        now.flat[int(rng.integers(now.size))] = 0
        now.flat[int(rng.integers(now.size))] = 12.5 if now.dtype.kind in "fc" else 12
        stream = h5stz.rewrite(now, stream, **options)
        decoded = check(now, stream, rng, rewritten=True)
        kept = exact.bits(exact.components(now)) == exact.bits(exact.components(before))
        assert (exact.bits(exact.components(decoded)) == exact.bits(exact.components(now)))[kept].all()
        now = decoded


def rain(shape=(40, 50, 30)):
    """A field of which half is 0, in regions."""
    field = fields.random_field(shape, 3.0, 1)
    return np.maximum(field / field.std(), 0).astype("f4")


def test_without_the_option_zeros_change():
    array = rain()
    assert np.count_nonzero(h5stz.decompress(h5stz.compress(array, absolute=0.1, fill_value=False))[array == 0])


@pytest.mark.parametrize("options", [{"lossless": True}, {"pointwise_relative": 0.1}, {"absolute": 0.0}])
def test_where_zeros_are_exact_anyway_nothing_changes(options):
    array = rain()
    assert h5stz.compress(array, keep_zeros=True, **options) == h5stz.compress(array, **options)


def test_integers_that_are_exact_anyway_are_as_without_it():
    array = (rain() * 100).astype("i2")
    for options in ({"absolute": 9}, {"absolute": 0.5, "integers": "lossy"}):
        assert h5stz.compress(array, keep_zeros=True, **options) == h5stz.compress(array, **options)


def test_arrays_without_zeros_are_as_without_it():
    for array in (rain() + 1, (rain() * 100).astype("i4") + 1):
        options = {"absolute": 2.0, "integers": "lossy", "fill_value": False}
        assert h5stz.compress(array, keep_zeros=True, **options) == h5stz.compress(array, **options)


def test_zeros_state_no_missing_value_unless_they_need_one():
    array = rain()
    assert h5stz.info(h5stz.compress(array, absolute=0.1, keep_zeros=True, fill_value=False)).fill_value is None
    array[3, 4] = np.nan
    assert h5stz.info(h5stz.compress(array, absolute=0.1, keep_zeros=True, fill_value=False)).fill_value == 0


def test_large_regions_of_zeros_take_few_bytes():
    """Beside a missing value and -0, too."""
    array = rain((100, 100, 60))
    array[:30, :40] = -999
    options = {"absolute": 0.01, "fill_value": -999}
    plain = len(h5stz.compress(array, **options))
    assert len(h5stz.compress(array, keep_zeros=True, **options)) < 1.3 * plain
    array[array == 0] = -0.0
    assert len(h5stz.compress(array, keep_zeros=True, **options)) < 1.3 * plain


def test_through_h5py(tmp_path):
    """Written, changed in part, grown, read as a whole and in views."""
    array = rain()
    array = written_in_parts.write(tmp_path / "a.h5", array, h5stz.STZ(absolute=0.1, keep_zeros=True))
    with h5py.File(tmp_path / "a.h5") as file:
        assert h5stz.STZ.from_dataset(file["x"]).get_config()["keep_zeros"] is True
        view = h5stz.view(file["x"])
        judge_zeros(array, file["x"][...], "whole")
        judge_zeros(np.ascontiguousarray(array[3:30:2, ::3, 7]), np.ascontiguousarray(view[3:30:2, ::3, 7]), "view")
        exact.largest_error(array, file["x"][...], 0.1)


@needs_programs("h5repack", "h5dump")
def test_programs_of_hdf5_write_and_read_zeros(tmp_path):
    array = rain()
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file.create_dataset("x", data=array, chunks=(20, 25, 30))
    words = h5stz.STZ(absolute=0.1, keep_zeros=True).filter_options
    form = f"UD={FILTER_ID},0,{len(words)},{','.join(map(str, words))}"
    run("h5repack", "-f", form, tmp_path / "plain.h5", tmp_path / "packed.h5")
    run("h5dump", "-d", "/x", "-b", "LE", "-o", tmp_path / "x.bin", tmp_path / "packed.h5")
    found = np.fromfile(tmp_path / "x.bin", "<f4").reshape(array.shape)
    judge_zeros(array, found, "h5dump")
    assert found.tobytes() != array.tobytes()
    exact.largest_error(array, found, 0.1)


def test_commands_keep_count_and_expect_zeros(tmp_path, capsys):
    array = rain()
    plain, kept, lost = (str(tmp_path / f"{name}.h5") for name in ("plain", "kept", "lost"))
    with h5py.File(plain, "w") as file:
        file.create_dataset("x", data=array, chunks=(20, 25, 30))
    assert cli.main(["compress", plain, kept, "--absolute", "0.1", "--keep-zeros"]) == 0
    assert cli.main(["compress", plain, lost, "--absolute", "0.1"]) == 0
    capsys.readouterr()
    for packed, says in ((kept, False), (lost, True)):
        cli.main(["compare", plain, packed])
        assert ("not 0, and 0 in the original" in capsys.readouterr().out) == says
    with h5py.File(lost) as file:
        changed = int(np.count_nonzero(file["x"][...][array == 0]))
        assert h5stz.compare(array, file["x"]).zero_changes == changed
    cli.main(["estimate", plain, "--absolute", "0.1"])
    assert f"up to {np.count_nonzero(array == 0)} samples of /x that are 0" in capsys.readouterr().out
    assert h5stz.estimate(array, absolute=0.1, keep_zeros=True).zero_changes == 0
