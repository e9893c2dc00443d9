"""Writes code_tables.inc: the built-in symbol distributions as integers. Run once, by hand: `python generate_code_tables.py > code_tables.inc`.

The decoder must not compute exp, erf or pow, whose last bits differ between C libraries; so the tables are part of the source and of the
format. Frequencies of a table sum to 4096; the last one is the escape. Symbols: 0..32 the value v itself, 33..44 v in 33..256 by exponent
and two mantissa bits of v - 1; all else escapes.
"""

import math

TOTAL, DIRECT, SYMBOLS = 4096, 33, 45
SHAPES, SCALES = 4, 36


def symbol(v):
    if v < DIRECT:
        return v
    u = v - 1
    e = u.bit_length() - 1
    return DIRECT + (e - 5) * 4 + ((u >> (e - 2)) & 3) if e < 8 else None


def cdf(shape, z):
    if shape == 0:
        return 0.5 * math.exp(z) if z < 0 else 1 - 0.5 * math.exp(-z)  # Laplace
    if shape == 1:
        return 0.5 * math.erfc(-z)  # Gauss
    if shape == 2:
        return 0.5 + math.atan(z) / math.pi  # Cauchy
    return 0.5 * (1 + z / math.sqrt(2 + z * z))  # Student t with two degrees of freedom


def mass_of_code(shape, scale, a):
    """Probability of the code +a (or -a), a >= 0."""
    if a == 0:
        return cdf(shape, 0.5 / scale) - cdf(shape, -0.5 / scale)
    return cdf(shape, (-a + 0.5) / scale) - cdf(shape, (-a - 0.5) / scale)


def frequencies(mass):
    count = 1
    for s, m in enumerate(mass):
        if m * TOTAL >= 0.7:
            count = s + 1
    direct = sum(mass[:count])
    escape = max(1, round((1 - direct) * TOTAL))
    freq = [max(1, round(m / direct * (TOTAL - escape))) for m in mass[:count]] + [escape]
    while sum(freq) != TOTAL:
        k = freq.index(max(freq[:-1]))
        freq[k] += 1 if sum(freq) < TOTAL else -1
    return freq


def scale_of(j):
    return 2 ** (j / 4 - 5)


def two_sided(shape, j):
    mass = [0.0] * SYMBOLS
    for z in range(257):
        mass[symbol(z)] += mass_of_code(shape, scale_of(j), (z + 1) // 2)
    return mass


def one_sided(shape, r):
    mass = [0.0] * SYMBOLS
    for v in range(257):
        mass[symbol(v)] += mass_of_code(shape, scale_of(SCALES + r), v) + mass_of_code(shape, scale_of(SCALES + r), v + 1)
    return mass


def zero_run_base(s):
    """Shortest zero run of a symbol and its number of raw bits: 0..15 exact, then 4 per octave to 255, then 2 per octave to 65535."""
    if s < 16:
        return s, 0
    if s < 32:
        e = 4 + (s - 16) // 4
        return (4 | (s - 16) & 3) << (e - 2), e - 2
    e = 8 + (s - 32) // 2
    return (2 | (s - 32) & 1) << (e - 1), e - 1


def zero_runs(j):
    """Runs of zeros where a code differs from zero with probability 2^-(j + 12)/4."""
    q = 1 - 2 ** (-(j + 12) / 4)
    return [q ** zero_run_base(s)[0] - q ** (zero_run_base(s)[0] + (1 << zero_run_base(s)[1])) for s in range(48)]


def values(j):
    """z - 1 of a code that is not zero: geometric in its magnitude."""
    rho = (j + 0.3) / 32
    mass = [0.0] * SYMBOLS
    for z in range(1, 258):
        mass[symbol(z - 1)] += 0.5 * (1 - rho) * rho ** ((z + 1) // 2 - 1)
    return mass


def mean_magnitude(j):
    return 2 * sum(a * mass_of_code(0, scale_of(j), a) for a in range(1, 4000))


def default_scales():
    """For a mean magnitude of 2^(t/4 - 8), t = 0..59: the Laplace scale index with that mean."""
    means = [mean_magnitude(j) for j in range(61)]
    return [min(range(61), key=lambda j: abs(math.log2(means[j] + 1e-300) - (t / 4 - 8))) for t in range(56)]


def write(name, rows):
    print(f"constexpr CodeTableSource {name}[] = {{")
    for row in rows:
        f = frequencies(row)
        print(f"    {{{len(f) - 1}, {{{', '.join(map(str, f))}}}}},")
    print("};")


if __name__ == "__main__":
    print(
        "// Written by generate_code_tables.py; part of the format. {count, {freq of symbols 0..count-1, freq of the escape}}"
    )
    write("two_sided_source", [two_sided(s, j) for s in range(SHAPES) for j in range(SCALES)])
    write("one_sided_source", [one_sided(s, r) for s in range(SHAPES) for r in range(4)])
    write("zero_run_source", [zero_runs(j) for j in range(48)])
    write("value_source", [values(j) for j in range(32)])
    print(f"constexpr unsigned char default_scale[] = {{{', '.join(map(str, default_scales()))}}};")
