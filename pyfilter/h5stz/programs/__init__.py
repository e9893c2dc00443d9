"""Runs other programs with the filter: `h5stz run`."""
