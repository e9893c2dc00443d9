"""Which features of docs/format.md a stream uses, as the second decoder meets them: a set of short texts.

Only the golden streams' completeness is judged by it (tests/stream/test_golden_features.py), so a text stands for what a table
of the document lists, and for nothing else.
"""

import contextlib
from unittest.mock import patch

import reference_decoder
from reference_decoder import edges, fields, header, layout, masks, parameters, sections
from reference_decoder.conventions import axes_of

FORMS = "raw", "constant", "blocks", "patched"
MODES = "lossless", "absolute", "point-wise relative"
SAMPLES = "f32", "f64", "i64"
QUANTIZERS = "uniform", "integer", "ULP space"
TRANSFORMS = "none", "fixed point", "logarithmic", "short float in ULP space", "palette"
FLAGS = "half step", "masked", "partial", "offsets", "level bounds", "level blocks", "negative", "blocks for throughput"
STENCILS = "standard", "wide", "long"
KINDS = "valid", "fill value", "common NaN", "+infinity", "-infinity", "literal", "+0"
SHAPES = "Laplace", "Gauss", "Cauchy", "Student t"
CANDIDATES = "P", "L, H", "mean of L and H", "U", "W", "V", "P and U", "P and W", "beyond L or H"
ARRANGEMENTS = "a stream for each class", "merged", "edge mode"


def of(stream):
    """The features of a stream, and the array that the second decoder makes of it."""
    found = set()
    with contextlib.ExitStack() as stack:
        for owner, name, wrapper in _wrappers(found.add):
            stack.enter_context(patch.object(owner, name, wrapper(getattr(owner, name))))
        array = reference_decoder.decode(stream, verify=True)
    if array.dtype.byteorder == ">":
        found.add("big-endian")
    return found, array


def _wrappers(add):
    """(owner, name, function that wraps what has this name) of what is watched."""
    return [
        (layout, "read_header", lambda old: lambda stream: _of_header(old(stream), stream, add)),
        (header, "read_record", lambda old: _before(old, lambda tag, *_: add(f"record {tag}"))),
        (parameters.ParameterState, "read", lambda old: _then(old, lambda of_class, *rest: _of_class(of_class, add, *rest))),
        (parameters, "read_model", lambda old: _then(old, lambda model, *_: _of_model(model, add))),
        (parameters, "rescaled", lambda old: _before(old, lambda _, shift: add(f"weights shifted {_direction(shift)}"))),
        (sections, "CodeStream", lambda old: _then(old, lambda stream, *_: add(f"{len(stream.states)} lanes"))),
        (sections.Sections, "_block", lambda old: _before(old, lambda *arguments: _of_block(arguments, add))),
        (sections.Sections, "_index", lambda old: _then(old, lambda sizes, *_: add(_checks_of(sizes)))),
        (fields, "read_symbols", lambda old: _before(old, lambda _, block, n: _of_fields(block, n, add))),
        (masks, "read_kind", lambda old: _then(old, lambda kind, *_: add(f"kind {KINDS[kind[0]]}"))),
        (masks, "_new_kind", lambda old: _then(old, lambda kind, *_: add(f"kind {KINDS[kind]}"))),
        (masks, "mask_context", lambda old: _then(old, lambda context, *_: add(f"mask context {context}"))),
        (sections, "ScatteredMask", lambda old: _before(old, lambda *_: add("scattered mask"))),
        (edges.EdgeBlock, "distance", lambda old: _then(old, lambda apart, block, *_: _of_distance(apart, block, add))),
        (edges.EdgeClass, "place", lambda old: _before(old, lambda *arguments: _of_candidate(*arguments, add))),
    ]


def _then(old, tell):
    """A function that calls another one, and tell(its result, *arguments)."""

    def wrapped(*arguments):
        result = old(*arguments)
        tell(result, *arguments)
        return result

    return wrapped


def _before(old, tell):
    """A function that calls tell(*arguments), and then another one."""

    def wrapped(*arguments):
        tell(*arguments)
        return old(*arguments)

    return wrapped


def _direction(shift):
    return "right" if shift < 0 else "left" if shift else "not at all"


def _of_header(found, stream, add):
    """The fields of a header."""
    add(f"form {FORMS[found.form]}")
    add(f"mode {MODES[found.mode]}")
    add(header.DTYPES[stream[5] & 31])
    add(f"rank {len(found.shape)}")
    if found.has_fill:
        add("fill value in the header")
    if found.trailer_size:
        _of_trailer(stream[len(stream) - found.trailer_size : -4], add)
    if found.fields:
        add(f"fields in blocks of 2^{found.fields.log_block}")
        add("mantissa bits in tops" if found.fields.top > found.fields.width - 1 - found.fields.mantissa else "exponents alone")
    for one in found.patches:
        add("patch" if one.pattern is None else "transparent patch")
    if len(found.patches) > 1:
        add("several patches")
    for one in found.repeats:
        add(f"repeat{', mirrored' if any(one.mirrored) else ''}{', negated' if one.negated else ''}")
    if found.form == header.BLOCKS:
        _of_blocks(found, add)
    return found


