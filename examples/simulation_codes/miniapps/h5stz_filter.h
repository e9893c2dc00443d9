/* The filter in a program that uses HDF5 in C or C++: one call at the start, and one for each dataset that it creates. */
#ifndef H5STZ_FILTER_H
#define H5STZ_FILTER_H

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <stz_cd_values.h>

/* Ends the program on failure, after printing HDF5's error stack. Returns what it was given, for ids. */
static inline hid_t h5_check(hid_t result, const char* what) {
  if (result >= 0) return result;
  fprintf(stderr, "%s failed\n", what);
  H5Eprint2(H5E_DEFAULT, stderr);
  exit(1);
}

/* Tells HDF5 where the plug-in is: first, because HDF5 1.10 stops searching at a directory that does not exist, such as its default.
 * CMake defines H5STZ_PLUGIN_DIR. A program that is compiled by h5cc or h5pcc, without it, needs HDF5_PLUGIN_PATH where it runs. */
static inline void h5stz_find_plugin(void) {
#ifdef H5STZ_PLUGIN_DIR
  h5_check(H5PLprepend(H5STZ_PLUGIN_DIR), "H5PLprepend");
#endif
}

/* Adds the filter to the properties of a dataset with chunks. text: options as in docs/cd_values.md, such as "absolute=1e-3". */
static inline void h5stz_set_filter(hid_t properties, const char* text) {
  stz_options options = STZ_OPTIONS_INIT;
  unsigned words[STZ_CD_MAX_WORDS];
  size_t count = 0;
  char message[256] = "";
  if (stz_options_parse_text(text, NULL, &options, message, sizeof message) != STZ_OK ||
      stz_cd_values_pack(&options, NULL, words, STZ_CD_MAX_WORDS, &count, message, sizeof message) != STZ_OK) {
    fprintf(stderr, "options of h5stz, '%s': %s\n", text, message);
    exit(1);
  }
  h5_check(H5Pset_filter(properties, STZ_FILTER_ID, H5Z_FLAG_MANDATORY, count, words), "H5Pset_filter");
}

#endif
