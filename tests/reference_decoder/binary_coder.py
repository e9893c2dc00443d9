"""Binary coder: adaptive bits, raw bits, numbers and signed numbers."""

from reference_decoder.conventions import clamp, require


class BitModel:
    """The adaptive probability of one bit."""

    def __init__(self):
        self.p, self.seen = 32768, 0

    @property
    def one(self):
        """What the coder takes for the probability."""
        return clamp(self.p, 64, 65472)

    def begin_as(self, general):
        """Takes over what a more general model knows, before the first bit."""
        if self.seen == 0:
            self.p, self.seen = general.p, min(2, general.seen)

    def update(self, bit):
        """Learns from a bit."""
        rate = 131072 // (2 * self.seen + 3)
        self.p += ((65535 if bit else 0) - self.p) * rate >> 16
        self.seen = min(30, self.seen + 1)


class Models(dict):
    """Models that are made when they are first asked for."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def __missing__(self, key):
        return self.setdefault(key, self.kind())


class NumberModel:
    """The models of a number."""

    def __init__(self):
        self.exponent, self.mantissa = Models(BitModel), Models(BitModel)


class SignedModel:
    """The models of a signed number."""

    def __init__(self):
        self.magnitude, self.sign = NumberModel(), BitModel()


def most_decisions(size):
    """The most bits with a model that so many bytes can hold."""
    return 8192 * (size + 8)


class BinaryDecoder:
    """The adaptive binary coder."""

    def __init__(self, data):
        self.data, self.at = data, 0
        self.range, self.code = 2**32 - 1, 0
        for _ in range(4):
            self._next_byte()

    def _next_byte(self):
        require(self.at < len(self.data) + 4, "truncated binary coder")
        byte = self.data[self.at] if self.at < len(self.data) else 0
        self.at += 1
        self.code = (self.code << 8 | byte) & 0xFFFFFFFF

    def _normalise(self):
        while self.range < 1 << 24:
            self.range <<= 8
            self._next_byte()

    def bit(self, model):
        """A bit with a model."""
        bound = (self.range >> 16) * model.one
        bit = int(self.code < bound)
        if bit:
            self.range = bound
        else:
            self.code -= bound
            self.range -= bound
        model.update(bit)
        self._normalise()
        return bit

    def raw(self, count):
        """`count` bits without a model."""
        value = 0
        for _ in range(count):
            self.range >>= 1
            bit = int(self.code >= self.range)
            if bit:
                self.code -= self.range
            value = value << 1 | bit
            self._normalise()
        return value

    def plain(self, count):
        """`count` bits without a model, up to 16 in a step."""
        value = 0
        while count:
            piece = min(16, count)
            count -= piece
            self.range >>= piece
            part = min(self.code // self.range, 2**piece - 1)
            self.code -= part * self.range
            value = value << piece | part
            self._normalise()
        return value

    def below(self, count):
        """A number below `count`, all equally likely."""
        self.range //= count
        value = min(self.code // self.range, count - 1)
        self.code -= value * self.range
        self._normalise()
        return value

    def number(self, model):
        """A number from 0 up."""
        e = 0
        while self.bit(model.exponent[e]):
            e += 1
            require(e < 63, "exponent")
        if e == 0:
            return 0
        high = self.bit(model.mantissa[e])
        return 2**e + high * 2 ** (e - 1) + self.raw(e - 1) - 1

    def signed(self, model):
        """A number of either sign."""
        value = self.number(model.magnitude)
        return -value if value and self.bit(model.sign) else value
