"""For everything that docs/format.md has, there is a golden stream: the tables of the document and the lines of the second
decoder.

Each table is either one of features, with what a stream that uses a row of it shows (support/stream_features.py), or it is
listed with the reason why its rows are none. A new table, or a new row, fails here until there is a stream for it.
"""

import contextlib
import json
import re

import coverage
import pytest

import h5stz
import reference_decoder
from golden import arrays
from support import stream_features
from support.paths import GOLDEN, ROOT, TESTS

VERSION = GOLDEN / f"version_{h5stz.FORMAT_VERSION}"
STREAMS = {path.stem: path.read_bytes() for path in sorted(VERSION.glob("*.stz"))}
MEASURED = 1000  # bytes: larger streams are decoded without coverage, which takes most of the time
ALWAYS = "blocks"  # what every stream of blocks has

DTYPES = ("f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16", *arrays.SHORT_FLOATS)
STENCILS = ("standard", "wide", "long")
REFERENCE = TESTS / "reference_decoder"
#: Lines that refuse a stream, and those that are run when a module is loaded.
OTHER_LINES = r"raise |except |^(class|def|from|import|@|#|\w+( =|, ))|^    (def|class|\w+: )|require(_version)?\(False"

#: (section, first cell of the heading): for each row, by its first cell or its number, the features of which each needs a
#: stream.
FEATURES = {
    ("Conventions", "samples"): {"0, f32": ["samples f32"], "1, f64": ["samples f64"], "2, i64": ["samples i64"]},
    ("Header", "bytes"): {
        "magic": [ALWAYS],
        "format version": [ALWAYS],
        "kind": [
            *(f"form {form}" for form in stream_features.FORMS),
            *(f"mode {mode}" for mode in stream_features.MODES),
            "fill value in the header",
            "blocks for regions",
            "record 2",
        ],
        "type": [*DTYPES, "big-endian"],
        "rank": [f"rank {rank}" for rank in range(6)],
        "extents": [ALWAYS],
        "bound": ["mode absolute"],
        "fill value": ["fill value in the header"],
        "size of the records": ["record 2"],
        "[extension records](#extension-records)": ["record 2"],
        "how": [
            *(f"samples {name}" for name in stream_features.SAMPLES),
            *(f"quantizer {name}" for name in stream_features.QUANTIZERS),
            *(f"transform {name}" for name in stream_features.TRANSFORMS),
        ],
        "flags": [f"flag {name}" for name in stream_features.FLAGS],
        "step": ["step above 1, integer", "step above 1, ULP space"],
        "half step": ["flag half step"],
        "origin, delta": ["transform fixed point"],
        "number of values": ["transform palette"],
        "size of the palette": ["transform palette"],
        "zero bits": ["zero bits"],
        "common NaN": ["kind common NaN"],
        "padding": ["flag partial"],
        "cut": ["flag partial"],
        "axis offsets": ["flag offsets"],
        "level bounds": ["flag level bounds"],
        "level blocks": ["flag level blocks"],
        "section sizes": [ALWAYS, "no level sections"],
        "sizes of refinements": ["record 1"],
        "sizes of remainders": ["record 13"],
        "check": [ALWAYS],
    },
    ("Header", "1"): {"float16": list(DTYPES)},
    ("Header", "short float"): {row: ["f2", *arrays.SHORT_FLOATS] for row in ("e, m", "largest number")},
    ("Header", "elements"): {
        "floating-point, absolute bound": [
            "short float, f32, uniform, none",
            "float, f32, uniform, none",
            "float, f64, uniform, none",
        ],
        "floating-point, every bit or point-wise bound": ["float, f32, ULP space, none", "float, f64, ULP space, none"],
        "short floats, every bit": ["short float, f32, integer, short float in ULP space"],
        "floating-point on a fixed-point grid, or decimals": [
            "float, f32, integer, fixed point",
            "float, f64, integer, fixed point",
        ],
        "floating-point of one sign, point-wise bound": [
            "short float, f64, uniform, logarithmic",
            "float, f64, uniform, logarithmic",
            "flag negative",
        ],
        "integers of 8 and 16 bits": [
            f"{bits}-bit integers, f32, {quantizer}, none" for bits in (8, 16) for quantizer in ("integer", "uniform")
        ],
        "integers of 32 bits": [f"32-bit integers, f64, {quantizer}, none" for quantizer in ("integer", "uniform")],
        "integers of 64 bits": ["64-bit integers, i64, integer, none"],
        "all, few distinct values, any mode": [
            "short float, f32, integer, palette",
            "float, f32, integer, palette",
            "32-bit integers, f32, integer, palette",
            "64-bit integers, f32, integer, palette",
        ],
    },
    ("Extension records", "tag"): {str(tag): [f"record {tag}"] for tag in (1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 17, 19)},
    ("Range of values", "bytes"): {"ends": ["record 7"], "lower end": ["record 7"], "upper end": ["record 7"]},
    ("Decimals", "bytes"): {
        "kind of decimals": ["decimals of kind 1", "decimals of kind 2"],
        "digits": ["record 15"],
        "lowest exponent": ["decimals of kind 2"],
    },
    ("Grids of slices", "bytes"): {
        "axis of slices": ["slices along axis 0", "slices along axis other"],
        "origin, delta of a slice": ["record 17"],
        "first": ["record 17"],
    },
    ("Repeats", "bytes"): {
        "source": ["repeat"],
        "mirrored and negated": ["repeat", "repeat, mirrored", "repeat, mirrored, negated"],
    },
    ("Patched form", "bytes"): {
        "number of patches": ["patch", "several patches"],
        "size of the base's stream": ["patch"],
        "origin": ["patch"],
        "extent": ["patch"],
        "flags": ["patch", "transparent patch"],
        "pattern": ["transparent patch"],
        "size of the patch's stream": ["patch"],
    },
    ("Hierarchy", "role"): {
        "0 to 3": [f"axis role {role}" for role in range(4)],
        "4": ["axis role 4", "several items"],
        "5": ["axis role 5"],
    },
    ("Level section", "bytes"): {
        "size of the next field": ["a stream for each class"],
        "parameters and index: output of the binary coder": list(stream_features.ARRANGEMENTS),
        "check": ["streams covered by the check of their section"],
        "streams of the blocks": ["streams with checks of their own"],
    },
    ("Parameters of a class", "what"): {
        "predictor": ["predictor linear", "predictor median", "predictor median of faces"],
        "weights of the coarser level": [ALWAYS],
        "any weights": [ALWAYS],
        "stencil": [f"weights, {stencil}, o = 1" for stencil in STENCILS],
        "precision": [ALWAYS],
        "changes": ["weights shifted not at all"],
        "weights": [ALWAYS],
        "feedback": ["feedback of small codes"],
        "feedback of the coarser level": ["feedback of small codes"],
        "which codes count": ["feedback of small codes", "feedback of all codes"],
        "unit of residuals": ["feedback with another unit"],
        "weights of feedback": ["feedback of small codes"],
        "any codes": ["a class without codes"],
        "mean": [ALWAYS],
        "models": [ALWAYS],
        "same": [ALWAYS],
        "same mode": [ALWAYS],
        "run-length: zero run": ["run-length mode"],
        "run-length: value": ["run-length mode"],
        "direct: even": ["even model"],
        "direct: scale": ["Laplace, with shift", "Laplace, without shift"],
        "direct: shape": [f"{shape}, without shift" for shape in stream_features.SHAPES],
    },
    ("Prediction", "groups, in order"): {
        0: ["predictor linear"],
        1: ["predictor linear"],
        2: ["weights, standard, o = 1"],
        **{3 + o - 1: [f"weights, standard, o = {o}"] for o in (1, 2, 3)},
        6: ["prediction, o = 4"],
        7: ["weights, standard, o = 1"],
        8: ["weights, wide, o = 1"],
        9: ["weights, wide, o = 2"],
        10: ["weights, wide, o = 3"],
        11: ["weights, wide, o = 1"],
        12: ["weights, long, o = 1"],
        13: ["weights, long, o = 1"],
    },
    ("Models", "table"): {
        "two_sided_source": ["Laplace, without shift"],
        "one_sided_source": ["Laplace, with shift"],
        "zero_run_source": ["run-length mode"],
        "value_source": ["run-length mode"],
        "default_scale": ["Laplace, without shift"],
    },
    ("Code streams", "bytes"): {
        "state of lane 0; its top bit is set if there are more lanes": ["1 lanes"],
        1: [f"{1 << log_lanes} lanes" for log_lanes in range(7)],
        2: ["2 lanes"],
        3: ["1 lanes"],
        4: ["1 lanes"],
    },
    ("Floating-point fields", "bytes"): {
        "block": [f"fields in blocks of 2^{log}" for log in (6, 10, 17, 20)],
        "mantissa": ["exponents alone", "mantissa bits in tops"],
        "size of the directory": ["record 11"],
        "size of the blocks": ["record 11"],
        "size of the parameters": ["record 11"],
        "parameters": ["record 11"],
        "states": [f"fields in {1 << log_lanes} lanes" for log_lanes in range(7)],
        "words": ["fields in 1 lanes"],
        "full planes": ["full rests"],
        "short planes": ["short rests"],
        "tops": ["escapes"],
        "check": ["record 11"],
    },
    ("Records of layers", "bytes"): {
        "refinements": ["refinements of f32", "refinements of f64"],
        "levels": ["refinements of f32"],
        "added bits": ["refinements of f32"],
        "missing bits": ["missing bits"],
    },
    ("Enhancement", "bytes"): {
        "limit": ["record 9"],
        "promise": ["record 9"],
        "kind": ["enhancement of kind 0", "enhancement of kind 1"],
        "shift": ["record 9"],
        "weights": [f"enhancement along {axes} axes" for axes in (1, 2, 3)],
    },
    ("Remainders", "bytes"): {
        "zeros and gap bits": [*(f"small numbers and zeros {kind}" for kind in range(3)), "gap bits"],
        "zero bits": ["remainders without zero bits", "remainders with zero bits"],
        "step": ["record 13"],
        "size of the next field": ["record 13"],
        "sizes of the slabs: output of the binary coder": ["record 13"],
        "check of all before": ["record 13"],
        "the slabs, each that is not empty followed by its check": ["record 13"],
    },
    ("Edge mode", "number"): {
        number: [f"candidate {candidate}"] for number, candidate in enumerate(stream_features.CANDIDATES)
    },
    ("Edge mode", "quantizer"): {
        name: [f"edge mode, {name}, {apart}" for apart in ("same", "near", "far")] for name in stream_features.QUANTIZERS
    },
    ("Edge mode", "r"): {"0, 1": ["candidate P"], "from 2 on": ["edge mode, a code"]},
    ("Masks", "kind"): {
        "0": ["flag masked"],
        "1": ["kind fill value"],
        "2": ["kind common NaN"],
        "3, 4": ["kind +infinity", "kind -infinity"],
        "5": ["kind literal"],
        "6": ["kind +0"],
    },
    ("Masks", "context"): {str(context): [f"mask context {context}"] for context in range(6)},
    ("From samples to elements", "transform"): {
        "none, floating-point": ["float, f32, uniform, none"],
        "none, integers": ["64-bit integers, i64, integer, none"],
        "fixed point": ["transform fixed point"],
        "logarithmic": ["transform logarithmic"],
        "palette": ["transform palette"],
        "short float in ULP space": ["transform short float in ULP space"],
    },
}

