"""Parameters of a class, and how a section names them."""

from dataclasses import dataclass, field

from reference_decoder.binary_coder import BitModel, NumberModel, SignedModel
from reference_decoder.conventions import bits_set, require, require_version
from reference_decoder.hierarchy import LONG_STENCIL_AXES
from reference_decoder.models import Deviations, Model, RefinedDeviations
from reference_decoder.prediction import stencil


@dataclass
class Parameters:
    """The parameters of a class of a level. Those without arguments give the mean of the 1-D cubics."""

    predictor: int = 0
    stencil: int = 0
    precision: int = 0
    feedback: "Feedback | None" = None
    weights: list = field(default_factory=list)
    mean: int = 0
    models: list = field(default_factory=list)


@dataclass
class Feedback:
    """Weights of residual feedback in units of 2^-6: {axis: weight} for samples of even and odd index; of both neighbours."""

    all_codes: bool
    bits: int
    before: list
    beside: int


class ParameterModels:
    """The models of the parameters of a level."""

    def __init__(self):
        for name in (
            "FB",
            "FC",
            "FA",
            "P0",
            "P1",
            "P2",
            "CW",
            "AW",
            "S0",
            "S1",
            "S2",
            "PS",
            "RF",
            "AC",
            "M0",
            "M1",
            "EV",
            "MV",
            "H0",
            "H1",
            "H2",
        ):
            setattr(self, name, BitModel())
        self.PN, self.MN = NumberModel(), NumberModel()
        for name in ("WC", "W0", "W1", "W2", "ME", "MS", "F0", "F1", "F2", "F3", "FR"):
            setattr(self, name, SignedModel())


class CodeState:
    """What lives from class to class and from level to level of a stream of codes."""

    def __init__(self, mean=81):
        self.mean, self.deviations = mean, Deviations()

    def read(self, coder, models, bits):
        """Parameters with the mean and the models of a class of samples of so many bits."""
        parameters = Parameters()
        if coder.bit(models.AC):
            self.mean += coder.signed(models.ME)
            require(1 <= self.mean <= 329, "mean")
            parameters.mean = self.mean
            for context in range(16):
                model = read_model(coder, models, self.deviations.default(self.mean, context))
                require(model.run_length or model.shift <= bits - 8, "shift of a model")
                self.deviations.learn(self.mean, context, model)
                parameters.models.append(model)
        return parameters


class RefinedCodeState:
    """What lives from class to class and from level to level of a refinement, the models of its parameters among it."""

    def __init__(self):
        self.mean, self.deviations, self.models = 81, RefinedDeviations(), ParameterModels()

    def read(self, coder, expected_mean, added_bits, bits):
        """Parameters with the mean and the models of a class. `expected_mean`: of its codes with this refinement."""
        parameters, models = Parameters(), self.models
        if coder.bit(models.AC):
            self.mean += coder.signed(models.ME)
            require(1 <= self.mean <= 329, "mean of a refinement")
            parameters.mean = self.mean
            for context in range(16):
                place = expected_mean, self.mean, added_bits, context
                even_bits = added_bits + 1 if added_bits <= 7 else 0
                model = read_model(coder, models, self.deviations.default(*place), even_bits)
                require(model.run_length or model.shift <= bits - 8, "shift of a model of a refinement")
                self.deviations.learn(*place, model)
                parameters.models.append(model)
        return parameters


