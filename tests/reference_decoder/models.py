"""Models: the tables of code_tables.inc, and the model that a context has unless told otherwise."""

import re
from pathlib import Path
from typing import NamedTuple

from reference_decoder.conventions import clamp


def read_code_tables():
    """The integers of code_tables.inc: name to list of tables (of scales for default_scale)."""
    path = Path(__file__).resolve().parents[2] / "filter" / "coding" / "code_tables.inc"
    tables = {}
    for name, body in re.findall(r"(\w+)\[\] = \{(.*?)\n?\};", path.read_text(), re.DOTALL):
        rows = re.findall(r"\{\d+, \{(.*?)\}\}", body)
        numbers = [[int(number) for number in row.split(",")] for row in rows or [body]]
        tables[name] = numbers if rows else numbers[0]
    return tables


TABLES = read_code_tables()
EXPECTED = (-24, -18, -16, -13, -10, -8, -5, -2, 0, 2, 5, 8, 10, 13, 16, 18)


class Model(NamedTuple):
    """The model of a context: direct mode (scale, shape), run-length mode (tables of zero runs and of values), or even: fields
    of so many bits."""

    run_length: bool
    scale_or_zero_run: int
    shape_or_value: int
    even_bits: int = 0

    @property
    def shift(self):
        """How many low bits of each code in direct mode are raw."""
        return max(0, 1 + (self.scale_or_zero_run - 36) // 4)


def default_model(mean, context):
    """The model of a context before deviations."""
    t = mean - 49 + EXPECTED[context]
    if t < 16:
        return Model(True, clamp(20 - t, 0, 47), 8)
    scales = TABLES["default_scale"]
    scale = scales[t] if t < len(scales) else scales[-1] + t - len(scales) + 1
    return Model(False, min(279, scale), 0)


RUN_LENGTH, LAPLACE, GAUSS, EVEN = range(4)  # kinds of defaults in refinements


def default_refined_model(expected_mean, mean, added_bits, context):
    """The model of a context in a refinement before deviations, and the kind of this default."""
    t = (max(expected_mean, mean) + mean) // 2 - 49 + EXPECTED[context]
    above = t - 4 * added_bits
    if 2 <= added_bits <= 7 and above >= (39 if added_bits == 2 else 33):
        return Model(False, 0, 0, added_bits + 1), EVEN
    if t < 16:
        return Model(True, clamp(20 - t, 0, 47), min(8, 4 * (added_bits - 1))), RUN_LENGTH
    if added_bits == 1 and t >= 19:
        return Model(False, min(20, 9 + t // 3), 1), GAUSS
    if added_bits > 1 and above >= 25:
        return Model(False, 4 * added_bits + 16 + (above >= 28) + (above >= 34), 1), GAUSS
    scales = TABLES["default_scale"]
    scale = scales[t] if t < len(scales) else scales[-1] + t - len(scales) + 1
    return Model(False, min(279, scale), 0), LAPLACE


class RefinedDeviations:
    """How the models of a refinement last named differed from their defaults."""

    def __init__(self):
        self.of = {}

    def default(self, expected_mean, mean, added_bits, context):
        """B: the default model with the deviation of its kind."""
        model, kind = default_refined_model(expected_mean, mean, added_bits, context)
        if (kind, context) not in self.of:
            return model
        even, steps, shape_or_value = self.of[kind, context]
        if even:
            return Model(False, 0, 0, added_bits + 1) if added_bits <= 7 else model
        return Model(
            model.run_length, clamp(model.scale_or_zero_run + steps, 0, 47 if model.run_length else 279), shape_or_value
        )

    def learn(self, expected_mean, mean, added_bits, context, model):
        """Takes note of a model."""
        default, kind = default_refined_model(expected_mean, mean, added_bits, context)
        if model.run_length == default.run_length:
            steps = model.scale_or_zero_run - default.scale_or_zero_run
            self.of[kind, context] = model.even_bits > 0, steps, model.shape_or_value


class Deviations:
    """How the models last named differed from their defaults."""

    def __init__(self):
        self.of = {}

    def default(self, mean, context):
        """B: the default model with the deviation."""
        model = default_model(mean, context)
        steps, shape_or_value = self.of.get((model.run_length, context), (0, model.shape_or_value))
        return Model(
            model.run_length, clamp(model.scale_or_zero_run + steps, 0, 47 if model.run_length else 279), shape_or_value
        )

    def learn(self, mean, context, model):
        """Takes note of a model."""
        default = default_model(mean, context)
        if model.run_length == default.run_length:
            self.of[model.run_length, context] = model.scale_or_zero_run - default.scale_or_zero_run, model.shape_or_value
