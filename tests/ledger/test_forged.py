"""Events that somebody adds who may append: they are refused when the ledger is read or charged, not only by verify."""

from __future__ import annotations

import shutil
from functools import cache

import pytest

from dpsparse import Ledger
from dpsparse.core import LedgerError, LedgerTamperedError
from dpsparse.ledger import state as states
from dpsparse.ledger.chain import EVENTS, HEAD, NOTHING, Event, Head
from dpsparse.ledger.state import State
from truth import ledgers


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "budget.db"
    used(f"sqlite:///{path}")
    return path


@pytest.fixture
def ledger(original, tmp_path):
    """Five entries: done, started, refunded, reserved, reserved; and a second dataset of which nothing is taken."""
    shutil.copy(original, tmp_path / "budget.db")
    return Ledger(f"sqlite:///{tmp_path}/budget.db")


@cache
def bill(epsilon):
    return ledgers.bill(epsilon)


def used(address):
    made = Ledger(address)
    made.create("trial", 2.0, 1e-5, kind="gaussian")
    done, started, refunded, *_ = (made.reserve("trial", bill(0.3), run_id=f"run {k}") for k in range(5))
    done.start()
    done.confirm()
    started.start()
    refunded.refund()
    made.create("fresh", 1.0, 1e-5)
    return made


# ------------------------------------------------------------------------------------------------ forgeries


def stated(chain, dataset="trial"):
    """What the last event of a dataset says, as somebody reads it who does not ask the library."""
    return State.from_dict(chain.event(chain.stated_head().ends[dataset]).read()["state"])


def entry_of(chain, what):
    """The last entry whose last event this is."""
    last = {event.entry: event.what for event in chain.events() if event.dataset == "trial"}
    return max(entry for entry, found in last.items() if found == what)


def cost_of(chain, entry):
    body = chain.event(entry).read()
    return states.Charge(body["costs"], body["slack"])


def emptied(state):
    return {**state.to_dict(), "totals": dict.fromkeys(state.totals, 0), "live": 0, "slack": states.PARTS}


def confirm_with_nothing_taken(chain):
    chain.append("trial", entry_of(chain, "reserve"), "confirm", {"state": emptied(stated(chain))})


def confirm_and_an_entry_that_follows_it(chain):
    confirm_with_nothing_taken(chain)
    entry = chain.event(entry_of(chain, "reserve")).read()
    after = stated(chain).taken(states.Charge(entry["costs"], entry["slack"]))
    chain.append("trial", 0, "reserve", {**entry, "run_id": "another", "state": after.to_dict()})


def refund_of(what):
    def forge(chain):
        entry = entry_of(chain, what)
        after = stated(chain).given_back(cost_of(chain, entry))
        chain.append("trial", entry, "refund", {"state": after.to_dict()})

    forge.__name__ = f"refund_of_an_entry_after_{what}"
    return forge


def refund_of_nothing(chain):
    chain.append("trial", 1, "refund", {"state": emptied(stated(chain))})


def refund_by_another_dataset(chain):
    entry = entry_of(chain, "reserve")
    after = stated(chain).given_back(cost_of(chain, entry))
    chain.append("fresh", entry, "refund", {"state": stated(chain, "fresh").to_dict()})
    chain.append("trial", entry, "start", {"state": after.to_dict()})


def an_entry_of_negative_cost(chain):
    entry = chain.event(entry_of(chain, "reserve")).read()
    costs = {name: -3 * cost for name, cost in entry["costs"].items()}
    after = stated(chain).taken(states.Charge(costs, entry["slack"]))
    chain.append("trial", 0, "reserve", {**entry, "costs": costs, "run_id": "another", "state": after.to_dict()})


def an_entry_of_negative_slack(chain):
    entry = chain.event(entry_of(chain, "reserve")).read()
    after = stated(chain).taken(states.Charge(entry["costs"], -5))
    chain.append("trial", 0, "reserve", {**entry, "slack": -5, "run_id": "another", "state": after.to_dict()})


def a_dataset_opened_again(chain):
    after = State.opened(2.0, 1e-5, "replace-one", "gaussian")
    chain.append("trial", 0, "create", {"state": after.to_dict()})


def a_larger_total(chain):
    after = {**stated(chain).to_dict(), "epsilon": 20.0}
    chain.append("trial", entry_of(chain, "reserve"), "start", {"state": after})


