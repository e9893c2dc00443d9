! A Fortran program as a user writes one: puts a float64 field through the h5stz filter and reads it back.
!
!   host FILE BOUND
!
! Absolute bound. Prints the client data as stored and the largest error; stops with status 1 if the bound does not hold.
program filter_field
  use hdf5
  use iso_fortran_env, only: real64, int32
  implicit none
  integer, parameter :: filter_id = 34765, mandatory = 0, nx = 40, ny = 30
  character(len=512) :: path, text
  integer(hid_t) :: file, space, properties, dataset, created
  integer(hsize_t) :: extent(2) = [nx, ny], chunk(2) = [16, 16]
  integer(size_t) :: count
  integer :: words(4), stored(64), status, flags, i, j
  character(len=64) :: name
  real(real64) :: bound, field(nx, ny), read_back(nx, ny)

  call get_command_argument(1, path)
  call get_command_argument(2, text)
  read (text, *) bound
  do j = 1, ny
    do i = 1, nx
      field(i, j) = 50 * sin(0.2_real64 * i) + 3 * j
    end do
  end do
  words(1:2) = [101, 1]
  words(3:4) = transfer(bound, words(3:4))  ! low word first on a little-endian machine

  call h5open_f(status)
  call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, status); call check(status)
  call h5screate_simple_f(2, extent, space, status); call check(status)
  call h5pcreate_f(H5P_DATASET_CREATE_F, properties, status); call check(status)
  call h5pset_chunk_f(properties, 2, chunk, status); call check(status)
  call h5pset_filter_f(properties, filter_id, mandatory, 4_size_t, words, status); call check(status)
  call h5dcreate_f(file, 'field', H5T_NATIVE_DOUBLE, space, dataset, status, properties); call check(status)
  call h5dwrite_f(dataset, H5T_NATIVE_DOUBLE, field, extent, status); call check(status)
  call h5dclose_f(dataset, status); call check(status)
  call h5fclose_f(file, status); call check(status)

  call h5fopen_f(trim(path), H5F_ACC_RDONLY_F, file, status); call check(status)
  call h5dopen_f(file, 'field', dataset, status); call check(status)
  call h5dread_f(dataset, H5T_NATIVE_DOUBLE, read_back, extent, status); call check(status)
  call h5dget_create_plist_f(dataset, created, status); call check(status)
  count = size(stored)
  call h5pget_filter_by_id_f(created, filter_id, flags, count, stored, int(len(name), size_t), name, status)
  call check(status)
  print '(a, *(1x, i0))', 'cd_values', stored(1:count)
  print '(a, 1x, es24.16)', 'max_error', maxval(abs(field - read_back))
  call h5dclose_f(dataset, status); call check(status)
  call h5fclose_f(file, status); call check(status)
  if (maxval(abs(field - read_back)) > bound) stop 1

contains

  subroutine check(status)
    integer, intent(in) :: status
    if (status < 0) stop 2
  end subroutine check

end program filter_field
