"""zarr: arrays compressed with a bound, and parts and coarse levels of them.

    python zarr_store.py

Prints which share of the stored bytes a box, a plane and a coarse level take, and a codec that was trained for small chunks.
Needs zarr 3: pip install 'h5stz[zarr]'.
"""

import warnings

import numpy as np
import zarr

from h5stz.zarr import StzCodec, level

warnings.simplefilter("ignore", zarr.errors.ZarrUserWarning)  # of codecs that format 3 does not list

z, y, x = np.meshgrid(*3 * [np.linspace(0, 1, 128, dtype="f4")], indexing="ij")
rough = np.random.default_rng(1).normal(0, 0.01, z.shape).astype("f4")
field = np.sin(40 * x * y) * np.cos(30 * z) + np.sin(90 * z * x) / 4 + rough
BOUND = 1e-3


class CountingStore(zarr.storage.WrapperStore):
    """A store that counts the bytes that it gives."""

    bytes_given = 0

    async def get(self, key, prototype, byte_range=None):
        """The bytes of a key, or a range of them."""
        content = await self._store.get(key, prototype, byte_range)
        self.bytes_given += 0 if content is None else len(content)
        return content


store = CountingStore(zarr.storage.LocalStore("field.zarr"))
codec = StzCodec(absolute=BOUND, block="region")
options = {"chunks": (128, 128, 128), "serializer": codec, "compressors": None, "overwrite": True}
array = zarr.create_array(store, shape=field.shape, dtype="f4", **options)
array[...] = field
full = array[...]
stored = array.nbytes_stored()
print("max error / bound:", abs(full.astype("f8") - field).max() / BOUND)
print("ratio:", round(field.nbytes / stored, 1))


def report(what, part, expected):
    """Prints which share of the stored bytes was read for a part, and whether it is that of the whole array."""
    print(f"{what}, {part.shape}:")
    print("  percent read:", round(100 * store.bytes_given / stored, 1))
    print("  as the whole array has it:", np.array_equal(part, expected))
    store.bytes_given = 0


store.bytes_given = 0
report("a box", array[40:48, 80:88, 100:108], full[40:48, 80:88, 100:108])
report("a plane", array[64], full[64])
report("level 2", level(array, 2), full[::4, ::4, ::4])

for _ in range(5):  # writing the same part again and again adds no errors to the rest of the chunk
    array[40:48, 80:88, 100:108] = field[40:48, 80:88, 100:108]
print("max error / bound:", abs(array[...].astype("f8") - field).max() / BOUND)

# Predictions for many small chunks are trained on the data, and stored in the metadata of the array.
small = StzCodec(absolute=BOUND).trained(field, (16, 16, 16))
options |= {"chunks": (16, 16, 16), "serializer": small}
array = zarr.create_array("small.zarr", shape=field.shape, dtype="f4", **options)
array[...] = field
print("small chunks, written with", small)
print("max error / bound:", abs(array[...].astype("f8") - field).max() / BOUND)
