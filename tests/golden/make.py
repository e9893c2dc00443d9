"""Writes golden streams that are not there yet: `python tests/golden/make.py`. With `--encoder`, what the encoder writes today
instead.

`version_N/` has streams of format version N and, in arrays.json, the SHA-256 of the array that each decodes to; of streams
with several precision layers also those of the arrays that the first 1, 2 ... layers give. A stream that is there is never
written again: readers of every later release have to decode it. Before a new one is written, the second decoder has to make
the same bits of it.

encoder.json has the SHA-256 of the streams that the encoder makes of arrays.py. It may change with the encoder, on purpose:
then `make.py --encoder` writes it anew.
"""

import hashlib
import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER.parent))

import h5stz  # noqa: E402
import reference_decoder  # noqa: E402
from golden import arrays  # noqa: E402

ENCODER = FOLDER / "encoder.json"


def described(stream):
    """What arrays.json has of a stream. Fails unless both decoders make the same bits of it."""
    decoded = h5stz.decompress(stream)
    if reference_decoder.decode(stream).tobytes() != decoded.tobytes():
        raise SystemExit("the second decoder makes other bits of it")
    found = {"dtype": arrays.dtype_text(decoded.dtype), "shape": decoded.shape, "sha256": arrays.digest(decoded)}
    layers = h5stz.info(stream).layers
    if len(layers) > 1:
        found["layers"] = [arrays.digest(arrays.with_layers(stream, number)) for number in range(1, len(layers) + 1)]
    return found


def write_missing():
    """Writes the streams of this version that are not there."""
    from golden import by_hand  # builds programs

    folder = FOLDER / f"version_{h5stz.FORMAT_VERSION}"
    folder.mkdir(exist_ok=True)
    index = folder / "arrays.json"
    known = json.loads(index.read_text()) if index.exists() else {}
    streams = {name: arrays.compress(*case) for name, case in arrays.cases().items() if name not in known}
    streams |= {name: stream for name, stream in by_hand.streams().items() if name not in known}
    for name, stream in sorted(streams.items()):
        known[name] = described(stream)
        (folder / f"{name}.stz").write_bytes(stream)
        print(f"{name}: {len(stream)} bytes")
    index.write_text(arrays.in_lines(dict(sorted(known.items()))) + "\n")
    print(f"{len(streams)} streams written, {len(known)} in {folder}")


def write_encoder():
    """Writes encoder.json."""
    streams = {name: arrays.compress(*case) for name, case in sorted(arrays.cases().items())}
    hashes = {name: hashlib.sha256(stream).hexdigest() for name, stream in streams.items()}
    ENCODER.write_text(arrays.in_lines(hashes) + "\n")
    print(f"{len(hashes)} hashes, {sum(map(len, streams.values()))} bytes of streams")


if __name__ == "__main__":
    write_encoder() if "--encoder" in sys.argv[1:] else write_missing()