def _of_trailer(records, add):
    """The records of a trailer, if it consists of records."""
    with contextlib.suppress(reference_decoder.Damaged):
        header.for_records(records, lambda tag, _: add(f"trailer record {tag}"))


def _of_blocks(found, add):
    """What only the form blocks has."""
    component = "short float" if found.floats and found.floats.is_short else "float"
    elements = component if found.floats else f"{8 * found.component.itemsize}-bit integers"
    add(f"{elements}, {SAMPLES[found.samples]}, {QUANTIZERS[found.quantizer]}, {TRANSFORMS[found.transform]}")
    add(f"samples {SAMPLES[found.samples]}")
    add(f"quantizer {QUANTIZERS[found.quantizer]}")
    add(f"transform {TRANSFORMS[found.transform]}")
    for bit, name in enumerate(FLAGS):
        if found.flags >> bit & 1:
            add(f"flag {name}")
    add(f"blocks {('default', 'for regions', 'for throughput')[found.block_kind]}")
    if found.step > 1:
        add(f"step above 1, {QUANTIZERS[found.quantizer]}")
    if found.zero_bits:
        add("zero bits")
    for role in found.axis_map or ():
        add(f"axis role {role}")
    if found.batch > 1:
        add("several items")
    if found.layers.added:
        add(f"refinements of {SAMPLES[found.samples]}")
    if any(found.layers.missing):
        add("missing bits")
    if found.remainders:
        add(f"small numbers and zeros {found.remainders.zeros}")
        if found.remainders.gap_bits:
            add("gap bits")
        add(f"remainders {'with' if found.remainders.zero_bits else 'without'} zero bits")
    if found.decimals:
        add(f"decimals of kind {found.decimals.kind}")
    if found.slices:
        add(f"slices along axis {'0' if found.slices.axis == 0 else 'other'}")
    if found.enhancement:
        add(f"enhancement of kind {int(found.enhancement.shared)}")
        add(f"enhancement along {sum(found.levels[0].split)} axes")
    if found.base_level == 0:
        add("no level sections")


def _of_fields(block, n, add):
    """A block of floating-point fields."""
    add(f"fields in {1 << block.log_lanes} lanes" if block.coded else "fields of one symbol")
    for kind, name in ((fields.FULL, "full"), (fields.SHORT, "short"), (fields.CONSTANT, "constant")):
        if block.of_kind[kind]:
            add(f"{name} rests")
    if block.escapes:
        add("escapes" if block.escapes < n else "nothing but escapes")
    for kind, name in ((fields.FULL, "full"), (fields.SHORT, "short")):
        if block.of_kind[kind] and block.zeros[kind]:
            add(f"zero bits of {name} rests")
    for width in fields.PLANES:
        if (1 + block.fields.low - block.zeros[fields.FULL]) % (2 * width) >= width and block.of_kind[fields.FULL]:
            add(f"a plane of {width} bits")


def _of_class(of_class, add, *arguments):
    """The parameters of a class; the arguments are those of ParameterState.read."""
    _, _, _, cls, *_ = arguments
    add(f"prediction, o = {len(axes_of(cls))}")
    add(f"predictor {('linear', 'median', 'median of faces')[of_class.predictor]}")
    if of_class.precision:
        add(f"weights, {STENCILS[of_class.stencil]}, o = {len(axes_of(cls))}")
    if of_class.feedback:
        add(f"feedback of {'all' if of_class.feedback.all_codes else 'small'} codes")
        if of_class.feedback.bits != 7:
            add("feedback with another unit")
    if not of_class.mean:
        add("a class without codes")


def _of_model(model, add):
    """The model of a context."""
    if model.even_bits:
        add("even model")
    elif model.run_length:
        add("run-length mode")
    else:
        add(f"{SHAPES[model.shape_or_value]}, {'with' if model.shift else 'without'} shift")


def _of_block(arguments, add):
    """The arrangement of the streams of a block, from the arguments of Sections._block."""
    _, _, _, _, _, _, of_classes, _, merged, _ = arguments
    add(ARRANGEMENTS[2 if of_classes is None else int(merged)])


def _checks_of(sizes):
    """How streams of these sizes are checked."""
    return "streams covered by the check of their section" if sum(sizes) <= 4096 else "streams with checks of their own"


def _of_distance(apart, block, add):
    """The surroundings of a sample in edge mode."""
    add(f"edge mode, {QUANTIZERS[block.header.quantizer]}, {('same', 'near', 'far')[apart]}")


def _of_candidate(edge_class, _, __, taken, activity, add):
    """A sample in edge mode that is a candidate, or has a code."""
    if activity == edges.CODE_ACTIVITY:
        add("edge mode, a code")
        return
    number, odd = taken - 1, edge_class.odd
    starts = [0, 1, 1 + 2 * odd, 1 + 3 * odd, 2 + 3 * odd, 3 + 3 * odd, 4 + 3 * odd, 5 + 3 * odd, 6 + 3 * odd]
    add(f"candidate {CANDIDATES[max(place for place, start in enumerate(starts) if number >= start)]}")
