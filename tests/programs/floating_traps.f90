! A Fortran program that is compiled with traps (-ffpe-trap) writes float64 samples with a range beyond the largest number, and NaNs, through
! the h5stz filter, and reads them.
!
!   floating_traps FILE
!
! It computes nothing inexact itself. Stops with status 1 if a sample does not come back within the bound of 1e-2.
program floating_traps
  use hdf5
  use, intrinsic :: ieee_exceptions
  use, intrinsic :: ieee_arithmetic
  use iso_fortran_env, only: real64, int64
  implicit none
  integer, parameter :: filter_id = 34765, mandatory = 0, nx = 60, ny = 50
  integer(int64), parameter :: quiet_nan = int(z'7FF8000000000001', int64)
  character(len=512) :: path
  integer(hid_t) :: file, space, properties, dataset
  integer(hsize_t) :: extent(2) = [nx, ny]
  integer :: words(4) = [102, 1, 1, 2], status, i, j
  real(real64) :: field(nx, ny), read_back(nx, ny)

  call get_command_argument(1, path)
  do j = 1, ny
    do i = 1, nx
      field(i, j) = real(i * j + mod(7 * i, 5), real64)
    end do
  end do
  field(::7, 3) = huge(1.0_real64)
  field(::7, 30) = -huge(1.0_real64)
  field(::9, 11) = transfer(quiet_nan, 1.0_real64)

  call h5open_f(status)
  call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, status); call check(status)
  call h5screate_simple_f(2, extent, space, status); call check(status)
  call h5pcreate_f(H5P_DATASET_CREATE_F, properties, status); call check(status)
  call h5pset_chunk_f(properties, 2, extent, status); call check(status)
  call h5pset_filter_f(properties, filter_id, mandatory, 4_size_t, words, status); call check(status)
  call h5dcreate_f(file, 'field', H5T_NATIVE_DOUBLE, space, dataset, status, properties); call check(status)
  call h5dwrite_f(dataset, H5T_NATIVE_DOUBLE, field, extent, status); call check(status)
  call h5dclose_f(dataset, status); call check(status)
  call h5fclose_f(file, status); call check(status)
  call h5fopen_f(trim(path), H5F_ACC_RDONLY_F, file, status); call check(status)
  call h5dopen_f(file, 'field', dataset, status); call check(status)
  call h5dread_f(dataset, H5T_NATIVE_DOUBLE, read_back, extent, status); call check(status)
  call h5dclose_f(dataset, status); call check(status)
  call h5fclose_f(file, status); call check(status)

  call ieee_set_halting_mode(ieee_all, .false.)
  do j = 1, ny
    do i = 1, nx
      if (ieee_is_nan(field(i, j)) .and. ieee_is_nan(read_back(i, j))) cycle
      if (.not. abs(field(i, j) - read_back(i, j)) <= 1.0e-2_real64) stop 1
    end do
  end do

contains

  subroutine check(status)
    integer, intent(in) :: status
    if (status < 0) stop 2
  end subroutine check

end program floating_traps