def a_larger_capacity(chain):
    after = stated(chain).to_dict()
    after["filters"][0]["capacity"] *= 10
    chain.append("trial", entry_of(chain, "reserve"), "start", {"state": after})


def a_ledger_opened_again(chain):
    chain.append("", 0, "open", {"format": "dpsparse-ledger"})
    confirm_with_nothing_taken(chain)


def a_head_that_names_the_first_event(chain):
    head = chain.stated_head()
    move(chain, Head(head.ledger, head.number, head.hash, {**head.ends, "trial": 2}))


def a_head_that_forgets_the_dataset(chain):
    head = chain.stated_head()
    move(chain, Head(head.ledger, head.number, head.hash, {"fresh": head.ends["fresh"]}))


def an_event_beside_the_chain(chain):
    head, body = chain.stated_head(), {"state": stated(chain).to_dict()}
    event = Event.after(head.number + 1, NOTHING, "trial", entry_of(chain, "reserve"), "start", body)
    row = (event.number, event.dataset, event.entry, event.what, event.body, event.previous, event.hash)
    chain._execute(f"INSERT INTO {EVENTS} VALUES ({', '.join([chain._mark] * 7)})", row)
    chain.appended = event
    move(chain, head.after(event))


def move(chain, head):
    _, _, *row = head.row()
    columns = ", ".join(f"{name} = {chain._mark}" for name in ("number", "hash", "ends", "seal"))
    chain._execute(f"UPDATE {HEAD} SET {columns} WHERE one = 1", row)


FORGERIES = [
    confirm_with_nothing_taken,
    confirm_and_an_entry_that_follows_it,
    *map(refund_of, ("confirm", "start", "refund")),
    refund_of_nothing,
    refund_by_another_dataset,
    an_entry_of_negative_cost,
    an_entry_of_negative_slack,
    a_dataset_opened_again,
    a_larger_total,
    a_larger_capacity,
    a_ledger_opened_again,
    an_event_beside_the_chain,
    a_head_that_forgets_the_dataset,
    a_head_that_names_the_first_event,
]


@pytest.mark.parametrize("process", ["new", "that has used it"])
@pytest.mark.parametrize("forge", FORGERIES, ids=lambda f: f.__name__)
def test_a_forged_event_is_refused_at_every_use(ledger, forge, process):
    before = ledger.describe("trial").totals
    ledger._store().write(forge)
    if process == "new":
        states._REPLAYS.clear()
    uses = (
        ledger.remaining,
        ledger.spent,
        ledger.odometer,
        ledger.describe,
        ledger.entries,
        lambda name: ledger.reserve(name, bill(0.1)),
        lambda name: ledger.reserve(name, bill(0.1), run_id="next"),
    )
    for use in uses:
        with pytest.raises(LedgerTamperedError, match="See dpsparse ledger verify"):
            use("trial")
    with pytest.raises(LedgerTamperedError):
        ledger.verify()
    assert all(before.values()), "something was taken"


@pytest.mark.parametrize(
    "forge", FORGERIES[:3] + FORGERIES[7:8] + FORGERIES[9:10] + FORGERIES[-1:], ids=lambda f: f.__name__
)
def test_control_a_ledger_that_believes_its_last_event_gives_budget_back(ledger, forge, monkeypatch):
    before = ledger.remaining("trial").epsilon
    ledger._store().write(forge)
    monkeypatch.setattr(states, "differs", lambda *_: False)
    monkeypatch.setattr(states, "replayed", lambda chain: states.Replay(states={"trial": None}))
    assert ledger.remaining("trial").epsilon > before


def test_a_first_entry_with_a_larger_capacity_is_refused(ledger):
    """It decides how costs are counted, and with it the filters."""

    def forge(chain):
        state = stated(chain, "fresh").counting("gaussian")
        entry = chain.event(entry_of(chain, "reserve")).read()
        after = state.taken(states.Charge(entry["costs"], entry["slack"])).to_dict()
        after["filters"][0]["capacity"] *= 10
        chain.append("fresh", 0, "reserve", {**entry, "state": after})

    ledger._store().write(forge)
    with pytest.raises(LedgerTamperedError, match="other filters than the budget of its dataset"):
        ledger.remaining("fresh")


