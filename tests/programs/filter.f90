! A Fortran program as a user writes one: puts a float64 field through the h5stz filter and reads it back.
!
!   filter FILE BOUND    prints the client data as stored and the largest error
!   filter FILE traps    samples with a range beyond the largest number, and NaNs, under a bound of 1e-2
!
! Absolute bound; stops with status 1 if it does not hold. With `traps` it computes nothing inexact itself: it may be compiled with
! -ffpe-trap.
program filter_field
  use hdf5
  use, intrinsic :: ieee_exceptions
  use, intrinsic :: ieee_arithmetic
  use iso_fortran_env, only: real64, int64
  implicit none
  integer, parameter :: filter_id = 34765, mandatory = 0, nx = 40, ny = 30
  integer(int64), parameter :: quiet_nan = int(z'7FF8000000000001', int64)
  character(len=512) :: path, text
  integer(hid_t) :: file, space, properties, dataset, created
  integer(hsize_t) :: extent(2) = [nx, ny], chunk(2) = [16, 16]
  integer(size_t) :: count
  integer :: words(4), stored(64), status, flags, i, j
  character(len=64) :: name
  real(real64) :: bound, field(nx, ny), read_back(nx, ny)
  logical :: traps

  call get_command_argument(1, path)
  call get_command_argument(2, text)
  traps = text == 'traps'
  if (traps) then
    chunk = extent
    words = [102, 1, 1, 2]
    do j = 1, ny
      do i = 1, nx
        field(i, j) = real(i * j + mod(7 * i, 5), real64)
      end do
    end do
    field(::7, 3) = huge(1.0_real64)
    field(::7, 20) = -huge(1.0_real64)
    field(::9, 11) = transfer(quiet_nan, 1.0_real64)
  else
    read (text, *) bound
    words(1:2) = [101, 1]
    words(3:4) = transfer(bound, words(3:4))  ! low word first on a little-endian machine
    do j = 1, ny
      do i = 1, nx
        field(i, j) = 50 * sin(0.2_real64 * i) + 3 * j
      end do
    end do
  end if

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
  call h5dclose_f(dataset, status); call check(status)
  call h5fclose_f(file, status); call check(status)

  if (traps) then
    call ieee_set_halting_mode(ieee_all, .false.)
    bound = 1.0e-2_real64
    where (ieee_is_nan(field) .and. ieee_is_nan(read_back)) field = 0
    where (field == 0) read_back = 0
  end if
  print '(a, *(1x, i0))', 'cd_values', stored(1:count)
  print '(a, 1x, es24.16)', 'max_error', maxval(abs(field - read_back))
  if (.not. all(abs(field - read_back) <= bound)) stop 1

contains

  subroutine check(status)
    integer, intent(in) :: status
    if (status < 0) stop 2
  end subroutine check

end program filter_field
