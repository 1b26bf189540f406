"""Noise: too little of it, the wrong law, or the same draw twice."""

from .mutant import changed

LATTICE = "mechanisms/test_lattice_noise.py laws/test_mechanism_laws.py"
SELECTION = "mechanisms/test_selection.py laws/test_mechanism_laws.py"
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
        LATTICE,
        ("half of the Laplace scale", "np.rint(noise * scale)", "np.rint(noise * scale / 2)"),
        ("Laplace noise off the lattice", "np.rint(noise * scale)", "noise * scale"),
    ),
    *changed(
        "mechanisms/exact.py",
        "mechanisms/test_exact.py",
        ("half of the discrete Gaussian scale", "scale=float(value))", "scale=float(value) / 2)"),
    ),
    *changed(
        "mechanisms/selection.py",
        SELECTION,
        (
            "half of the Gumbel scale",
            "scores + scale * randomness.generator().gumbel",
            "scores + scale / 2 * randomness.generator().gumbel",
        ),
        (
            "half of the scale of permute-and-flip",
            "scale * randomness.generator().exponential",
            "scale / 2 * randomness.generator().exponential",
        ),
        ("a selection forgets its noise", "np.argpartition(-noisy, count - 1)", "np.argpartition(-scores, count - 1)"),
        ("Gumbel noise replaced by Gaussian noise", ".gumbel(0.0, 1.0,", ".normal(0.0, 1.0,"),
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
