"""Base section and level sections: from their bytes to the samples of every level."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from reference_decoder.binary_coder import BinaryDecoder, BitModel, NumberModel, SignedModel, most_decisions
from reference_decoder.blocks import Block
from reference_decoder.code_stream import CodeStream
from reference_decoder.contexts import MASKED_CONTEXT, activities, contexts, mean_index
from reference_decoder.conventions import AXES, ZERO, Reader, check, floor_log2, ranges, require, require_version
from reference_decoder.edges import EdgeBlock
from reference_decoder.feedback import feedback_sums
from reference_decoder.header import ULP
from reference_decoder.masks import LITERAL, VALID, MaskModels, ScatteredMask, fill_box, fill_class, read_regions, read_special
from reference_decoder.parameters import ParameterModels, Parameters, ParameterState
from reference_decoder.prediction import predict
from reference_decoder.quantizers import Codes, largest_code, reconstruct
from reference_decoder.refinements import BlockRefinement, LevelRefinement, complete, refined_mean

EDGES = 2  # an arrangement of streams
MASK, MERGED = "mask", "merged"  # names of streams of a block; those of classes are their masks


@dataclass
class Item:
    """The grids of one item at one level: samples, activities, special values."""

    samples: np.ndarray
    specials: np.ndarray
    activities: np.ndarray | None = None


class BaseCodes:
    """The coder of the base section with all that it remembers."""

    def __init__(self, data, header):
        self.coder, self.header = BinaryDecoder(data), header
        self.outlier, self.signed = BitModel(), [SignedModel() for _ in range(16)]
        self.masks = MaskModels()
        self.s0 = self.s1 = 0
        self.kind = VALID

    def read_into(self, codes, index):
        """Reads the code of one sample."""
        size = 0
        if self.coder.bit(self.outlier):
            codes.outlier[index], codes.bits[index] = True, self.coder.raw(self.header.bits)
        else:
            code = self.coder.signed(self.signed[min(15, floor_log2(2 * (self.s0 + self.s1) + 1))])
            require(abs(code) <= largest_code(self.header.bits), "code")
            codes.code[index] = code
            size = code if code >= 0 else -code - 1
        self.s0, self.s1 = min(2**20, size), self.s0


def take_section_check(reader):
    """Takes the check of a level's section from behind its index, and verifies it. Returns whether it covers the streams."""
    section, index_end = reader.data, reader.at
    covered = len(section) - index_end <= 4096 + 4
    width = len(check(section[:index_end])) if not covered else 2 if len(section) < 258 else 4
    stored = reader.take(width)
    content = section[:index_end] + (section[reader.at :] if covered else b"")
    require(len(check(content)) == width, "size of a section")
    require(check(content) == stored, "checksum of a section")
    return covered


