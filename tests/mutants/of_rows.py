"""Rows: bounds that are not enforced, records that are not finite, lattices that follow the data, draws that do not."""

from .mutant import changed

ROWS = "rows/test_rows.py"
LAWS = "laws/test_row_laws.py"
SERVED = "laws/test_served_is_fitted.py"
BOTH = "rows/test_rows.py oracles/test_central.py estimators/test_estimators.py"

MUTANTS = (
    *changed(
        "rows/shard.py",
        ROWS,
        (
            "rows can be stored",
            '        raise TypeError("private rows are not copied or stored.")',
            "        return object.__reduce_ex__(self, 2)",
        ),
        ("too many rows are in one part", "if self.rows > SHARD_ROWS:", "if False:"),
    ),
    *changed(
        "rows/shard.py",
        LAWS,
        (
            "a draw starts anew in every part",
            "return list(self.chosen(draw.mask(self.first_row, self.rows)))",
            "return list(self.chosen(draw.mask(0, self.rows)))",
        ),
        (
            "absent records are in columns",
            "x[:, i] = away[:, i] * self.lattice.unit * alive",
            "x[:, i] = away[:, i] * self.lattice.unit",
        ),
    ),
    *changed(
        "rows/sampling.py",
        "rows/test_rows.py attacks/test_sampling_audit.py",
        (
            "half of the rows of a sample",
            "below = int(Fraction(self.rate) * 2**64)",
            "below = int(Fraction(self.rate) * 2**63)",
        ),
        (
            "rows are drawn a little too often",
            "below = int(Fraction(self.rate) * 2**64)",
            "below = int(Fraction(self.rate) * 2**64) + 1",
        ),
        ("every part has the same coins", "        stream.advance(first_row)\n", "        pass\n"),
    ),
    *changed(
        "rows/sampling.py",
        "rows/test_rows.py queries/test_teacher.py",
        (
            "rows are dealt by their place",
            "high = _words(self.key, first_row, count) >> np.uint64(32)",
            "high = np.arange(first_row, first_row + count, dtype=np.uint64) << np.uint64(28)",
        ),
    ),
    *changed(
        "rows/slopes.py",
        ROWS,
        (
            "records that count as absent have a gradient",
            "        slope *= alive\n",
            "",
        ),
    ),
    *changed(
        "rows/row_bounds.py",
        BOTH,
        ("entries are not clipped from below", "        np.maximum(values, lower, out=values)\n", ""),
        ("entries are not clipped from above", "        np.minimum(values, upper, out=values)\n", ""),
        ("dense rows are not clipped", "x[long] *= shrink(sums, self.row_norm)[:, None]", "x[long] *= 1.0"),
        (
            "sparse rows are not clipped",
            "values *= np.repeat(factor, np.diff(x.indptr))",
            "values *= 1.0",
        ),
        ("rows just beyond their norm are not clipped", "* (1 - ROUNDING))", "* (4 - ROUNDING))"),
    ),
    *changed(
        "rows/row_bounds.py",
        SERVED,
        (
            "norms of served rows are not measured in the units of the fit",
            "squares = (values / scale) ** 2 if np.ndim(scale) else values**2",
            "squares = values**2",
        ),
    ),
    *changed(
        "rows/margins.py",
        SERVED,
        ("served rows are not clipped", "    bounds.clip(x)\n", ""),
        ("infinite cells are served as bounds", "values[bad[owner]] = np.nan", "values[:0] = np.nan"),
        ("absent entries are served beyond their bounds", "sp.issparse(x) and bounds.holds_zero:", "sp.issparse(x):"),
    ),
    *changed(
        "queries/tallies.py",
        SERVED,
        (
            "scored predictions leave the range of the target",
            "return np.clip(margin if mean is None else mean(margin), -within, within)",
            "return margin if mean is None else mean(margin)",
        ),
    ),
    *changed(
        "rows/block.py",
        BOTH,
        (
            "dense records that are not finite are kept",
            "    finite = np.isfinite(x).all(axis=1)\n",
            "    finite = np.ones(x.shape[0], dtype=bool)\n",
        ),
        ("sparse records that are not finite are kept", "        x.data[~good[owner]] = 0.0\n", ""),
        ("records without a finite target are kept", "finite &= np.isfinite(y)", "finite &= True"),
        (
            "targets are not clipped",
            "np.clip(np.where(finite, y, 0.0), -facts.target_bound, facts.target_bound)",
            "np.where(finite, y, 0.0)",
        ),
        ("duplicates of a sparse row are bounded one by one", "    x.sum_duplicates()\n", ""),
        (
            "the intercept is not in the norm",
            "squares = np.maximum(squares.astype(float), 0.0) + lattice.height**2",
            "squares = np.maximum(squares.astype(float), 0.0)",
        ),
        ("dense entries are rounded", "    np.trunc(x, out=x)\n", "    np.rint(x, out=x)\n"),
        (
            "sparse entries are rounded",
            "        np.trunc(x.data, out=x.data)\n",
            "        np.rint(x.data, out=x.data)\n",
        ),
    ),
    *changed(
        "rows/block.py",
        LAWS,
        (
            "norms of sparse rows forget the shift",
            " + (shift**2).astype(kind).sum()",
            "",
        ),
    ),
    *changed(
        "rows/lattice.py",
        "rows/test_rows.py laws/test_row_laws.py",
        (
            "a rounded shift is not in the bounds",
            "bounds = np.maximum(np.abs(high - self.shift), np.abs(low - self.shift))",
            "bounds = self.facts.half_widths / self.unit // 1",
        ),
        (
            "zero is not within the bounds of clipped rows",
            "low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)",
            "low, high = low + 0.0, high + 0.0",
        ),
        (
            "sums have units for half of the rows",
            "bits = max(self.total_bits - (max(self.facts.n_rows, 1) - 1).bit_length(), 1)",
            "bits = max(self.total_bits + 1 - (max(self.facts.n_rows, 1) - 1).bit_length(), 1)",
        ),
        ("sums that do not fit are taken", "if not most <= self.record_units:", "if False:"),
        (
            "correlations have units for half of the rows",
            "return limit, min(2.0**20, math.ldexp(1.0, exponent - 1))",
            "return limit, min(2.0**20, math.ldexp(1.0, exponent))",
        ),
        (
            "iterates have too fine a lattice",
            "exponent = max(math.frexp(size)[1] - MARGIN_BITS, -1000)",
            "exponent = max(math.frexp(size)[1] - MARGIN_BITS - 8, -1000)",
        ),
        (
            "the lattice follows the storage",
            "        if self.exact or self.facts.entry_bound == 0:\n",
            "        if self.exact or self.facts.sparse:\n",
        ),
    ),
    *changed(
        "rows/support_rows.py",
        "queries/test_minimise.py queries/test_teacher.py",
        (
            "rows of statistics are not clipped",
            "(limit / np.maximum(norms, limit) if np.isfinite(norm) else 1.0)",
            "1.0",
        ),
        ("minima of more rows than were declared", "if present.max(initial=0) > left:", "if False:"),
        (
            "records of a minimum are counted anew in every block",
            "left = max(left - int(",
            "left = max(left - 0 * int(",
        ),
        ("absent records are in statistics", "shrink = block.present * (", "shrink = (1.0 + 0.0 * block.present) * ("),
    ),
    *changed(
        "rows/kernels/products.py",
        "laws/test_row_laws.py oracles/test_weighted.py",
        (
            "norms of weighted rows are halved",
            "return np.asarray(total * (1 + rounding))",
            "return np.asarray(total * 0.25)",
        ),
        (
            "absent records have squares",
            "head += block.present[piece] @ function(x)",
            "head += np.ones(x.shape[0]) @ function(x)",
        ),
        (
            "entries of correlations are not clipped",
            "return np.clip(values, least, most)",
            "return values",
        ),
    ),
    *changed(
        "rows/kernels/plain.py",
        "rows/test_kernels.py rows/test_rows.py",
        (
            "large factors of shifted rows are not split",
            "float(np.abs(factor).max(initial=0.0)) * most >= 2.0**53:",
            "most < 0:",
        ),
        ("the low word of a factor has half its bits", "LOW_BITS = 18", "LOW_BITS = 9"),
        (
            "rows are not held within a norm by numpy",
            "        away *= held.norm / np.maximum(lengths, held.norm)\n",
            "",
        ),
    ),
    *changed(
        "rows/frames.py",
        "oracles/test_framed.py",
        ("squares of moved rows are those of rows", "float(on.centre @ on.centre) - 2 * product", "0.0"),
        (
            "moved rows are summed where they are stored",
            "kernels.scatter_from(self.z, self.centre, factor, head, rows)",
            "kernels.scatter(self.z, factor, head, rows, 2.0**ENTRY_BITS)",
        ),
    ),
    *changed(
        "rows/kernels/compiled.py",
        "rows/test_kernels.py",
        ("sums of other threads are lost", "    for total in totals[1:]:\n", "    for total in totals[:0]:\n"),
        (
            "threads share the sums of the first",
            "[acc, *(np.zeros(acc.shape, dtype=np.int64) for _ in cuts[1:])]",
            "[acc] + [np.zeros(0, dtype=np.int64)] * 0 + [acc] * len(cuts[1:])",
        ),
    ),
    *changed(
        "rows/kernels/loops.py",
        "rows/test_kernels.py",
        (
            "sparse sums are floats",
            "        while k < last:\n            acc[indices[k]] += int64(data[k]) * c\n",
            "        while k < last:\n            acc[indices[k]] += data[k] * float(c)\n",
        ),
        (
            "dense factors beyond 32 bits are cut",
            "                acc[j] += x[i, j] * c\n",
            "                acc[j] += x[i, j] * min(c, 2.0**32)\n",
        ),
        (
            "products of rows leave the last entry out",
            "        while k < last:\n            a +=",
            "        while k + ONE < last:\n            a +=",
        ),
        ("rows from a centre are not moved", "acc[j] += (x[i, j] - centre[j]) * c", "acc[j] += x[i, j] * c"),
        ("rows are not held within a norm", "shrink = norm / max(np.sqrt(total), norm)", "shrink = 1.0"),
        ("clipped entries have one bound", "min(max(data[k] * c, -limit), limit)", "min(data[k] * c, limit)"),
    ),
    *changed(
        "rows/lattice.py",
        "rows/test_kernels.py",
        (
            "sparse entries are stored in half of the bytes",
            "return np.dtype(np.float64) if self.exact else _narrowest(self.stored_bound)",
            "return np.dtype(np.int8)",
        ),
    ),
    *changed(
        "rows/block.py",
        LAWS,
        (
            "absent entries are taken for zeros",
            "largest = _largest_absent(x, owner, shift) if lattice.shifted else np.zeros(x.shape[0])",
            "largest = np.zeros(x.shape[0])",
        ),
        (
            "every sparse row has the largest shift",
            "return np.asarray(np.r_[np.abs(shift)[order], 0.0][first])",
            "return np.asarray(np.r_[np.abs(shift)[order], 0.0][0 * first])",
        ),
    ),
    *changed(
        "queries/weighted.py",
        LAWS,
        (
            "weighted factors of rows without a norm have no bound",
            "np.floor(np.minimum(room, lattice.record_units))",
            "np.floor(room)",
        ),
    ),
    *changed(
        "rows/records.py",
        "rows/test_source.py",
        (
            "messages about cells pass",
            "    except Exception:  # any object may stand in a table, and its message is its own\n",
            "    except KeyError:\n",
        ),
        ("a foreign label is a class", "return codes.get(_key(label), math.nan)", "return codes.get(_key(label), 0.0)"),
        ("warnings pass", '        warnings.simplefilter("ignore")\n', ""),
        ("missing cells are not seen", "        if not np.all(np.isfinite(targets)):\n            return True\n", ""),
    ),
    *changed(
        "rows/hosts/base.py",
        LAWS,
        (
            "totals wrap around",
            "held = np.clip(high, -(1 << (62 - WORD)) - 1, 1 << (62 - WORD))",
            "held = high + 0",
        ),
        (
            "totals are not clamped",
            "return np.clip(self._only, -self._largest, self._largest)",
            "return self._only",
        ),
    ),
)
