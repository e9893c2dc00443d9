"""Precision layers: what the header says of them."""

from dataclasses import dataclass, field

from reference_decoder.conventions import require

MOST_REFINEMENTS, MOST_LEVELS, MOST_BITS = 6, 48, {32: 30, 64: 60}


@dataclass
class Layers:
    """What records 1 and 10 say: of levels 0, 1 ... the bits that each refinement adds, and those that are not in the stream;
    the errors with 1, 2 ... layers."""

    added: list = field(default_factory=list)
    missing: bytes = b""
    errors: list = field(default_factory=list)  # (largest, root mean square)

    def sections(self):
        """The (refinement, level) that have a section, in the order of the stream."""
        levels = range(len(self.missing) - 1, -1, -1)
        return [(refinement, level) for refinement, bits in enumerate(self.added) for level in levels if bits[level]]

    def unknown_bits(self, level, taken):
        """How many of the lowest bits of the codes of a level are not known with so many refinements."""
        if level >= len(self.missing):
            return 0
        return self.missing[level] + sum(bits[level] for bits in self.added[taken:])

    def refinements_for(self, max_error, before):
        """How many refinements it takes for errors of at most `max_error`, of which `before` were there already; 0: all."""
        if max_error == 0:
            return len(self.added)
        enough = [taken for taken, (largest, _) in enumerate(self.errors) if largest + before <= max_error]
        return min([*enough, len(self.added)])


def read_layers(payload, layers):
    """Record 1."""
    refinements, levels = payload.varint(), payload.varint()
    require(refinements <= MOST_REFINEMENTS and 1 <= levels <= MOST_LEVELS, "number of refinements or of their levels")
    layers.added = [payload.take(levels) for _ in range(refinements)]
    layers.missing = payload.take(levels)


def read_layer_errors(payload, layers):
    """Record 10."""
    while payload.at < len(payload.data):
        layers.errors.append((payload.double(), payload.double()))
        require(all(error >= 0 for error in layers.errors[-1]), "errors of layers")


def require_layers(layers, base_level, bits):
    """What can be judged only with the rest of the header. `bits`: of a sample."""
    require(len(layers.errors) in (0, len(layers.added) + 1), "number of errors of layers")
    levels = len(layers.missing)
    require(levels <= base_level, "levels of layers")
    require(all(layers.unknown_bits(level, 0) <= MOST_BITS[bits] for level in range(levels)), "bits of layers")
    for added in layers.added or [layers.missing] * (levels > 0):
        require(any(added), "a refinement of no bits")