def test_events_that_were_edited_in_their_place_are_refused_also_where_their_totals_cancel(ledger):
    """A started run would count as given back, and could be run again."""

    def forge(chain):
        moved = {event.what: event.number for event in chain.events() if event.what in ("start", "refund")}
        for (trigger,) in list(chain._execute("SELECT name FROM sqlite_master WHERE type = 'trigger'", ())):
            chain._execute(f"DROP TRIGGER {trigger}", ())
        for what, number in (("refund", moved["start"]), ("start", moved["refund"])):
            chain._execute(f"UPDATE {EVENTS} SET what = ? WHERE number = ?", (what, number))

    ledger.reserve("trial", bill(0.1))
    ledger._store().write(forge)
    states._REPLAYS.clear()  # as a new process reads it
    for use in (ledger.describe, ledger.remaining, lambda name: ledger.reserve(name, bill(0.3), run_id="run 1")):
        with pytest.raises(LedgerTamperedError, match="was edited"):
            use("trial")


def test_a_dataset_that_the_head_was_made_to_forget_is_not_opened_anew(ledger):
    ledger.describe("trial")
    ledger._store().write(a_head_that_forgets_the_dataset)
    with pytest.raises(LedgerTamperedError, match="names other last events than there are"):
        ledger.create("trial", 2.0, 1e-5)


def test_a_dataset_that_is_opened_with_a_larger_capacity_is_refused(ledger):
    def forge(chain):
        state = State.opened(1.0, 1e-5, "replace-one", "gaussian").to_dict()
        state["filters"][0]["capacity"] *= 10
        chain.append("rich", 0, "create", {"state": state})

    ledger._store().write(forge)
    with pytest.raises(LedgerTamperedError, match="opens a dataset twice or wrongly"):
        ledger.remaining("rich")


def test_one_dataset_is_not_given_back_what_another_took(ledger):
    ledger.create("second", 2.0, 1e-5, kind="gaussian")
    with ledger.reserve("second", bill(0.3)) as reservation:
        reservation.start()

    def forge(chain):
        entry = entry_of(chain, "reserve")
        after = stated(chain, "second").given_back(cost_of(chain, entry))
        chain.append("second", entry, "refund", {"state": after.to_dict()})

    ledger._store().write(forge)
    with pytest.raises(LedgerTamperedError, match="says 'refund' of an entry that is 'reserve'"):
        ledger.remaining("second")


def test_a_refund_of_an_entry_for_which_nothing_was_answered_is_what_it_says(ledger):
    """Whoever may append may refund it: its holder cannot start any more."""
    reservation = ledger.reserve("trial", bill(0.3), run_id="mine")
    ledger._store().write(refund_of("reserve"))
    assert ledger.verify()
    with pytest.raises(LedgerError, match="cannot start: its last event is 'refund'"):
        reservation.start()


# ------------------------------------------------------------------------------------------------ one pass, then event by event


def test_events_that_were_seen_to_follow_are_not_read_again(ledger, monkeypatch):
    from dpsparse.ledger.chain import Chain

    ledger.remaining("trial")
    asked, ordinary = [], Chain.events
    monkeypatch.setattr(Chain, "events", lambda self, first=1: asked.append(first) or ordinary(self, first))
    ledger.remaining("trial")
    ledger.remaining("fresh")
    assert asked == []
    number = ledger.export()["head"]["number"]
    asked.clear()  # an export reads everything
    with ledger.reserve("trial", bill(0.1), run_id="next") as reservation:
        reservation.start()
    ledger.remaining("trial")
    assert min(asked) == number + 1, "only what was added"


def test_another_copy_of_a_ledger_is_read_from_its_beginning(tmp_path):
    one = used(f"sqlite:///{tmp_path}/one.db")
    (tmp_path / "two.db").write_bytes((tmp_path / "one.db").read_bytes())
    two = Ledger(f"sqlite:///{tmp_path}/two.db")
    assert one.identity() == two.identity()
    for _ in range(2):
        one.reserve("trial", bill(0.1))
        two.reserve("trial", bill(0.2))
    assert [len(book.entries("trial")) for book in (one, two)] == [7, 7]
    assert one.describe("trial").totals != two.describe("trial").totals
    assert one.verify().events == two.verify().events


def test_an_entry_that_was_not_written_does_not_count(ledger):
    """A transaction that is undone leaves nothing in what the process remembers."""
    before = ledger.describe("trial")

    def undone(chain):
        chain.append("trial", entry_of(chain, "reserve"), "start", {"state": before.to_dict()})
        assert states.replayed(chain).number == chain.head().number
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        ledger._store().write(undone)
    assert ledger.describe("trial") == before
    assert len(ledger.entries("trial")) == 5
