"""What PyInstaller cannot see of h5stz: libraries loaded by path, modules that the binding imports or that load late."""

from PyInstaller.utils.hooks import collect_dynamic_libs

from h5stz import _LAZY

# plugins/libh5stz.so above all, which is found by its place in the package. The other libraries serve h5stz.cli.
binaries = collect_dynamic_libs("h5stz")
hiddenimports = ["h5stz.errors", *(f"h5stz.{module}" for module in _LAZY)]
# These are imported where a program passes their objects in. Such a program imports them itself; others need not carry them.
excludedimports = ["xarray", "dask"]
