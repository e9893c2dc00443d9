"""The codec's options as a class: the rows of stz_options.h are attributes. Converts options to and from text and client data."""

from libc.stddef cimport size_t


cdef extern from *:
    """
    #include <stddef.h>
    #include "stz_options.h"
    struct stz_option_row { const char* name; size_t at; int least, most, offset; const char* words; };
    static const struct stz_option_row stz_option_table[] = {
    #define STZ_OPTION_ROW(name, first_bit, bits, least, most, offset, changes_samples, words) \
        {#name, offsetof(stz_options, name), least, most, offset, words},
        STZ_OPTIONS(STZ_OPTION_ROW)
    #undef STZ_OPTION_ROW
    };
    enum { STZ_OPTION_ROWS = sizeof stz_option_table / sizeof stz_option_table[0] };
    """
    struct stz_option_row:
        const char* name
        size_t at
        int least, most, offset
        const char* words
    const stz_option_row* stz_option_table
    int STZ_OPTION_ROWS


cdef dict ROW_OF = {stz_option_table[row].name.decode(): row for row in range(STZ_OPTION_ROWS)}

# Python values that users pass instead of these words. A value without a word is None.
_SWITCH = {"yes": True, "no": False, "": None}


cdef dict choices_of(int row):
    words = stz_option_table[row].words.decode().split("|")
    if "yes" not in words:
        return {word: value for value, word in enumerate(words)}
    return {None: 0} | {_SWITCH[word]: value for value, word in enumerate(words)}


OPTIONS = tuple(ROW_OF)
# CHOICES: {option: {word, True, False or None: number}} for options given as words.
# COUNTS: {option: (least, most, offset)} for the others.
CHOICES = {name: choices_of(row) for name, row in ROW_OF.items() if stz_option_table[row].words[0]}
COUNTS = {
    name: (stz_option_table[row].least, stz_option_table[row].most, stz_option_table[row].offset)
    for name, row in ROW_OF.items() if not stz_option_table[row].words[0]
}


cdef class Options:
    """Immutable options as numbers of the core: see stz_options in stz.h.

    `fill`: None, or the bits of the fill value as an int. `valid_range`: None, or two numbers. `learned`: None, or predictions to choose from. `numbers`: options of the table;
    missing ones are 0. All can be read as attributes.
    """

    cdef stz_options values
    cdef readonly Learned learned

    def __init__(self, int mode, double bound, fill=None, *, layer_bounds=(), valid_range=None, Learned learned=None, **numbers):
        cdef int index
        self.learned = learned
        memset(&self.values, 0, sizeof(stz_options))
        self.values.struct_size = sizeof(stz_options)
        self.values.mode = mode
        self.values.bound = bound
        self.values.has_fill = fill is not None
        self.values.fill = 0 if fill is None else fill
        if learned is not None:
            self.values.learned = learned.memory
        if len(layer_bounds) >= MAX_LAYERS:
            raise StzError(f"there are {len(layer_bounds)} layer bounds: at most {MAX_LAYERS - 1} are possible", STZ_ERROR_OPTION)
        for index in range(len(layer_bounds)):
            self.values.layer_bounds[index] = layer_bounds[index]
        if valid_range is not None:
            self.values.valid_range[0], self.values.valid_range[1] = valid_range
        for name, number in numbers.items():
            if name not in ROW_OF:
                raise TypeError(f"{name} is not an option")
            self.number(ROW_OF[name])[0] = number

    cdef int32_t* number(self, int row) noexcept:
        return <int32_t*>(<char*>&self.values + stz_option_table[row].at)

    @property
    def mode(self):
        return self.values.mode

    @property
    def bound(self):
        return self.values.bound

    @property
    def fill(self):
        return self.values.fill if self.values.has_fill else None

    @property
    def layer_bounds(self):
        return tuple([self.values.layer_bounds[index] for index in range(STZ_MAX_LAYERS - 1) if self.values.layer_bounds[index] != 0])

    @property
    def valid_range(self):
        low, high = self.values.valid_range[0], self.values.valid_range[1]
        return (low, high) if low != 0 or high != 0 else None

    def __getattr__(self, name):
        row = ROW_OF.get(name)
        if row is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.number(row)[0]

    def fields(self):
        """All options as a dict: Options(**fields) makes an equal object."""
        numbers = {name: self.number(row)[0] for name, row in ROW_OF.items()}
        return {
            "mode": self.mode, "bound": self.bound, "fill": self.fill, "layer_bounds": self.layer_bounds, "valid_range": self.valid_range,
            "learned": self.learned, **numbers,
        }

    def replace(self, **changes):
        """A copy with some options changed."""
        return type(self)(**{**self.fields(), **changes})

    def __eq__(self, other):
        return type(self) is type(other) and self.fields() == other.fields()

    def __hash__(self):
        return hash(tuple(self.fields().values()))

    def __reduce__(self):
        return _restored, (type(self), self.fields())

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.fields().items() if value)})"

    def pack(self):
        """The client data (tuple of ints) in the short form of docs/cd_values.md."""
        return self.packed(NULL)

    def pack_full(self, int dtype, int byte_order, tuple shape):
        """The client data in the full form, for chunks of this type and shape."""
        cdef stz_layout layout
        fill_layout(&layout, dtype, byte_order, shape)
        return self.packed(&layout)

    cdef tuple packed(self, const stz_layout* layout):
        words = pack_words(&self.values, layout)
        return words if self.learned is None else with_learned(words, self.learned.memory)

    def text(self, int dtype):
        """The options as text. `dtype`: 0 if unknown."""
        cdef char text[1024]
        cdef char message[1024]
        cdef size_t length = 0
        cdef int code = stz_options_print_text(&self.values, dtype, text, sizeof(text), &length, message, sizeof(message))
        if code != STZ_OK:
            raise StzError((<bytes>message).decode(), code)
        return (<bytes>text).decode()


