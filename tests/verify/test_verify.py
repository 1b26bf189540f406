"""`dpsparse-verify` against the package: every recipe within one per cent, and forged files refused."""

import copy
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dpsparse_verify as verifier
from dpsparse import (
    Ledger,
    PrivateBounds,
    PrivateScaler,
    PrivateSearch,
    SparseClassifier,
    SparseRegressor,
    SparseSurvival,
    make_private_pipeline,
    recipes,
)
from dpsparse.core.codec import write_record
from dpsparse.core.errors import NonPrivateRandomnessWarning
from dpsparse_verify import Refused, canonical, sha256, verify

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (600, 8))
Y = (3 * X[:, 0] - 2 * X[:, 5] + RNG.logistic(size=600) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.3, 0.3])
EVERY = sorted(name for name in recipes.names() if recipes.get(name).private)
LABELS = ("label_ldp_iht", "label_ldp_lasso")  # no ledger takes them
DELTA = 1e-6


def classifier(**given):
    return SparseClassifier(**{"epsilon": 1.0, "delta": DELTA, "sparsity": 3, "feature_bound": 1.0} | given)


def recipe(name):
    return {"recipe": name} | ({"accept": ("known-design",)} if name == "ldp_moment" else {})


#: Fits beside the defaults of all recipes: other noise, branches, laws, parts, units, neighbours, classes.
MORE = {
    "pure": ({"recipe": recipes.DPGCD(mechanism="pure", steps=6)}, Y),
    "pure, delta 0": ({"recipe": recipes.DPGCD(mechanism="pure", steps=6), "delta": 0.0}, Y),
    "discrete Gaussian": ({"recipe": "dp_ight", "noise": "exact"}, Y),
    "peeling": ({"recipe": recipes.DPIGHT(mechanism="peel", steps=6)}, Y),
    "random lengths": ({"recipe": recipes.get("dp_scsg_ht")(option="I")}, Y),
    "random lengths, three classes": ({"recipe": recipes.get("dp_scsg_ht")(option="I")}, THREE),
    "votes": ({"recipe": recipes.get("two_stage")(stage1="votes")}, Y),
    "branches, three classes": ({"recipe": "select_polish"}, THREE),
    "branches, no sparsity": ({"recipe": "select_polish", "sparsity": None, "epsilon": 3.0}, Y),
    "samples, three classes": ({"recipe": "dp_sgd"}, THREE),
    "local, three classes": ({"recipe": "ldp_iht"}, THREE),
    "labels, three classes": ({"recipe": "label_ldp_iht"}, THREE),
    "local Gaussian": ({"recipe": recipes.get("ldp_iht")(mechanism="gaussian")}, Y),
    "parts": ({"recipe": "tables", "intervals": "split"}, Y),
    "count of clipped values": ({"recipe": "tables", "check_bounds": 0.05}, Y),
    "samples, add-remove": ({"recipe": "dp_sgd", "adjacency": "add-remove", "n_rows": 600}, Y),
    "selections, add-remove": ({"recipe": "dp_gcd", "adjacency": "add-remove", "n_rows": 600}, Y),
    "epsilon 8": ({"recipe": "dp_gcd", "epsilon": 8.0}, Y),
    "epsilon 0.1, delta 1e-9": ({"recipe": "dp_sgd", "epsilon": 0.1, "delta": 1e-9}, Y),
}


def within_one_per_cent(path, epsilon):
    lines = verify(path.read_text())
    assert any(line.startswith("states") for line in lines)
    computed = float(next(line.split()[2] for line in lines if line.startswith("computed")))
    assert 0.99 * epsilon <= computed <= 1.01 * epsilon


@pytest.mark.parametrize("name", EVERY)
def test_every_recipe_is_verified_within_one_per_cent(name, tmp_path):
    model = classifier(classes=[0, 1], **recipe(name)).fit(X, Y)
    model.save(tmp_path / "m.json")
    within_one_per_cent(tmp_path / "m.json", model.statement_.epsilon)


@pytest.mark.parametrize("case", MORE)
def test_other_plans_are_verified_within_one_per_cent(case, tmp_path):
    given, labels = MORE[case]
    model = classifier(classes=sorted(set(labels.tolist())), **given).fit(X, labels)
    model.save(tmp_path / "m.json")
    within_one_per_cent(tmp_path / "m.json", model.statement_.epsilon)