#: Tables whose rows are no features of a stream, and where they are tested.
OTHERS = {
    ("Patched form", "error"): "tests/stream/test_patched_streams.py",
    ("Sections of refinements", "bytes"): "the same rows as those of a level section",
    ("Codes of a refinement", "code"): "an example",
    ("Edge mode", "a - b"): "no table: a line that begins with |a - b|",
    ("Limits", "what"): "tests/stream/test_section_limits.py, tests/stream/test_header_limits.py",
    ("What a reader must check", "error"): "tests/stream/",
    ("Versions", "format"): "tests/stream/test_golden.py",
    ("Versions", "what is in a stream"): "tests/stream/test_newer_streams.py",
    ("Worked examples", "read"): "tests/stream/test_format_doc.py",
    ("Worked examples", "index"): "tests/stream/test_format_doc.py",
}
#: Features that are in no table: trailers, and what the text of the document alone has.
IN_THE_TEXT = [
    *["trailer record 4", "scattered mask", "weights shifted left", "weights shifted right", "4 lanes"],
    *["constant rests", "zero bits of full rests", "zero bits of short rests", "fields of one symbol", "nothing but escapes"],
    *(f"a plane of {width} bits" for width in (32, 16, 8)),
]


def tables():
    """(section, cells of the heading, rows) of every table of the document."""
    section, rows, found = "", None, []
    for line in (ROOT / "docs/format.md").read_text().splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        if not line.startswith("|"):
            rows = None
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if rows is None:
            rows = []
            found.append((section, cells, rows))
        elif not set(cells[0]) <= set("-:"):
            rows.append(cells)
    return found


