"""Region reads: from an index to chunks, blocks and samples. `view`, `partial_reads` and `open` are made here."""