def _restored(kind, fields):
    return kind(**fields)


cdef pack_words(const stz_options* options, const stz_layout* layout):
    cdef unsigned int words[STZ_CD_MAX_WORDS]
    cdef char message[1024]
    cdef size_t index, count = 0
    cdef int code = stz_cd_values_pack(options, layout, words, STZ_CD_MAX_WORDS, &count, message, sizeof(message))
    if code != STZ_OK:
        raise StzError((<bytes>message).decode(), code)
    return tuple([words[index] for index in range(count)])


def parse_text(str text, int dtype):
    """Parses text to (Options.fields(), dtype). `dtype`: the type if known, else 0; the result is 0 if the text has none either."""
    cdef Options options = Options(0, 0)
    cdef char message[1024]
    cdef int32_t code_of_dtype = dtype
    cdef bytes encoded = text.encode()
    if b"\0" in encoded:
        raise StzError("options cannot contain the character 0", STZ_ERROR_ARGUMENT)
    cdef int code = stz_options_parse_text(encoded, &code_of_dtype, &options.values, message, sizeof(message))
    if code != STZ_OK:
        raise StzError((<bytes>message).decode(errors="replace"), code)
    return options.fields(), code_of_dtype


def parse(words):
    """Parses client data (a sequence of ints, any form) to Options.fields(). The full forms add dtype, byte_order and shape."""
    cdef Options options = Options(0, 0)
    cdef stz_layout layout
    cdef char message[1024]
    cdef size_t index
    cdef unsigned int values[STZ_CD_MAX_WORDS]
    cdef size_t count = copy_words(words, values)
    cdef int code = stz_cd_values_parse(count, values, &options.values, &layout, message, sizeof(message))
    if code != STZ_OK:
        raise StzError((<bytes>message).decode(), code)
    result = options.fields()
    result["learned"] = Learned.of_words(words)
    if layout.rank >= 0:
        result["dtype"] = layout.dtype
        result["byte_order"] = layout.byte_order
        result["shape"] = tuple([layout.shape[index] for index in range(<size_t>layout.rank)])
    return result


def without_learned(words):
    """The same client data without predictions."""
    meaning = parse(words)
    layout = [meaning.pop(name, None) for name in ("dtype", "byte_order", "shape")]
    options = Options(**{**meaning, "learned": None})
    return options.pack() if layout[2] is None else options.pack_full(*layout)
