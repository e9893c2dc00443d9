"""`h5stz compare` and h5stz.compare(): figures as NumPy gives them of whole arrays, for files and arrays."""

import json
import re

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from h5stz.analysis import comparing
from support.fields import random_field

FIELD = random_field((20, 60, 70), 4, 1).astype("f4")
NOISY = FIELD + 0.01 * np.random.default_rng(1).standard_normal(FIELD.shape).astype("f4")


@pytest.fixture(params=[None, 20_000], ids=["one piece", "many pieces"])
def pieces(request, monkeypatch):
    """Pieces of the default size, and so small that an array needs several."""
    if request.param:
        monkeypatch.setattr(comparing, "_PIECE", request.param)
        monkeypatch.setattr(h5stz.slabs, "LOADED_BYTES", request.param)


def test_figures_of_whole_arrays(pieces):
    found = h5stz.compare(FIELD, NOISY)
    error = NOISY.astype("f8") - FIELD
    assert found.count == FIELD.size and not found.unpaired and not found.identical
    assert found.largest_error == np.abs(error).max()
    assert found.largest_at == np.unravel_index(np.abs(error).argmax(), error.shape)
    rmse = np.sqrt(np.mean(error**2))
    assert found.rmse == pytest.approx(rmse, rel=1e-12) and found.mean_error == pytest.approx(error.mean(), rel=1e-9)
    assert found.psnr == pytest.approx(20 * np.log10((float(FIELD.max()) - float(FIELD.min())) / rmse), rel=1e-12)


def test_what_is_missing_or_not_finite():
    x = FIELD[0].copy()
    y = x + 1
    x[0, :3] = np.nan, np.inf, -9
    y[0, :3] = np.nan, 4, -9
    x[5, 5], y[6, 6] = 7, np.nan
    found = h5stz.compare(x, y, missing=[-9])
    assert found.count == x.size - 4 and found.unpaired == 2, "NaN for NaN and missing for missing are pairs"
    assert found.high < 1e6 and np.isfinite(found.psnr)
    masked = np.ma.masked_less(x, 0)
    assert h5stz.compare(masked, masked + 1).count < x.size
    nothing = h5stz.compare(np.full((3, 4), np.nan), np.zeros((3, 4)))
    assert nothing.count == 0 and nothing.unpaired == 12 and nothing.largest_at is None


@pytest.mark.parametrize("dtype", ["<f2", ">f8", "i1", "u8", "bool"])
def test_types(dtype):
    x = (FIELD > 0).astype(dtype)
    assert h5stz.compare(x, x).identical and h5stz.compare(x, x).psnr == np.inf
    big = np.full((8, 8), 2**53, "i8") if dtype == "u8" else x
    assert h5stz.compare(big, big + big.dtype.type(1)).largest_error == (0 if dtype == "bool" and x.all() else 1)


def test_complex_numbers(pieces):
    z = FIELD + 1j * NOISY
    found = h5stz.compare(z, z + 0.5j * (FIELD > 1))
    assert found.largest_error == pytest.approx(0.5, rel=1e-5) and found.largest_at[-1] == 1
    assert found.shape == (*FIELD.shape, 2) and found.count == 2 * FIELD.size


def test_the_largest_numbers():
    x = np.array([-1.7e308, 1.7e308, 0.0])
    assert h5stz.compare(x, -x).largest_error == np.inf


def test_progress_ends_with_everything(pieces):
    told = []
    h5stz.compare(FIELD, NOISY, progress=lambda *each: told.append(each))
    assert [each[1] for each in told] == sorted(each[1] for each in told) and told[-1][1:] == (FIELD.nbytes,) * 2


def test_wrong_calls():
    with pytest.raises(h5stz.StzError, match="shapes"):
        h5stz.compare(np.zeros(3), np.zeros(4))
    with pytest.raises(h5stz.StzTypeError, match="numbers"):
        h5stz.compare(np.array(["a"]), np.array(["b"]))


