"""A field to be written, and datasets compared by what is stored."""

import hashlib

import numpy as np

FIELD = np.random.default_rng(1).normal(size=(70, 60, 50)).cumsum(0).astype("f4")
CHUNKS = (32, 32, 50)


def stored(dataset):
    """All chunks as they are stored, by their places: sizes and hashes, as pytest takes minutes to show how bytes differ."""
    infos = [dataset.id.get_chunk_info(number) for number in range(dataset.id.get_num_chunks())]
    chunks = {info.chunk_offset: dataset.id.read_direct_chunk(info.chunk_offset) for info in infos}
    return {place: (mask, len(stream), hashlib.sha256(stream).hexdigest()) for place, (mask, stream) in chunks.items()}
