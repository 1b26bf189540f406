"""Public numbers: all their bits are drawn, and a block with a key gives the same ones again."""

import numpy as np

from dpsparse.core.public_draws import BITS, public_number, repeatable


def drawn(key):
    with repeatable(key):
        return [public_number() for _ in range(200)]


def test_numbers_have_63_bits_with_and_without_a_key():
    """That the highest bit of 200 numbers is never set has a chance of 2^-200."""
    for key in (None, b"a key of any length"):
        numbers = np.array(drawn(key), dtype=object)
        assert BITS == 63
        assert 2**62 <= max(numbers) < 2**63


def test_a_key_gives_the_same_numbers_again_and_another_key_others():
    assert drawn(b"one") == drawn(b"one")
    assert not set(drawn(b"one")) & set(drawn(b"two"))
    assert not set(drawn(None)) & set(drawn(None))


def test_a_block_inside_another_leaves_its_numbers_alone():
    with repeatable(b"one"):
        first = public_number()
        assert drawn(b"two")[0] != first
        assert public_number() == drawn(b"one")[1]
