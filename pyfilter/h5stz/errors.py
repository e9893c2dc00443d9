"""The exceptions of the package. Every one is a ValueError with the stable code of filter/include/stz_errors.h."""


class StzError(ValueError):
    """Something that h5stz cannot do.

    Attributes:
        code: the stable negative number of the error in ``stz_errors.h``; it never changes its meaning.
    """

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code

    def __reduce__(self):
        return type(self), (str(self), self.code)


class StzTypeError(StzError, TypeError):
    """An argument or an array of a type that cannot be compressed."""
