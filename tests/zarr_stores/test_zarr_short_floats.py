"""zarr arrays of bfloat16, where a package has given zarr this data type: zarr itself has none (3.1)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from support.requirements import needs_packages
from support.short_floats import check, dtype_of, field

pytestmark = needs_packages("ml_dtypes", "zarr")
NAME = "bfloat16"


@pytest.fixture
def registered():
    """The data type is registered, as a package would do it."""
    from zarr.core.dtype.common import DataTypeValidationError
    from zarr.dtype import ZDType, data_type_registry

    @dataclass(frozen=True, kw_only=True)
    class BFloat16(ZDType):
        dtype_cls: ClassVar = type(dtype_of(NAME))
        _zarr_v3_name: ClassVar = NAME

        @classmethod
        def from_native_dtype(cls, dtype):
            if dtype.name != NAME:
                raise DataTypeValidationError(str(dtype))
            return cls()

        def to_native_dtype(self):
            return dtype_of(NAME)

        @classmethod
        def _from_json_v2(cls, data):
            raise DataTypeValidationError(str(data))

        @classmethod
        def _from_json_v3(cls, data):
            if data != NAME:
                raise DataTypeValidationError(str(data))
            return cls()

        def to_json(self, zarr_format):
            return NAME

        def _check_scalar(self, data):
            return isinstance(data, (float, int, np.generic))

        def cast_scalar(self, data):
            return dtype_of(NAME).type(data)

        def default_scalar(self):
            return dtype_of(NAME).type(0)

        def from_json_scalar(self, data, *, zarr_format):
            return dtype_of(NAME).type(data)

        def to_json_scalar(self, data, *, zarr_format):
            return float(data)

    data_type_registry.register(NAME, BFloat16)
    yield
    data_type_registry.unregister(NAME)


@pytest.mark.parametrize("options", [{"lossless": True}, {"absolute": 3.0}, {"absolute": 3.0, "fill_value": "array"}], ids=str)
@pytest.mark.filterwarnings("ignore:The data type")
def test_arrays(registered, options):
    import zarr

    from h5stz.zarr import StzCodec

    array, bound = field(NAME), options.get("absolute", 0.0)
    made = zarr.create_array(
        {}, shape=array.shape, chunks=(32, 32), dtype=array.dtype, serializer=StzCodec(**options), compressors=None
    )
    made[...] = array
    check(array, made[...], bound)
    before = made[...]
    made[20:40, 10:30] = array[:20, :20]
    before[20:40, 10:30] = array[:20, :20]
    check(before, made[...], bound)
    check(np.ascontiguousarray(before[3:50:7, 5]), made[3:50:7, 5], bound)


def test_zarr_itself_has_no_such_type():
    import zarr

    with pytest.raises(ValueError, match="bfloat16"):
        zarr.create_array({}, shape=(4,), dtype=dtype_of(NAME))
