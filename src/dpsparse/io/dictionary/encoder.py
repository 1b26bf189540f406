"""Tables as rows of numbers, for scikit-learn (`TableEncoder`), and the same encoding as an ONNX graph (`encoding`).

The graph has one typed input for each column. Numbers, dates (days since 1970-01-01) and truth values (0 or 1)
come in as doubles, with NaN for a gap; labels as texts spelled as in the dictionary, with the empty text for a
gap. How a cell of text is written (formats of dates, decimal marks, codes for missing, the case of letters) is
not part of the graph: that is a task for the reader of the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ...rows.declared import ColumnBounds
from ...rows.unread import UnreadCells
from ..onnx_steps import Node, OnnxStep, as_double, operators
from ..scikit import BaseEstimator, TransformerMixin, check_is_fitted
from .carrier import BoundedArray
from .codes import Code, Codes
from .dictionary import Dictionary
from .formats import DictionaryError
from .frames import Table
from .units import Contrast, UnitEffect, contrasts, effects

#: Rows are stored as CSR where the dictionary guarantees that at most this part of the entries is not
#: zero. An entry of CSR takes 12 bytes and one of a dense row 8, so this saves at least 62 % of the
#: memory.
SPARSE_BELOW = 0.25


class TableEncoder(OnnxStep, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode a table of numbers, categories, truth values and dates by the public constants of a dictionary.

    Guarantee
    ---------
    Free: `fit` reads the names of columns and nothing else, so any data with the same header gives
    the same encoder. What becomes of a row depends on that row and on the dictionary. After the
    names are checked nothing depends on a cell: no exception, warning, message, type or shape. A
    cell that cannot be understood is a gap; a category that was not declared belongs to none of them. Which
    cells these were stays beside the rows, where only a priced count (`check_cells`) finds them.

    Parameters
    ----------
    dictionary : Dictionary, str or Path
        A complete dictionary, or its file.
    sparse_output : {"auto"} or bool, default="auto"
        Whether rows come out as a CSR matrix. "auto": where the dictionary alone says that most
        entries are zero.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of str
        Columns of the table that was given to `fit`.
    dictionary_ : Dictionary
        The dictionary, read.

    Examples
    --------
    >>> from dpsparse.tables import Column, Dictionary, TableEncoder
    >>> codebook = Dictionary([
    ...     Column(name="age", kind="number", bounds=(0, 100), gap_is_feature=True),
    ...     Column(name="sex", kind="category", categories=["female", "male"]),
    ... ])
    >>> encoder = TableEncoder(codebook).set_output(transform="pandas")
    >>> encoder.fit_transform({"age": [75, "unknown", 130], "sex": ["male", "female", "?"]})
       age  age is missing  sex=female  sex=male
    0  0.5             0.0         0.0       1.0
    1  0.0             1.0         1.0       0.0
    2  1.0             0.0         0.0       0.0
    """

    def __init__(self, dictionary: Dictionary | str | Path, *, sparse_output: str | bool = "auto") -> None:
        self.dictionary = dictionary
        self.sparse_output = sparse_output

    # ---------------------------------------------------------------------------------------------- public side

    def _read(self) -> Dictionary:
        given = self.dictionary
        if isinstance(given, str | Path):
            given = Dictionary.read(given)
        if not isinstance(given, Dictionary):
            raise TypeError(
                f"dictionary must be a dpsparse.tables.Dictionary or the path of its file, got {type(given).__name__}."
            )
        return given.require()

    def _codes(self) -> Codes:
        return Codes(self.dictionary_ if "dictionary_" in vars(self) else self._read())

    def output_bounds(self) -> ColumnBounds:
        """Public bounds of the rows that come out: lowest and highest entry of each column, and the norm of a row."""
        return self._codes().output_bounds()

    def output_sparse(self) -> bool:
        """Whether rows come out as a CSR matrix, by the dictionary alone: what ``plan(..., sparse=)`` takes."""
        if self.sparse_output != "auto":
            return bool(self.sparse_output)
        codes = self._codes()
        return codes.density <= SPARSE_BELOW and not codes.bends  # curves are of dense rows

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns that come out, such as ``age``, ``sex=female`` and ``bmi is missing``."""
        return np.array(self._codes().names, dtype=object)

    def decode(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> tuple[UnitEffect, ...]:
        """Coefficients of a model of encoded rows, in the units of the table.

        Parameters
        ----------
        coef : array of shape (n_outputs,) or (n_models, n_outputs)
        intercept : float or array of shape (n_models,)

        Returns
        -------
        tuple of Effect
            One for each output column, and the intercept: the margin of a row whose numbers are all
            0 in their units, and dates 1970-01-01.
        """
        return effects(self._codes(), coef, intercept)

    def contrasts(self) -> tuple[Contrast, ...]:
        """What the results of a model of encoded rows are about; see `dpsparse.io.dictionary.units.contrasts`."""
        return contrasts(self._codes())

    # ---------------------------------------------------------------------------------------------- rows

    def fit(self, X: object, y: object = None) -> Self:
        """Check the names of the columns. Learns nothing from cells; a table without rows will do."""
        if self.sparse_output not in ("auto", True, False):
            raise ValueError(f"sparse_output must be 'auto', True or False, got {self.sparse_output!r}.")
        dictionary = self._read()
        table = self._table(X, dictionary)
        self.dictionary_ = dictionary
        self.n_features_in_ = len(table.header)
        self.feature_names_in_ = np.array(table.header, dtype=object)
        return self

    @staticmethod
    def _table(X: object, dictionary: Dictionary) -> Table:
        table = Table(X, [column.name for column in dictionary.features])
        problems = dictionary.differences(table.header)
        if problems:
            raise DictionaryError(problems)
        return table

    def transform(self, X: object) -> Any:
        """Encode rows. Columns are found by their names, in any order; ids, targets and ignored columns may be absent.

        Returns
        -------
        BoundedArray or CSR matrix of shape (rows, n_outputs)
            float64, with bounds that the estimators of this package find, and, for a priced count
            alone (`check_cells`), with the cells that were not understood.
        """
        check_is_fitted(self, "dictionary_")
        codes = Codes(self.dictionary_)
        table = self._table(X, self.dictionary_)
        bounds = codes.output_bounds()
        (rows, columns, values), unread = codes.entries(table)
        cells = UnreadCells.of(codes.checked, unread)
        if self.output_sparse():
            found = sp.csr_matrix((values, (rows, columns)), shape=(table.rows, codes.width))
            found.sort_indices()
            found.dpsparse_bounds, found.unread_cells = bounds, cells
            return found
        out = np.zeros((table.rows, codes.width))
        out[rows, columns] = values
        return BoundedArray.of(out, bounds, cells)

    # ---------------------------------------------------------------------------------------------- ONNX

    def onnx_width(self) -> int:
        """The number of encoded columns."""
        return self._codes().width

    def onnx_types(self) -> list[tuple[str, Node]]:
        """Names and types of the inputs of the ONNX graph: one for each feature of the table."""
        return input_types(self._codes())

    def onnx_graph(self, inputs: list[Node], opset: int) -> Node:
        """The encoding of typed columns; texts of numbers and dates are not parsed in the graph."""
        return encoding(self._codes(), inputs, opset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.input_tags.two_d_array = False
        return tags


def input_types(codes: Codes) -> list[tuple[str, Node]]:
    """Names and types of the inputs, for skl2onnx."""
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    kinds = [StringTensorType if code.category else DoubleTensorType for code in codes.codes]
    return [(code.column.name, kind([None, 1])) for code, kind in zip(codes.codes, kinds, strict=True)]


def encoding(codes: Codes, inputs: list[Node], opset: int) -> Node:
    """The encoded columns side by side, from one input for each feature."""
    columns = [
        (_labels if code.category else _numbers)(code, each, opset)
        for code, each in zip(codes.codes, inputs, strict=True)
    ]
    parts = [part for column in columns for part in column]
    return operators().OnnxConcat(*parts, axis=1, op_version=opset)


def _numbers(code: Code, variable: Node, opset: int) -> list[Node]:
    ops, at, x = operators(), {"op_version": opset}, as_double(variable, opset)
    gap = ops.OnnxIsNaN(x, **at)
    value = x
    if code.column.scaled:
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
