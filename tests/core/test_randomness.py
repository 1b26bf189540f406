"""Where noise comes from."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from randomgen import AESCounter

from dpsparse.core.mechanisms import Randomness, keyed_generator
from dpsparse.rows.sampling import _words
from truth import audit


def bits(randomness: Randomness, count: int = 4) -> list[int]:
    return randomness.generator().integers(0, 2**63, count).tolist()


def test_every_release_gets_a_fresh_generator():
    """Secure: 256 generators never repeat a 63-bit number (false alarm below 1e-14)."""
    secure = Randomness()
    drawn = [bits(secure, 1)[0] for _ in range(256)]
    assert len(set(drawn)) == 256


def test_two_secure_sources_differ():
    """False alarm 2^-252."""
    assert bits(Randomness()) != bits(Randomness())


def test_the_key_and_the_place_of_each_generator_come_from_the_operating_system(monkeypatch):
    asked = []
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or bytes(range(len(asked), len(asked) + size)))
    secure = Randomness()
    assert bits(secure) != bits(secure)
    assert asked == [16, 16, 16], "a key and two places have 128 bits each"


def test_the_same_key_means_the_same_stream(monkeypatch):
    """Control for the tests above: nothing but the key decides the noise."""
    monkeypatch.setattr(os, "urandom", bytes)
    assert bits(Randomness()) == bits(Randomness())


def test_all_sixteen_bytes_of_a_key_matter(monkeypatch):
    streams = set()
    for position in range(16):
        key = bytes(int(i == position) for i in range(16))
        monkeypatch.setattr(os, "urandom", lambda size, key=key: key)
        streams.add(tuple(bits(Randomness())))
    assert len(streams) == 16


@pytest.mark.parametrize("place", [0, 4, 2**64 - 4, 2**64, 2**127 + 8, 2**128 - 4])
def test_a_generator_reads_the_keystream_from_its_place_on(place, monkeypatch):
    key = bytes(range(16))
    given = iter([key, bytes(16), (place + 3).to_bytes(16, "little")])
    monkeypatch.setattr(os, "urandom", lambda size: next(given))
    secure = Randomness()
    secure.generator().standard_normal(5)  # what was read before does not matter
    expected = np.random.Generator(AESCounter(key=int.from_bytes(key, "little"), counter=place))
    assert bits(secure, 40) == expected.integers(0, 2**63, 40).tolist()


def test_a_generator_that_is_moved_goes_on_with_other_blocks():
    """Two that are read in turn never repeat a number (false alarm below 1e-14)."""
    secure = Randomness()
    first, second = secure.generator(), secure.generator()
    drawn = [int(g.integers(0, 2**63)) for _ in range(128) for g in (first, second)]
    assert len(set(drawn)) == 256


def test_no_two_threads_share_a_generator():
    secure = Randomness()
    with ThreadPoolExecutor(2) as pool:
        meet = threading.Barrier(2)
        others = list(pool.map(lambda _: (meet.wait(), secure.generator())[1], range(2)))
    assert len({id(g.bit_generator) for g in (*others, secure.generator())}) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_draws_other_noise():
    """False alarm 2^-252; in a process of its own, for a process with threads is better not forked."""
    program = (
        "import os; from dpsparse.core.mechanisms import Randomness; source = Randomness(); source.generator();"
        "child = os.fork(); print(source.generator().integers(0, 2**63, 4).tolist(), flush=True);"
        "os._exit(0) if child == 0 else os.waitpid(child, 0)"
    )
    drawn = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert len(set(drawn.splitlines())) == 2


def test_a_seed_repeats_and_each_release_still_differs():
    assert [bits(r) for r in [Randomness(7)] for _ in range(3)] == [bits(r) for r in [Randomness(7)] for _ in range(3)]
    seeded = Randomness(7)
    assert bits(seeded) != bits(seeded)
    assert bits(Randomness(7)) != bits(Randomness(8))


@pytest.mark.parametrize("seed", [0, 7, np.int64(3), np.random.default_rng(0), np.random.RandomState(0)])
def test_only_a_source_without_a_seed_is_secure(seed):
    assert Randomness().secure
    assert not Randomness(seed).secure
    assert "not private" in repr(Randomness(seed))
    assert "seed" not in repr(Randomness())


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True, [1], b"x"])
def test_other_seeds_are_refused(seed):
    with pytest.raises(ValueError, match="random_state"):
        Randomness(seed)


@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_randomness_is_never_copied_or_stored(seed, duplicate):
    with pytest.raises(TypeError, match="never protect two"):
        duplicate(Randomness(seed))


def test_the_secure_generator_draws_normal_numbers():
    """False alarm 5e-7."""
    assert audit.ks_p_value(Randomness().generator().standard_normal(200_000), "norm") > audit.ALARM


def encrypted_counters(key, first, count):
    """Words of AES-128 over the numbers 0, 1, 2, ... by another library: two words for each block, from word `first` on."""
    ciphers = pytest.importorskip("cryptography.hazmat.primitives.ciphers", reason="the second source of AES words")
    blocks = range(first // 2, (first + count + 1) // 2)
    cipher = ciphers.Cipher(ciphers.algorithms.AES(key.to_bytes(16, "little")), ciphers.modes.ECB()).encryptor()
    words = np.frombuffer(cipher.update(b"".join(block.to_bytes(16, "little") for block in blocks)), dtype="<u8")
    return words[first % 2 :][:count]


@pytest.mark.parametrize("key", [0, 1, 2**127 + 2**64 + 3, int.from_bytes(bytes(range(16)), "little")])
def test_a_second_library_encrypts_to_the_same_words(key):
    """Noise and samples are AES-128 in counter mode indeed, and not what one library calls so."""
    words = keyed_generator(key).bit_generator.random_raw(10_001)
    np.testing.assert_array_equal(words, encrypted_counters(key, 0, 10_001))


@pytest.mark.parametrize("first", [0, 1, 7, 8, 1000, 2**33 + 5])
def test_rows_of_a_sample_find_their_words_by_number(first):
    key = 2**100 + 12345
    np.testing.assert_array_equal(_words(key, first, 33), encrypted_counters(key, first, 33))