def rows_without_features():
    """(section, row) of the rows that FEATURES does not know, and the features that it asks for."""
    unknown, wanted = [], []
    for section, heading, rows in tables():
        if (section, heading[0]) in OTHERS:
            continue
        known = FEATURES.get((section, heading[0]), {})
        for number, cells in enumerate(rows):
            text = cells[1] if heading[0] == "bytes" else cells[0]
            features = known.get(text, known.get(number))
            if features is None:
                unknown.append((section, cells))
            wanted += features or []
    return unknown, wanted


@pytest.fixture(scope="module")
def decoded():
    """(the features of all golden streams, {name: digest of its array}, what coverage has measured of small streams)."""
    found, digests = {ALWAYS}, {}
    measured = coverage.Coverage(data_file=None, include=f"{REFERENCE}/*", config_file=False)
    measured.exclude(OTHER_LINES)
    for name, stream in STREAMS.items():
        with measured.collect() if len(stream) < MEASURED else contextlib.nullcontext():
            features, array = stream_features.of(stream)
            if "record 10" in features:
                reference_decoder.decode(stream, max_error=1e30)
        found |= features
        digests[name] = arrays.digest(array)
    return found, digests, measured


def test_the_second_decoder_makes_the_known_bits_of_every_golden_stream(decoded):
    _, digests, _ = decoded
    assert digests == {name: of["sha256"] for name, of in json.loads((VERSION / "arrays.json").read_text()).items()}


def test_every_row_of_the_document_is_known():
    unknown, _ = rows_without_features()
    assert not unknown


def test_every_feature_has_a_golden_stream(decoded):
    features, _, _ = decoded
    _, wanted = rows_without_features()
    assert not sorted({*wanted, *IN_THE_TEXT} - features)


def test_every_line_of_the_second_decoder_is_run_by_a_golden_stream(decoded):
    """But those that refuse a stream."""
    _, _, measured = decoded
    missed = []
    for path in sorted(REFERENCE.glob("*.py")):
        _, _, _, lines, _ = measured.analysis2(str(path))
        text = path.read_text().splitlines()
        missed += [f"{path.name}:{line}: {text[line - 1].strip()}" for line in lines if _within_a_function(text[line - 1])]
    assert not missed


def _within_a_function(line):
    """Whether a line is run when a function is called, and not when the module is loaded."""
    return bool(re.match(r" {8}|    (?!def |class |@|\w+:|\"\"\")", line))
