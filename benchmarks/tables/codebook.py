"""Write bounds.json: ``python -m benchmarks.tables.codebook``.

A user takes bounds from a codebook, a questionnaire or the law: ages from 15 to 90, answers from 1 to 6. These tables come
without one, so rounded quantiles stand in for it: the 1 % and 99 % quantiles moved outwards to two digits of their distance.
The file is fixed; nothing is read from the rows when a model is fitted.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import sets, sources

#: Levels a column may have, at most; rarer ones share the first.
MOST_LEVELS = 12
#: Tables whose columns all have one known range: pixels.
PIXELS = {"mnist": (0.0, 255.0), "pneumonia_mnist": (0.0, 255.0), "digits": (0.0, 16.0)}
NOTE = "Stand-ins for codebooks: 1 % and 99 % quantiles, rounded outwards. A user would declare them without looking at rows."


def rounded(values: Any) -> tuple[float, float]:
    """Rounded ends that hold nearly all values; exact ends where a column has at most twelve integer values."""
    values = np.asarray(values, float)
    distinct = np.unique(values)
    if distinct.size <= MOST_LEVELS and np.all(distinct == np.round(distinct)):
        return float(distinct[0]), float(distinct[-1])
    low, high = np.quantile(values, [0.01, 0.99])
    if high <= low:
        low, high = distinct[0], distinct[-1]
    step = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return round(math.floor(low / step) * step, digits), round(math.ceil(high / step) * step, digits)


def entry(name: str) -> dict[str, Any]:
    """Columns and target of one table."""
    source, table = sources.SOURCES[name], sets.frame(name)
    columns: list[dict[str, Any]] = []
    for column in table.columns:
        values = table[column]
        if column == source.target or (values.nunique() < 2 and name not in PIXELS):
            continue
        if values.dtype.kind in "if":
            low, high = PIXELS[name] if name in PIXELS else rounded(values)
            if high > low:
                columns.append({"name": column, "lower": low, "upper": high})
        else:
            levels = values.astype(str).value_counts().index[:MOST_LEVELS]
            columns.append({"name": column, "levels": list(levels)})
    known: dict[str, Any] = {"columns": columns}
    if source.positive is None:
        low, high = rounded(table[source.target])
        known["target"] = {"lower": low, "upper": high}
    return known


def main() -> None:
    """Write the file; tables that are missing here keep what the file has."""
    path = Path(__file__).parent / "bounds.json"
    before = json.loads(path.read_text())["tables"] if path.exists() else {}
    after = {}
    for name in sources.SOURCES:
        try:
            after[name] = entry(name)
        except FileNotFoundError as missing:
            print(f"{name}: {missing}")
            if name in before:
                after[name] = before[name]
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(known)}" for name, known in after.items())
    path.write_text(f'{{"note": {json.dumps(NOTE)},\n "tables": {{\n{lines}\n }}}}\n')


if __name__ == "__main__":
    main()
