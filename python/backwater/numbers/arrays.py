"""Arrow arrays from Python lists, by NumPy.

`pyarrow.array` imports an installed pandas to check whether its argument is a pandas series. In
each worker of a sweep that import takes longer than a hundred tiny points, and longer than an
interrupted series of runs may take to end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence


def array(values: Sequence[Any], kind: pa.DataType) -> pa.Array[Any]:
    """Make an array of int64, float64, string, or lists of strings; None becomes null."""
    there = np.array([value is not None for value in values], dtype=bool)
    nulls = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little").tobytes())
    if pa.types.is_list(kind):
        inner = array([one for some in values for one in some or ()], kind.value_type)
        buffers = [nulls, _offsets([len(some or ()) for some in values])]
        return pa.Array.from_buffers(kind, len(values), buffers, children=[inner])
    if pa.types.is_string(kind):
        texts = [(text or "").encode() for text in values]
        buffers = [nulls, _offsets([len(text) for text in texts]), pa.py_buffer(b"".join(texts))]
        return pa.Array.from_buffers(kind, len(values), buffers)
    numbers = np.int64 if pa.types.is_int64(kind) else np.float64
    data = np.array([0 if value is None else value for value in values], dtype=numbers)
    return pa.Array.from_buffers(kind, len(values), [nulls, pa.py_buffer(data.tobytes())])


def table(columns: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Make a table from columns in the order of a schema."""
    pairs = zip(columns, schema, strict=True)
    return pa.Table.from_arrays([array(some, field.type) for some, field in pairs], schema=schema)


def _offsets(lengths: Sequence[int]) -> pa.Buffer:
    ends = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=ends[1:])
    if ends[-1] > np.iinfo(np.int32).max:
        raise MemoryError
    return pa.py_buffer(ends.astype(np.int32).tobytes())
