/* Goes in front of the C library (LD_PRELOAD) and counts what a program writes to the files of a directory: it ends the process at a write
 * that is chosen by number, or has the disk full after so many bytes. Deterministic, as no signal or clock of the system is.
 *
 *   FAULTY_WRITES_UNDER     the directory; without it, and without faulty_writes_arm, nothing happens
 *   FAULTY_WRITES_KILL_AT   number of a write, from 1: SIGKILL ends the process in its place
 *   FAULTY_WRITES_ROOM      bytes: the write that has no room fails with ENOSPC, and each one from then on
 *
 * No write is done in part: HDF5 relies on that for its metadata, and has a reader under SWMR wait for ever where it is not so.
 *
 * A program that forks arms its child with the function of that name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static char under[4096];
static long kill_at, room = -1, writes, bytes_written;

/* What is written to files under `directory` from now on; kill_at 0, room -1: nothing goes wrong. */
void faulty_writes_arm(const char* directory, long kill_number, long bytes) {
  snprintf(under, sizeof under, "%s", directory);
  kill_at = kill_number, room = bytes, writes = bytes_written = 0;
}
long faulty_writes_count(void) { return writes; }
long faulty_writes_bytes(void) { return bytes_written; }

__attribute__((constructor)) static void arm_by_environment(void) {
  const char *const directory = getenv("FAULTY_WRITES_UNDER"), *const number = getenv("FAULTY_WRITES_KILL_AT"),
                    *const bytes = getenv("FAULTY_WRITES_ROOM");
  if (directory) faulty_writes_arm(directory, number ? atol(number) : 0, bytes ? atol(bytes) : -1);
}

static int concerns_us(int file) {
  if (!under[0]) return 0;
  char name[64], path[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(name, path, sizeof path - 1);
  return length > 0 && (size_t)length > strlen(under) && !strncmp(path, under, strlen(under));
}

/* Whether there is room for a write; errno if not. */
static int may_write(int file, size_t size) {
  if (!concerns_us(file)) return 1;
  if (++writes == kill_at) raise(SIGKILL);
  if (room >= 0 && bytes_written + (long)size > room) {
    room = 0;
    errno = ENOSPC;
    return 0;
  }
  bytes_written += (long)size;
  return 1;
}

#define ORIGINAL(name, type) \
  static type original;      \
  if (!original) original = (type)dlsym(RTLD_NEXT, name)

typedef ssize_t (*write_function)(int, const void*, size_t);
typedef ssize_t (*pwrite_function)(int, const void*, size_t, off_t);

ssize_t write(int file, const void* data, size_t size) {
  ORIGINAL("write", write_function);
  return may_write(file, size) ? original(file, data, size) : -1;
}

ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  ORIGINAL("pwrite", pwrite_function);
  return may_write(file, size) ? original(file, data, size, at) : -1;
}
ssize_t pwrite64(int file, const void* data, size_t size, off_t at) { return pwrite(file, data, size, at); }

/* A copy by the kernel: programs fall back on writes. */
ssize_t copy_file_range(int from, off_t* from_at, int to, off_t* to_at, size_t size, unsigned flags) {
  typedef ssize_t (*function)(int, off_t*, int, off_t*, size_t, unsigned);
  ORIGINAL("copy_file_range", function);
  if (concerns_us(to)) return errno = EXDEV, -1;
  return original(from, from_at, to, to_at, size, flags);
}
ssize_t sendfile(int to, int from, off_t* at, size_t size) {
  typedef ssize_t (*function)(int, int, off_t*, size_t);
  ORIGINAL("sendfile", function);
  if (concerns_us(to)) return errno = EINVAL, -1;
  return original(to, from, at, size);
}
