#!/bin/sh
# Builds a fuzz target (CMake preset "fuzz", or the one that FUZZ_PRESET names, such as libfuzzer) and runs it: see README.md.
#
#   fuzz/run.sh roundtrip|decode [arguments of the target: --seconds=N --iterations=N --first=N file ...]
set -eu
cd "$(dirname "$0")/.."
target=$1
shift
if [ -z "${PYTHON:-}" ]; then # the environment of ./run brings cmake
  if [ -x .venv/bin/python ]; then PYTHON=.venv/bin/python; else PYTHON=python3; fi
fi
directory=$("$PYTHON" filter/tools/build_filter.py --preset "${FUZZ_PRESET:-fuzz}" -D H5STZ_BUILD_TESTS=OFF "fuzz_$target")
exec "$directory/fuzz/fuzz_$target" "$@"
