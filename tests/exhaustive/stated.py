"""What a stream or a dataset says of itself - bounds, errors of layers, content checks - against what is measured."""

import numpy as np

import h5stz
from exhaustive import promises
from exhaustive.source import Violation
from support import cases


def judge(tally, written, stream, options, what, given=None):
    """What a stream says of its errors, layers and content check, against what was written last; `given`: as in within()."""
    info, decoded = h5stz.info(stream), h5stz.decompress(stream)
    if not info.bound_used and not info.accumulated_bound:
        tally.same_bits(written, decoded, f"{what}: a stream that says that nothing was lost")
    elif info.mode == "pointwise_relative":
        tally.within(written, decoded, info.bound, what, pointwise=True, given=given)
    else:
        accumulated = max(info.relaxed_bound, info.accumulated_bound or 0.0)
        tally.within(written, decoded, accumulated, what, measured=True, given=given)
    if options.get("content_check") and info.form.startswith(("blocks", "patched: blocks")) and not info.content_check:
        raise Violation(f"{what}: content_check=True was asked for")
    h5stz.verify(stream)
    judge_layers(tally, written, stream, info, decoded, what, given)
    return decoded


def judge_layers(tally, written, stream, info, decoded, what, given=None):
    """The errors of the layers. A stream with a single one tells its error unless that is point-wise."""
    if len(info.layers) == 1 and info.layers[0].max_error is None and info.mode != "pointwise_relative":
        raise Violation(f"{what}: the error of the only layer is not told, mode {info.mode}")
    earlier = max(0.0, (info.accumulated_bound or 0.0) - info.relaxed_bound)
    if info.layers[-1].max_error is not None:
        error = info.layers[-1].max_error + earlier
        tally.within(written, decoded, error, f"{what}: all layers", measured=True, given=given)
    for layer in info.layers:
        if layer.max_error:
            rough = h5stz.decompress(stream, max_error=layer.max_error + earlier)
            tally.within(written, rough, layer.max_error + earlier, f"{what}: layers", measured=True, given=given)


def boxes_of(shape, chunks):
    """(offset, the part of the dataset, the same part of the chunk) of each chunk."""
    for place in np.ndindex(*(-(-n // c) for n, c in zip(shape, chunks, strict=True))):
        offset = tuple(p * c for p, c in zip(place, chunks, strict=True))
        stops = tuple(min(o + c, n) for o, c, n in zip(offset, chunks, shape, strict=True))
        part = tuple(map(slice, offset, stops))
        yield offset, part, tuple(slice(0, stop - start) for start, stop in zip(offset, stops, strict=True))


def parts_of(given, part):
    """The same part of each of the arrays, None of None."""
    return None if given is None else [each[part] for each in given]


def judge_chunk(tally, references, part, inside, stream, options, what, given=None):
    """judge() of a chunk that may reach beyond the dataset, against any of the arrays that may have been compressed."""
    failures = []
    for written in references:
        whole = h5stz.decompress(stream)
        whole[inside] = written[part]
        try:
            parts = given and [whole, *parts_of(given, part)]  # whole: for what lies beyond the dataset
            return judge(tally, whole, stream, options, what, parts)
        except Violation as violation:
            failures.append(violation)
    raise failures[0]


def judge_dataset(tally, references, dataset, options, what, made=None, given=None):
    """Each chunk of a dataset, its view, and the errors that this tells of its layers.

    `references`: arrays that may have been compressed, the one that was written last first. A copy may keep the stream of the
    first one, or be a compression of what the copying program has read. `made`: the STZ of a dataset that was written in parts;
    `given`: all arrays that were ever written, where that is more than `references`.
    A chunk that the filter took for a new one, such as one whose kept samples all are 0 (docs/rewriting.md), states only what
    was lost since. Then its bound is judged.
    """
    decoded = dataset[...]
    for offset, part, inside in boxes_of(dataset.shape, dataset.chunks):
        if dataset.id.get_chunk_info_by_coord(offset).byte_offset is None:
            continue
        mask, stream = dataset.id.read_direct_chunk(offset)
        if mask:
            tally.same_bits(references[0][part], decoded[part], f"{what}: a chunk that is stored raw")
        else:
            try:
                judge_chunk(tally, references, part, inside, stream, options, f"{what}, chunk {offset}", given)
            except Violation:
                if made is None or h5stz.info(stream).bound_used:
                    raise
                tally.seen["a rewritten chunk taken for a new one"] += 1
                parts = parts_of(given, part)
                judge_bound(tally, references[0][part], decoded[part], made, f"{what}, chunk {offset}", parts)
    view = h5stz.view(dataset)
    tally.same_bits(decoded, view[...], f"{what}: view")
    errors = view.layer_errors()
    for count, error in enumerate(errors, 1):
        if not any(_within(tally, array, view.read(..., layers=count), error, given) for array in references):
            raise Violation(f"{what}: more than {error} with {count} layers of {errors}")
        view.at_error(error)[...]
    return decoded


def judge_history(tally, original, dataset, what, told=0.0):
    """What each chunk of a copy says of the distance to the array that was compressed first: never less than it is.

    told: of so many different values, as a share of the chunk, on. The filter recognises what varies (docs/rewriting.md).
    """
    decoded = dataset[...]
    for offset, part, _ in boxes_of(dataset.shape, dataset.chunks):
        if dataset.id.get_chunk_info_by_coord(offset).byte_offset is None:
            continue
        mask, stream = dataset.id.read_direct_chunk(offset)
        if mask or len(np.unique(decoded[part])) < told * np.prod(dataset.chunks):
            continue
        info = h5stz.info(stream)
        bound = max(info.relaxed_bound, info.accumulated_bound or 0.0)
        if bound < np.inf:
            pointwise = info.mode == "pointwise_relative"
            tally.within(
                original[part], decoded[part], bound, f"{what}, history of {offset}", measured=True, pointwise=pointwise
            )


def _within(tally, written, found, error, given):
    try:
        tally.within(written, found, error, "", measured=True, given=given)
    except Violation:
        return False
    return True


def judge_bound(tally, written, decoded, made, what, given=None):
    """The bound that was asked for: that of the STZ `made`, of a dataset that was written anew or in part."""
    settings = made.get_config()
    if settings.get("lossless") or (written.dtype.kind in "iub" and settings.get("integers") != "lossy"):
        return tally.same_bits(written, decoded, what)
    if "pointwise_relative" in settings:
        return tally.within(written, decoded, settings["pointwise_relative"], what, pointwise=True, given=given)
    relaxed = settings.get("enhance") in ("relaxed", "both")
    bound = made.bound * (1.5 if relaxed else 1) * (1 + 1e-15)
    return tally.within(written, decoded, bound, what, measured=True, given=given)


def judge_psnr(array, decoded, wanted, fill, what):
    """Violation unless the PSNR over the valid samples is at least the wanted one."""
    width, keep = promises.valid_range(array, fill)
    reached = promises._wide_psnr(array, decoded, width, keep)
    if reached < wanted - 1e-6:
        raise Violation(f"{what}: {reached} dB of {wanted}")


def width_of(array, fill):
    """The range of the samples that are not the fill value."""
    return cases.width(array if fill is None else array[array != fill])
