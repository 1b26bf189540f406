"""Noise: too little of it, the wrong law, or the same draw twice."""

from .mutant import changed

LATTICE = "core/test_lattice_noise.py laws/test_mechanism_laws.py"
SELECTION = "core/test_selection.py laws/test_mechanism_laws.py"
LAZY = "core/test_lazy.py"
RANDOMNESS = "core/test_randomness.py"

MUTANTS = (
    *changed(
        "core/mechanisms/gaussian.py",
        LATTICE,
        ("half of the Gaussian scale", "np.rint(some, out=some)", "np.rint(some / 2, out=some)"),
        ("Gaussian noise off the lattice", "        np.rint(some, out=some)\n", ""),
        ("floats get lattice noise", 'if total.dtype.kind != "i":', "if False:"),
        (
            "one Gaussian draw for all coordinates",
            "some = generator.standard_normal(out=noise[part])",
            "some = noise[part]; some[:] = generator.standard_normal()",
        ),
    ),
    *changed(
        "core/mechanisms/gaussian.py",
        "attacks/test_objective_audit.py",
        (
            "half of the tilt of an objective",
            "scale * randomness.generator().standard_normal(size)",
            "0.5 * scale * randomness.generator().standard_normal(size)",
        ),
    ),
    *changed(
        "core/mechanisms/laplace.py",
        LATTICE + " core/test_lazy.py",
        (
            "half of the Laplace scale",
            "scales = np.broadcast_to(scale, total.shape).ravel()",
            "scales = np.broadcast_to(scale, total.shape).ravel() / 2",
        ),
        ("Laplace noise off the lattice", "    return found\n", "    return middle\n"),
    ),
    *changed(
        "core/mechanisms/laplace.py",
        LAZY,
        (
            "Laplace noise is rounded by its first bits",
            "for j in np.flatnonzero(found != above).tolist():",
            "for j in ():",
        ),
        (
            "Laplace noise of one sign in the tail",
            "np.where(upper, size, -size)",
            "np.where(upper | (size > 50), size, -size)",
        ),
    ),
    *changed(
        "core/mechanisms/lazy.py",
        LAZY,
        (
            "bits that were not drawn are zeros",
            "_log_part(whole - known - 1, whole, 1)",
            "_log_part(whole - known, whole, 1)",
        ),
        (
            "half of the numbers that bits allow",
            "np.where(low, estimate, 0.5) / nearer",
            "np.where(low, estimate, 0.5) / (2 * nearer)",
        ),
        ("roundings of digits are not allowed for", "side * Decimal(1).scaleb", "0 * Decimal(1).scaleb"),
        ("half of the roundings of floats", "MARGIN = 64 * 2.0**-53", "MARGIN = 32 * 2.0**-53"),
        ("half of the digits beyond the bits", "GUARD = 25", "GUARD = 12"),
        (
            "doubt is settled by the lower ends",
            "    doubtful = chosen.tolist()\n",
            "    return chosen[:count]\n    doubtful = chosen.tolist()\n",
        ),
        ("further bits are all zero", "known << WORD | int(random_words(1, self._generator)[0])", "known << WORD"),
        (
            "further candidates are forgotten",
            "doubtful = [j for j in doubtful if known[j][1] >= least]",
            "doubtful = doubtful[:count]",
        ),
    ),
    *changed(
        "core/mechanisms/exact.py",
        "core/test_exact.py",
        ("half of the discrete Gaussian scale", "gamma *= -0.5 / (sigma * sigma)", "gamma *= -2 / (sigma * sigma)"),
        ("zero is as likely as two numbers", "accepted[zeros[sign[zeros] < 0]] = False", "pass"),
        ("proposals of half the scale", "t = np.floor(sigma) + 1", "t = np.floor(sigma / 2) + 1"),
        ("those in doubt are accepted", "accepted[j] = _accepts(", "accepted[j] = True or _accepts("),
        ("those in doubt are rejected", "accepted[j] = _accepts(", "accepted[j] = False and _accepts("),
        ("first bits are forgotten in digits", "[2**SIZE_BITS - 1 - first]", "[first]"),
        ("first bits of a turn are forgotten in digits", "[2**TURN_BITS - 1 - first]", "[first]"),
        ("half of gamma in digits", "** 2 / (2 * square)", "** 2 / (4 * square)"),
        ("numbers near an edge are believed", "0.5 / bits + UNIT", "0.0 / bits + UNIT"),
    ),
    *changed(
        "core/mechanisms/selection.py",
        SELECTION,
        (
            "half of the Gumbel scale",
            "return -np.log(exponential), np.where",
            "return -np.log(exponential) / 2, np.where",
        ),
        (
            "Gumbel noise replaced by exponential noise",
            "return -np.log(exponential), np.where",
            "return exponential, np.where",
        ),
        (
            "permute-and-flip with Gumbel noise",
            "scale, Exponential(), randomness)[0]",
            "scale, Gumbel(), randomness)[0]",
        ),
    ),
    *changed(
        "core/mechanisms/candidates.py",
        SELECTION,
        ("half of the scale of selections", "distance + scale * noise, reach)", "distance + scale / 2 * noise, reach)"),
        ("a selection forgets its noise", "distance + scale * noise, reach)", "distance, 0 * reach)"),
    ),
    *changed(
        "core/mechanisms/candidates.py",
        "core/test_candidates.py",
        ("those above the level are left out", "np.logical_or(mask, scores > level, out=mask)", "pass"),
        ("too few are enough", "> ceiling) >= count:", "> ceiling) >= count // 2:"),
        ("nobody is too low", "> ceiling) >= count:", "> -np.inf) >= count:"),
        (
            "noise is drawn again when too few are above",
            "every[which], every[rest] = words,",
            "every[which], every[rest] = _longer(first[which], generator),",
        ),
        (
            "first bits are drawn twice",
            "words = _longer(first[which], generator)",
            "words = random_words(which.size, generator)",
        ),
        (
            "the rest has first bits of its own",
            "= words, _longer(first[rest], generator)",
            "= words, random_words(rest.size, generator)",
        ),
    ),
    *changed(
        "core/mechanisms/selection.py",
        "core/test_candidates.py",
        (
            "the edge of Gumbel noise is half as high",
            "return -math.log(-math.log1p(",
            "return -math.log(-2 * math.log1p(",
        ),
        ("the edge of exponential noise is too low", "math.log(2**FIRST / part)", "math.log(2 ** (FIRST - 1) / part)"),
        ("the wrong end is extreme", "return first < part", "return np.asarray(first >= 2**FIRST - part)"),
    ),
    *changed(
        "core/mechanisms/selection.py",
        LAZY,
        (
            "half of the Gumbel scale in digits",
            "_minus_log(high, -1), _minus_log(low, 1)",
            "_minus_log(high, -1) / 2, _minus_log(low, 1) / 2",
        ),
        (
            "half of the scale of permute-and-flip in digits",
            "        return low, high",
            "        return low / 2, high / 2",
        ),
        (
            "Gumbel noise has an end",
            "np.where(part <= 0.5, 2 * part, np.inf)",
            "np.where(part <= 0.5, 2 * part, 0.0)",
        ),
    ),
    *changed(
        "core/mechanisms/randomness.py",
        RANDOMNESS,
        ("a seed gives every release the same noise", "self._children.spawn(1)[0]", "self._children"),
        ("keys of one byte", "os.urandom(16)", "os.urandom(1)"),
        ("a seeded source counts as secure", "self.secure = seed is None", "self.secure = True"),
        (
            "randomness can be copied",
            '        raise TypeError("randomness is not copied or stored: the same noise must never protect two releases.")',
            "        return object.__reduce_ex__(self, 2)",
        ),
    ),
)
