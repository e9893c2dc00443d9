# Part of _core.pyx: binds stz_reader.h, partial reads of a stream.

cdef class Reader


cdef int read_by_callback(void* handle, uint64_t offset, size_t size, void* out) noexcept with gil:
    """stz_source.read for Reader.of_callback. An exception of the callback is kept and raised by settle()."""
    cdef Reader reader = <Reader>handle
    cdef Py_buffer view
    try:
        data = reader.callback(offset, size)
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if <size_t>view.len != size:
                raise StzReadError(f"the source gave {view.len} bytes where {size} were asked for", STZ_ERROR_READ)
            memcpy(out, view.buf, size)
        finally:
            PyBuffer_Release(&view)
        return 0
    except BaseException as error:
        reader.failure = error
        return 1


cdef class Reader:
    """Reads parts of one stream (filter/include/stz_reader.h). Create it with of_bytes, of_file or of_callback. Not thread-safe."""

    cdef stz_reader* reader
    cdef Py_buffer view
    cdef bint has_view
    cdef object callback, failure

    def __dealloc__(self):
        stz_reader_close(self.reader)
        if self.has_view:
            PyBuffer_Release(&self.view)

    @staticmethod
    def of_bytes(stream, uint64_t cache_bytes):
        """For a stream in a buffer, which the reader holds."""
        cdef Reader self = Reader.__new__(Reader)
        cdef int code
        PyObject_GetBuffer(stream, &self.view, PyBUF_SIMPLE)
        self.has_view = True
        with nogil:
            code = stz_reader_open_memory(self.view.buf, self.view.len, cache_bytes, &self.reader)
        check_stream(code, self.view.buf, self.view.len)
        return self

    @staticmethod
    def of_file(int fd, uint64_t offset, uint64_t size, uint64_t cache_bytes):
        """For a stream in an open file, which the caller must keep open."""
        cdef Reader self = Reader.__new__(Reader)
        cdef int code
        with nogil:
            code = stz_reader_open_file(fd, offset, size, cache_bytes, &self.reader)
        check(code)
        return self

    @staticmethod
    def of_callback(read, uint64_t size, uint64_t cache_bytes):
        """For a stream of `size` bytes. read(offset, size) must return exactly `size` bytes of it."""
        cdef Reader self = Reader.__new__(Reader)
        cdef stz_source source
        cdef int code
        self.callback = read
        source.struct_size = sizeof(source)
        source.read = read_by_callback
        source.handle = <void*>self
        source.size = size
        with nogil:
            code = stz_reader_open(&source, cache_bytes, &self.reader)
        self.settle(code)
        return self

    cdef settle(self, int code):
        """Raises the exception of the callback, if any, or the StzError of a code that is not STZ_OK."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        check(code)

    cdef fill_box(self, stz_box* box, tuple start, tuple count, tuple step):
        """Copies the numbers of every axis to `box`."""
        cdef stz_stream_info facts
        facts.struct_size = sizeof(facts)
        check(stz_reader_info(self.reader, &facts))
        cdef int rank = facts.layout.rank, axis
        if not len(start) == len(count) == len(step) == rank:
            raise StzError(f"start, count and step need one number for each of {rank} axes", STZ_ERROR_ARGUMENT)
        for axis in range(rank):
            box.start[axis] = start[axis]
            box.count[axis] = count[axis]
            box.step[axis] = step[axis]

    def read(self, tuple start, tuple count, tuple step, out, int threads):
        """Reads elements start + i * step, i < count, along each axis into the writable C-contiguous buffer `out` of exactly their size."""
        cdef stz_box box
        cdef Py_buffer target
        cdef int code
        self.fill_box(&box, start, count, step)
        PyObject_GetBuffer(out, &target, PyBUF_WRITABLE)
        try:
            with nogil:
                code = stz_reader_read(self.reader, box.start, box.count, box.step, target.buf, target.len, threads)
        finally:
            PyBuffer_Release(&target)
        self.settle(code)

    def verify(self, bint on):
        """Switches on or off that completely decoded blocks of level 0 are compared with the content check."""
        check(stz_reader_verify(self.reader, on))

    def max_error(self, double largest):
        """From now on, reads use the fewest precision layers that keep errors within `largest`; 0: all layers."""
        check(stz_reader_max_error(self.reader, largest))

    def enhance(self, bint on):
        """Switches the enhancement of the stream on (the default) or off."""
        check(stz_reader_enhance(self.reader, on))

    def on_error(self, element):
        """From now on, lost samples are filled with `element` (its bytes in the stream's byte order); None: reads of damaged data fail."""
        cdef const unsigned char[::1] content
        if element is None:
            check(stz_reader_on_error(self.reader, NULL))
            return
        content = element
        check(stz_reader_on_error(self.reader, &content[0]))

    def damage(self):
        """The damage that the latest read found: dicts with the fields of stz_damage. Fields without a number are None."""
        cdef stz_stream_info facts
        cdef stz_damage damage
        facts.struct_size = sizeof(facts)
        check(stz_reader_info(self.reader, &facts))
        cdef int rank = facts.layout.rank, axis
        cdef size_t index
        found = []
        for index in range(stz_reader_damage_count(self.reader)):
            damage.struct_size = sizeof(damage)
            check(stz_reader_damage(self.reader, index, &damage))
            found.append({
                "error": damage.error,
                "level": damage.level if damage.level >= 0 else None,
                "patch": damage.patch if damage.patch >= 0 else None,
                "block": damage.block if damage.block != UINT64_MAX else None,
                "lost": damage.lost,
                "start": tuple([damage.start[axis] for axis in range(rank)]),
                "extent": tuple([damage.extent[axis] for axis in range(rank)]),
            })
        return found

    def plan(self, tuple start, tuple count, tuple step):
        """The ranges (offset, size) of the stream that this read would fetch now."""
        cdef stz_box box
        cdef size_t range_count = 0, capacity = 64
        cdef uint64_t* ranges
        cdef int code
        self.fill_box(&box, start, count, step)
        while True:
            ranges = <uint64_t*>malloc(2 * capacity * sizeof(uint64_t))
            if ranges == NULL:
                check(ERROR_CODES["STZ_ERROR_MEMORY"])
            try:
                with nogil:
                    code = stz_reader_plan(self.reader, box.start, box.count, box.step, ranges, capacity, &range_count)
                self.settle(code)
                if range_count <= capacity:
                    return [(ranges[2 * k], ranges[2 * k + 1]) for k in range(range_count)]
            finally:
                free(ranges)
            capacity = range_count

    def info(self):
        """The contents of the header, as info()."""
        cdef stz_stream_info facts
        facts.struct_size = sizeof(facts)
        check(stz_reader_info(self.reader, &facts))
        return info_fields(&facts)

    def stats(self):
        """bytes_read, blocks_decoded, blocks_present and cached_bytes of stz_reader_stats, as a dict."""
        cdef stz_reader_stats stats
        stats.struct_size = sizeof(stats)
        check(stz_reader_get_stats(self.reader, &stats))
        return {
            "bytes_read": stats.bytes_read,
            "blocks_decoded": stats.blocks_decoded,
            "blocks_present": stats.blocks_present,
            "cached_bytes": stats.cached_bytes,
        }

    def limit(self, uint64_t cache_bytes):
        """Changes the cache limit, in bytes; drops what exceeds it."""
        check(stz_reader_limit(self.reader, cache_bytes))
