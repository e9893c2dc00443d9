"""A decoder of h5stz streams written from docs/format.md and the integers of code_tables.inc, and from nothing else.

It is slow and made to be read beside that document: one module for each of its sections, with its names. `decode(stream)`
gives the array, `decode(stream, verify=True)` also compares it with the content check, and `decode(stream, max_error=e)` takes
no more precision layers than errors of e need. All arrays of samples have four axes; a class is named by its mask of axes,
class 0 is the coarser level.
"""

from reference_decoder.conventions import Damaged, Different, NewerVersion, check, crc, crc16
from reference_decoder.header import read_header
from reference_decoder.hierarchy import default_block
from reference_decoder.layout import decode

__all__ = ["Damaged", "Different", "NewerVersion", "check", "crc", "crc16", "decode", "default_block", "read_header"]