def test_units_pipelines_and_searches_are_verified_within_one_per_cent(tmp_path):
    target = X[:, 0] - X[:, 1]
    regressor = SparseRegressor(sparsity=2, target_bound=3.0, recipe="dp_gcd")
    unit = classifier(classes=[0, 1], recipe="dp_gcd", unit="patient").fit(X, Y, units=np.arange(600) // 2)
    pipe = make_private_pipeline(PrivateScaler(feature_bound=1.0), regressor, epsilon=1.0, delta=DELTA).fit(X, target)
    bounds = PrivateBounds(feature_bound=30.0, target_bound=30.0)
    learned = make_private_pipeline(bounds, SparseRegressor(sparsity=2), epsilon=1.0, delta=DELTA).fit(X, target)
    times = np.minimum(RNG.exponential(np.exp(-X[:, 0])), 2.0)
    survival = SparseSurvival(epsilon=2.0, delta=DELTA, feature_bound=1.0, horizon=2.0).fit(X, times, times < 2)
    found = [unit, pipe, learned, survival]
    for name, law, holdout in (
        ("dp_ight", "logarithmic", None),
        ("dp_gcd", "geometric", 0.2),
        ("dp_gcd", "poisson", None),
    ):
        inner = classifier(classes=[0, 1], recipe=name)
        space = {"recipe__steps": [5, 10]}
        found.append(
            PrivateSearch(inner, space, epsilon=2.0, delta=DELTA, mean_runs=5, law=law, holdout=holdout).fit(X, Y)
        )
    for k, model in enumerate(found):
        model.save(tmp_path / f"{k}.json")
        within_one_per_cent(tmp_path / f"{k}.json", model.statement_.epsilon)


# ---------------------------------------------------------------------------------------------------- its numerics


def test_bounds_are_above_closed_forms_and_near_them():
    for steps, mu in ((1, 0.5), (40, 0.05), (400, 0.02)):
        exact = verifier.solved(verifier.gaussian(mu * math.sqrt(steps)), DELTA)
        noises = (({verifier.gaussian(mu): steps}, None),)
        law = verifier.composed(noises, exact / 1024, DELTA, tilted=True)
        assert exact <= verifier.curve_of(law, exact / 1024).epsilon(DELTA) <= 1.005 * exact
    for epsilon in (0.1, 1.0):  # one selection: h*(e) = (1 - exp((e - eta)/2))^2 / (1 - exp(-eta))
        h = epsilon / 64
        start = verifier.Curve(h, -200, [max(0.0, -math.expm1(i * h)) for i in range(-200, 201)])
        curve = verifier.after_selection(start, epsilon)
        for i in range(0, 64):
            exact = (1 - math.exp((i * h - epsilon) / 2)) ** 2 / -math.expm1(-epsilon)
            assert exact <= curve.values[200 + i] <= exact + 1e-4


def test_a_bound_lies_between_those_of_another_library():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution", reason="the extra audit is not installed")
    for q, z, steps, delta in ((0.01, 1.0, 1000, 1e-5), (0.001, 0.7, 2000, 1e-9)):

        def other(pessimistic, q=q, z=z, steps=steps, delta=delta):
            grid = {"value_discretization_interval": 1e-4, "pessimistic_estimate": pessimistic}
            one = pld.from_gaussian_mechanism(z, sampling_prob=q, **grid)
            return one.self_compose(steps).get_epsilon_for_delta(delta)

        ask = {
            "name": "g",
            "noise": "gaussian",
            "times": steps,
            "draws": 1,
            "share": 1.0,
            "schedule": None,
            "law": None,
        }
        ask |= {"rows": {"kind": "PoissonRows", "rate": q}, "offset": 0.0}
        plan = {"asks": [ask], "branches": [], "interleaved": False, "models": 1, "order": []}
        bill = {"kind": "plan", "adjacency": "add-remove", "rho_scale": steps / z**2 / 2, "plan": plan}
        assert other(False) <= verifier.epsilon_of(bill, delta, 1.0) <= 1.005 * other(True)


# ---------------------------------------------------------------------------------------------------- forged files


def leaves(content, path=()) -> Iterator[tuple]:
    """Places of all numbers, texts and nulls."""
    if isinstance(content, dict | list) and content:
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from leaves(content[key], (*path, key))
    else:
        yield path


def at(content, path):
    for key in path:
        content = content[key]
    return content


def changed(content, path, value=None):
    """A copy with another value at a place."""
    content = copy.deepcopy(content)
    old = at(content, path)
    if value is None:
        value = (not old) if isinstance(old, bool) else old * 1.5 + 1 if isinstance(old, int | float) else f"{old}x"
    at(content, path[:-1])[path[-1]] = value
    return content


def sealed(content):
    held = {name: value for name, value in content.items() if name != "digest"}
    return {**held, "digest": f"sha256:{sha256(held)}"}


def chained(export):
    """An export with all numbers and hashes made again, as somebody does who may write the file."""
    before = "0" * 64
    for event in export["events"]:
        event["previous"] = before
        names = ("number", "dataset", "entry", "what", "body", "previous")
        before = event["hash"] = sha256([event[name] for name in names])
    export["head"] = {"number": len(export["events"]), "hash": before}
    return export


def refused(content, ledger=None, head=None):
    with pytest.raises(Refused) as refusal:
        verify(json.dumps(content), None if ledger is None else json.dumps(ledger), head)
    assert refusal.value.args[1] in (2, 5, 6, 7)
    return 1


@pytest.fixture(scope="module")
def paid(tmp_path_factory):
    """A ledger's export, and the models that it paid for."""
    folder = tmp_path_factory.mktemp("paid")
    ledger = Ledger(f"sqlite:///{folder}/budget.db")
    ledger.create("trial", epsilon=6.0, delta=1e-5)
    models = {}
    for name in ("dp_gcd", "select_polish", "dp_sgd", "two_stage"):
        model = classifier(classes=[0, 1], recipe=name, ledger=ledger, dataset="trial", label=name).fit(X, Y)
        model.save(folder / "m.json")
        models[name] = json.loads((folder / "m.json").read_text())
    return json.loads(json.dumps(ledger.export())), models


#: What a statement says beside its guarantee and its answers: words and facts that no bill proves.
WORDS = ("recipe", "loss", "n_rows", "accountant", "assumptions", "caveats", "notes", "versions", "ledger")


def test_300_forged_files_are_refused(paid):
    export, models = paid
    assert verify(json.dumps(export))
    count = 0
    for name, model in models.items():
        verify(json.dumps(model), json.dumps(export), export["head"]["hash"][:8])
        for path in leaves(model):  # with the digest that it had
            count += refused(changed(model, path))
        statement = model["statement"]
        for path in leaves(statement["asks"], ("statement", "asks")):
            if path[-1] != "part":  # price of parts is that of their plan
                count += refused(sealed(changed(model, path)))
        for path in leaves(statement["bill"], ("statement", "bill")):
            if path[-2] == "order" and path[-1] > 1:
                continue
            count += refused(sealed(changed(model, path)), export)
        forged = {"epsilon": 0.95 * statement["epsilon"], "delta": statement["delta"] / 2, "adjacency": "add-remove"}
        forged |= {"unit": "one patient: all rows with the same id", "private": "yes", "priced": None, "bill": None}
        for field in ("mu", "rho"):
            if statement[field] is not None:
                forged[field] = 0.8 * statement[field]  # a mu of selections adds up loosely: 0.9 may be true
        for field, value in forged.items():
            count += refused(sealed(changed(model, ("statement", field), value if value is not None else False)))
        for k in range(len(statement["asks"])):  # an answer more
            more = copy.deepcopy(model)
            more["statement"]["asks"].append(statement["asks"][k])
            count += refused(sealed(more))
        others = [other for other in models if other != name]  # another model's citation
        for other in others:
            count += refused(
                sealed(changed(model, ("statement", "ledger"), models[other]["statement"]["ledger"])), export
            )
    assert count >= 300


def test_forged_ledgers_are_refused(paid):
    export, _ = paid
    count, head = 0, export["head"]["hash"]
    for path in leaves(export):
        count += refused(changed(export, path))
    for k in range(len(export["events"])):
        cut = copy.deepcopy(export)
        del cut["events"][k]
        count += refused(cut)
        for number, event in enumerate(cut["events"], 1):  # with numbers, hashes and head made again
            event["number"] = number
        count += refused(chained(cut), head=head[:16])
        late = {**export, "events": export["events"][:k]}
        count += refused(late)
        count += refused(chained(copy.deepcopy(late)), head=head)
    for k, event in enumerate(export["events"]):  # a body is edited, and everything after it made again
        body = json.loads(event["body"])
        for path in leaves(body):
            if path[0] in ("time", "label", "mark", "format", "version", "public") or "public" in path:
                continue
            if {"question", "name", "order"} & set(map(str, path)):
                continue
            edited = copy.deepcopy(export)
            smaller = at(body, path)
            value = smaller * 0.5 if isinstance(smaller, float) else smaller // 2 if isinstance(smaller, int) else None
            if value == smaller or isinstance(smaller, bool) or smaller is None:
                continue
            edited["events"][k]["body"] = canonical(changed(body, path, value))
            if path[0] == "bill":  # a dearer bill at the old price: a smaller one is an honest bill that pays too much
                continue
            count += refused(chained(edited))
        if "bill" in body:
            for factor in (1.1, 2.0):
                edited = copy.deepcopy(export)
                dearer = changed(body, ("bill", "rho_scale"), body["bill"]["rho_scale"] * factor)
                edited["events"][k]["body"] = canonical(dearer)
                count += refused(chained(edited))
    assert count >= 300


def test_seeds_baselines_and_files_without_bills_make_no_guarantee(tmp_path):
    with pytest.warns(NonPrivateRandomnessWarning):
        seeded = classifier(classes=[0, 1], random_state=0).fit(X, Y)
    seeded.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    codes = []
    bold = copy.deepcopy(content)
    bold["statement"] |= {"private": True, "caveats": []}
    bare = copy.deepcopy(content)
    bare["statement"] |= {"private": True, "caveats": []}
    bare["params"]["random_state"] = None
    del bare["statement"]["bill"]
    for one in (content, sealed(bold), sealed(bare)):
        with pytest.raises(Refused) as refusal:
            verify(json.dumps(one))
        codes.append(refusal.value.args[1])
    assert codes == [7, 7, 2]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 10_000])
