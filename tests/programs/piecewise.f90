! A Fortran program that appends a float32 series plane by plane, along the slowest axis, which is Fortran's last.
!
!   piecewise FILE VALUES PLANES ROWS COLUMNS DEPTH FILTER WORD...
!
! VALUES: a file with the samples as they are in memory. Chunks have DEPTH planes, and HDF5 no chunk cache.
program append_planes
  use hdf5
  use iso_fortran_env, only: real32, int64
  implicit none
  integer, parameter :: most_words = 32, mandatory = 0
  character(len=1024) :: path, samples
  integer(hid_t) :: file, space, memory, properties, access, dataset
  integer(hsize_t) :: extent(3), chunk(3), most(3), start(3), plane_extent(3)
  integer :: words(most_words), count, filter_id, status, plane, unit
  real(real32), allocatable :: values(:, :, :)

  call get_command_argument(1, path)
  call get_command_argument(2, samples)
  extent = [number(5), number(4), number(3)]
  chunk = [extent(1), extent(2), int(number(6), hsize_t)]
  filter_id = int(number(7))
  count = command_argument_count() - 7
  if (count < 0 .or. count > most_words) stop 3
  do plane = 1, count
    words(plane) = wrapped(number(7 + plane))
  end do
  allocate (values(extent(1), extent(2), extent(3)))
  open (newunit=unit, file=trim(samples), access='stream', form='unformatted', status='old')
  read (unit) values
  close (unit)

  call h5open_f(status)
  call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, status); call check(status)
  start = [0_hsize_t, 0_hsize_t, 0_hsize_t]
  plane_extent = [extent(1), extent(2), 1_hsize_t]
  most = [extent(1), extent(2), H5S_UNLIMITED_F]
  call h5screate_simple_f(3, plane_extent, space, status, most); call check(status)
  call h5pcreate_f(H5P_DATASET_CREATE_F, properties, status); call check(status)
  call h5pset_chunk_f(properties, 3, chunk, status); call check(status)
  call h5pset_filter_f(properties, filter_id, mandatory, int(count, size_t), words, status); call check(status)
  call h5pcreate_f(H5P_DATASET_ACCESS_F, access, status); call check(status)
  call h5pset_chunk_cache_f(access, 521_size_t, 0_size_t, 0.75, status); call check(status)
  call h5dcreate_f(file, 'x', H5T_IEEE_F32LE, space, dataset, status, properties, dapl_id=access); call check(status)
  call h5sclose_f(space, status)
  call h5screate_simple_f(3, plane_extent, memory, status); call check(status)
  do plane = 1, int(extent(3))
    call h5dset_extent_f(dataset, [extent(1), extent(2), int(plane, hsize_t)], status); call check(status)
    start(3) = plane - 1
    call h5dget_space_f(dataset, space, status); call check(status)
    call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, plane_extent, status); call check(status)
    call h5dwrite_f(dataset, H5T_NATIVE_REAL, values(:, :, plane), plane_extent, status, memory, space); call check(status)
    call h5sclose_f(space, status)
  end do
  call h5dclose_f(dataset, status); call check(status)
  call h5fclose_f(file, status); call check(status)

contains

  integer(int64) function number(place)
    integer, intent(in) :: place
    character(len=64) :: text
    call get_command_argument(place, text)
    read (text, *) number
  end function number

  integer function wrapped(word)  ! an unsigned word as the signed integer of the same bits
    integer(int64), intent(in) :: word
    wrapped = int(merge(word - 2_int64**32, word, word >= 2_int64**31))
  end function wrapped

  subroutine check(status)
    integer, intent(in) :: status
    if (status < 0) stop 2
  end subroutine check

end program append_planes
