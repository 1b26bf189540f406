"""The encoding of a dictionary as an ONNX graph of typed columns.

Numbers, dates (days since 1970-01-01) and truth values (0 or 1) come in as doubles, with NaN for a
gap; labels as texts spelled as in the dictionary, with the empty text for a gap. How a cell of text
is written (formats of dates, decimal marks, codes for missing, the case of letters) is not part of
the graph: that is a task for the reader of the file.
"""

from __future__ import annotations

import numpy as np

from ..onnx_steps import Node, as_double, operators
from .codes import Code, Codes


def input_types(codes: Codes) -> list[tuple[str, Node]]:
    """Names and types of the inputs, for skl2onnx."""
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    kinds = [StringTensorType if code.column.kind == "category" else DoubleTensorType for code in codes.codes]
    return [(code.column.name, kind([None, 1])) for code, kind in zip(codes.codes, kinds, strict=True)]


def encoding(codes: Codes, inputs: list[Node], opset: int) -> Node:
    """The encoded columns side by side, from one input for each feature."""
    columns = [
        (_labels if code.column.kind == "category" else _numbers)(code, each, opset)
        for code, each in zip(codes.codes, inputs, strict=True)
    ]
    parts = [part for column in columns for part in column]
    return operators().OnnxConcat(*parts, axis=1, op_version=opset)


def _numbers(code: Code, variable: Node, opset: int) -> list[Node]:
    ops, at, x = operators(), {"op_version": opset}, as_double(variable, opset)
    gap = ops.OnnxIsNaN(x, **at)
    value = x
    if code.column.kind in ("number", "date"):
        low, high = np.array([code.middle - code.half]), np.array([code.middle + code.half])
        held = ops.OnnxMin(ops.OnnxMax(x, low, **at), high, **at)
        value = ops.OnnxDiv(ops.OnnxSub(held, np.array([code.middle]), **at), np.array([code.half]), **at)
        value = ops.OnnxMin(ops.OnnxMax(value, np.array([-1.0]), **at), np.array([1.0]), **at)
    filled = ops.OnnxWhere(gap, np.array([code.filled]), value, **at)
    return [filled, as_double(gap, opset)] if code.column.gap_is_feature else [filled]


def _labels(code: Code, variable: Node, opset: int) -> list[Node]:
    ops, at, labels = operators(), {"op_version": opset}, list(code.column.labels)
    texts = ["", *labels]
    hot = ops.OnnxOneHotEncoder(variable, cats_strings=texts, zeros=1, op_version=1)
    flat = as_double(ops.OnnxReshape(hot, np.array([-1, len(texts)], dtype=np.int64), **at), opset)
    fill = np.zeros((len(texts), len(labels)))
    fill[1:] = np.eye(len(labels))
    if code.filled >= 0:
        fill[0, int(code.filled)] = 1.0  # a gap takes the place of the declared category
    encoded = ops.OnnxMatMul(flat, fill, **at)
    gap = ops.OnnxMatMul(flat, np.eye(len(texts))[:, :1], **at)
    return [encoded, gap] if code.column.gap_is_feature else [encoded]
