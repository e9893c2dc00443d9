"""Streams with another number of lanes: what a stream codes, written again by an encoder of code streams of its own.

The second decoder reads the stream and says what it took from each code stream and from the parameters of each level.
"""

from unittest.mock import patch

import numpy as np

from reference_decoder import check, read_header, sections
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

    def written(self):
        """An encoder that has written all of it."""
        encoder, models = BinaryEncoder(), {}
        for model, value in self.taken:
            if isinstance(model, int):
                encoder.raw(value, model)
            else:
                encoder.bit(models.setdefault(id(model), type(model)()), value)
        return encoder


class Rewriter(sections.Sections):
    """Decodes the sections of a stream; `written` gets each of them with other lanes."""

    def __init__(self, header, data, *lanes):
        self.lanes, self.code_streams = lanes, []
        self.written = [data[: header.section_sizes[0]]]
        with patch.object(sections, "BinaryDecoder", RecordedCoder), patch.object(sections, "CodeStream", self._open):
            super().__init__(header, data)

    def _open(self, data, bits):
        self.code_streams.append(RecordedStream(data, bits))
        return self.code_streams[-1]

    def _index(self, coder, merged, class_count, block_count):
        self.parameters = coder.written()
        masks = [NumberModel()] if self.header.masked else []
        self.size_models = masks + [NumberModel() for _ in range(1 if merged else class_count)]
        return super()._index(coder, merged, class_count, block_count)

    def _streams(self, reader, sizes, covered):
        self.streams = list(super()._streams(reader, sizes, covered))
        return iter(self.streams)

    def _level_section(self, number, section):
        self.code_streams.clear()
        items = super()._level_section(number, section)
        code_streams = iter(self.code_streams)
        streams = []
        for place, data in enumerate(self.streams):
            is_mask = self.header.masked and place % len(self.size_models) == 0
            as_it_was = is_mask or not data or not self.code_streams  # in edge mode a level has none of these
            streams.append(data if as_it_was else next(code_streams).written(*self.lanes))
            self.parameters.number(self.size_models[place % len(self.size_models)], len(streams[-1]))
        coded = self.parameters.finish()
        front, content = varint(len(coded)) + coded, b"".join(streams)
        if len(content) <= 4096:
            self.written.append(front + check(front + content) + content)
        else:
            checked = [data + check(data) for data in streams if data]
            self.written.append(front + check(front) + b"".join(checked))
        return items


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
    sizes = b"".join(map(varint, header.section_sizes))
    front = stream[: header.size - 4 - len(sizes)] + b"".join(varint(len(section)) for section in written)
    return with_crc(front) + palette + b"".join(written) + trailer
