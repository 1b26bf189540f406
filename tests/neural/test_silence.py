"""The silent door of networks: no exception and no text depends on what a private row holds."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="extra torch")

from torch import nn  # noqa: E402

from dpsparse.core import PrivacyError  # noqa: E402
from dpsparse.neural import NetworkProtocol, NetworkServer, NetworkSite, SparseNetwork  # noqa: E402
from dpsparse.sites.neural.gradients import RowGradients  # noqa: E402
from dpsparse.sites.neural.oracle import LOSSES, example_target, private_rows  # noqa: E402
from truth.networks import images, network, small  # noqa: E402

CROSS = LOSSES["cross_entropy"]


class Words(nn.Module):
    """Fails on a row whose first cell is beyond its table of four words, and says which."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 3)

    def forward(self, X):
        return self.table(X[:, 0].long().abs())


def words(first):
    X = np.zeros((20, 2), dtype=np.float32)
    X[:, 0] = np.arange(20) % 4
    X[3, 0] = first
    return X, np.arange(20) % 3


# ------------------------------------------------------------------------------------------------ labels


def test_a_network_without_an_output_for_every_class_is_refused_before_rows_are_read():
    """Whatever the labels are: here no row has the fourth class."""
    with pytest.raises(PrivacyError, match="an output for each"):
        network(classes=4).fit(*images(30))


def test_a_server_that_declares_more_classes_than_there_are_outputs_is_refused_by_the_site():
    server = NetworkServer(small(), sites=["a"], rounds=1, step_size=0.1, sparsity=9, classes=4)
    X, y = images(30)
    for labels in (y, np.where(np.arange(30) == 7, 3, y)):
        with pytest.raises(PrivacyError, match="an output for each"):
            NetworkSite(small(), X, labels, server.protocol, name="a", epsilon=1.0)


def test_a_rehearsal_for_fewer_classes_does_not_stand_for_more():
    module = small()
    RowGradients(module, CROSS).rehearse((1, 6, 6), example_target("cross_entropy", 3))
    with pytest.raises(PrivacyError, match="target 3"):
        RowGradients(module, CROSS).rehearse((1, 6, 6), example_target("cross_entropy", 4))


@pytest.mark.parametrize(("old", "new"), [('"classes": 3', '"classes": null'), ('"classes": 3', '"classes": 1')])
def test_protocols_whose_classes_do_not_fit_their_loss_are_refused(old, new):
    text = NetworkServer(small(), sites=["a"], rounds=1, step_size=0.1, sparsity=9, classes=3).protocol.to_json()
    assert old in text
    with pytest.raises(PrivacyError, match="not a protocol"):
        NetworkProtocol.from_json(text.replace(old, new))


# ------------------------------------------------------------------------------------------------ modules that fail


@pytest.mark.parametrize("chunk", [1, 16])
def test_rows_on_which_a_network_fails_add_nothing_and_change_no_other_row(chunk):
    gradients = RowGradients(Words(), CROSS, chunk=chunk)
    gradients.rehearse((2,), example_target("cross_entropy", 3))
    assert gradients.rows_at_once == chunk, "rows beside one that fails keep their bits"
    w, everybody = gradients.start(), np.ones(20, dtype=bool)
    X, y = (torch.from_numpy(v) for v in words(77.0))
    with pytest.raises(IndexError):
        gradients.chunk(w, X[3:4], y[3:4])
    without = gradients.total(w, X, y, everybody & (np.arange(20) != 3), 1.0)
    assert np.array_equal(gradients.total(w, X, y, everybody, 1.0), without)
    assert np.count_nonzero(without)
    exact = gradients.exact(w, X, y, everybody & (np.arange(20) != 3))
    assert np.allclose(gradients.exact(w, X, y, everybody), exact, atol=1e-6)


@pytest.mark.parametrize("epsilon", [4.0, None])
def test_a_fit_and_a_site_end_alike_whether_or_not_a_row_makes_the_network_fail(epsilon):
    outcomes = []
    for first in (1.0, 77.0):
        X, y = words(first)
        options = {"sparsity": 5, "steps": 2, "step_size": 0.1, "classes": 3, "batch_size": 20}
        SparseNetwork(Words(), epsilon=epsilon, delta=1e-5, random_state=0, **options).fit(X, y)
        server = NetworkServer(Words(), sites=["a"], rounds=1, step_size=0.1, sparsity=5, classes=3)
        site = NetworkSite(Words(), X, y, server.protocol, name="a", epsilon=1.0, random_state=0)
        outcomes.append(len(site.answer(server.task())))
    assert outcomes[0] == outcomes[1]


def test_a_network_that_fails_on_every_row_is_refused_in_public_words():
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, X):
            raise KeyError("anything")

    with pytest.raises(PrivacyError, match=r"cannot be computed for this network \(KeyError\)"):
        SparseNetwork(Broken(), epsilon=1.0, sparsity=3, steps=1, step_size=0.1, classes=3).fit(*images(9))


# ------------------------------------------------------------------------------------------------ cells


@pytest.mark.parametrize("cell", ["HIV+", None, object(), 1 + 2j, 1e39, float("nan"), "7", [1, 2]])
@pytest.mark.parametrize("kind", [list, lambda v: np.array(v, dtype=object)])
def test_a_target_that_is_none_empties_its_record_and_no_other(cell, kind):
    X, y = images(9)
    given = np.empty(9, dtype=object)
    given[:] = [int(v) for v in y]
    given[4] = cell
    rows = private_rows(X, kind(given), "cross_entropy", 3, 9)
    assert rows.known.tolist() == [i != 4 for i in range(9)]
    assert np.array_equal(rows.y.numpy()[rows.known], y[rows.known])
    numbers = private_rows(X, kind(given), "squared", None, 9)
    assert numbers.known.tolist() == [i != 4 or cell == "7" for i in range(9)]


@pytest.mark.parametrize("cell", ["HIV+", None, 1e39, float("inf")])
@pytest.mark.parametrize("kind", [lambda X: X, lambda X: X.tolist()])
def test_a_cell_that_is_no_number_empties_its_record_and_no_other(cell, kind):
    X, y = images(9)
    given = X.astype(object)
    given[4, 0, 2, 2] = cell
    rows = private_rows(kind(given), y, "cross_entropy", 3, 9)
    assert rows.known.tolist() == [i != 4 for i in range(9)]
    assert np.array_equal(rows.X.numpy()[rows.known], X[rows.known])


def test_tensors_are_taken_as_arrays_are():
    X, y = images(9)
    rows = private_rows(torch.from_numpy(X), torch.from_numpy(y), "cross_entropy", 3, 9)
    assert rows.known.all()
    assert np.array_equal(rows.X.numpy(), X)
    assert np.array_equal(rows.y.numpy(), y)
