"""The parts that all benchmarks share: fields, codecs by name, clocks, tables, arguments and targets."""
