"""A process that writes a dataset step by step, as the lines of its standard input say, and prints an answer after each.

    python piecewise_steps.py FILE VALUES.npy CACHE [swmr]

Lines: `write I` writes frame I of the values and makes the dataset grow to it where it can; `flush`. Its parent may end it at
any time. `swmr`: other processes may read the file meanwhile.
"""

import os
import sys

import h5py
import numpy as np

if "H5STZ_PEER_PLUGINS" in os.environ:
    import hdf5plugin  # noqa: F401 (registers its filters, which h5py would not find by themselves)


def main():
    path, values, cache, *swmr = sys.argv[1:]
    frames = np.load(values, mmap_mode="r")
    with h5py.File(path, "r+", rdcc_nbytes=int(cache), **({"libver": "latest"} if swmr else {})) as file:
        if swmr:
            file.swmr_mode = True
        dataset = file["x"]
        # HDF5 loads plug-ins to create and to read; a filter that is optional, as h5py's are, it would leave out of a write.
        assert h5py.h5z.filter_avail(dataset.id.get_create_plist().get_filter(0)[0])
        for line in sys.stdin:
            word, *index = line.split()
            if word == "write":
                frame = int(index[0])
                if frame >= len(dataset):
                    dataset.resize(frame + 1, axis=0)
                dataset[frame] = frames[frame]
            else:
                file.flush()
            print("done", flush=True)


if __name__ == "__main__":
    main()
