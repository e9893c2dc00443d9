"""Models: the tables of code_tables.inc, and the model that a context has unless told otherwise."""

import re
from pathlib import Path
from typing import NamedTuple

from reference_decoder.conventions import clamp


def read_code_tables():
    """The integers of code_tables.inc: name to list of tables (of scales for default_scale)."""
    path = Path(__file__).resolve().parents[2] / "filter" / "format" / "code_tables.inc"
    tables = {}
    for name, body in re.findall(r"(\w+)\[\] = \{(.*?)\n?\};", path.read_text(), re.DOTALL):
        rows = re.findall(r"\{\d+, \{(.*?)\}\}", body)
        numbers = [[int(number) for number in row.split(",")] for row in rows or [body]]
        tables[name] = numbers if rows else numbers[0]
    return tables


TABLES = read_code_tables()
EXPECTED = (-24, -18, -16, -13, -10, -8, -5, -2, 0, 2, 5, 8, 10, 13, 16, 18)


class Model(NamedTuple):
    """The model of a context: direct mode (scale, shape) or run-length mode (tables of zero runs and of values)."""

    run_length: bool
    scale_or_zero_run: int
    shape_or_value: int

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
