"""Losses behind a link: what they predict, how they are stored, and that clipped-gradient recipes take them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dpsparse import SparseRegressor, audit, load
from dpsparse.losses import Custom, Huber, KnownLink, Poisson, Squared, restored_loss, stored_loss
from dpsparse.queries import losses

LOG_COSH = Custom(derivative=lambda m, y: np.tanh(m - y), curvature=1.0, slope_bound=1.0, name="log-cosh")


def data(kind: str, n=4000, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    margin = 1.2 * X[:, 0] - X[:, 4]
    targets = {
        "poisson": lambda: rng.poisson(np.exp(margin)).astype(float),
        "link": lambda: np.tanh(margin) + 0.05 * rng.standard_normal(n),
        "log-cosh": lambda: margin + 0.05 * rng.standard_normal(n),
    }
    return X, targets[kind](), margin


def model(loss, **options):
    options = {
        "epsilon": 4.0,
        "delta": 1e-5,
        "sparsity": 2,
        "feature_bound": 1.0,
        "target_bound": 4.0,
        "loss": loss,
        "recipe": "dp_ight",
        "random_state": 0,
        **options,
    }
    return SparseRegressor(**options)


@pytest.mark.parametrize("loss", [Poisson(), KnownLink("tanh", target=1.5), LOG_COSH], ids=lambda x: x.name)
def test_clipped_gradient_recipes_take_every_loss(loss):
    X, y, margin = data(loss.name)
    fitted = model(loss).fit(X, y)
    assert set(fitted.support_) == {0, 4}
    assert np.corrcoef(X @ fitted.coef_, margin)[0, 1] > 0.95
    assert fitted.statement_.loss == loss.name
    audit.check_estimator_privacy(model(loss, random_state=None), X[:200], y[:200])


@pytest.mark.parametrize("loss", losses.LOSSES, ids=lambda x: x.name)
def test_registered_losses_keep_the_laws(loss):
    audit.check_loss(loss)


def test_predictions_go_through_the_link():
    X, y, _ = data("poisson")
    fitted = model(Poisson()).fit(X, y)
    means = np.exp(np.minimum(X @ fitted.coef_ + fitted.intercept_, 3.0))
    np.testing.assert_allclose(fitted.predict(X), np.minimum(means, fitted.target_bound))
    X, y, _ = data("link")
    fitted = model(KnownLink("tanh", target=1.5), target_center=0.25).fit(X, y + 0.25)
    np.testing.assert_allclose(fitted.predict(X), np.tanh(X @ fitted.coef_ + fitted.intercept_) + 0.25)


@pytest.mark.parametrize(
    "loss",
    [Squared(), Huber(threshold=0.3), Poisson(margin_bound=2.0), KnownLink("tanh", target=1.5)],
    ids=lambda x: x.name,
)
def test_a_model_file_holds_the_loss(loss, tmp_path):
    assert restored_loss(json.loads(json.dumps(stored_loss(loss)))) == loss
    X, y, _ = data("poisson", n=200)
    fitted = model(loss).fit(X, y)
    fitted.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.loss == loss
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_a_loss_of_functions_is_named_in_a_model_file_and_must_be_given_again(tmp_path):
    X, y, _ = data("link", n=200)
    own = KnownLink(np.arctan, lambda m: 1 / (1 + m**2), slope_limit=3.0, curvature_limit=3.0, target=1.0)
    fitted = model(own).fit(X, y)
    fitted.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    with pytest.raises(ValueError, match=r"Set model.loss to it again"):
        again.predict(X)
    again.loss = own
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    plain = model(LOG_COSH).fit(X, y)
    plain.save(tmp_path / "p.json")
    np.testing.assert_array_equal(load(tmp_path / "p.json").predict(X), plain.predict(X))
    with pytest.raises(ValueError, match="given as functions"):
        load(tmp_path / "p.json").fit(X, y)


def test_a_slope_alone_is_integrated():
    exact = lambda m, y: np.logaddexp(m - y, y - m) - np.logaddexp(-y, y)  # noqa: E731
    m, y = np.linspace(-6, 6, 50), np.full(50, 0.4)
    np.testing.assert_allclose(LOG_COSH.value(m, y), exact(m, y), atol=1e-9)
    audit.check_loss(LOG_COSH)


def test_laws_catch_a_wrong_loss():
    wrong_value = Custom(derivative=lambda m, y: m - y, curvature=1.0, integral=lambda m, y: (m - y) ** 2)
    with pytest.raises(audit.LawBroken, match="derivative of its value"):
        audit.check_loss(wrong_value)
    with pytest.raises(audit.LawBroken, match="curvature"):
        audit.check_loss(Custom(derivative=lambda m, y: 2 * (m - y), curvature=1.0))
    with pytest.raises(audit.LawBroken, match="slope_bound"):
        audit.check_loss(Custom(derivative=lambda m, y: m - y, curvature=1.0, slope_bound=1.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Poisson(margin_bound=math.inf), "margin_bound"),
        (lambda: KnownLink("cubic"), "unknown link"),
        (lambda: KnownLink("tanh", target=0.0), "target must be"),
        (lambda: KnownLink(np.arctan, np.cos), "slope_limit"),
        (lambda: Custom(derivative=lambda m, y: m, curvature=0.0), "curvature"),
        (lambda: Custom(derivative=lambda m, y: m, curvature=1.0, slope_bound=0.0), "slope_bound"),
    ],
)
def test_bad_losses_say_what_is_expected(make, message):
    with pytest.raises(ValueError, match=message):
        make()
    with pytest.raises(TypeError, match="derivative"):
        KnownLink(np.arctan)
    with pytest.raises(TypeError, match="derivative"):
        Custom(derivative=1.0, curvature=1.0)
