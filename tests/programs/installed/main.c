/* Prints "ok", the version and the ratio if the installed library keeps a bound. */
#include <math.h>
#include <stdio.h>
#include <stz.h>

#include "codec.h"

int main(void) {
  static float values[100000];
  size_t n = sizeof values / sizeof values[0], bytes = 0;
  for (size_t i = 0; i < n; i++) values[i] = (float)sin(i * 1e-3);
  double error = round_trip(values, n, 1e-3, &bytes);
  if (error < 0 || error > 1e-3) return 1;
  printf("ok %s %.1f\n", stz_version_string(), (double)sizeof values / (double)bytes);
  return 0;
}
