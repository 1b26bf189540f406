"""Networks: every row by itself and within its clip, the priced noise, statements and files."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="extra torch")

from torch import nn  # noqa: E402

from dpsparse import Ledger  # noqa: E402
from dpsparse.accounting import price  # noqa: E402
from dpsparse.core import Budget, DataError, NotPricedError, PrivacyError  # noqa: E402
from dpsparse.core.errors import ModelEditedError  # noqa: E402
from dpsparse.neural import SparseNetwork, paper_cnn, sparse_start  # noqa: E402
from dpsparse.ops import hard_threshold  # noqa: E402
from dpsparse.sites.neural.gradients import UNITS, RowGradients  # noqa: E402
from dpsparse.sites.neural.oracle import LOSSES, NetworkOracle, example_target, gradients_plan, private_rows  # noqa: E402  # noqa: E402
from truth.audit import Stream  # noqa: E402
from truth.networks import images, network, small, tensors  # noqa: E402

CROSS = LOSSES["cross_entropy"]


# ------------------------------------------------------------------------------------------------ gradients


def test_the_sum_of_rows_is_the_gradient_of_the_sum():
    gradients, (X, y) = RowGradients(small(), CROSS, chunk=16), tensors()
    found = gradients.exact(gradients.start(), X, y, np.ones(90, dtype=bool))
    module = small()
    nn.functional.cross_entropy(module(X), y, reduction="sum").backward()
    known = torch.cat([p.grad.reshape(-1) for p in module.parameters()]).numpy()
    assert np.allclose(found, known, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("clip", [1e-3, 0.5, 1e6])
def test_no_row_adds_more_than_its_clip_whatever_it_holds(clip):
    gradients, (X, y) = RowGradients(small(), CROSS, chunk=16), tensors(24)
    wild = X.clone()
    wild[0], wild[1], wild[2], wild[3] = float("nan"), float("inf"), 1e30, -1e10
    w = gradients.start() * 3
    for i in range(24):
        taking = np.arange(24) == i
        whole = gradients.total(w, wild, y, taking, clip)
        assert sum(int(v) ** 2 for v in whole) <= int(UNITS) ** 2
        free = gradients.exact(w, wild, y, taking)
        if np.linalg.norm(free) <= clip * 0.99 and i > 3:
            assert np.allclose(whole * (clip / UNITS), free, atol=1.01 * clip / UNITS)


def test_rows_add_up_to_the_same_integers_in_any_company_order_and_chunk():
    (X, y), w = tensors(50), RowGradients(small(), CROSS).start()
    gradients = RowGradients(small(), CROSS, chunk=16)
    gradients.rehearse((1, 6, 6), example_target("cross_entropy", 3))
    one = np.zeros(50, dtype=bool)
    singles = []
    for i in range(50):
        one[:] = False
        one[i] = True
        singles.append(gradients.total(w, X, y, one, 1.0))
    order = np.random.default_rng(0).permutation(50)
    everybody = np.ones(50, dtype=bool)
    assert np.array_equal(gradients.total(w, X, y, everybody, 1.0), np.sum(singles, axis=0))
    assert np.array_equal(gradients.total(w, X[order], y[order], everybody, 1.0), np.sum(singles, axis=0))


def test_large_whole_numbers_of_one_sign_are_added_without_rounding():
    """Sums far beyond 2^24, where 32-bit floats have holes."""
    generator = torch.Generator().manual_seed(0)
    X, y = torch.rand((64, 2), generator=generator) + 0.1, torch.full((64,), -1e3)
    gradients = RowGradients(nn.Linear(2, 1, bias=False), LOSSES["squared"], chunk=64)
    w = np.zeros(2)
    singles = gradients.whole(gradients.chunk(w, X, y), 1e-3).to(torch.int64).sum(dim=0).numpy()
    assert singles.min() > 2**24
    assert np.array_equal(gradients.total(w, X, y, np.ones(64, dtype=bool), 1e-3), singles)


def test_a_sparse_start_has_its_nonzeros_in_every_layer_and_passes_on_what_comes_in():
    network = sparse_start(paper_cnn(), 10_000, seed=1)
    kept = {name: int((p != 0).sum()) for name, p in network.named_parameters()}
    assert sum(kept.values()) == 10_000
    assert kept["fc1.weight"] == pytest.approx(kept["fc2.weight"], abs=1)
    assert kept["conv2.weight"] == 2400
    images = torch.rand((200, 1, 28, 28), generator=torch.Generator().manual_seed(2)) * 2 - 1
    cut = paper_cnn()
    w = hard_threshold(RowGradients(cut, CROSS).start(), 10_000)
    both = ((network, RowGradients(network, CROSS).start()), (cut, w))
    spread = [float(RowGradients(n, CROSS).outputs(v, images).std(dim=0).mean()) for n, v in both]
    assert spread[0] > 20 * spread[1], "the largest entries of an ordinary start let nearly nothing through"
    assert torch.equal(network.fc1.weight, sparse_start(paper_cnn(), 10_000, seed=1).fc1.weight)
    assert not torch.equal(network.fc1.weight, sparse_start(paper_cnn(), 10_000, seed=2).fc1.weight)


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Flatten(), nn.BatchNorm1d(36), nn.Linear(36, 3)),
        nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(36, 3)),
    ],
)
def test_networks_whose_rows_mix_or_that_draw_at_random_are_refused(module):
    with pytest.raises(PrivacyError, match=r"single rows cannot|by itself"):
        SparseNetwork(module, epsilon=1.0, sparsity=3, steps=1, step_size=0.1, classes=3).fit(*images(30))


@pytest.mark.parametrize("off", [1.001, 1 + 2.0**-23])
def test_a_network_that_differs_by_place_is_computed_row_by_row(off):
    """By the last bit, too: on other rows it could be that of a whole number."""

    class Placed(RowGradients):
        """As if the first place of a chunk were computed by other instructions."""

        def chunk(self, w, X, y, held=None):
            found = super().chunk(w, X, y, held)
            if self._chunk > 1:
                found.values[0] *= off
            return found

    gradients = Placed(small(), CROSS, chunk=16)
    gradients.rehearse((1, 6, 6), example_target("cross_entropy", 3))
    assert gradients.rows_at_once == 1


# ------------------------------------------------------------------------------------------------ noise


@pytest.mark.parametrize(("adjacency", "rate"), [("replace-one", 1.0), ("add-remove", 0.5)])
def test_the_noise_is_that_of_the_price(adjacency, rate):
    gradients = RowGradients(small(), CROSS, chunk=16)
    priced = price(gradients_plan(60, rate, private=True), Budget.approx(2.0, 1e-5, adjacency))
    X, _ = images(8)
    rows = private_rows(X, np.full(8, 99), "cross_entropy", 3, 8)
    oracle = NetworkOracle(gradients, rows, priced, 0.7, Stream(0))
    w = gradients.start()
    found = np.array([oracle.gradient(w) for _ in range(60)])
    kappa = 2 if adjacency == "replace-one" else 1
    expected = kappa * 0.7 / priced.cost("gradient").strength / (rate * 8)
    assert np.std(found) == pytest.approx(expected, rel=5 / math.sqrt(2 * found.size))
    with pytest.raises(NotPricedError):
        oracle.gradient(w)
    assert [r.scale for r in oracle.receipts] == pytest.approx([expected * rate * 8] * 60)


def test_one_record_moves_a_sum_by_no_more_than_the_noise_was_made_for():
    """The same noise and coins in two worlds: what is left is what one record moved."""
    gradients = RowGradients(small(), CROSS, chunk=16)
    priced = price(gradients_plan(3, 0.5, private=True), Budget.approx(2.0, 1e-5))
    X, y = images(20)
    largest = 0.0
    for position in (0, 9, 19):
        other, labels = X.copy(), y.copy()
        other[position], labels[position] = -3 * other[position], (labels[position] + 1) % 3
        worlds = [private_rows(a, b, "cross_entropy", 3, 20) for a, b in ((X, y), (other, labels))]
        one, two = (NetworkOracle(gradients, rows, priced, 0.2, Stream(5)) for rows in worlds)
        for _ in range(3):
            moved = np.linalg.norm(one.gradient(gradients.start()) - two.gradient(gradients.start())) * 10
            largest = max(largest, moved / one.receipts[-1].sensitivity)
    assert 0.3 < largest <= 1 + 1e-9


# ------------------------------------------------------------------------------------------------ fits


def test_at_a_huge_epsilon_the_network_is_that_without_privacy_and_learns():
    X, y = images(300)
    options = {"steps": 25, "step_size": 1.0, "batch_size": 300, "clip": 50.0}
    exact = network(epsilon=None, **options).fit(X, y)
    private = network(epsilon=1e10, random_state=0, **options).fit(X, y)
    assert np.allclose(exact.w_, private.w_, atol=5e-3)
    assert private.score(*images(200, seed=9)) > 0.9
    assert np.count_nonzero(private.w_) <= 120
    assert not exact.statement_.private
    assert exact.statement_.caveats


def test_a_statement_says_what_a_fit_promised_and_a_ledger_is_charged(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("images", epsilon=5.0, delta=1e-4)
    X, y = images()
    model = network(ledger=ledger, dataset="images").fit(X, y)
    statement = model.statement_
    assert (statement.private, statement.recipe, statement.loss) == (True, "dp_sgd_ht", "cross_entropy")
    assert statement.epsilon <= 4.0
    assert (statement.asks[0].times, statement.asks[0].rate) == (6, pytest.approx(1 / 3))
    assert statement.ledger["dataset"] == "images"
    with pytest.raises(ValueError, match="less left"):
        network(ledger=ledger, dataset="images").fit(X, y)
    with pytest.raises(ValueError, match="no privacy"):
        network(epsilon=None, ledger=ledger, dataset="images").fit(X, y)


def test_networks_are_saved_without_pickle_and_edits_are_found(tmp_path):
    model = network(random_state=1).fit(*images())
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = network().load(path)
    assert np.array_equal(again.predict(images()[0]), model.predict(images()[0]))
    assert again.statement_ == model.statement_
    module = model.trained_module()
    shown = torch.from_numpy(images()[0])
    assert np.allclose(module(shown).detach().numpy(), model.decision_function(images()[0]), atol=1e-5)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ModelEditedError, match="changed"):
        network().load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match="not a network"):
        network().load(path)


def test_records_of_no_class_count_as_nothing_and_nothing_is_said():
    X, y = images(40)
    strange = y.astype(float)
    strange[:5] = [np.nan, -1, 3, 2.5, np.inf]
    rows = private_rows(X, strange, "cross_entropy", 3, 40)
    assert rows.known.sum() == 35


def test_the_network_of_the_paper_has_its_44426_weights():
    assert RowGradients(paper_cnn(), CROSS).dimension == 44_426
    assert paper_cnn()(torch.zeros(2, 1, 28, 28)).shape == (2, 10)
    assert torch.equal(next(paper_cnn(3).parameters()), next(paper_cnn(3).parameters()))
