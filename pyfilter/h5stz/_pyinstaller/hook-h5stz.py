"""What PyInstaller cannot see of h5stz: libraries that are loaded by path, and modules that the Cython binding imports."""

from PyInstaller.utils.hooks import collect_dynamic_libs

# plugins/libh5stz.so above all, which is found by its place in the package. The other libraries serve h5stz.cli.
binaries = collect_dynamic_libs("h5stz")
hiddenimports = ["h5stz.errors"]
# These are imported where a program passes their objects in. Such a program imports them itself; others need not carry them.
excludedimports = ["xarray", "dask"]
