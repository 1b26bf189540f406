"""Chains of layers: the gradients of `torch.func`, of networks in which rows cannot mix, and of no others."""

from collections import OrderedDict

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="extra torch")

from torch import nn  # noqa: E402
from torch.nn.utils import parametrizations  # noqa: E402

from dpsparse.neural import paper_cnn, sparse_start  # noqa: E402
from dpsparse.sites.neural.gradients import CHUNK, UNITS, RowGradients  # noqa: E402
from dpsparse.sites.neural.layers import chain_of  # noqa: E402
from dpsparse.sites.neural.oracle import LOSSES, example_target  # noqa: E402
from truth.networks import small  # noqa: E402

CROSS = LOSSES["cross_entropy"]


def hooked():
    module = small()
    module[0].register_forward_hook(lambda layer, given, found: found - found.mean(dim=0))
    return module


def tied():
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    module[1].weight = module[0].weight
    return module


def replaced():
    module = small()
    module[1].forward = lambda x: x - x.mean(dim=0)
    return module


def other_filters():
    module = small()
    module[0].weight = nn.Parameter(torch.zeros(2, 1, 1, 9))
    return module


def number_for_a_pair():
    module = small()
    module[0].stride = 1
    return module


def another_call():
    module = small()
    module[1]._call_impl = lambda x: x - x.mean(dim=0)
    return module


class Called(nn.Sequential):
    """Does another thing when it is called."""

    def __call__(self, x):
        return super().__call__(2 * x)


class Centred(nn.Sequential):
    """Takes the mean of all rows from each."""

    def forward(self, x):
        return super().forward(x - x.mean(dim=0))


SAME = nn.Linear(3, 3)
CHAINS = {
    "small": (small, (1, 6, 6)),
    "paper": (lambda: sparse_start(paper_cnn(), 10_000), (1, 28, 28)),
    "strides, pads and holes": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 3, (2, 3), stride=(2, 1), padding=(1, 2), dilation=(1, 2), bias=False),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(3 * 2 * 3, 3, bias=False),
            nn.LogSoftmax(dim=-1),
        ),
        (2, 6, 7),
    ),
    "curves": (
        lambda: nn.Sequential(nn.Linear(8, 16), nn.Sigmoid(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3)),
        (8,),
    ),
}
OTHERS = {
    "mean of a batch": lambda: nn.Sequential(nn.Flatten(), nn.BatchNorm1d(36), nn.Linear(36, 3)),
    "no parameters, but a mean": lambda: nn.Sequential(nn.BatchNorm2d(1, affine=False), nn.Flatten(), nn.Linear(36, 3)),
    "chance": lambda: nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(36, 3)),
    "a forward of its own": lambda: Centred(nn.Flatten(), nn.Linear(36, 3)),
    "classes across rows": lambda: nn.Sequential(nn.Linear(36, 3), nn.LogSoftmax(dim=0)),
    "rows in one": lambda: nn.Sequential(nn.Flatten(0), nn.Linear(36, 3)),
    "groups": lambda: nn.Sequential(nn.Conv2d(2, 2, 3, groups=2), nn.Flatten(), nn.Linear(32, 3)),
    "another border": lambda: nn.Sequential(nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular")),
    "called in another way": lambda: Called(nn.Flatten(), nn.Linear(36, 3)),
    "another call of a layer": another_call,
    "filters of another size": other_filters,
    "a number for a pair": number_for_a_pair,
    "a layer twice": lambda: nn.Sequential(SAME, nn.ReLU(), SAME),
    "a tensor twice": tied,
    "a hook": hooked,
    "another forward of a layer": replaced,
    "computed weights": lambda: nn.Sequential(parametrizations.weight_norm(nn.Linear(3, 3))),
    "chains in a chain": lambda: nn.Sequential(nn.Sequential(nn.Linear(3, 3))),
    "nothing to learn": lambda: nn.Sequential(nn.ReLU()),
    "no chain": lambda: nn.Linear(3, 3),
}


