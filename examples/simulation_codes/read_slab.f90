! Reads one plane and one coarse level of a three-dimensional dataset, decoding only the blocks that they need.
!
!   read_slab FILE DATASET PLANE LEVEL OUTPUT
!
! PLANE is a 0-based index along the dataset's first axis, in Fortran the last one; LEVEL l stands for every 2^l-th sample along
! all axes. Writes the samples of the plane, then those of the level, to OUTPUT, as real32. To build:
!
!   export PKG_CONFIG_PATH=$(h5stz pkg-config-path)
!   h5fc examples/simulation_codes/read_slab.f90 $(pkg-config --libs h5stz) -o read_slab
!
! Programs need only the module to call the C functions. HDF5's Fortran interface reverses the order of dimensions; the C functions
! do not: their start and count have the slowest axis first.

module stz_h5
  use iso_c_binding
  implicit none

  type, bind(c) :: stz_h5_stats  ! as in stz_h5.h; set struct_size to c_sizeof of it before the first read
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: reads = 0, reads_through_hdf5 = 0
    integer(c_int64_t) :: chunks_direct = 0, chunks_by_ranges = 0, chunks_missing = 0, chunks_through_hdf5 = 0
    integer(c_int64_t) :: bytes_read = 0, bytes_used = 0, blocks_decoded = 0, blocks_present = 0
    integer(c_int32_t) :: reason = 0, reserved = 0
  end type stz_h5_stats

  interface  ! hid_t and hsize_t have 64 bits
    function stz_h5_read_stats(dset, mem_type, mem_space, file_space, dxpl, buf, stats) bind(c) result(status)
      import
      integer(c_int64_t), value :: dset, mem_type, mem_space, file_space, dxpl
      type(c_ptr), value :: buf
      type(stz_h5_stats), intent(inout) :: stats
      integer(c_int) :: status
    end function stz_h5_read_stats

    function stz_h5_read_level_stats(dset, level, start, count, mem_type, buf, stats) bind(c) result(status)
      import
      integer(c_int64_t), value :: dset, mem_type
      integer(c_int), value :: level
      integer(c_int64_t), intent(in) :: start(*), count(*)
      type(c_ptr), value :: buf
      type(stz_h5_stats), intent(inout) :: stats
      integer(c_int) :: status
    end function stz_h5_read_level_stats
  end interface

end module stz_h5

program read_slab
  use hdf5
  use iso_c_binding
  use iso_fortran_env, only: real32, error_unit
  use stz_h5
  implicit none
  character(len=1024) :: path, name, output, word
  integer(hid_t) :: file, dataset, space, memory
  integer(hsize_t) :: extents(3), limits(3), first(3), plane(3), grid(3)
  integer :: status, level, unit
  real(real32), allocatable, target :: samples(:, :, :)
  type(stz_h5_stats) :: stats

  if (command_argument_count() /= 5) stop 'usage: read_slab FILE DATASET PLANE LEVEL OUTPUT'
  call get_command_argument(1, path)
  call get_command_argument(2, name)
  call get_command_argument(3, word)
  first = 0
  read (word, *) first(3)
  call get_command_argument(4, word)
  read (word, *) level
  call get_command_argument(5, output)

  call h5open_f(status); call check(status)
  call h5fopen_f(trim(path), H5F_ACC_RDONLY_F, file, status); call check(status)
  call h5dopen_f(file, trim(name), dataset, status); call check(status)
  call h5dget_space_f(dataset, space, status); call check(status)
  call h5sget_simple_extent_dims_f(space, extents, limits, status); call check(status)
  open (newunit=unit, file=trim(output), access='stream', form='unformatted', status='replace')

  ! A plane: dataspaces as for h5dread_f.
  plane = [extents(1), extents(2), 1_hsize_t]
  call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, first, plane, status); call check(status)
  call h5screate_simple_f(3, plane, memory, status); call check(status)
  allocate (samples(plane(1), plane(2), plane(3)))
  stats = stz_h5_stats()
  stats%struct_size = c_sizeof(stats)
  call check(stz_h5_read_stats(dataset, H5T_NATIVE_REAL, memory, space, H5P_DEFAULT_F, c_loc(samples), stats))
  call report('plane', plane)
  write (unit) samples
  deallocate (samples)

  ! The whole grid of a level: ceil(n / 2**level) samples along each axis, slowest axis first for the C function.
  grid = (extents + 2_hsize_t**level - 1) / 2_hsize_t**level
  allocate (samples(grid(1), grid(2), grid(3)))
  first = 0
  stats = stz_h5_stats()
  stats%struct_size = c_sizeof(stats)
  call check(stz_h5_read_level_stats(dataset, int(level, c_int), first, grid(3:1:-1), H5T_NATIVE_REAL, c_loc(samples), stats))
  call report('level', grid)
  write (unit) samples

  close (unit)
  call h5sclose_f(memory, status)
  call h5sclose_f(space, status)
  call h5dclose_f(dataset, status)
  call h5fclose_f(file, status)

contains

  ! Ends the program on failure, after printing HDF5's error stack.
  subroutine check(code)
    integer, intent(in) :: code
    integer :: ignored
    if (code >= 0) return
    call h5eprint_f(ignored)
    write (error_unit, '(a)') 'read_slab: a call failed'
    stop 1
  end subroutine check

  subroutine report(what, shape)
    character(len=*), intent(in) :: what
    integer(hsize_t), intent(in) :: shape(3)
    print '(a, ": ", i0, " x ", i0, " x ", i0, " samples")', what, shape(3:1:-1)
    print '(a, i0, " of ", i0)', '  blocks decoded: ', stats%blocks_decoded, stats%blocks_present
    print '(a, i0, " of ", i0)', '  bytes decoded: ', stats%bytes_used, stats%bytes_read
  end subroutine report

end program read_slab
