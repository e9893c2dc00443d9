"""Streams with another number of lanes: what a stream codes, written again by an encoder of code streams of its own.

The second decoder reads the stream and says what it took from each code stream and from the parameters of each level.
"""

from unittest.mock import patch

import numpy as np

from reference_decoder import check, read_header, refinements, sections
from reference_decoder.binary_coder import BinaryDecoder, NumberModel
from reference_decoder.code_stream import CodeStream
from support.patched_streams import without_trailer
from support.stream_bytes import varint, with_crc
from support.stream_writer import BinaryEncoder, code_stream


class RecordedStream(CodeStream):
    """A code stream that keeps what is taken from it: (number of the token, symbol, table), and the raw bits."""

    def __init__(self, data, bits):
        super().__init__(data, bits)
        self.symbols, self.raw_value, self.raw_size = [], 0, 0

    def raw(self, count):
        """Raw bits from the back."""
        value = super().raw(count)
        self.raw_value |= value << self.raw_size
        self.raw_size += count
        return value

    def symbol(self, table, number):
        """The symbol that is the bin's token `number`."""
        symbol = super().symbol(table, number)
        self.symbols.append((number, symbol, table))
        return symbol

    def written(self, log_lanes, final_state, lanes_byte):
        """The same with 2**log_lanes lanes: symbols are coded from the last to the first. `final_state`: (lane, its state)."""
        return code_stream(self.symbols, self.raw_value, self.raw_size, log_lanes, final_state, lanes_byte)


class RecordedCoder(BinaryDecoder):
    """A binary coder that keeps what is taken from it: (model, bit), or (number of raw bits, value)."""

    def __init__(self, data):
        super().__init__(data)
        self.taken = []

    def bit(self, model):
        """A bit with a model."""
        bit = super().bit(model)
        self.taken.append((model, bit))
        return bit

    def raw(self, count):
        """`count` bits without a model."""
        value = super().raw(count)
        self.taken.append((count, value))
        return value

    def written(self, models):
        """An encoder that has written all of it. `models`: those of the encoder by those of the decoder, some of which live
        from section to section."""
        encoder = BinaryEncoder()
        for model, value in self.taken:
            if isinstance(model, int):
                encoder.raw(value, model)
            else:
                encoder.bit(models.setdefault(model, type(model)()), value)
        return encoder


class Rewriter(sections.Sections):
    """Decodes the sections of a stream; `written` gets each of them with other lanes, in the order of the stream."""

    def __init__(self, header, data, *lanes):
        self.lanes, self.opened, self.models = lanes, {}, {}
        self.indexes, self.streams, self.of_levels = [], [], []
        with (
            patch.object(sections, "BinaryDecoder", RecordedCoder),
            patch.object(sections, "CodeStream", self._open),
            patch.object(refinements, "CodeStream", self._open),
        ):
            super().__init__(header, data, len(header.layers.added))
        of_refinements = {place: section for level in self.of_levels for place, section in level[1:]}
        self.written = [data[: header.section_sizes[0]]]
        self.written += [level[0][1] for level in self.of_levels] + [of_refinements[place] for place in header.refined_sizes]

    def _open(self, data, bits):
        self.opened[id(data)] = RecordedStream(data, bits)
        return self.opened[id(data)]

    def _index(self, coder, names, *arguments):
        self.indexes.append((coder.written(self.models), [NumberModel() for _ in names]))
        return super()._index(coder, names, *arguments)

    def _streams(self, reader, sizes, covered):
        self.streams.append(list(super()._streams(reader, sizes, covered)))
        return iter(self.streams[-1])

    def _level_section(self, number, section):
        for known in (self.opened, self.indexes, self.streams):
            known.clear()
        items = super()._level_section(number, section)
        places = [None, *sorted(place for place in self.refined_sections if place[1] == number)]
        found = zip(self.indexes, self.streams, strict=True)
        self.of_levels.append([(place, self._section(*of)) for place, of in zip(places, found, strict=True)])
        return items

    def _section(self, index, streams):
        """A section with other lanes; streams that are no code streams stay as they are."""
        parameters, models = index
        streams = [self.opened[id(data)].written(*self.lanes) if data and id(data) in self.opened else data for data in streams]
        for place, data in enumerate(streams):
            parameters.number(models[place % len(models)], len(data))
        coded = parameters.finish()
        front, content = varint(len(coded)) + coded, b"".join(streams)
        if len(content) <= 4096:
            return front + check(front + content) + content
        return front + check(front) + b"".join(data + check(data) for data in streams if data)


def relaned(stream, log_lanes, final_state=None, lanes_byte=None):
    """The stream, which must be of the form blocks, with 2**log_lanes lanes in all of its code streams.

    `final_state` is a lane and the state that it ends at, if not 2**15 as the format has it; `lanes_byte` is the byte that says
    how many lanes there are, if not that of their number.
    """
    header = read_header(stream)
    stream, trailer = without_trailer(stream), stream[len(stream) - header.trailer_size :]
    palette, data = stream[header.size :][: header.palette_size], stream[header.size + header.palette_size :]
    with np.errstate(all="ignore"):
        written = Rewriter(header, data, log_lanes, final_state, lanes_byte).written
    of_remainders = b"".join(map(varint, header.remainder_sizes))
    sizes = b"".join(map(varint, [*header.section_sizes, *header.refined_sizes.values()])) + of_remainders
    front = stream[: header.size - 4 - len(sizes)] + b"".join(varint(len(section)) for section in written) + of_remainders
    remainders = stream[len(stream) - sum(header.remainder_sizes) :]
    return with_crc(front) + palette + b"".join(written) + remainders + trailer