def rows(shape, count=20):
    generator = torch.Generator().manual_seed(0)
    return torch.randn((count, *shape), generator=generator), torch.arange(count) % 3


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_has_the_gradients_of_torch_func_and_their_norms(name):
    make, shape = CHAINS[name]
    gradients, (X, y) = RowGradients(make(), CROSS, chunk=32), rows(shape)
    found = gradients.chunk(gradients.start(), X, y)
    gradients._chain = None
    known = gradients.chunk(gradients.start(), X, y)
    assert torch.allclose(found.values, known.values, rtol=1e-3, atol=1e-5)
    written = torch.linalg.vector_norm(found.values, dim=1, dtype=torch.float64)
    assert torch.allclose(found.norms, written, rtol=2.0**-23, atol=0.0)
    assert torch.count_nonzero(found.values) > 0


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_is_computed_in_chunks_and_a_row_keeps_its_bits_in_any_company(name):
    make, shape = CHAINS[name]
    gradients, (X, y) = RowGradients(make(), CROSS, chunk=16), rows(shape, 40)
    assert chain_of(make()) is not None
    gradients.rehearse(shape, example_target("cross_entropy", 3))
    assert gradients.rows_at_once == 16
    w, order = gradients.start(), np.random.default_rng(0).permutation(40)
    singles = [gradients.total(w, X, y, np.arange(40) == i, 0.1) for i in range(40)]
    assert all(sum(int(v) ** 2 for v in single) <= int(UNITS) ** 2 for single in singles)
    assert max(np.linalg.norm(single) for single in singles) > 0.99 * UNITS
    loud = X.clone()
    loud[7] *= 1e30
    for given in (X, loud):
        everybody = np.arange(40) != 7
        total = gradients.total(w, given[order], y[order], everybody[order], 0.1)
        assert np.array_equal(total, np.sum(singles, axis=0) - singles[7])
    beside = gradients.total(w, loud, y, np.ones(40, dtype=bool), 0.1)
    alone = gradients.total(w, loud, y, np.arange(40) == 7, 0.1)
    assert np.array_equal(beside, np.sum(singles, axis=0) - singles[7] + alone)


@pytest.mark.parametrize("name", OTHERS)
def test_a_network_in_which_rows_might_mix_is_no_chain(name):
    assert chain_of(OTHERS[name]()) is None


def test_rows_are_not_taken_for_channels():
    """Rows with one axis fewer than a convolution asks for: a chunk of them would be one image."""
    chain = chain_of(nn.Sequential(nn.Conv2d(4, 1, 3), nn.Flatten(), nn.Linear(16, 3)))
    assert chain.fits((4, 6, 6))
    assert not chain.fits((6, 6))
    assert not chain_of(nn.Sequential(nn.Linear(6, 3))).fits((4, 6))
    assert not chain_of(nn.Sequential(nn.Linear(6, 3))).fits((7,))
    gradients = RowGradients(nn.Sequential(OrderedDict(a=nn.Conv2d(1, 3, 3), b=nn.Flatten())), CROSS, chunk=16)
    gradients.rehearse((1, 3, 3), example_target("cross_entropy", 3))
    assert gradients.rows_at_once == 16


def centre(layer, given, found):
    """A hook that mixes rows."""
    return found - found.mean(dim=0)


def test_hooks_for_all_modules_are_none_of_a_chain():
    handle = nn.modules.module.register_module_forward_hook(centre)
    try:
        assert chain_of(small()) is None
    finally:
        handle.remove()
    assert chain_of(small()) is not None


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_hook_that_comes_after_the_rehearsal_mixes_no_rows(everywhere):
    module, (X, y) = small(), rows((1, 6, 6))
    gradients = RowGradients(module, CROSS, chunk=16)
    gradients.rehearse((1, 6, 6), example_target("cross_entropy", 3))
    w, everybody = gradients.start(), np.ones(20, dtype=bool)
    known = gradients.total(w, X, y, everybody, 1.0)
    register = nn.modules.module.register_module_forward_hook if everywhere else module[1].register_forward_hook
    handle = register(centre)
    try:
        assert np.array_equal(gradients.total(w, X, y, everybody, 1.0), known)
    finally:
        handle.remove()


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_outside_does_not_come_in(kind):
    """Products of 16 bits would be larger than the norms of their factors, or infinite."""
    module = nn.Sequential(nn.Linear(20, 32, bias=False), nn.ReLU(), nn.Linear(32, 1, bias=False))
    gradients, (X, _) = RowGradients(module, LOSSES["squared"], chunk=16), rows((20,), 16)
    X[3] *= 1000
    y = torch.zeros(16)
    y[3] = 5e4
    w, one = gradients.start(), np.arange(16) == 3
    known = gradients.total(w, X, y, one, 1.0)
    with torch.autocast("cpu", dtype=kind):
        gradients.rehearse((20,), example_target("squared", None))
        found = gradients.total(w, X, y, one, 1.0)
    assert np.array_equal(found, known)
    assert 0.99 * UNITS < np.linalg.norm(found) <= UNITS


