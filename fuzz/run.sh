#!/bin/bash
# Builds a fuzz target with the address and undefined-behaviour sanitizers and runs it: see README.md.
#
#   fuzz/run.sh roundtrip|decode [arguments of the target: --seconds=N --iterations=N --first=N file ...]
#
# CXX, CXXFLAGS, FUZZ_BUILD (directory of the objects) and JOBS are honoured. CXX=clang++ FUZZ_LIBFUZZER=1 builds for libFuzzer.
set -eu
cd "$(dirname "$0")/.."
target=$1
shift
build=${FUZZ_BUILD:-build/fuzz}
mkdir -p "$build"

flags="-std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow"
flags="$flags -fno-sanitize-recover=all -ffp-contract=off -pthread -Ifilter/include -Ifilter -DSTZ_FUZZING"
driver=fuzz/standalone.cpp
if [ "${FUZZ_LIBFUZZER:-}" ]; then
  flags="$flags -fsanitize=fuzzer-no-link"
  driver="-fsanitize=fuzzer"
fi
case $(uname -m) in
  x86_64 | amd64) isas=99 flags="$flags -DSTZ_X86=1" ;;
  *) isas=1 ;;
esac

jobs_list() {
  for source in filter/{base,format,encoder,decoder,reader,api}/*.cpp filter/simd/dispatch.cpp; do
    echo "$source $build/$(basename "$source" .cpp).o"
  done
  grep -v '^#' filter/simd/instruction_sets.txt | head -n "$isas" | while read -r isa more; do
    echo "filter/simd/kernels.cpp $build/kernels.$isa.o -DSTZ_ISA=$isa $more"
  done
}

# An object is compiled again when its source, a header or this script is newer.
echo "$flags ${CXXFLAGS:-}" | cmp -s - "$build/flags" || rm -f "$build"/*.o
echo "$flags ${CXXFLAGS:-}" >"$build/flags"
header=$(find filter -name '*.h' -o -name '*.inc' -o -name '*.txt' | xargs ls -t | head -1)
jobs_list | while read -r source object more; do
  if [ ! "$object" -nt "$source" ] || [ ! "$object" -nt "$header" ]; then
    echo "${CXX:-g++} ${CXXFLAGS:-} $flags $more -Wno-psabi -c $source -o $object.new && mv $object.new $object"
  fi
done | tr '\n' '\0' | xargs -0 -r -n 1 -P "${JOBS:-2}" sh -c
# shellcheck disable=SC2086
${CXX:-g++} ${CXXFLAGS:-} $flags "fuzz/fuzz_$target.cpp" $driver $(jobs_list | cut -d' ' -f2) -o "$build/fuzz_$target"
exec "$build/fuzz_$target" "$@"
