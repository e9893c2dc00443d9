"""Two shear layers roll up into vortices: a flow solver that writes its time series through the h5stz filter.

    python simulation.py [--samples N] [--frames N] [--relative BOUND] [--output FILE]    # or ./run demo

Takes about ten seconds. Prints the ratio and the largest error, and draws the last frame beside its error in simulation.png.

The solver integrates the incompressible Navier-Stokes equations for the vorticity on a periodic square,
pseudo-spectrally (2/3 rule, exact viscosity, fourth-order Runge-Kutta). The maximum principle keeps the vorticity
within the range of its initial values. A bound relative to the range of the first frame is therefore also relative to
the range of the whole series, which does not exist yet.

Frames are written a whole chunk at a time, which is the cheapest way. Appending single frames keeps the bound too, but
decodes and compresses the chunk for each of them (docs/rewriting.md; growing_dataset.py does it).
"""

import argparse
import time
from pathlib import Path

import h5py
import numpy as np
from picture import compare

import h5stz

FRAMES_PER_CHUNK = 16
STEPS_PER_FRAME = 14


class ShearFlow:
    """Vorticity of a doubly periodic flow of side 2 pi; `advance` takes one time step."""

    def __init__(self, samples, viscosity, time_step):
        self.time_step = time_step
        y, x = np.meshgrid(*2 * [np.arange(samples) * 2 * np.pi / samples], indexing="ij")
        wave_y, wave_x = np.fft.fftfreq(samples, 1 / samples)[:, None], np.fft.rfftfreq(samples, 1 / samples)[None, :]
        squared = wave_x**2 + wave_y**2
        self.derivative = 1j * wave_y, 1j * wave_x
        self.inverse_laplacian = np.divide(-1, squared, where=squared > 0, out=np.zeros_like(squared))
        self.resolved = (abs(wave_y) < samples / 3) & (wave_x < samples / 3)
        self.half_step_decay = np.exp(-viscosity * squared * time_step / 2)

        width = 0.15
        layers = 1 / np.cosh((y - np.pi / 2) / width) ** 2 - 1 / np.cosh((y - 3 * np.pi / 2) / width) ** 2
        noise = np.random.default_rng(2).standard_normal((samples, samples))
        seed = sum(np.cos(mode * x + phase) for mode, phase in ((1, 0.3), (2, 1.1), (3, 2.0), (5, 4.0)))
        vorticity = layers / width + 0.02 * seed * abs(layers) + 0.01 * noise * abs(layers)
        self.spectrum = np.fft.rfft2(vorticity) * self.resolved

    def vorticity(self):
        """The vorticity on the grid, float32."""
        return np.fft.irfft2(self.spectrum).astype(np.float32)

    def advection(self, spectrum):
        """Spectrum of -(u . grad) vorticity."""
        along_y, along_x = self.derivative
        stream = -self.inverse_laplacian * spectrum
        velocity_x, velocity_y = np.fft.irfft2(along_y * stream), np.fft.irfft2(-along_x * stream)
        gradient_y, gradient_x = np.fft.irfft2(along_y * spectrum), np.fft.irfft2(along_x * spectrum)
        return -np.fft.rfft2(velocity_x * gradient_x + velocity_y * gradient_y) * self.resolved

    def advance(self):
        """One Runge-Kutta step with the viscous decay as an integrating factor."""
        step, decay, now = self.time_step, self.half_step_decay, self.spectrum
        first = self.advection(now)
        second = self.advection(decay * (now + step / 2 * first))
        third = self.advection(decay * now + step / 2 * second)
        fourth = self.advection(decay * (decay * now + step * third))
        self.spectrum = decay * (decay * (now + step / 6 * first) + step / 3 * (second + third)) + step / 6 * fourth


def run(path, samples, frames, relative):
    """Runs the flow, writes /vorticity, and returns the frames before compression."""
    flow = ShearFlow(samples, viscosity=3e-4, time_step=3 / samples)
    options = h5stz.STZ(relative=relative, data=flow.vorticity())
    kept = []
    with h5py.File(path, "w") as file:
        frame_shape = (samples, samples)
        chunks, unlimited = (FRAMES_PER_CHUNK, *frame_shape), (None, *frame_shape)
        series = file.create_dataset("vorticity", (0, *frame_shape), "f4", maxshape=unlimited, chunks=chunks, **options)
        series.attrs["frame interval"] = STEPS_PER_FRAME * flow.time_step
        while len(kept) < frames:
            kept.append(flow.vorticity())
            if len(kept) % FRAMES_PER_CHUNK == 0 or len(kept) == frames:
                written = len(series)
                series.resize(len(kept), axis=0)
                series[written:] = kept[written:]
            for _ in range(STEPS_PER_FRAME):
                flow.advance()
    return np.array(kept)


def main():
    """Runs the flow, reads the file back and prints ratio and errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=256, help="grid points per side; default %(default)s")
    parser.add_argument("--frames", type=int, default=64, help="frames to write; default %(default)s")
    parser.add_argument("--relative", type=float, default=1e-3, help="bound over the range; default %(default)s")
    parser.add_argument("--output", type=Path, default=Path("simulation.h5"), help="default %(default)s, picture beside it")
    arguments = parser.parse_args()

    start = time.perf_counter()
    original = run(arguments.output, arguments.samples, arguments.frames, arguments.relative)
    print(f"simulated and wrote {arguments.frames} frames in {time.perf_counter() - start:.1f} s")
    with h5py.File(arguments.output) as file:
        series = file["vorticity"]
        decoded, stored = series[...], series.id.get_storage_size()

    first_range = float(original[0].max()) - float(original[0].min())
    bound = arguments.relative * first_range
    error = decoded.astype("f8") - original
    value_range = float(original.max()) - float(original.min())
    print(f"stored: {stored} of {original.nbytes} bytes")
    print(f"ratio: {original.nbytes / stored:.1f}")
    print(f"PSNR: {20 * np.log10(value_range / np.sqrt(np.mean(error**2))) if error.any() else np.inf:.1f} dB")
    print(f"max error / bound: {np.abs(error).max() / bound:.6f}")
    picture = arguments.output.with_suffix(".png")
    compare(picture, "The last frame", original[-1], decoded[-1], bound, "vorticity (1 / time unit)")


if __name__ == "__main__":
    main()
