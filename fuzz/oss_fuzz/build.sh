#!/bin/bash -eu
# Builds all fuzz targets as OSS-Fuzz asks for: with its compilers and flags (CC, CXX, CFLAGS, CXXFLAGS), its engine (LIB_FUZZING_ENGINE),
# into OUT, with a seed corpus and a dictionary for each. Called in the root of a checkout. fuzz_hdf5 is left out: it needs libhdf5, which the
# machines that run the targets do not have.
work=${WORK:-$PWD/build}/oss_fuzz
libfuzzer=OFF
if [ "${FUZZING_ENGINE:-libfuzzer}" = libfuzzer ]; then libfuzzer=ON; fi
cmake -S filter -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE= -DH5STZ_BUILD_FUZZERS=ON \
  -DH5STZ_LIBFUZZER=$libfuzzer "-DH5STZ_FUZZING_ENGINE=$LIB_FUZZING_ENGINE" -DCMAKE_DISABLE_FIND_PACKAGE_HDF5=ON \
  -DH5STZ_BUILD_SHARED=OFF -DH5STZ_BUILD_PLUGIN=OFF -DH5STZ_BUILD_REGION=OFF -DH5STZ_BUILD_PRELOAD=OFF -DH5STZ_BUILD_CONNECTOR=OFF
cmake --build "$work" --target fuzz_targets
python3 fuzz/seeds.py "$work/seeds"
for program in "$work"/fuzz/fuzz_*; do
  if [ ! -x "$program" ] || [ -d "$program" ]; then continue; fi
  name=$(basename "$program")
  cp "$program" "$OUT/"
  cp fuzz/stz.dict "$OUT/$name.dict"
  python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" "$work/seeds/${name#fuzz_}"/*
  printf '[libfuzzer]\nmax_len = 8192\ntimeout = 60\n' > "$OUT/$name.options"
done
