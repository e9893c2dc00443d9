"""Edge mode: the classes of a block sample by sample, each one of several candidates or a code."""

import numpy as np

from reference_decoder.binary_coder import BinaryDecoder, BitModel, Models
from reference_decoder.conventions import AXES, axes_of, clamp, require
from reference_decoder.masks import VALID, fill_class
from reference_decoder.parameters import Parameters
from reference_decoder.prediction import predict
from reference_decoder.quantizers import Codes, largest_code, reconstruct, rounded, ulp_index

UNIFORM, INTEGER, ULP = range(3)
LINEAR_ACTIVITY, OTHER_ACTIVITY, CODE_ACTIVITY, MASKED_ACTIVITY = 0, 16, 64, 16


class EdgeBit:
    """The adaptive probability of a decision, in 2^-22."""

    def __init__(self):
        self.p, self.seen = 2**21, 0

    @property
    def one(self):
        """What the coder takes for the probability, of 16 bits."""
        return clamp(self.p >> 6, 16, 65520)

    def begin_as(self, general):
        """Takes over what a more general model knows, before the first decision."""
        if self.seen == 0:
            self.p, self.seen = general.p, min(2, general.seen)

    def update(self, bit):
        """Learns from a decision."""
        rate = 131072 // (2 * self.seen + 3)
        self.p += ((2**22 - 1 if bit else 0) - self.p) * rate >> 16
        self.seen = min(60, self.seen + 1)


class EdgeModels:
    """What the coder of a block remembers."""

    def __init__(self):
        self.decisions, self.general = Models(EdgeBit), Models(EdgeBit)
        self.outlier, self.sign = BitModel(), BitModel()
        self.exponent, self.mantissa = Models(BitModel), Models(BitModel)
        self.e0 = self.e1 = 0
        self.trust = [0] * 12


