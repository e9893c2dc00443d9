/* What a host does when a call of HDF5 fails: it says which one and ends with an error. A program with several processes defines FAILED()
 * before it includes this. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#ifndef FAILED
#define FAILED() exit(1)
#endif

#define CHECK(call)                                    \
  do {                                                 \
    if ((call) < 0) {                                  \
      printf("failed line %d: %s\n", __LINE__, #call); \
      fflush(stdout);                                  \
      FAILED();                                        \
    }                                                  \
  } while (0)

/* Ends the program with an error where something else is true than expected. */
#define EXPECT(condition)                                     \
  do {                                                        \
    if (!(condition)) {                                       \
      printf("not so, line %d: %s\n", __LINE__, #condition); \
      fflush(stdout);                                         \
      FAILED();                                               \
    }                                                         \
  } while (0)

#endif
