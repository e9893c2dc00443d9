"""Predictions that chunks choose from (filter/include/stz_learned.h), as part of Options."""

cdef class Options


cdef class Learned:
    """Immutable predictions, learned from arrays that resemble those that will be compressed."""

    cdef stz_learned* memory
    cdef tuple words_

    def __cinit__(self):
        self.memory = NULL

    def __dealloc__(self):
        stz_learned_free(self.memory)

    @staticmethod
    def of_words(words):
        """The predictions of client data (a sequence of ints); None if these have none."""
        cdef stz_learned* memory
        cdef unsigned int values[STZ_CD_MAX_WORDS]
        memory = stz_cd_values_learned(copy_words(words, values), values)
        return None if memory is NULL else taken(memory)

    @staticmethod
    def train(arrays, int dtype, int byte_order, tuple shape, Options options):
        """Predictions that are fitted to the arrays, C-contiguous buffers of this type and shape."""
        cdef stz_layout layout
        cdef stz_options given = options.values
        cdef Py_buffer view
        cdef int code = STZ_OK
        cdef stz_learned* memory = stz_learned_create()
        given.learned = NULL
        if memory is NULL:
            check(ERROR_CODES["STZ_ERROR_MEMORY"])
        try:
            fill_layout(&layout, dtype, byte_order, shape)
            for array in arrays:
                PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
                try:
                    check_size(view.len, dtype, shape)
                    with nogil:
                        code = stz_learned_train(memory, &layout, view.buf, &given)
                finally:
                    PyBuffer_Release(&view)
                check(code)
            return Learned.of_words(with_learned((), memory))
        finally:
            stz_learned_free(memory)

    @staticmethod
    def joined(learned):
        """The predictions of a sequence of Learned, one after the other."""
        cdef Learned each
        cdef stz_learned* memory = stz_learned_create()
        if memory is NULL:
            check(ERROR_CODES["STZ_ERROR_MEMORY"])
        try:
            for each in learned:
                check(stz_learned_join(memory, each.memory))
            return Learned.of_words(with_learned((), memory))
        finally:
            stz_learned_free(memory)

    def words(self):
        """Client data of nothing but these predictions."""
        if self.words_ is None:
            self.words_ = with_learned((), self.memory)
        return self.words_

    @property
    def count(self):
        """The number of arrays whose predictions these are."""
        return stz_learned_count(self.memory)

    def __eq__(self, other):
        return isinstance(other, Learned) and self.words() == other.words()

    def __hash__(self):
        return hash(self.words())

    def __reduce__(self):
        return Learned.of_words, (self.words(),)

    def __repr__(self):
        return f"<predictions of {self.count} arrays>"


cdef Learned taken(stz_learned* memory):
    cdef Learned learned = Learned.__new__(Learned)
    learned.memory = memory
    return learned


cdef Py_ssize_t copy_words(words, unsigned int* values) except -1:
    """Copies client data to an array of STZ_CD_MAX_WORDS; returns their number."""
    cdef size_t index, count = len(words)
    if count > STZ_CD_MAX_WORDS:
        raise StzError(f"cd_values has {count} words, at most {STZ_CD_MAX_WORDS} are possible", STZ_ERROR_ARGUMENT)
    for index in range(count):
        values[index] = words[index]
    return count


cdef tuple with_learned(words, const stz_learned* memory):
    """Client data with the predictions of a memory."""
    cdef unsigned int values[STZ_CD_MAX_WORDS]
    cdef size_t index, count = copy_words(words, values)
    check(stz_cd_values_add_learned(memory, values, STZ_CD_MAX_WORDS, &count))
    return tuple([values[index] for index in range(count)])
