! The filter in a Fortran program: the same two calls as in h5stz_filter.h. Preprocessed for H5STZ_PLUGIN_DIR, and nothing else.
module h5stz_filter
  use hdf5
  use iso_c_binding
  use iso_fortran_env, only: error_unit
  implicit none
  private
  public :: h5stz_find_plugin, h5stz_set_filter, h5_check

  integer, parameter :: filter_id = 34765, mandatory = 0, max_words = 73

  type, bind(c) :: stz_options  ! as in stz.h
    integer(c_size_t) :: struct_size = 0
    integer(c_int32_t) :: mode = 0, has_fill = 0
    real(c_double) :: bound = 0
    integer(c_int64_t) :: fill = 0
    integer(c_int32_t) :: block = 0, threads = 0, effort = 0, layers = 0
    integer(c_int32_t) :: append_axis = 0, integers = 0, bound_used = 0, content_check = 0
    real(c_double) :: prior_bound = 0
  end type stz_options

  interface
    function stz_options_parse_text(text, dtype, options, message, message_size) bind(c) result(status)
      import
      character(kind=c_char), intent(in) :: text(*)
      type(c_ptr), value :: dtype
      type(stz_options), intent(inout) :: options
      character(kind=c_char), intent(inout) :: message(*)
      integer(c_size_t), value :: message_size
      integer(c_int) :: status
    end function stz_options_parse_text

    function stz_cd_values_pack(options, layout, words, capacity, count, message, message_size) bind(c) result(status)
      import
      type(stz_options), intent(in) :: options
      type(c_ptr), value :: layout
      integer(c_int), intent(out) :: words(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(out) :: count
      character(kind=c_char), intent(inout) :: message(*)
      integer(c_size_t), value :: message_size
      integer(c_int) :: status
    end function stz_cd_values_pack

    function H5PLprepend(path) bind(c, name='H5PLprepend') result(status)  ! HDF5 1.10 has no Fortran interface of it
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: status
    end function H5PLprepend
  end interface

contains

  ! Ends the program on failure, after printing HDF5's error stack.
  subroutine h5_check(status, what)
    integer, intent(in) :: status
    character(len=*), intent(in) :: what
    integer :: ignored
    if (status >= 0) return
    call h5eprint_f(ignored)
    write (error_unit, '(2a)') what, ' failed'
    stop 1
  end subroutine h5_check

  ! Tells HDF5 where the plug-in is (first: HDF5 1.10 stops searching at a directory that does not exist). Call it after h5open_f.
  subroutine h5stz_find_plugin()
    call h5_check(H5PLprepend(H5STZ_PLUGIN_DIR//c_null_char), 'H5PLprepend')
  end subroutine h5stz_find_plugin

  ! Adds the filter to the properties of a dataset with chunks. text: options as in docs/cd_values.md, such as "absolute=1e-3".
  ! append_axis counts as in the file, where HDF5 reverses the order of Fortran: 0 is the last axis of the array.
  subroutine h5stz_set_filter(properties, text)
    integer(hid_t), intent(in) :: properties
    character(len=*), intent(in) :: text
    type(stz_options) :: options
    integer(c_int) :: words(max_words)
    integer(c_size_t) :: count
    character(len=256, kind=c_char) :: message
    integer :: status

    options%struct_size = c_sizeof(options)
    message = ''
    status = stz_options_parse_text(trim(text)//c_null_char, c_null_ptr, options, message, len(message, c_size_t))
    if (status == 0) then
      status = stz_cd_values_pack(options, c_null_ptr, words, int(max_words, c_size_t), count, message, len(message, c_size_t))
    end if
    if (status /= 0) then
      write (error_unit, '(4a)') 'options of h5stz, "', trim(text), '": ', message(:max(index(message, c_null_char) - 1, 0))
      stop 1
    end if
    call h5pset_filter_f(properties, filter_id, mandatory, count, words, status)
    call h5_check(status, 'h5pset_filter_f')
  end subroutine h5stz_set_filter

end module h5stz_filter
