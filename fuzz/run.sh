#!/bin/sh
# Builds a fuzz target and runs it: see README.md.
#
#   fuzz/run.sh TARGET [argument...]      libFuzzer where there is a clang++ that has it: its options, a corpus, inputs to repeat
#   FUZZ_PRESET=fuzz fuzz/run.sh TARGET [--seconds=N] [--iterations=N] [--first=N] [file...]      the driver of standalone.cpp, with any compiler
#   fuzz/run.sh two_decoders [argument...]      the target in Python
#
# Under libFuzzer without any file or directory the target starts from the seeds, with the dictionary, and keeps nothing.
set -eu
cd "$(dirname "$0")/.."
target=$1
shift
if [ -z "${PYTHON:-}" ]; then # the environment of ./run brings cmake
  if [ -x .venv/bin/python ]; then PYTHON=.venv/bin/python; else PYTHON=python3; fi
fi
if [ "$target" = two_decoders ]; then exec "$PYTHON" fuzz/two_decoders.py "$@"; fi
if [ -z "${FUZZ_PRESET:-}" ]; then
  FUZZ_PRESET=fuzz
  if echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer,address -x c++ -o /dev/null - 2> /dev/null; then FUZZ_PRESET=libfuzzer; fi
fi
directory=$("$PYTHON" filter/tools/build_filter.py --preset "$FUZZ_PRESET" -D H5STZ_BUILD_TESTS=OFF "fuzz_$target")
if [ "$FUZZ_PRESET" = libfuzzer ]; then
  case " $* " in
    *" "[!-]*) ;;
    *)
      "$PYTHON" fuzz/seeds.py "$directory/seeds" > /dev/null
      set -- "$@" -max_len=8192 -dict=fuzz/stz.dict "$directory/seeds/$target"
      ;;
  esac
fi
exec "$directory/fuzz/fuzz_$target" "$@"
