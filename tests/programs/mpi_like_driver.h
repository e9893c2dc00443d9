/* A file driver that claims to use MPI, so that a test can see what is done then without an MPI installation.
 * mpi_like_access() gives file access properties with it, or a negative number. */
#ifndef MPI_LIKE_DRIVER_H
#define MPI_LIKE_DRIVER_H

#include <fcntl.h>
#include <hdf5.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef H5FD_CLASS_VERSION
#include <H5FDdevelop.h>
#endif

typedef struct mpi_like_file {
  H5FD_t common; /* first, as HDF5 wants it */
  int descriptor;
  haddr_t end_of_allocation, end_of_file;
} mpi_like_file;

static H5FD_t *mpi_like_open(const char *name, unsigned flags, hid_t access, haddr_t most) {
  struct stat status;
  const int mode = (flags & H5F_ACC_RDWR ? O_RDWR : O_RDONLY) | (flags & H5F_ACC_CREAT ? O_CREAT : 0) | (flags & H5F_ACC_TRUNC ? O_TRUNC : 0);
  (void)access, (void)most;
  mpi_like_file *file = calloc(1, sizeof *file);
  if (!file || (file->descriptor = open(name, mode, 0666)) < 0 || fstat(file->descriptor, &status)) return NULL;
  file->end_of_file = (haddr_t)status.st_size;
  return &file->common;
}

static herr_t mpi_like_close(H5FD_t *file) {
  close(((mpi_like_file *)file)->descriptor);
  free(file);
  return 0;
}

static herr_t mpi_like_query(const H5FD_t *file, unsigned long *flags) {
  (void)file;
  *flags = H5FD_FEAT_HAS_MPI;
  return 0;
}

static haddr_t mpi_like_get_eoa(const H5FD_t *file, H5FD_mem_t type) {
  (void)type;
  return ((const mpi_like_file *)file)->end_of_allocation;
}

static herr_t mpi_like_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t address) {
  (void)type;
  ((mpi_like_file *)file)->end_of_allocation = address;
  return 0;
}

static haddr_t mpi_like_get_eof(const H5FD_t *file, H5FD_mem_t type) {
  (void)type;
  return ((const mpi_like_file *)file)->end_of_file;
}

static herr_t mpi_like_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size, void *buffer) {
  (void)type, (void)transfer;
  return pread(((mpi_like_file *)file)->descriptor, buffer, size, (off_t)address) == (ssize_t)size ? 0 : -1;
}

static herr_t mpi_like_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size, const void *buffer) {
  mpi_like_file *const own = (mpi_like_file *)file;
  (void)type, (void)transfer;
  if (pwrite(own->descriptor, buffer, size, (off_t)address) != (ssize_t)size) return -1;
  if (address + size > own->end_of_file) own->end_of_file = address + size;
  return 0;
}

static hid_t mpi_like_access(void) {
  static H5FD_class_t driver = {.name = "mpi_like",
                                .maxaddr = ((haddr_t)1 << 62) - 1,
                                .fc_degree = H5F_CLOSE_WEAK,
                                .open = mpi_like_open,
                                .close = mpi_like_close,
                                .query = mpi_like_query,
                                .get_eoa = mpi_like_get_eoa,
                                .set_eoa = mpi_like_set_eoa,
                                .get_eof = mpi_like_get_eof,
                                .read = mpi_like_read,
                                .write = mpi_like_write,
                                .fl_map = H5FD_FLMAP_SINGLE};
#ifdef H5FD_CLASS_VERSION
  driver.version = H5FD_CLASS_VERSION;
  driver.value = (H5FD_class_value_t)600; /* of those for tests and experiments */
#endif
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  return H5Pset_driver(access, H5FDregister(&driver), NULL) < 0 ? -1 : access;
}

#endif
