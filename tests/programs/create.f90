! A Fortran program as a user writes one: a float64 field, contiguous, slab after slab, and integers beside it.
!
!   create FILE
program create_fields
  use hdf5
  use iso_fortran_env, only: real64
  implicit none
  integer, parameter :: nx = 64, ny = 48, nz = 20
  character(len=512) :: path
  integer(hid_t) :: file, space, memory, dataset
  integer(hsize_t) :: extent(3) = [nx, ny, nz], slab(3) = [nx, ny, 1], start(3)
  integer :: status, i, j, k, counts(nx, ny, nz)
  real(real64) :: field(nx, ny, nz)

  call get_command_argument(1, path)
  do k = 1, nz
    do j = 1, ny
      do i = 1, nx
        field(i, j, k) = 50 * sin(0.2_real64 * i) + 3 * j + cos(0.7_real64 * k * j)
        counts(i, j, k) = i * j + k
      end do
    end do
  end do

  call h5open_f(status)
  call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, status); call check(status)
  call h5screate_simple_f(3, extent, space, status); call check(status)
  call h5screate_simple_f(3, slab, memory, status); call check(status)
  call h5dcreate_f(file, 'field', H5T_NATIVE_DOUBLE, space, dataset, status); call check(status)
  do k = 1, nz
    start = [0, 0, k - 1]
    call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, slab, status); call check(status)
    call h5dwrite_f(dataset, H5T_NATIVE_DOUBLE, field(:, :, k), slab, status, memory, space); call check(status)
  end do
  call h5dclose_f(dataset, status); call check(status)
  call h5dcreate_f(file, 'counts', H5T_NATIVE_INTEGER, space, dataset, status); call check(status)
  call h5dwrite_f(dataset, H5T_NATIVE_INTEGER, counts, extent, status); call check(status)
  call h5dclose_f(dataset, status); call check(status)
  call h5fclose_f(file, status); call check(status)

contains

  subroutine check(status)
    integer, intent(in) :: status
    if (status < 0) stop 2
  end subroutine check

end program create_fields