class EdgeBlock:
    """Decodes the classes of a block; class 0 of all arrays, and the special values of all classes, are there."""

    def __init__(self, header, level_number, block, data):
        self.header, self.level_number, self.block = header, level_number, block
        self.coder, self.models = BinaryDecoder(data), EdgeModels()
        self.real, self.step = header.real, header.real(0)
        if header.quantizer == UNIFORM:
            self.step = header.real(2 * header.level_bounds[level_number])

    def decode(self, samples, activities, specials):
        """All classes with their halos."""
        for cls in self.block.level.classes:
            samples[cls], activities[cls] = self.block.new(self.header.sample), self.block.new(np.uint8)
            if min(self.block.class_extent(cls)) > 0:
                EdgeClass(self, cls, samples, activities, specials).decode()
                if self.block.view(specials[cls], cls).any():
                    fill_class(self.block, samples, specials, cls, self.real)
            self.block.fill_halo(samples, cls, self.real)
            self.block.repeat_halo(activities[cls], cls)

    def sample_of(self, prediction):
        """The sample that a prediction stands for."""
        if self.header.quantizer != UNIFORM:
            return reconstruct(self.header, self.level_number, prediction, Codes(()))[()]
        return rounded(self.header, prediction)[()]

    def distance(self, low, high):
        """0 about the same, 1 not far, 2 far."""
        if self.header.quantizer == UNIFORM:
            same, near, apart = self.step, self.real(8) * self.step, high - low
        elif self.header.quantizer == ULP:
            same, near, apart = 0, 16, (int(ulp_index(high)) - int(ulp_index(low))) % 2**self.header.bits
        elif self.header.sample == np.int64:
            same, near, apart = 0, 16, (int(high) - int(low)) % 2**64
        else:
            same, near, apart = 0, 16, high - low
        return 0 if apart <= same else 1 if apart <= near else 2

    def alike(self, a, b):
        """Whether one candidate serves as well as the other."""
        if self.header.quantizer == UNIFORM:
            return np.abs(a - b) <= self.real(0.25) * self.step
        return a.tobytes() == b.tobytes()

    def number(self):
        """A code."""
        models, node = self.models, 1
        context = min(19, (models.e0 + models.e1 + 1) // 2)
        for _ in range(6):
            node = 2 * node + self.coder.bit(models.exponent[context, node])
        e = node - 64
        models.e0, models.e1 = e, models.e0
        if e == 0:
            return 0
        require(e < 63, "exponent")
        negative, top = self.coder.bit(models.sign), self.coder.bit(models.mantissa[e])
        size = ((2 + top) << (e - 1) | self.coder.plain(e - 1)) - 1
        require(size <= largest_code(self.header.bits), "code")
        return -size if negative else size

    def code(self, prediction):
        """A sample that is none of its candidates."""
        codes = Codes(())
        if self.coder.bit(self.models.outlier):
            codes.outlier[()], codes.bits[()] = True, self.coder.plain(self.header.bits)
        else:
            codes.code[()] = self.number()
        return reconstruct(self.header, self.level_number, prediction, codes)[()]


class EdgeClass:
    """One class of a block."""

    def __init__(self, edges, cls, samples, activities, specials):
        block, self.real = edges.block, edges.real
        self.edges, self.coder, self.models = edges, edges.coder, edges.models
        self.extent = block.class_extent(cls)
        self.values, self.activity = block.view(samples[cls], cls), block.view(activities[cls], cls)
        self.masked = block.view(specials[cls], cls) != VALID
        self.prediction = predict(block, samples, cls, Parameters(), edges.real)
        self.taken = np.zeros(self.extent, int)  # 1 + the candidate
        self.odd = len(axes_of(cls))

        def seen(arrays, distance):
            taps = [[distance * (a == axis) for a in AXES] for axis in axes_of(cls)]
            return [block.tap_view(arrays, cls, tap) for tap in taps]

        self.near = [seen(samples, -1), seen(samples, 1)]
        self.far = [seen(samples, -3), seen(samples, 3)]
        self.active = [view >= OTHER_ACTIVITY for distance in (-1, 1) for view in seen(activities, distance)]
        self.order = list(range(6 + 5 * self.odd))
        self.times = [0] * len(self.order)

    def decode(self):
        """All samples in raster order."""
        for at in np.ndindex(*self.extent):
            if self.masked[at]:
                self.place(at, self.edges.sample_of(self.prediction[at]), 1, MASKED_ACTIVITY)
            else:
                self.sample(at)

    def place(self, at, value, taken, activity):
        """Keeps what a sample is."""
        self.values[at], self.taken[at], self.activity[at] = value, taken, activity

    def surroundings(self, at):
        """The context from the coarser samples."""
        values = [side[k][at] for k in range(self.odd) for side in self.near]
        low = high = values[0]
        for value in values:
            low = value if value < low else low
            high = value if value > high else high
        return 4 * self.edges.distance(low, high) + min(3, sum(int(view[at]) for view in self.active))

    def candidate(self, number, at, rows, left):
        """The value of a candidate, or None."""
        real, sample_of, odd = self.real, self.edges.sample_of, self.odd
        if number == 0:
            return sample_of(self.prediction[at])
        if number < 1 + 2 * odd:
            k, side = divmod(number - 1, 2)
            near = self.near[side][k][at]
            return near if self.edges.header.sample == np.int64 or self.edges.header.quantizer == ULP else sample_of(near)
        if number < 1 + 3 * odd:
            k = number - 1 - 2 * odd
            return sample_of(real(0.5) * (real(self.near[0][k][at]) + real(self.near[1][k][at])))
        if number < 6 + 3 * odd:
            which = number - 1 - 3 * odd
            before = (rows[:1] or [None], [left], rows[1:] or [None], rows[:1] or [None], [left])[which][0]
            if before is None or which < 3:
                return None if before is None else self.values[before]
            return sample_of(self.prediction[at] + (real(self.values[before]) - self.prediction[before]))
        k, side = divmod(number - 6 - 3 * odd, 2)
        near, far = real(self.near[side][k][at]), real(self.far[side][k][at])
        return sample_of(near + (near - far) * real(0.5))

    def sample(self, at):
        """Decodes a sample."""
        rows = [tuple(at[b] - (b == axis) for b in AXES) for axis in (2, 1, 0) if at[axis]][:2]
        left = (*at[:3], at[3] - 1) if at[3] else None
        other = rows[1] if len(rows) > 1 else None
        if len(rows) == 1 and at[3] + 1 < self.extent[3]:
            other = (*rows[0][:3], at[3] + 1)
        taken = [0 if place is None else int(self.taken[place]) for place in (rows[0] if rows else None, left, other)]
        around = self.surroundings(at)
        tried, skipped = [], set()

        def is_this(number):
            if number < 0 or number in skipped:
                return False
            skipped.add(number)
            value = self.candidate(number, at, rows, left)
            if value is None or any(self.edges.alike(known, value) for _, known in tried):
                return False
            rank = len(tried)
            tried.append((number, value))
            relation = tuple(0 if t == 0 else 1 if t == number + 1 else 2 for t in taken[:2]) if rank < 2 else ()
            model = self.models.decisions[min(rank, 5), around, relation, taken[2] == number + 1, number]
            general = self.models.general[min(rank, 5), around // 4, number]
            model.begin_as(general)
            bit = self.coder.bit(model)
            general.update(bit)
            if bit:
                self.place(at, value, number + 1, OTHER_ACTIVITY if number else LINEAR_ACTIVITY)
            return bit

        if is_this(taken[0] - 1) or is_this(taken[1] - 1):
            return
        for place in range(len(self.order)):
            if is_this(self.order[place]):
                self.move_forward(place)
                return
        self.coded(at, around, tried)

    def move_forward(self, place):
        """Candidates that are taken often come first."""
        order, times = self.order, self.times
        times[order[place]] += 1
        while place > 0 and times[order[place - 1]] < times[order[place]]:
            order[place - 1], order[place] = order[place], order[place - 1]
            place -= 1

    def coded(self, at, around, tried):
        """A sample that is none of the candidates."""
        trust = self.models.trust
        linear, first = self.prediction[at], self.real(tried[0][1])
        value = self.edges.code(first if trust[around] > 0 else linear)
        distances = [np.abs(self.real(candidate) - self.real(value)) for _, candidate in tried]
        from_linear = np.abs(linear - self.real(value))
        if distances[0] < from_linear:
            trust[around] = min(15, trust[around] + 1)
        if from_linear < distances[0]:
            trust[around] = max(-15, trust[around] - 1)
        nearest = 0
        for k in range(1, len(tried)):
            if distances[k] < distances[nearest]:
                nearest = k
        self.place(at, value, tried[nearest][0] + 1, CODE_ACTIVITY)
