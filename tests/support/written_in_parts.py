"""A dataset that h5py writes in two parts, grows, and changes in part after it was closed."""

import h5py


def write(path, array, filtered):
    """Writes dataset `x` of 40 planes in chunks of (16, 20, 30), which cut them, with the options of a filter. Returns what it
    holds in the end."""
    with h5py.File(path, "w") as file:
        x = file.create_dataset("x", data=array[:20], maxshape=(None, *array.shape[1:]), chunks=(16, 20, 30), **filtered)
        x.resize(40, 0)
        x[20:] = array[20:]
    array = array.copy()
    array[5:9, 3:30] = array[25:29, 3:30]
    with h5py.File(path, "a") as file:
        file["x"][5:9, 3:30] = array[5:9, 3:30]
    return array
