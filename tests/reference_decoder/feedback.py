"""Residual feedback: what is added to the predictions of a class, from its codes."""

import numpy as np

from reference_decoder.header import UNIFORM


def feedback_sums(header, level, feedback, codes):
    """F of all samples of a class of a block, at level number `level`."""
    real = header.real
    step = real(2 * header.level_bounds[level]) if header.quantiser == UNIFORM else real(header.step)
    counts = ~codes.outlier & (feedback.all_codes | (np.abs(codes.code) <= 127))
    steps = np.where(counts, codes.code, 0).astype(real) * step
    sums, residuals = np.zeros(steps.shape, real), np.zeros(steps.shape, real)
    zeros = np.zeros(steps.shape[3], real)
    for row in np.ndindex(*steps.shape[:3]):
        own = residuals[row]
        for parity, start in enumerate((slice(0, None, 2), slice(1, None, 2))):
            terms = []
            for axis, weight in feedback.before[parity].items():
                index = list(row)
                index[axis] -= 1
                before = residuals[tuple(index)] if index[axis] >= 0 else zeros
                terms.append((before * real(weight / 64))[start])
            total = terms[0] if terms else zeros[start]
            for term in terms[1:]:
                total = total + term
            if parity:
                beside = own[0::2]
                behind = np.append(beside[1:], real(0))[: len(total)]
                total = total + (beside[: len(total)] + behind) * real(feedback.beside / 64)
            sums[row][start] = total
            own[start] = total + steps[row][start]
    return sums
