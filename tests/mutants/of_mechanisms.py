"""Noise: too little of it, the wrong law, or the same draw twice."""

from .mutant import changed

LATTICE = "mechanisms/test_lattice_noise.py laws/test_mechanism_laws.py"
SELECTION = "mechanisms/test_selection.py laws/test_mechanism_laws.py"
LAZY = "mechanisms/test_lazy.py"
RANDOMNESS = "mechanisms/test_randomness.py"

MUTANTS = (
    *changed(
        "mechanisms/gaussian.py",
        LATTICE,
        ("half of the Gaussian scale", "noise *= scale", "noise *= scale / 2"),
        ("Gaussian noise off the lattice", "    np.rint(noise, out=noise)\n", ""),
        ("floats get lattice noise", 'if total.dtype.kind != "i":', "if False:"),
        ("one Gaussian draw for all coordinates", ".standard_normal(total.shape)", ".standard_normal()"),
    ),
    *changed(
        "mechanisms/gaussian.py",
        "attacks/test_objective_audit.py",
        (
            "half of the tilt of an objective",
            "scale * randomness.generator().standard_normal(size)",
            "0.5 * scale * randomness.generator().standard_normal(size)",
        ),
    ),
    *changed(
        "mechanisms/laplace.py",
        LATTICE + " mechanisms/test_lazy.py",
        (
            "half of the Laplace scale",
            "scales = np.broadcast_to(scale, total.shape).ravel()",
            "scales = np.broadcast_to(scale, total.shape).ravel() / 2",
        ),
        ("Laplace noise off the lattice", "    return found\n", "    return middle\n"),
    ),
    *changed(
        "mechanisms/laplace.py",
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
        "mechanisms/lazy.py",
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
        "mechanisms/exact.py",
        "mechanisms/test_exact.py",
        ("half of the discrete Gaussian scale", "scale=float(value))", "scale=float(value) / 2)"),
    ),
    *changed(
        "mechanisms/selection.py",
        SELECTION,
        ("half of the Gumbel scale", "noise = -np.log(exponential)", "noise = -np.log(exponential) / 2"),
        (
            "half of the scale of permute-and-flip",
            "distance + scale * exponential, reach",
            "distance + scale / 2 * exponential, reach",
        ),
        ("a selection forgets its noise", "distance + scale * noise, reach", "distance, 0 * reach"),
        ("Gumbel noise replaced by exponential noise", "noise = -np.log(exponential)", "noise = exponential"),
    ),
    *changed(
        "mechanisms/selection.py",
        LAZY,
        (
            "half of the Gumbel scale in digits",
            "_noisy(scores, which, size, _minus_log(high, -1), _minus_log(low, 1))",
            "_noisy(scores, which, size / 2, _minus_log(high, -1), _minus_log(low, 1))",
        ),
        (
            "half of the scale of permute-and-flip in digits",
            "size, *numbers.bounds(which, words))",
            "size / 2, *numbers.bounds(which, words))",
        ),
        (
            "Gumbel noise has an end",
            "doubt = np.where(part <= 0.5, 2 * part, np.inf)",
            "doubt = np.where(part <= 0.5, 2 * part, 0.0)",
        ),
    ),
    *changed(
        "mechanisms/randomness.py",
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