def test_other_texts_are_refused(text):
    with pytest.raises(Refused):
        verify(text)


def test_the_file_runs_alone_and_with_exit_codes(paid, tmp_path):
    export, models = paid
    (tmp_path / "ledger.json").write_text(json.dumps(export))
    (tmp_path / "model.json").write_text(json.dumps(models["dp_gcd"]))
    (tmp_path / "edited.json").write_text(json.dumps(changed(models["dp_gcd"], ("statement", "epsilon"), 0.5)))
    (tmp_path / "cheap.json").write_text(json.dumps(sealed(changed(models["dp_gcd"], ("statement", "epsilon"), 0.5))))

    def run(*arguments):
        command = [sys.executable, "-I", "-S", verifier.__file__, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("ledger.json").returncode == 0
    good = run("model.json", "--ledger", "ledger.json", "--head", export["head"]["hash"])
    assert (good.returncode, good.stdout.splitlines()[-1]) == (0, "holds")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    codes = {"edited.json": 5, "cheap.json": 6, "missing.json": 2, "table.csv": 2}
    assert {name: run(name).returncode for name in codes} == codes
    assert run("model.json", "--ledger", "ledger.json", "--head", "00ff").returncode == 5


def test_it_imports_the_standard_library_alone():
    text = Path(verifier.__file__).read_text()
    imported = {line.split()[1].split(".")[0] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imported <= set(sys.stdlib_module_names)


def test_bills_that_cost_less_than_nothing_are_refused(paid, tmp_path):
    _, models = paid
    local = classifier(classes=[0, 1], recipe="ldp_iht").fit(X, Y)
    local.save(tmp_path / "m.json")
    reports = json.loads((tmp_path / "m.json").read_text())
    forged = [
        changed(reports, ("statement", "bill", "plan", "asks", 0, "rows", "reports"), -1),
        changed(models["dp_gcd"], ("statement", "bill", "plan", "models"), -1),
        changed(models["dp_gcd"], ("statement", "bill", "plan", "asks"), []),
        changed(models["dp_gcd"], ("statement", "bill", "rho_scale"), -1.0),
        changed(models["dp_sgd"], ("statement", "bill", "plan", "asks", 0, "times"), 0),
    ]
    for one in forged:
        one["statement"]["asks"] = []
        refused(sealed(one))


def test_a_certificate_of_a_site_is_verified_by_its_bill():
    model = classifier(classes=[0, 1], recipe="dp_fedsgd_ht").fit(X, Y)
    said = json.loads(canonical(stored_statement(model)))
    certificate = {"format": "dpsparse-site", "version": 2, "run": "00", "site": "a", "release": "x"}
    certificate |= {"statement": said, "bill": said["bill"]}
    assert any(line.startswith("computed") for line in verify(json.dumps(certificate)))
    refused(changed(certificate, ("statement", "epsilon"), 0.9 * said["epsilon"]))
    refused(changed(certificate, ("bill", "rho_scale"), 0.9 * said["bill"]["rho_scale"]))
    refused(changed({**certificate, "bill": None}, ("site",)))


def stored_statement(model):
    return write_record(model.statement_)
