"""What ClimateBenchPress measures, on h5stz's development fields of weather and ocean: not its data, not its score card.

Each codec has the same absolute bound. Beside ratio and bound: the structural similarity of planes for floating-point data
(DSSIM; Baker, Pinard and Hammerling, IEEE TVCG), the error of radially averaged power spectra, and the two tests of Baker et
al. (2017): the squared correlation is above 0.99999, and at most 5 % of the samples are off by more than 1e-4 of their value.
EBCC runs in WebAssembly, so no speeds are shown. Without a directory one small field is generated.
"""

import numpy as np
from scipy import ndimage

import fields
import peers
import report
import synthetic

NAMES = ("isabel_wind_4d", "reanalysis_u_4d", "geo_vorticity_41x128x128", "ocean_convection_T")
CODECS = {"h5stz": peers.h5stz, "SZ3 3.4": peers.sz3, "ZFP": peers.zfp, "SPERR": peers.sperr, "EBCC": peers.ebcc}
SIGMA, REACH, COLORS, TINY = 1.5, 5, 255, 1e-8  # of DSSIM: its window in samples, its steps, its constants
LEAST_CORRELATION = 0.99999
SMALL_ERROR, MOST_LARGE = 1e-4, 0.05


def similarity(x, y):
    """DSSIM of two planes: SSIM with Gaussian windows of the planes in steps of 1/255 of their range; 1 is the same."""
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    a, b = (np.round((plane - low) / ((high - low) or 1) * COLORS) / COLORS for plane in (x, y))

    def mean(values):
        return ndimage.gaussian_filter(values, SIGMA, truncate=REACH / SIGMA)[REACH:-REACH, REACH:-REACH]

    mean_a, mean_b = mean(a), mean(b)
    spread = mean(a * a) - mean_a**2 + mean(b * b) - mean_b**2
    together = mean(a * b) - mean_a * mean_b
    brightness = (2 * mean_a * mean_b + TINY) / (mean_a**2 + mean_b**2 + TINY)
    return float(np.mean(brightness * (2 * together + TINY) / (spread + TINY)))


def spectra(planes):
    """Power of each plane over the radius of the wave number, of as many radii as half the longer side."""
    rows, columns = planes.shape[1:]
    power = np.abs(np.fft.fft2(planes)) ** 2 / (rows * columns)
    radius = np.rint(
        np.hypot(*np.meshgrid(np.fft.fftfreq(rows, 1 / rows), np.fft.fftfreq(columns, 1 / columns), indexing="ij"))
    )
    radius = radius.astype(int).ravel()
    counts = np.bincount(radius)
    sums = np.array([np.bincount(radius, plane.ravel()) for plane in power])
    return (sums / np.maximum(counts, 1))[:, : max(rows, columns) // 2]


def score(original, decoded, size, bound):
    """The figures of one codec on one field, both (..., rows, columns)."""
    before, after = (array.astype(np.float64).reshape(-1, *original.shape[-2:]) for array in (original, decoded))
    error = np.abs(before - after)
    spectrum = spectra(before)
    return {
        "ratio": original.nbytes / size,
        "error_over_bound": float(error.max()) / bound,
        "dssim": float(np.mean([similarity(x, y) for x, y in zip(before, after, strict=True)])),
        "spectral_error": float(np.mean((spectrum - spectra(after)) ** 2) / np.mean(spectrum**2)),
        "correlation": bool(np.corrcoef(before.ravel(), after.ravel())[0, 1] ** 2 > LEAST_CORRELATION),
        "small_errors": bool(np.mean(error > SMALL_ERROR * np.abs(before)) <= MOST_LARGE),
    }


def cells(name, relative, codec, found):
    """One row of the table."""
    held = "yes" if found["error_over_bound"] <= 1 else f"NO: {found['error_over_bound']:.5g} x"
    tests = ["passed" if found[test] else "failed" for test in ("correlation", "small_errors")]
    figures = [f"{found['ratio']:.1f}", held, f"{found['dssim']:.5f}", f"{found['spectral_error']:.1e}"]
    return [name, f"{relative:g}", codec, *figures, *tests]


def climate_fields(directory):
    """{name: array of at least two axes}."""
    if directory is None:
        return {"generated": synthetic.gaussian_field(32, 1, 8)}
    every = {**fields.comparison(directory), **fields.whole(directory)}
    return {name: every[name] for name in NAMES}


def main():
    arguments = report.parser(__doc__).parse_args()
    checks, records = report.Checks(), []
    for name, array in climate_fields(arguments.directory).items():
        for relative in fields.RELATIVE_BOUNDS:
            bound = relative * fields.value_range(array)
            for codec, run in CODECS.items():
                taken = array.reshape(-1, *array.shape[-2:]) if codec in ("SPERR", "EBCC") else array  # of at most 3 axes
                size, decoded = run(taken, bound)
                found = score(taken, decoded, size, bound)
                records.append({"field": name, "relative": relative, "codec": codec, **found})
    header = ["field", "bound", "codec", "ratio", "bound held", "DSSIM", "spectral error", "R^2 > 0.99999", "95 % within 1e-4"]
    print("\nClimateBenchPress' measures on h5stz's development fields, not on its data\n")
    print(report.markdown(header, [cells(r["field"], r["relative"], r["codec"], r) for r in records]) + "\n")
    checks.promise("error / bound of h5stz", max(r["error_over_bound"] for r in records if r["codec"] == "h5stz"), 1)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