class Inside(nn.Module):
    """A network in another: no chain."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


@pytest.mark.parametrize("start", ["usual", "zeros"])
@pytest.mark.parametrize("around", [lambda module: module, Inside])
def test_rows_that_begin_at_odd_places_keep_their_last_bits(around, start):
    """Products of matrices may take other instructions for a row of 18 numbers that begins at an odd place.

    Chains add zeros against that. Which instructions a processor has is not ours to choose: where the
    rehearsal finds other bits, every row is computed alone. Either way a row has the same bits in every
    place. A start of zeros would hide it from the rehearsal.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = around(nn.Sequential(nn.Linear(18, 5), nn.Sigmoid(), nn.Linear(5, 3)))
    w = RowGradients(module, CROSS).start()
    if start == "zeros":
        for parameter in module.parameters():
            nn.init.zeros_(parameter)
    gradients, (X, y) = RowGradients(module, CROSS, chunk=16), rows((18,), 16)
    everybody = np.ones(16, dtype=bool)
    gradients.rehearse((18,), example_target("cross_entropy", 3))
    assert gradients.rows_at_once in (1, 16)
    singles = np.sum([gradients.total(w, X, y, np.arange(16) == i, 1.0) for i in range(16)], axis=0)
    for turn in range(16):
        assert np.array_equal(gradients.total(w, X.roll(turn, 0), y.roll(turn, 0), everybody, 1.0), singles)


def test_the_number_of_threads_changes_no_bit_and_stays_what_it_was():
    module = nn.Sequential(
        nn.Conv2d(2, 5, 1, stride=(2, 1), padding=(1, 2)), nn.Tanh(), nn.Flatten(), nn.Linear(200, 2)
    )
    gradients, (X, y) = RowGradients(module, CROSS, chunk=16), rows((2, 6, 6), 16)
    before, w, everybody = torch.get_num_threads(), gradients.start(), np.ones(16, dtype=bool)
    try:
        sums = []
        for count in (1, 3, 4):
            torch.set_num_threads(count)
            sums.append(gradients.total(w, X, y % 2, everybody, 1.0))
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(before)
    assert np.count_nonzero(sums[0])
    assert np.array_equal(sums[0], sums[1])
    assert np.array_equal(sums[0], sums[2])


def test_a_chunk_fills_registers_whatever_the_width_of_a_layer():
    """The rest of an array is computed by other functions, with other last bits."""
    wide = nn.Sequential(nn.Linear(50_000, 13), nn.Sigmoid(), nn.Linear(13, 4))
    assert RowGradients(wide, CROSS).rows_at_once == 96
    assert [RowGradients(small(), CROSS, chunk=k).rows_at_once for k in (1, 15, 16, 47)] == [1, 1, 16, 32]


@pytest.mark.parametrize("turned", [False, True])
def test_how_rows_lie_in_memory_changes_nothing(turned):
    gradients, (X, y) = RowGradients(small(), CROSS, chunk=16), rows((1, 6, 6), 16)
    w, everybody = gradients.start(), np.ones(16, dtype=bool)
    known = gradients.total(w, X, y, everybody, 1.0)
    other = X.to(memory_format=torch.channels_last) if turned else X.transpose(2, 3).contiguous().transpose(2, 3)
    assert np.array_equal(gradients.total(w, other, y, everybody, 1.0), known)


@pytest.mark.parametrize("size", [1e19, 1.5e19, 3e19, 1e25, 1e30])
def test_a_product_beyond_the_32_bit_floats_adds_nothing(size):
    """Each factor is a number of 32 bits, and the norm one of 64; their product is neither."""
    gradients = RowGradients(nn.Sequential(nn.Linear(1, 1, bias=False)), LOSSES["squared"], chunk=2)
    X, y = torch.tensor([[size], [0.5]]), torch.tensor([-2e19, 1.0])
    found = gradients.total(np.zeros(1), X, y, np.ones(2, dtype=bool), 1.0)
    assert found == gradients.total(np.zeros(1), X, y, np.array([False, True]), 1.0)
    assert 0 < abs(int(found[0])) <= UNITS


def test_gradients_of_a_chunk_leave_room_in_memory():
    assert RowGradients(small(), CROSS).rows_at_once == CHUNK
    assert RowGradients(nn.Linear(2**22, 1, bias=False), LOSSES["squared"]).rows_at_once == 16
    assert RowGradients(small(), CROSS, chunk=10**6).rows_at_once == CHUNK