class Sections:
    """Decodes the sections of a stream, from the base level to level 0; of its refinements the first `taken`."""

    def __init__(self, header, data, taken):
        self.header, self.taken = header, taken
        self.literal_bits = {}
        reader = Reader(data)
        sections = [reader.take(size) for size in header.section_sizes]
        self.refined_sections = {place: reader.take(size) for place, size in header.refined_sizes.items()}
        self.remainders = [reader.take(size) for size in header.remainder_sizes]
        require(reader.at == len(data), "bytes are left over")
        self.items = self._base_section(sections[0])
        for number, section in zip(reversed(range(header.base_level)), sections[1:], strict=True):
            self.items = self._level_section(number, section)

    # Base section

    def _base_section(self, section):
        header = self.header
        width = 2 if len(section) < 258 else 4
        require(len(section) >= width and check(section[:-width]) == section[-width:], "checksum of the base section")
        coded = section[:-width]
        root_samples = math.prod(header.levels[header.base_level].extent) * header.batch
        require(root_samples <= most_decisions(len(coded)), "more samples than the base section can hold")
        state = BaseCodes(coded, header)
        items, all_codes = [], []
        for number in range(header.batch):
            item = self._coarsest_level(state, number)
            codes = Codes(item.samples.shape)
            for level in range(len(header.levels) - 2, header.base_level - 1, -1):
                item, codes = self._level_of_base_section(state, number, level, item, codes)
            items.append(item)
            all_codes.append(codes)
        total = sum(min(abs(int(code)), 2**40) for codes in all_codes for code in codes.code[~codes.outlier])
        mean = mean_index(total, sum(int(np.sum(~codes.outlier)) for codes in all_codes))
        for item, codes in zip(items, all_codes, strict=True):
            item.activities = activities(codes, mean, header.bits)
            item.activities[item.specials != VALID] = 16
        self.state = ParameterState(mean, len(header.layers.added))
        return items

    def _coarsest_level(self, state, number):
        header, level = self.header, len(self.header.levels) - 1
        extent = header.levels[level].extent
        item = Item(np.zeros(extent, header.sample), np.zeros(extent, np.uint8))
        before = header.real(0)
        for index in np.ndindex(*extent):
            if header.masked:
                model = state.masks.coarsest[state.kind != VALID]
                state.kind, own_bits = read_special(state.coder, state.masks, model, state.kind, header)
                if state.kind == LITERAL:
                    self._keep(own_bits, number, level, index)
                item.specials[index] = state.kind
            code = Codes(())
            if not state.kind:
                state.read_into(code, ())
            item.samples[index] = reconstruct(header, level, before, code)
            before = header.real(item.samples[index])
        return item

    def _level_of_base_section(self, state, number, level_number, coarser, coarser_codes):
        """A level of the base section as one block; also the codes of all its samples."""
        header, level = self.header, self.header.levels[level_number]
        block = Block(level, ZERO, level.extent)
        samples = {0: block.load(coarser.samples)}
        specials = {0: block.load(coarser.specials, repeat=True)}
        self._masks(state.coder if header.masked else None, state.masks, block, specials, number, level_number)
        all_codes = Codes(level.extent)
        for name in ("code", "outlier", "bits"):
            getattr(all_codes, name)[block.places(0)] = getattr(coarser_codes, name)
        for cls in level.classes:
            masked = block.view(specials[cls], cls) != VALID
            codes = Codes(masked.shape)
            for index in np.ndindex(*masked.shape):
                if not masked[index]:
                    state.read_into(codes, index)
            self._finish_class(block, samples, specials, cls, level_number, Parameters(), codes)
            for name in ("code", "outlier", "bits"):
                getattr(all_codes, name)[block.places(cls)] = getattr(codes, name)
        item = Item(np.zeros(level.extent, header.sample), np.zeros(level.extent, np.uint8))
        block.store(samples, item.samples)
        block.store(specials, item.specials)
        fill_box(item.samples, item.specials, header.real)
        return item, all_codes

    def _finish_class(self, block, samples, specials, cls, level_number, parameters, codes):
        """Prediction, reconstruction, filling and halo of a class of which the codes are known."""
        samples[cls] = block.new(self.header.sample)
        if codes.code.size:
            prediction = predict(block, samples, cls, parameters, self.header.real)
            if parameters.feedback:
                prediction = prediction + feedback_sums(self.header, level_number, parameters.feedback, codes)
            block.view(samples[cls], cls)[...] = reconstruct(self.header, level_number, prediction, codes)
            if block.view(specials[cls], cls).any():
                fill_class(block, samples, specials, cls, self.header.real)
        block.fill_halo(samples, cls, self.header.real)

    # Masks of a block

    def _keep(self, element_bits, item, level_number, index):
        """A literal's own bits, by its place (item, index at level 0)."""
        strides = [2 ** sum(level.split[axis] for level in self.header.levels[:level_number]) for axis in AXES]
        self.literal_bits[(item, *(index[axis] * strides[axis] for axis in AXES))] = element_bits

    def _masks(self, coder, models, block, specials, item, level_number):
        """The kinds of all classes of a block; none is masked without a coder. `models`: of the base section, or None."""
        scattered = None
        if coder and models is None:
            if coder.bit(BitModel()):
                scattered = ScatteredMask(coder, self.header)
            block_models = MaskModels()
        for cls in block.level.classes:
            specials[cls] = block.new(np.uint8)
            if coder is None:
                continue
            if scattered:
                literals = scattered.read(block, specials, cls)
            elif models is None:
                literals = read_regions(coder, block_models, block, specials, cls, self.header, with_rows=True)
            else:
                literals = read_regions(coder, models, block, specials, cls, self.header, with_rows=False)
            places = block.places(cls)
            for at, own_bits in literals:
                index = [places[axis].start + at[axis] * places[axis].step for axis in AXES]
                self._keep(own_bits, item, level_number, index)
            block.repeat_halo(specials[cls], cls)

    # Level section

    def _level_section(self, number, section):
        header, level, extent = self.header, self.header.levels[number], self.header.blocks[number]
        reader = Reader(section)
        coded = reader.take(reader.varint())
        covered = take_section_check(reader)
        coder = BinaryDecoder(coded)
        arrangement = coder.number(NumberModel())
        require_version(arrangement < 3, "arrangement of streams")
        require(arrangement != EDGES or not header.layers.unknown_bits(number, 0), "layers in edge mode")
        merged, parameters, models = arrangement > 0, None, ParameterModels()
        if arrangement < EDGES:
            active, with_feedback = level.active, header.quantizer != ULP
            parameters = {cls: self.state.read(coder, models, cls, active, header.bits, with_feedback) for cls in level.classes}
        corners = list(itertools.product(*[range(0, level.extent[axis], extent[axis]) for axis in AXES]))
        block_count = header.batch * len(corners)
        require(block_count <= 2**40, "blocks")
        names = ([MASK] if header.masked else []) + ([MERGED] if merged else level.classes)
        streams = self._streams(reader, self._index(coder, names, block_count, len(section)), covered)
        refinements = [
            self._refinement(refinement, number, names[header.masked :], block_count, parameters)
            for refinement in range(self.taken)
            if (refinement, number) in self.refined_sections
        ]
        items = []
        for item_number, coarser in enumerate(self.items):
            item = Item(*[np.zeros(level.extent, dtype) for dtype in (header.sample, np.uint8, np.uint8)])
            for low in corners:
                box = [min(extent[axis], level.extent[axis] - low[axis]) for axis in AXES]
                block = Block(level, low, box)
                self._block(number, item_number, block, coarser, item, parameters, streams, merged, refinements)
            items.append(item)
        return items

    def _refinement(self, refinement, number, names, block_count, of_level):
        """The section of a refinement of level `number`, whose blocks have streams with these names; its own section has the
        parameters `of_level`."""
        header, section = self.header, self.refined_sections[refinement, number]
        reader = Reader(section)
        coder = BinaryDecoder(reader.take(reader.varint()))
        covered = take_section_check(reader)
        layers, state = header.layers, self.state.refined[refinement]
        added_bits = layers.added[refinement][number]
        so_far = layers.unknown_bits(number, 0) - layers.unknown_bits(number, refinement + 1)
        parameters = {}
        for cls in header.levels[number].classes:
            expected_mean = refined_mean(of_level[cls].mean, so_far, 0)
            parameters[cls] = state.read(coder, expected_mean, added_bits, header.bits)
        streams = self._streams(reader, self._index(coder, names, block_count, len(section)), covered)
        return LevelRefinement(added_bits, parameters, streams)

    def _index(self, coder, names, block_count, section_size):
        """The sizes of all streams in order; `names`: which ones a block has."""
        require(block_count * len(names) <= max(2**22, 256 * section_size), "an index out of proportion")
        require(block_count * len(names) <= most_decisions(len(coder.data)), "more sizes than the index can hold")
        models = [NumberModel() for _ in names]
        return [coder.number(model) for _ in range(block_count) for model in models]

    def _streams(self, reader, sizes, covered):
        """An iterator over the streams, checked."""
        require((sum(sizes) <= 4096) == covered, "sizes of streams")
        streams = []
        for size in sizes:
            streams.append(reader.take(size))
            if size and not covered:
                stored = check(streams[-1])
                require(reader.take(len(stored)) == stored, "checksum of a stream")
        require(reader.at == len(reader.data), "bytes are left over in a section")
        return iter(streams)

    def _block(self, level_number, item_number, block, coarser, item, parameters, streams, merged, refinements):
        """Decodes a block into the grids of `item`."""
        header = self.header
        samples = {0: block.load(coarser.samples)}
        activity_arrays = {0: block.load(coarser.activities, repeat=True)}
        specials = {0: block.load(coarser.specials, repeat=True)}
        mask_stream = next(streams) if header.masked else b""
        coder = BinaryDecoder(mask_stream) if mask_stream else None
        self._masks(coder, None, block, specials, item_number, level_number)
        data = next(streams) if merged else b""
        if parameters is None:
            EdgeBlock(header, level_number, block, data).decode(samples, activity_arrays, specials)
            self._store(level_number, block, item, samples, specials, activity_arrays)
            return
        stream = CodeStream(data, header.bits) if data else None
        refined = [BlockRefinement(refinement, block, activity_arrays, header.bits) for refinement in refinements]
        missing = header.layers.unknown_bits(level_number, self.taken)
        for one in refined if merged else []:
            one.open()
        for cls in block.level.classes:
            if not merged:
                data = next(streams)
                stream = CodeStream(data, header.bits) if data else None
            masked = block.view(specials[cls], cls) != VALID
            codes = Codes(masked.shape)
            if stream and parameters[cls].mean and masked.size:
                context = contexts(block, activity_arrays, cls)
                context[masked] = MASKED_CONTEXT
                codes = stream.read_class(context, parameters[cls].models)
            if stream and not merged:
                stream.finish()
            activity_arrays[cls] = block.new(np.uint8)
            class_activities = activities(codes, parameters[cls].mean, header.bits)
            block.view(activity_arrays[cls], cls)[...] = np.where(masked, 16, class_activities)
            block.repeat_halo(activity_arrays[cls], cls)
            mean = parameters[cls].mean
            for one in refined:
                if not merged:
                    one.open()
                mean = one.refine(cls, codes, masked, mean)
                if one.stream and not merged:
                    one.stream.finish()
            complete(codes, missing, header.bits)
            self._finish_class(block, samples, specials, cls, level_number, parameters[cls], codes)
        for one in [stream] + [one.stream for one in refined] if merged else []:
            if one:
                one.finish()
        self._store(level_number, block, item, samples, specials, activity_arrays)

    def _store(self, level_number, block, item, samples, specials, activity_arrays):
        """Copies a block into the grids of `item`, and fills masked samples there."""
        block.store(samples, item.samples)
        block.store(specials, item.specials)
        block.store(activity_arrays, item.activities)
        if level_number > 0:
            box = ranges(block.low, [block.low[axis] + block.extent[axis] for axis in AXES])
            fill_box(item.samples[box], item.specials[box], self.header.real)
