"""Types of the Cython module cython/_core.pyx."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, type_check_only

from typing_extensions import Self

from h5stz.elements import BytesLike

@type_check_only
class _Info(TypedDict):
    dtype: int
    byte_order: int
    shape: tuple[int, ...]
    mode: int
    bound: float
    fill: int | None
    block: int
    format_version: int
    levels: int
    level_bytes: tuple[int, ...]
    array_bytes: int
    form: str
    patches: int
    bound_used: bool
    accumulated_bound: float | None
    content_check: bool | None
    layers: tuple[tuple[int, float, float], ...]
    enhanced: bool
    relaxed_bound: float
    preview_error: float | None
    preview_bytes: int | None

@type_check_only
class _Stats(TypedDict):
    bytes_read: int
    blocks_decoded: int
    blocks_present: int
    cached_bytes: int

@type_check_only
class _Damage(TypedDict):
    error: int
    level: int | None
    patch: int | None
    block: int | None
    lost: int
    start: tuple[int, ...]
    extent: tuple[int, ...]

FILTER_ID: int
VERSION: str
FORMAT_VERSION: int
CD_FIXED_WORDS: int
CD_MAX_WORDS: int
CD_RECORD_LEARNED: int
CD_FORM_INTEGER: int
CD_MAX_DECIMALS: int
CD_MAX_THREADS: int
MAX_LAYERS: int
LITTLE: int
BIG: int
MODES: dict[str, int]
OPTIONS: tuple[str, ...]
CHOICES: dict[str, dict[Any, int]]
COUNTS: dict[str, tuple[int, int, int]]
DTYPES: dict[str, int]
ERROR_CODES: dict[str, int]
ERROR_TEXTS: dict[int, str]
H5_REASONS: dict[str, tuple[int, str]]

class Learned:
    @staticmethod
    def of_words(words: Sequence[int]) -> Learned | None: ...
    @staticmethod
    def train(
        arrays: Sequence[BytesLike], dtype: int, byte_order: int, shape: tuple[int, ...], options: Options
    ) -> Learned: ...
    @staticmethod
    def joined(learned: Sequence[Learned]) -> Learned: ...
    def words(self) -> tuple[int, ...]: ...
    @property
    def count(self) -> int: ...

class Options:
    def __init__(
        self,
        mode: int,
        bound: float,
        fill: int | None = None,
        *,
        layer_bounds: Sequence[float] = (),
        valid_range: tuple[float, float] | None = None,
        learned: Learned | None = None,
        **numbers: int,
    ) -> None: ...
    @property
    def learned(self) -> Learned | None: ...
    @property
    def mode(self) -> int: ...
    @property
    def bound(self) -> float: ...
    @property
    def fill(self) -> int | None: ...
    @property
    def layer_bounds(self) -> tuple[float, ...]: ...
    @property
    def valid_range(self) -> tuple[float, float] | None: ...
    def __getattr__(self, name: str) -> int: ...
    def fields(self) -> dict[str, Any]: ...
    def replace(self, **changes: Any) -> Self: ...
    def pack(self) -> tuple[int, ...]: ...
    def pack_full(self, dtype: int, byte_order: int, shape: tuple[int, ...]) -> tuple[int, ...]: ...
    def text(self, dtype: int) -> str: ...

def compress(
    data: BytesLike,
    dtype: int,
    byte_order: int,
    shape: tuple[int, ...],
    options: Options,
    previous: BytesLike | None = None,
    bound_used: bool = False,
    prior_bound: float = 0,
) -> bytes: ...
def estimate(
    data: BytesLike, dtype: int, byte_order: int, shape: tuple[int, ...], options: Options
) -> tuple[float, float, float, bool]: ...
def decompress(stream: BytesLike, out: BytesLike, threads: int, verify: bool = False) -> None: ...
def verify(stream: BytesLike, threads: int) -> int: ...
def max_compressed_size(dtype: int, byte_order: int, shape: tuple[int, ...]) -> int: ...
def find_fill(data: BytesLike, dtype: int, byte_order: int, shape: tuple[int, ...], mode: int, bound: float) -> int | None: ...
def threads_of_environment() -> int: ...
def verify_of_environment() -> bool: ...
def check_of_environment() -> bool: ...
def max_bytes_of_environment() -> int: ...
def drop_layers(stream: BytesLike, max_error: float) -> bytes: ...
def max_error_of_environment() -> float: ...
def info(stream: BytesLike) -> _Info: ...
def parse_text(text: str, dtype: int) -> tuple[dict[str, Any], int]: ...
def parse(words: Sequence[int]) -> dict[str, Any]: ...
def without_learned(words: Sequence[int]) -> tuple[int, ...]: ...

class Reader:
    @staticmethod
    def of_bytes(stream: BytesLike, cache_bytes: int) -> Reader: ...
    @staticmethod
    def of_file(fd: int, offset: int, size: int, cache_bytes: int) -> Reader: ...
    @staticmethod
    def of_callback(read: Callable[[int, int], BytesLike], size: int, cache_bytes: int) -> Reader: ...
    def read(
        self, start: tuple[int, ...], count: tuple[int, ...], step: tuple[int, ...], out: BytesLike, threads: int
    ) -> None: ...
    def verify(self, on: bool) -> None: ...
    def max_error(self, largest: float) -> None: ...
    def enhance(self, on: bool) -> None: ...
    def on_error(self, element: bytes | None) -> None: ...
    def damage(self) -> list[_Damage]: ...
    def plan(self, start: tuple[int, ...], count: tuple[int, ...], step: tuple[int, ...]) -> list[tuple[int, int]]: ...
    def info(self) -> _Info: ...
    def stats(self) -> _Stats: ...
    def limit(self, cache_bytes: int) -> None: ...
