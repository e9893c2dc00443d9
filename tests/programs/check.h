/* What a host does when a call of HDF5 fails: it says which one and ends with an error. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                    \
  do {                                                 \
    if ((call) < 0) {                                  \
      printf("failed line %d: %s\n", __LINE__, #call); \
      exit(1);                                         \
    }                                                  \
  } while (0)

/* Ends the program with an error where something else is true than expected. */
#define EXPECT(condition)                                     \
  do {                                                        \
    if (!(condition)) {                                       \
      printf("not so, line %d: %s\n", __LINE__, #condition); \
      exit(1);                                                \
    }                                                         \
  } while (0)

#endif