class ParameterState:
    """What lives from the first level below the base level to level 0."""

    def __init__(self, base_mean, refinements):
        self.precision, self.coarser = 8, {}
        self.codes = CodeState(base_mean or 81)
        self.refined = [RefinedCodeState() for _ in range(refinements)]

    def read(self, coder, models, cls, active, bits, with_feedback):
        """The parameters of a class of samples of so many bits."""
        parameters = Parameters()
        if coder.bit(models.P0):
            parameters.predictor = 1 + coder.bit(models.P1)
            require_version(parameters.predictor < 2 or not coder.bit(models.P2), "predictor")
        else:
            self._read_weights(coder, models, cls, active, parameters)
        if with_feedback and coder.bit(models.FB):
            coarser = self.coarser.get(cls)
            same = coarser is not None and coarser.feedback is not None and coder.bit(models.FC)
            parameters.feedback = coarser.feedback if same else read_feedback(coder, models, active)
        self.coarser[cls] = parameters
        of_codes = self.codes.read(coder, models, bits)
        parameters.mean, parameters.models = of_codes.mean, of_codes.models
        return parameters

    def _read_weights(self, coder, models, cls, active, parameters):
        coarser = self.coarser.get(cls)
        refers = coarser is not None and coarser.precision != 0
        if refers and coder.bit(models.CW):
            parameters.stencil, parameters.precision, parameters.weights = coarser.stencil, coarser.precision, coarser.weights
            require(parameters.stencil < 2 or bits_set(active) <= LONG_STENCIL_AXES, "stencil")
            return
        if not coder.bit(models.AW):
            return
        if coder.bit(models.S0):
            parameters.stencil = 1 + coder.bit(models.S1)
            require_version(parameters.stencil < 2 or not coder.bit(models.S2), "stencil")
            require(parameters.stencil < 2 or bits_set(active) <= LONG_STENCIL_AXES, "stencil")
        if not coder.bit(models.PS):
            self.precision = 1 + coder.number(models.PN)
            require_version(self.precision <= 24, "precision")
        parameters.precision = self.precision
        changes = refers and coder.bit(models.RF)
        odd = bits_set(cls)
        for g in range(len(stencil(parameters.stencil, cls, active))):
            if changes:
                weight = coder.signed(models.WC)
                if g < len(coarser.weights):
                    weight += rescaled(coarser.weights[g], parameters.precision - coarser.precision)
            else:
                weight = coder.signed(models.W0 if g < odd else models.W1 if g < 3 * odd else models.W2)
            require(abs(weight) <= 2**28, "weight")
            parameters.weights.append(weight)


def read_feedback(coder, models, active):
    """The weights of feedback of a class."""

    def weight(axis):
        number = coder.signed(getattr(models, f"F{axis}"))
        require(abs(number) <= 127, "weight of feedback")
        return number

    all_codes = bool(coder.bit(models.FA))
    bits = 7 + (0 if all_codes else coder.signed(models.FR))
    require(3 <= bits <= 11, "bits of residuals")
    before = [{axis: weight(axis) for axis in (2, 1, 0) if active >> axis & 1} for _ in range(2)]
    return Feedback(all_codes, bits, before, weight(3))


def rescaled(weight, shift):
    """A weight shifted left, or right if `shift` is negative."""
    return weight << shift if shift >= 0 else weight >> -shift


def read_model(coder, models, default, even_bits=0):
    """The model of a context, given its default B. `even_bits`: of an even model, 0 where there is none."""
    if coder.bit(models.M0):
        return default
    same_mode = coder.bit(models.M1)
    run_length = default.run_length if same_mode else not default.run_length
    if even_bits and not run_length and coder.bit(models.EV):
        return Model(False, 0, 0, even_bits)
    start = default.scale_or_zero_run if same_mode else 8 if run_length else 12
    if same_mode and default.even_bits:
        start = 4 * even_bits + 14
    scale_or_zero_run = start + coder.signed(models.MS)
    require(scale_or_zero_run >= 0, "model")
    require_version(scale_or_zero_run <= (47 if run_length else 279), "model")
    if run_length:
        as_default = coder.bit(models.MV)
        value = (default.shape_or_value if same_mode else 8) if as_default else coder.number(models.MN)
        require_version(value <= 31, "value table")
        return Model(True, scale_or_zero_run, value)
    high = coder.bit(models.H0)
    low = coder.bit(models.H2 if high else models.H1)
    return Model(False, scale_or_zero_run, 2 * high + low)
