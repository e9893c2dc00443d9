"""Precision layers: how codes are joined from their pieces."""

from dataclasses import dataclass

import numpy as np

from reference_decoder.code_stream import CodeStream
from reference_decoder.contexts import MASKED_CONTEXT, activities, contexts
from reference_decoder.conventions import require
from reference_decoder.quantizers import Codes, largest_code

LARGEST_MEAN = 329
PIECE = 8  # bits of a field
SMALL = 7  # added bits: codes that were 0 are at most 127 then


def refined_mean(before, added_bits, of_zeros):
    """The mean of codes with a refinement."""
    return max(min(before + 4 * added_bits, LARGEST_MEAN) if before else 0, of_zeros)


def append(codes, nonzero, fields, width, bits):
    """Fields of lower bits for the codes at `nonzero`; outliers stay as they are."""
    places = nonzero & ~codes.outlier
    size = np.abs(codes.code)
    require(not (size[places] > largest_code(bits) >> width).any(), "a code with the bits of a refinement")
    joined = np.sign(codes.code) * (size << width | fields)
    codes.code[places] = joined[places]


class BlockRefinement:
    """One refinement of a block of a level: its streams and its activities."""

    def __init__(self, refined, block, activity_arrays, bits):
        """`refined`: the LevelRefinement; `activity_arrays`: of the level, with class 0 only."""
        self.refined, self.block, self.bits = refined, block, bits
        self.activity_arrays = dict(activity_arrays)
        self.stream = None

    def open(self):
        """The next stream of the block."""
        data = next(self.refined.streams)
        self.stream = CodeStream(data, self.bits) if data else None

    def refine(self, cls, codes, masked, mean):
        """Adds its bits to the codes of a class; returns their mean. `mean`: of the codes so far."""
        parameters, added_bits = self.refined.parameters[cls], self.refined.added_bits
        nonzero = (codes.code != 0) | codes.outlier
        added = Codes(codes.code.shape)
        if self.stream and parameters.mean and nonzero.size:
            context = contexts(self.block, self.activity_arrays, cls)
            context[masked | nonzero] = MASKED_CONTEXT
            added = self.stream.read_class(context, parameters.models)
        require(not added.outlier.any(), "an outlier in a refinement")
        require(added_bits > SMALL or not (np.abs(added.code) > 127).any(), "a code of a refinement")
        for start in range(0, added_bits, PIECE):
            width = min(PIECE, added_bits - start)
            fields = np.zeros(codes.code.shape, np.int64)
            if self.stream:
                fields[nonzero] = [self.stream.raw(width) for _ in range(np.count_nonzero(nonzero))]
            append(codes, nonzero, fields, width, self.bits)
        codes.code += added.code
        mean = refined_mean(mean, added_bits, parameters.mean)
        self.activity_arrays[cls] = self.block.new(np.uint8)
        class_activities = activities(codes, mean, self.bits)
        class_activities[masked] = 16
        self.block.view(self.activity_arrays[cls], cls)[...] = class_activities
        self.block.repeat_halo(self.activity_arrays[cls], cls)
        return mean


def complete(codes, missing, bits):
    """Codes whose lowest bits are unknown become the middle of what they may be; those that are 0 stay 0."""
    if missing:
        append(codes, codes.code != 0, 1 << (missing - 1), missing, bits)


@dataclass
class LevelRefinement:
    """The section of a refinement of a level: bits that it adds, parameters by class, an iterator over its streams."""

    added_bits: int
    parameters: dict
    streams: object
