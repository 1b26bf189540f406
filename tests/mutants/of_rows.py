"""Rows: bounds that are not enforced, records that are not finite, sums that remember."""

from .mutant import changed

ROWS = "data/test_rows.py"
BOTH = "data/test_rows.py oracles/test_central.py estimators/test_estimators.py"

MUTANTS = (
    *changed(
        "data/rows.py",
        ROWS,
        (
            "gradients are not clipped",
            "return np.clip(np.trunc(slope / self._step(clip)), -cap, cap)",
            "return np.trunc(slope / self._step(clip))",
        ),
        (
            "gradients are clipped at twice their norm",
            "room = np.minimum(SUM_UNITS / np.sqrt(np.maximum(block.squares, 1.0)),",
            "room = np.minimum(2 * SUM_UNITS / np.sqrt(np.maximum(block.squares, 1.0)),",
        ),
        (
            "entries are clipped at twice their bound",
            "entry / np.maximum(block.largest, 1.0))",
            "2 * entry / np.maximum(block.largest, 1.0))",
        ),
        (
            "slopes are clipped at twice their bound",
            "room = np.minimum(room, clip.slope / self._step(clip))",
            "room = np.minimum(room, 2 * clip.slope / self._step(clip))",
        ),
        (
            "columns are clipped at twice their bound",
            "limits = np.floor(clip.columns / (clip.norm / SUM_UNITS))",
            "limits = np.floor(2 * clip.columns / (clip.norm / SUM_UNITS))",
        ),
        ("changes are clipped at twice their norm", "limit = Clip(change)", "limit = Clip(2 * change)"),
        ("half of the rows of a sample", "self._blocks)) < rate)", "self._blocks)) < rate / 2)"),
        (
            "a sum of another clip is remembered",
            "if memory is None or memory[0] != clip or memory[1] != repr(loss):",
            "if memory is None:",
        ),
        (
            "a mended sum keeps the old rows",
            "                    total -= self._contribution(part, old[rows], clip, None)\n",
            "",
        ),
        (
            "factors are rounded away from zero",
            "return np.clip(np.trunc(slope / self._step(clip)), -cap, cap)",
            "return np.clip(np.rint(slope / self._step(clip)), -cap - 1, cap + 1)",
        ),
        ("too many rows are summed", "if X.shape[0] > LARGEST_ROWS:", "if False:"),
        (
            "rows can be stored",
            '        raise TypeError("private rows are not copied or stored.")',
            "        return object.__reduce_ex__(self, 2)",
        ),
    ),
    *changed(
        "data/rows.py",
        "oracles/test_weighted.py",
        (
            "weighted gradients are clipped at twice their norm",
            "room = np.minimum(norm / (unit * np.sqrt(square))",
            "room = np.minimum(2 * norm / (unit * np.sqrt(square))",
        ),
    ),
    *changed(
        "data/rows.py",
        "data/test_rows.py statistics/test_teacher.py",
        (
            "rows are dealt by their place",
            "owner = generator.integers(0, parts, sum(b.y.size for b in self._blocks))",
            "owner = np.arange(sum(b.y.size for b in self._blocks)) % parts",
        ),
    ),
    *changed(
        "data/rows.py",
        ROWS,
        (
            "records that count as absent have a gradient",
            "posinf=limit, neginf=-limit) * block.alive)",
            "posinf=limit, neginf=-limit))",
        ),
    ),
    *changed(
        "data/blocks.py",
        BOTH,
        (
            "dense records that are not finite are kept",
            "finite = np.isfinite(x).all(axis=1)",
            "finite = np.ones(x.shape[0], dtype=bool)",
        ),
        ("sparse records that are not finite are kept", "        x.data[bad[owner]] = 0.0\n", ""),
        ("records without a finite target are kept", "finite &= np.isfinite(y[part])", "finite &= True"),
        (
            "targets are not clipped",
            "np.clip(np.where(finite, y[part], 0.0), -self.facts.target_bound, self.facts.target_bound)",
            "np.where(finite, y[part], 0.0)",
        ),
        (
            "dense entries are not clipped",
            "np.clip(x, self.facts.lower, self.facts.upper, out=x)",
            "np.clip(x, -1e300, 1e300, out=x)",
        ),
        ("sparse entries are not clipped", "        np.clip(x.data, lower, upper, out=x.data)\n", ""),
        (
            "integers are not clipped",
            "clipped = np.clip(kept, np.asarray(low, kept.dtype), np.asarray(high, kept.dtype))",
            "clipped = kept",
        ),
        (
            "dense rows are not clipped",
            "x *= _shrink(np.linalg.norm(x, axis=1), self.facts.row_norm)[:, None]",
            "x *= 1.0",
        ),
        ("sparse rows are not clipped", "x.data *= _shrink(norms, self.facts.row_norm)[owner]", "x.data *= 1.0"),
        ("duplicates of a sparse row are bounded one by one", "        x.sum_duplicates()\n", ""),
        (
            "the intercept is not in the norm",
            "return np.maximum(squares, 0.0) + self.height**2, np.maximum(largest, self.height)",
            "return np.maximum(squares, 0.0), np.maximum(largest, self.height)",
        ),
        ("a rounded shift is not in the bounds", "(0.5 if self.shifted else 0.0)) * self.unit", "0.0) * self.unit"),
        ("absent records have squares", "head = block.alive @ away**2", "head = (away**2).sum(axis=0)"),
        (
            "entries are rounded up",
            "return np.trunc(x / self.unit).astype(np.float32), finite",
            "return (np.sign(x) * np.ceil(np.abs(x) / self.unit)).astype(np.float32), finite",
        ),
    ),
    *changed(
        "data/restricted.py",
        "statistics/test_minimise.py statistics/test_teacher.py",
        (
            "rows of statistics are not clipped",
            "(limit / np.maximum(norms, limit) if np.isfinite(norm) else 1.0)",
            "1.0",
        ),
        ("absent records are in statistics", "shrink = block.alive * (", "shrink = (1.0 + 0.0 * block.alive) * ("),
    ),
    *changed(
        "data/weighted.py",
        "oracles/test_weighted.py",
        (
            "norms of weighted rows are halved",
            "return np.asarray(total * (1 + rounding))",
            "return np.asarray(total * 0.25)",
        ),
        (
            "sizes are not held",
            "np.minimum(unit * np.sqrt(squares), top) * block.alive",
            "unit * np.sqrt(squares) * block.alive",
        ),
        (
            "absent records have absolute entries",
            "total = block.alive @ np.abs(",
            "total = np.ones(block.y.size) @ np.abs(",
        ),
    ),
    *changed(
        "data/columns.py",
        "oracles/test_polish.py data/test_rows.py",
        ("absent records are in columns", "* store.unit * block.alive\n", "* store.unit\n"),
        (
            "entries of correlations are not clipped",
            "x = np.clip(block.x, -limit, limit).astype(float, copy=False)",
            "x = block.x.astype(float, copy=False)",
        ),
    ),
)
