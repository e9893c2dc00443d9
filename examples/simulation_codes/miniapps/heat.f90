! Heat conduction in a periodic cube. Writes its series and its checkpoints through h5stz, and restarts from a compressed checkpoint.
!
!   heat PREFIX [--cells N] [--steps N] [--every N] [--series OPTIONS] [--checkpoint OPTIONS] [--checkpoint-every N] [--restart FILE]
!
! --steps is the number of the last step, also of a restarted run. PREFIX.h5 gets the temperature (real32) every --every steps;
! PREFIX.STEP.h5 the state (real64) every --checkpoint-every steps and at the end. A restarted run continues PREFIX.h5 where the
! checkpoint was made if the file exists, and begins it there if not. OPTIONS are those of docs/cd_values.md.
! heat_mpi.c reads and writes the same checkpoints.
!
! Explicit central differences. Each new value is an average of old ones with positive weights: two runs never get further apart than
! they were, so the bound of a checkpoint holds to the end. The exact solution is known; the program prints the error of the scheme.
program heat
  use hdf5
  use h5stz_filter
  use iso_fortran_env, only: real32, real64, error_unit
  implicit none
  integer, parameter :: frames_per_chunk = 8, planes_per_chunk = 16
  real(real64), parameter :: ratio = 0.125_real64  ! time step * conductivity / spacing**2; stable up to 1/6
  real(real64), parameter :: pi = acos(-1.0_real64)

  character(len=1024) :: prefix, series_options = 'absolute=1e-3,append_axis=0', checkpoint_options = 'lossless', restart = ''
  integer :: n = 48, steps = 200, every = 5, checkpoint_every = 100
  integer :: step = 0, frames = 0, status
  real(real64), allocatable :: temperature(:, :, :)
  integer(hid_t) :: file, series, times

  call read_options()
  call h5open_f(status); call h5_check(status, 'h5open_f')
  call h5stz_find_plugin()
  if (restart == '') then
    allocate (temperature(n, n, n))
    temperature = exact(n, 0)
  else
    call read_checkpoint(trim(restart))
  end if
  call open_series(trim(prefix)//'.h5')
  do while (step < steps)
    if (mod(step, every) == 0) call write_frame()
    call advance(temperature)
    step = step + 1
    if (mod(step, checkpoint_every) == 0 .or. step == steps) call write_checkpoint()
  end do
  call report()
  call h5dclose_f(times, status)
  call h5dclose_f(series, status)
  call h5fclose_f(file, status)
  call h5close_f(status)

contains

  subroutine read_options()
    character(len=1024) :: name, text
    integer :: i
    if (command_argument_count() < 1 .or. mod(command_argument_count(), 2) == 0) then
      write (error_unit, '(a)') 'usage: heat PREFIX [--cells N] [--steps N] [--every N] [--series OPTIONS]', &
        '            [--checkpoint OPTIONS] [--checkpoint-every N] [--restart FILE]'
      stop 2
    end if
    call get_command_argument(1, prefix)
    do i = 2, command_argument_count(), 2
      call get_command_argument(i, name)
      call get_command_argument(i + 1, text)
      select case (name)
      case ('--cells'); read (text, *) n
      case ('--steps'); read (text, *) steps
      case ('--every'); read (text, *) every
      case ('--checkpoint-every'); read (text, *) checkpoint_every
      case ('--series'); series_options = text
      case ('--checkpoint'); checkpoint_options = text
      case ('--restart'); restart = text
      case default
        write (error_unit, '(2a)') 'heat: unknown option ', trim(name)
        stop 2
      end select
    end do
  end subroutine read_options

  ! The temperature at a step, at the points of the grid: two waves that decay, each at its rate.
  function exact(n, step) result(values)
    integer, intent(in) :: n, step
    real(real64) :: values(n, n, n), wave(n, 3), time
    integer :: i, j, k, m
    time = step * ratio / n**2
    do m = 1, 3
      wave(:, m) = [(2 * pi * m * (i - 1) / n, i=1, n)]
    end do
    do k = 1, n
      do j = 1, n
        do i = 1, n
          values(i, j, k) = 1 + 0.5_real64 * exp(-12 * pi**2 * time) * sin(wave(i, 1)) * cos(wave(j, 1)) * sin(wave(k, 1)) &
                            + 0.25_real64 * exp(-56 * pi**2 * time) * sin(wave(i, 3)) * cos(wave(j, 2)) * sin(wave(k, 1))
        end do
      end do
    end do
  end function exact

  subroutine advance(t)
    real(real64), intent(inout) :: t(:, :, :)
    real(real64), allocatable :: old(:, :, :)
    integer :: i, j, k, n
    n = size(t, 1)
    allocate (old(0:n + 1, 0:n + 1, 0:n + 1))
    old(1:n, 1:n, 1:n) = t
    old(0, :, :) = old(n, :, :); old(n + 1, :, :) = old(1, :, :)
    old(:, 0, :) = old(:, n, :); old(:, n + 1, :) = old(:, 1, :)
    old(:, :, 0) = old(:, :, n); old(:, :, n + 1) = old(:, :, 1)
    do k = 1, n
      do j = 1, n
        do i = 1, n
          t(i, j, k) = (1 - 6 * ratio) * old(i, j, k) + ratio * ((old(i - 1, j, k) + old(i + 1, j, k)) &
                       + (old(i, j - 1, k) + old(i, j + 1, k)) + (old(i, j, k - 1) + old(i, j, k + 1)))
        end do
      end do
    end do
  end subroutine advance

  ! A dataset with chunks, compressed if there are options.
  function new_dataset(file, name, type, extent, limits, chunk, options, access) result(dataset)
    integer(hid_t), intent(in) :: file, type, access
    character(len=*), intent(in) :: name, options
    integer(hsize_t), intent(in) :: extent(:), limits(:), chunk(:)
    integer(hid_t) :: dataset, properties, space
    call h5screate_simple_f(size(extent), extent, space, status, limits); call h5_check(status, 'h5screate_simple_f')
    call h5pcreate_f(H5P_DATASET_CREATE_F, properties, status)
    call h5pset_chunk_f(properties, size(chunk), chunk, status); call h5_check(status, 'h5pset_chunk_f')
    if (options /= '') call h5stz_set_filter(properties, options)
    call h5dcreate_f(file, name, type, space, dataset, status, properties, dapl_id=access); call h5_check(status, 'h5dcreate_f')
    call h5pclose_f(properties, status)
    call h5sclose_f(space, status)
  end function new_dataset

  ! Dataset access with a cache for a whole layer of chunks: frames are collected there, and each chunk is compressed once.
  function cached_access() result(access)
    integer(hid_t) :: access
    call h5pcreate_f(H5P_DATASET_ACCESS_F, access, status)
    call h5pset_chunk_cache_f(access, 521_size_t, 8_size_t * frames_per_chunk * n**2 * (n + planes_per_chunk), 1.0, status)
    call h5_check(status, 'h5pset_chunk_cache_f')
  end function cached_access

  ! Opens the series, or makes it: HDF5 reverses the axes, so the last one here, which grows, is the first one in the file.
  subroutine open_series(path)
    character(len=*), intent(in) :: path
    integer(hsize_t) :: m
    logical :: is_there
    inquire (file=path, exist=is_there)
    if (is_there .and. restart /= '') then
      call h5fopen_f(path, H5F_ACC_RDWR_F, file, status); call h5_check(status, 'h5fopen_f')
      call h5dopen_f(file, 'temperature', series, status, cached_access()); call h5_check(status, 'h5dopen_f')
      call h5dopen_f(file, 'time', times, status); call h5_check(status, 'h5dopen_f')
      return
    end if
    m = n
    frames = 0
    call h5fcreate_f(path, H5F_ACC_TRUNC_F, file, status); call h5_check(status, 'h5fcreate_f')
    series = new_dataset(file, 'temperature', H5T_IEEE_F32LE, [m, m, m, 0_hsize_t], [m, m, m, H5S_UNLIMITED_F], &
                         [m, m, min(m, int(planes_per_chunk, hsize_t)), int(frames_per_chunk, hsize_t)], trim(series_options), &
                         cached_access())
    times = new_dataset(file, 'time', H5T_IEEE_F64LE, [0_hsize_t], [H5S_UNLIMITED_F], [1024_hsize_t], '', H5P_DEFAULT_F)
  end subroutine open_series

  ! Makes a dataset `frames + 1` frames long and selects the last one in the file.
  subroutine extend(dataset, extent, space, memory)
    integer(hid_t), intent(in) :: dataset
    integer(hsize_t), intent(in) :: extent(:)
    integer(hid_t), intent(out) :: space, memory
    integer(hsize_t) :: whole(size(extent)), start(size(extent))
    whole = extent
    whole(size(whole)) = frames + 1
    start = 0
    start(size(start)) = frames
    call h5dset_extent_f(dataset, whole, status); call h5_check(status, 'h5dset_extent_f')
    call h5dget_space_f(dataset, space, status); call h5_check(status, 'h5dget_space_f')
    call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, extent, status); call h5_check(status, 'h5sselect_hyperslab_f')
    call h5screate_simple_f(size(extent), extent, memory, status); call h5_check(status, 'h5screate_simple_f')
  end subroutine extend

  subroutine write_frame()
    integer(hid_t) :: space, memory
    integer(hsize_t) :: frame(4), one(1)
    frame = [n, n, n, 1]
    one = 1
    call extend(series, frame, space, memory)
    call h5dwrite_f(series, H5T_NATIVE_REAL, real(temperature, real32), frame, status, memory, space)
    call h5_check(status, 'h5dwrite_f')
    call h5sclose_f(memory, status)
    call h5sclose_f(space, status)
    call extend(times, one, space, memory)
    call h5dwrite_f(times, H5T_NATIVE_DOUBLE, [step * ratio / n**2], one, status, memory, space)
    call h5_check(status, 'h5dwrite_f')
    call h5sclose_f(memory, status)
    call h5sclose_f(space, status)
    frames = frames + 1
  end subroutine write_frame

  subroutine write_number(file, name, value)
    integer(hid_t), intent(in) :: file
    character(len=*), intent(in) :: name
    integer, intent(in) :: value
    integer(hid_t) :: space, attribute
    call h5screate_f(H5S_SCALAR_F, space, status)
    call h5acreate_f(file, name, H5T_NATIVE_INTEGER, space, attribute, status); call h5_check(status, 'h5acreate_f')
    call h5awrite_f(attribute, H5T_NATIVE_INTEGER, value, [1_hsize_t], status); call h5_check(status, 'h5awrite_f')
    call h5aclose_f(attribute, status)
    call h5sclose_f(space, status)
  end subroutine write_number

  subroutine read_number(file, name, value)
    integer(hid_t), intent(in) :: file
    character(len=*), intent(in) :: name
    integer, intent(out) :: value
    integer(hid_t) :: attribute
    call h5aopen_f(file, name, attribute, status); call h5_check(status, 'h5aopen_f')
    call h5aread_f(attribute, H5T_NATIVE_INTEGER, value, [1_hsize_t], status); call h5_check(status, 'h5aread_f')
    call h5aclose_f(attribute, status)
  end subroutine read_number

  subroutine write_checkpoint()
    character(len=1032) :: path
    integer(hid_t) :: checkpoint, dataset
    integer(hsize_t) :: extent(3), stored
    extent = n
    write (path, '(2a, i6.6, a)') trim(prefix), '.', step, '.h5'
    call h5fcreate_f(trim(path)//'.part', H5F_ACC_TRUNC_F, checkpoint, status); call h5_check(status, 'h5fcreate_f')
    dataset = new_dataset(checkpoint, 'temperature', H5T_IEEE_F64LE, extent, extent, &
                          [extent(1), extent(2), min(extent(3), int(planes_per_chunk, hsize_t))], trim(checkpoint_options), &
                          H5P_DEFAULT_F)
    call h5dwrite_f(dataset, H5T_NATIVE_DOUBLE, temperature, extent, status); call h5_check(status, 'h5dwrite_f')
    call h5dget_storage_size_f(dataset, stored, status)
    call h5dclose_f(dataset, status); call h5_check(status, 'h5dclose_f')
    call write_number(checkpoint, 'step', step)
    call write_number(checkpoint, 'frames', frames)
    call h5fclose_f(checkpoint, status); call h5_check(status, 'h5fclose_f')
    call rename(trim(path)//'.part', trim(path))  ! a checkpoint is whole, or it is not there
    print '(3a, i0, a, i0)', 'checkpoint: ', trim(path), ', ', 8 * product(extent), ' bytes in ', stored
  end subroutine write_checkpoint

  subroutine read_checkpoint(path)
    character(len=*), intent(in) :: path
    integer(hid_t) :: checkpoint, dataset, space
    integer(hsize_t) :: extent(3), limits(3)
    call h5fopen_f(path, H5F_ACC_RDONLY_F, checkpoint, status); call h5_check(status, 'h5fopen_f')
    call read_number(checkpoint, 'step', step)
    call read_number(checkpoint, 'frames', frames)
    call h5dopen_f(checkpoint, 'temperature', dataset, status); call h5_check(status, 'h5dopen_f')
    call h5dget_space_f(dataset, space, status); call h5_check(status, 'h5dget_space_f')
    call h5sget_simple_extent_dims_f(space, extent, limits, status); call h5_check(status, 'h5sget_simple_extent_dims_f')
    n = int(extent(1))
    allocate (temperature(extent(1), extent(2), extent(3)))
    call h5dread_f(dataset, H5T_NATIVE_DOUBLE, temperature, extent, status); call h5_check(status, 'h5dread_f')
    call h5sclose_f(space, status)
    call h5dclose_f(dataset, status)
    call h5fclose_f(checkpoint, status)
  end subroutine read_checkpoint

  subroutine report()
    integer(hsize_t) :: stored
    call h5fflush_f(file, H5F_SCOPE_LOCAL_F, status); call h5_check(status, 'h5fflush_f')
    call h5dget_storage_size_f(series, stored, status)
    print '(a, i0, a, i0, a, i0)', 'series of temperature: ', frames, ' frames, ', 4_hsize_t * frames * n**3, ' bytes in ', stored
    print '(a, i0)', 'step: ', step
    print '(a, f8.6)', 'time: ', step * ratio / n**2
    print '(a, es22.15)', 'heat: ', sum(temperature) / real(n, real64)**3
    print '(a, es10.4)', 'error of the scheme: ', maxval(abs(temperature - exact(n, step)))
  end subroutine report

end program heat