@pytest.fixture
def files(tmp_path):
    """A file, its compressed copy with changes, and one array of it."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["flow/u"], file["flow/v"], file["text"], file["old"] = FIELD, FIELD, b"x", FIELD
    h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", [h5stz.Rule("v", {"lossless": True})], absolute=0.01)
    with h5py.File(tmp_path / "b.h5", "a") as file:
        del file["old"]
    np.save(tmp_path / "u.npy", FIELD)
    return tmp_path


def run(capsys, *words):
    status = cli.main(["compare", *map(str, words)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_files(files, capsys):
    status, out, errors = run(capsys, files / "a.h5", files / "b.h5")
    assert (status, errors) == (0, "")
    assert "/flow/v: float32 20x60x70\n  identical, bit for bit\n" in out
    assert "/text: not compared: " in out and f"/old: only in {files / 'a.h5'}" in out
    assert float(re.search(r"largest error: (\S+)", out).group(1)) <= 0.01
    shown = json.loads(run(capsys, files / "a.h5", files / "b.h5", "--dataset", "u", "--json")[1])
    assert [each["path"] for each in shown["datasets"]] == ["/flow/u"] and shown["datasets"][0]["psnr"] > 40


def test_a_largest_error_that_is_allowed(files, capsys):
    words = [f"{files / 'a.h5'}::/flow/u", f"{files / 'b.h5'}::/flow/u"]
    assert run(capsys, *words, "--within", "0.01")[0] == 0
    status, _, errors = run(capsys, *words, "--within", "0.001")
    assert status == 1 and re.fullmatch(r"h5stz: /flow/u: the largest error, 0\.00\d+, exceeds --within 0\.001\n", errors), (
        errors
    )
    missing = FIELD.copy()
    missing[3, 4, 5] = np.nan
    np.save(files / "missing.npy", missing)
    status, _, errors = run(capsys, files / "u.npy", files / "missing.npy", "--within", "1", "--json")
    why = "a sample is missing or not finite in only one of the two, which --within does not permit"
    assert status == 1 and errors.endswith(f"u.npy: {why}\n")
    assert run(capsys, files / "u.npy", words[1], "--within", "0.01")[0] == 0
    assert run(capsys, files / "u.npy", f"{files / 'a.h5'}::/flow/u")[1].count("identical") == 1
    status, _, errors = run(capsys, files / "u.npy", files / "b.h5")
    assert status == 1 and "name one, such as" in errors and errors.count("\n") == 1


def test_the_fill_value_of_the_options_is_missing(tmp_path, capsys):
    """Whichever file has it: samples without an error would count, and the range would reach to it."""
    array = FIELD.copy()
    array[:, ::2] = -999
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = array
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.create_dataset("x", data=array, chunks=FIELD.shape, **h5stz.STZ(absolute=1e-2, data=array, fill_value=-999.0))
        decoded = file["x"][...]
    error = (decoded.astype("f8") - array)[:, 1::2]
    for names in (("a.h5", "b.h5"), ("b.h5", "a.h5"), ("a.h5::/x", "b.h5::/x")):
        assert cli.main(["compare", *(str(tmp_path / name) for name in names), "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)["datasets"]
        assert found["count"] == error.size and found["low"] > -100
        assert found["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-9)


def test_it_goes_on_after_a_dataset_that_cannot_be_read(files, capsys):
    """Each is named with its file and its cure; the last one is compared, and the status says that something is missing."""
    one, other = files / "a.h5", files / "b.h5"
    for path in (one, other):
        with h5py.File(path, "a") as file:
            file.create_dataset("flow/a", data=FIELD, chunks=(10, 60, 70), compression="gzip")
            file["flow/b"] = FIELD
    with h5py.File(other, "a") as file:
        file["flow/a"].id.write_direct_chunk((10, 0, 0), b"no gzip")
        chunk = file["flow/u"].chunks[0] * 0, 0, 0
        file["flow/u"].id.write_direct_chunk(chunk, b"no stream")
    status, out, errors = run(capsys, one, other)
    assert status == 1 and "/flow/b: float32" in out and "/flow/v: float32" in out
    assert errors.splitlines() == [
        f"h5stz: the chunk at (10, 0, 0) of /flow/a in {other}: its filters cannot decode it: get the file again, or "
        f"h5stz extract {other}::/flow/a --region INDICES reads what is in other chunks",
        f"h5stz: the chunk at (0, 0, 0) of /flow/u in {other}: not an h5stz stream: get the file again, or "
        f"h5stz salvage {other} OUT copies the readable parts",
    ]
    status, out, errors = run(capsys, one, other, "--within", "1", "--json")
    told = json.loads(out)
    assert status == 1 and told["within"] is False and len(errors.splitlines()) == 2
    assert {each["path"] for each in told["datasets"] if each.get("failed")} == {"/flow/a", "/flow/u"}


def test_the_argument_that_is_wrong_is_named(files, capsys):
    """Whichever it is: the other one may lack a dataset only because this one names it."""
    one, other = files / "a.h5", files / "b.h5"
    for words, said in (
        ((one, "::/flow/u"), "::/flow/u names no file: give FILE::/flow/u"),
        ((one, f"{other}::/nope"), f"/nope is not a dataset of {other}: there is no /nope"),
        ((f"{one}::/nope", other), f"/nope is not a dataset of {one}: there is no /nope"),
        ((one, f"{other}::/flow/v"), f"{one} has 4 datasets: name one, such as {one}::/flow/v, "),
        ((f"{one}::/flow/v", other), f"{other} has 3 datasets: name one, such as {other}::/flow/v, "),
    ):
        status, out, errors = run(capsys, *words)
        assert (status, out) == (1, "") and errors.startswith(f"h5stz: {said}") and errors.count("\n") == 1


def test_chunks_are_decoded_once(tmp_path, monkeypatch):
    """Whichever of the two has chunks: the boxes that are read consist of whole ones."""
    monkeypatch.setattr(comparing, "_PIECE", 2 * 16**3 * 4)
    reads = []
    monkeypatch.setattr(
        h5stz.slabs, "read_into", lambda out, data, box: (reads.append((data.name, box)), data.read_direct(out, box))
    )
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("plain", data=FIELD)
        file.create_dataset("packed", data=NOISY, chunks=(16, 16, 16), **h5stz.STZ(absolute=1e-3))
        for one, other in ("plain", "packed"), ("packed", "plain"):
            reads.clear()
            assert h5stz.compare(file[one], file[other]).count == FIELD.size
            touched = [cut.start % 16 for name, box in reads if name == "/packed" for cut in box]
            assert touched and not any(touched), "no box begins within a chunk"


def test_memory_is_kept_from_piece_to_piece(tmp_path):
    """New memory for each piece would have to be cleared."""
    memory = h5stz.slabs.Memory()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        pieces = [(np.s_[2:5, 0:60, 0:70]), np.s_[7:9, 1:60, 3:5], np.s_[0:1, 0:60, 0:70]]
        for dtype in (">f4", "i2", "c8"):
            data = file.create_dataset(dtype, data=FIELD.astype(dtype))
            found = [(memory.piece(data, box).copy(), memory.piece(data, box)) for box in pieces]
            assert all(np.array_equal(copy, FIELD.astype(dtype)[box]) for (copy, _), box in zip(found, pieces, strict=True))
            assert all(np.shares_memory(each, found[0][1]) and each.dtype == dtype for _, each in found)
        colours = h5py.enum_dtype({"red": 0, "blue": 1}, "u1")
        assert memory.piece(file.create_dataset("colours", (4, 4), colours), np.s_[0:2, 0:2]).tolist() == [[0, 0], [0, 0]]


def test_signs_that_the_original_does_not_have_are_counted(pieces, tmp_path, capsys):
    x = np.zeros((20, 30, 40), "f4")
    x[0, 0, :6] = 1, 1, -1, -1, 0, np.nan
    y = x.copy()
    y[0, 0, :7] = -1, 0, 1, 0, -1e-9, -1, 2
    for one, other in ((x, y), (np.nan_to_num(x), np.nan_to_num(y)), (x.astype("f8"), np.ma.masked_invalid(y))):
        assert h5stz.compare(one, other).sign_changes == 4 + (not np.isnan(one).any())
    counts = [np.nan_to_num(array).clip(0).astype("u1") for array in (x, y)]
    assert h5stz.compare(*counts).sign_changes == 2
    for name, array in (("a", x), ("b", y)):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["x"] = array
    assert cli.main(["compare", str(tmp_path / "a.h5"), str(tmp_path / "b.h5")]) == 0
    assert "below or above 0, and not so in the original: 4 samples" in capsys.readouterr().out


def test_zeros_and_signs_that_were_kept_are_said(tmp_path, capsys):
    rain = np.maximum(FIELD[0], 0)
    rain[0, :3] = np.nan
    zeros = int(np.count_nonzero(rain == 0))
    assert zeros > 100
    for name, array in (("rain", rain), ("kept", rain * np.float32(1.01)), ("lost", rain + np.float32(0.01)), ("up", rain + 1)):
        np.save(tmp_path / f"{name}.npy", array)

    def lines(one, other):
        return [line.strip() for line in run(capsys, tmp_path / f"{one}.npy", tmp_path / f"{other}.npy")[1].splitlines()]

    assert lines("rain", "kept")[-2:] == ["signs: all kept", f"zeros: all {zeros} kept"]
    assert lines("rain", "lost")[-1] == f"not 0, and 0 in the original: {zeros} samples"
    assert not any(line.startswith(("zeros", "signs")) for line in lines("rain", "lost") + lines("rain", "rain"))
    assert lines("up", "rain")[-1] == "signs: all kept", "there is no 0 to keep"
    found = h5stz.compare(rain, rain * 2)
    assert (found.zeros, found.zero_changes) == (zeros, 0)
