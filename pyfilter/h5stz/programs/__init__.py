"""Other programs with the filter within reach: `h5stz run`."""
