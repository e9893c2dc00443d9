"""h5stz as a compressor of ClimateBenchPress (https://github.com/ClimateBenchPress/compressor).

    python climatebenchpress_h5stz.py    # without the project: ratios and largest errors of a generated field

Copy this file to src/climatebenchpress/compressor/compressors/h5stz_codec.py of a checkout, add the line
`from .h5stz_codec import H5stz` to that folder's __init__.py, and install `h5stz` in the project's environment. The
class registers itself by its name: `--include-compressor h5stz` of the project's commands then runs it.

Both kinds of the project's bounds are h5stz's own: an absolute one, and one relative to each sample, where zeros stay
zeros. So `build` has to convert neither.
"""

from h5stz.zarr import Stz

if __package__:
    from .abc import Compressor
else:  # run as a script, outside of the project: the class alone, without its registry
    Compressor = object


class H5stz(Compressor):
    """h5stz at its default effort; dtype and shape come from the array."""

    name = "h5stz"
    description = "h5stz"

    @staticmethod
    def abs_bound_codec(error_bound, **kwargs):
        """|x - x'| <= error_bound; what the project knows about the data (`kwargs`) is not needed."""
        return Stz(absolute=error_bound)

    @staticmethod
    def rel_bound_codec(error_bound, **kwargs):
        """|x - x'| <= error_bound |x|."""
        return Stz(pointwise_relative=error_bound)


def main():
    """Both kinds of bounds on a generated field of the project's five axes."""
    import numpy as np

    axes = np.ogrid[0:1, 0:2, 0:3, 0:90, 0:180]  # realization, time, vertical, latitude, longitude
    field = (250 + 30 * np.cos(axes[3] / 30) + np.sin(axes[4] / 9 + axes[1]) + axes[2]).astype("f4")
    field[..., :5, :5] = np.nan
    for kind, scale, codec in (
        ("absolute", 1, H5stz.abs_bound_codec(0.01, dtype=field.dtype)),
        ("relative", np.abs(field), H5stz.rel_bound_codec(1e-4, dtype=field.dtype)),
    ):
        stream = codec.encode(field)
        decoded = codec.decode(stream)
        assert np.array_equal(np.isnan(decoded), np.isnan(field))
        error = np.nanmax(np.abs(decoded.astype("f8") - field) / scale)
        print(f"{kind}: ratio {field.nbytes / len(stream):.1f}, largest error {error:.3g}")


if __name__ == "__main__":
    main()
