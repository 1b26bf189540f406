"""Flower as the carrier of tasks and reports (extra ``flower``).

Thin: everything that matters is in `Site` and `Server`.

A node is asked for its certificate when it appears (a *query*), for a report in every round
(*train*), and told when all rounds are closed (*evaluate*). Each message carries the protocol, so
that a node needs to remember nothing between them. Messages of ours are bytes inside a record of
Flower's; what a site refuses comes back in words that tell nothing of it. Flower is imported when a
function here is called.

The local model (`dpsparse.local`) is carried in the same way: a node is then one person's device.
Nodes are dealt into as many groups as the protocol has rounds, by their numbers alone; each is
asked once.

>>> from dpsparse.sites.federated.flower import client_app, server_app
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core import PrivacyError
from ...core.log import log_event
from ...estimators.linear import SparseLinear
from ..local import Device
from ..local import Server as LocalServer
from ..rounds import MessageError, RunPausedError
from ..rounds.messages import Report
from .certificate import Certificate
from .protocol import Protocol
from .server import Server
from .site import Site

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp

#: What a message carries, by name.
Content = dict[str, Any]
#: Name of our record in Flower's messages and contexts.
RECORD = "dpsparse"
#: How often a round that may not be closed yet is asked again.
ATTEMPTS = 3
#: Seconds between looks for nodes and replies.
PAUSE = 0.5
#: Seconds until a message that was not answered is sent again, doubled each time: a site that was
#: restarted may never have seen it, and one that works on it gives one answer to both.
REPEAT = 60.0
#: Seconds until a message to a node that failed, or was away, is sent again.
RETRY = 5.0

#: Sites of this process, by run and node. An app itself holds none: the simulation engine sends it to other processes.
_SITES: dict[tuple[bytes, int], Site] = {}
_MAKING = threading.Lock()

#: Makes the site of a node from what the server published.
Join = Callable[[Protocol, "Context"], Site]
#: What to do with the fitted estimator of a server.
Done = Callable[[SparseLinear, Server], None]
#: Makes the device of a node from the text of a protocol.
MakeDevice = Callable[[str, "Context"], Device]


def require_flower() -> None:
    """Refuse early, with what to install."""
    try:
        import flwr  # noqa: F401
    except ImportError:
        raise ImportError("sites over Flower need it. Install it with: pip install 'dpsparse[flower]'") from None


# ------------------------------------------------------------------------------------------------ sites


def client_app(join: Join) -> ClientApp:
    """A ClientApp for one site of the federation.

    Guarantee
    ---------
    The guarantee is that of `Site`. Flower may run the messages of one node in several processes, one
    after the other or at once: give every site a `memory` folder, which all of them share, and a
    ledger, so that no round is answered twice.

    Parameters
    ----------
    join : function of a Protocol and a Context
        The site of this node: rows, name, epsilon, ledger, memory. It is called before the first
        answer in a process.
    """
    return _app(partial(_answer, join), "query", "train", "evaluate")


def _app(answer: Callable[[Message, Context], Message], *kinds: str) -> ClientApp:
    """A ClientApp that answers messages of these kinds."""
    require_flower()
    from flwr.clientapp import ClientApp

    app = ClientApp()
    for kind in kinds:
        getattr(app, kind)()(answer)
    return app


def _answer(join: Join, message: Message, context: Context) -> Message:
    """The report of a round, the certificate of the site, or a word that the end of the run was noted."""

    def answer() -> Content:
        asked = message.content[RECORD]
        site = _site(join, str(asked["protocol"]), context)
        if "task" in asked:
            return {"report": site.answer(bytes(asked["task"]))}
        if "end" in asked:
            site.finish(bytes(asked["end"]))
            return {"finished": True}
        return {"certificate": site.certificate()}

    return reply_with(message, answer)


def _site(join: Join, text: str, context: Context) -> Site:
    """The site of a node, made once in a process."""
    protocol = Protocol.from_json(text)
    place = (protocol.identity, int(context.node_id))
    with _MAKING:
        if place not in _SITES:
            _SITES[place] = join(protocol, context)
        return _SITES[place]


def _message(content: Content, **envelope: Any) -> Message:
    """A message of Flower with our content; `envelope` says to whom, of which kind, or what it replies to."""
    from flwr.app import ConfigRecord, Message, RecordDict

    return Message(RecordDict({RECORD: ConfigRecord(content)}), **envelope)


def reply_with(message: Message, answer: Callable[[], Content]) -> Message:
    """The answer, or the words of a refusal."""
    try:
        content = answer()
    except MessageError as error:
        content = {"refused": str(error)}
    except PrivacyError:  # its words could tell what is left in the site's ledger
        content = {"refused": "the site does not allow this answer."}
    except Exception:  # its words could be about rows
        content = {"refused": "the site could not answer."}
    return _message(content, reply_to=message)


# ------------------------------------------------------------------------------------------------ the server


def server_app(
    make: Callable[[Context], Server], done: Done, *, timeout: float = 3600.0, wait: float = 60.0
) -> ServerApp:
    """A ServerApp that runs all rounds of a server and hands the model over.

    Parameters
    ----------
    make : function of a Context
        The server: use ``Server.open(path, ...)``, so that the same command goes on after a crash.
    done : function of the fitted estimator and the server
        Keeps the model. It is called before any site hears that the run is over, and again, with
        the same model, where the run is started again after its last round.
    timeout : float
        Seconds that a round waits for reports.
    wait : float
        Seconds to wait for a site that is not there, or was lost, before a round is closed without it.

    Raises
    ------
    RunPausedError
        By the app, if too few sites have answered. The state is saved: run the same again to go on.
    """
    require_flower()
    from flwr.serverapp import ServerApp

    app = ServerApp()

    def main(grid: Grid, context: Context) -> None:
        run_rounds(make(context), grid, done, timeout=timeout, wait=wait)

    app.main()(main)
    return app


def run_rounds(
    server: Server, grid: Grid, done: Done | None = None, *, timeout: float = 3600.0, wait: float = 60.0
) -> SparseLinear:
    """All rounds that are left over a grid of Flower, and the model.

    `done` gets the model, and returns once it is kept; only then are sites told that the run is
    over. So a server that is killed in between leaves no site closed for a run without a model.

    A node that does not answer, answers late, or with something that is refused, is left out of its
    round. A site that comes back, under whichever node, is enrolled again by its certificate, and
    asked for what is missing. Where too few sites have answered for the round to be closed, those
    that have not are asked again, `ATTEMPTS` times in all; then the run is paused.
    """
    carrier = _Carrier(server, grid, timeout, wait)
    while not server.finished:
        turn = server.round
        carrier.run_round()
        log_event("round closed", round=turn, **({} if server.secret else {"sites": server.answered[-1]}))
    model = server.model()
    if done is not None:
        done(model, server)
    carrier.finish()
    return model


@dataclass(eq=False)
class _Sent:
    """What a node is asked at present: its kind, when it was sent last and is sent again, and how often it failed."""

    kind: str
    at: float
    delay: float = REPEAT
    failures: int = 0


class _Carrier:
    """Tasks and reports between a server and the nodes that are there, which may change at any moment."""

    def __init__(self, server: Server, grid: Grid, timeout: float, wait: float) -> None:
        self.server, self.grid, self.timeout, self.wait = server, grid, timeout, wait
        #: The node of each site: the one that gave its certificate last.
        self.nodes: dict[str, int] = {}
        self._protocol = server.protocol.to_json()
        self._refused: set[int] = set()
        self._here: set[int] = set()
        self._away = dict.fromkeys(server.protocol.sites, time.monotonic())
        self._sent: dict[int, _Sent] = {}
        self._ids: dict[str, tuple[int, _Sent]] = {}

    def run_round(self) -> None:
        """Ask until the round can be closed; pause the run if it cannot."""
        for attempt in range(ATTEMPTS):
            self._sent.clear()
            self._refused.clear()
            self._collect({"task": self.server.task()}, time.monotonic() + self.timeout)
            try:
                return self.server.close()
            except MessageError as error:
                if attempt == ATTEMPTS - 1:
                    raise RunPausedError(f"{error} The run is paused: run the same again to go on.") from None

    def finish(self) -> None:
        """Tell every node that all rounds are closed; one that does not hear it may be told by a later run."""
        content, end = {"end": self.server.end()}, time.monotonic() + self.wait
        self._sent.clear()
        self._here = set(self.grid.get_node_ids())
        for node in self._here:
            self._send("evaluate", node, content)
        self._pull()
        while self._sent and time.monotonic() < end:
            time.sleep(PAUSE)
            self._pull()

    def _collect(self, content: Content, end: float) -> None:
        """Ask for the reports of the open round until all are there or nobody is left to wait for."""
        while True:
            self._look()
            self._pull()
            self._ask(content)
            self._pull()
            now = time.monotonic()
            if now >= end or not self._waiting(now):
                return
            time.sleep(PAUSE)

    def _look(self) -> None:
        """See which nodes are there, and ask new ones which site they are."""
        self._here = set(self.grid.get_node_ids())
        self._refused &= self._here  # a node that was lost and comes back is asked again
        for node in self._here - set(self.nodes.values()) - self._refused:
            self._send("query", node, {})
        for node in set(self._sent) - self._here:
            del self._sent[node]
        now = time.monotonic()
        for name in self._away:
            if self.nodes.get(name) in self._here:
                self._away[name] = now

    def _ask(self, content: Content) -> None:
        for name in self._missing():
            node = self.nodes.get(name)
            if node in self._here and node not in self._refused:
                assert node is not None
                self._send("train", node, content)

    def _missing(self) -> list[str]:
        """Sites that were invited, and whose report is not there."""
        return [name for name in self.server.invited if name not in self.server.heard]

    def _waiting(self, now: float) -> bool:
        """Whether a report may still come: of a site that works, or of one that is away for a short time."""
        missing = self._missing()
        unknown = any(sent.kind == "query" and now < sent.at + self.wait for sent in self._sent.values())
        asked = any(self.nodes.get(name) in self._sent for name in missing)
        away = any(self.nodes.get(name) not in self._here and now < self._away[name] + self.wait for name in missing)
        return bool(missing) and (asked or away or unknown)

    def _send(self, kind: str, node: int, content: Content) -> None:
        """Send a message to a node, unless one of its kind is under way and not old."""
        now, sent = time.monotonic(), self._sent.get(node)
        if sent is None or sent.kind != kind:
            sent = self._sent[node] = _Sent(kind, now)
        elif now < sent.at + sent.delay:
            return
        else:
            sent.at, sent.delay = now, 2 * sent.delay
        message = _message({"protocol": self._protocol, **content}, dst_node_id=node, message_type=kind)
        [number] = self.grid.push_messages([message])
        self._ids[str(number)] = node, sent

    def _pull(self) -> None:
        """Take what answers the present messages.

        What answers an earlier one, of a round that is closed or from before its node was lost, is
        passed over: the node has been asked again.
        """
        if not self._ids:
            return
        for reply in self.grid.pull_messages(list(self._ids)):
            node, sent = self._ids.pop(reply.metadata.reply_to_message_id, (0, None))
            known = reply.has_error() or node == int(reply.metadata.src_node_id)
            if sent is None or self._sent.get(node) is not sent or not known:
                continue
            failed = reply.has_error() or RECORD not in reply.content
            if failed and sent.failures < ATTEMPTS:
                sent.at, sent.delay, sent.failures = time.monotonic(), RETRY, sent.failures + 1
                continue
            del self._sent[node]
            self._take(node, {"refused": "the node failed."} if failed else dict(reply.content[RECORD]))

    def _take(self, node: int, content: Content) -> None:
        """A certificate, a report or a refusal."""
        names = [name for name, known in self.nodes.items() if known == node]
        try:
            if "certificate" in content:
                self._enrol(node, str(content["certificate"]))
            elif "report" in content and names:
                report = content["report"]
                if self.server.protocol.sites.index(names[0]) != Report.from_bytes(report).site:
                    raise MessageError("a node sent the report of another site.")
                if names[0] not in self.server.heard:
                    self.server.receive(report)
            elif "finished" not in content:
                raise MessageError(str(content.get("refused", "the node sent nothing that was asked for."))[:1000])
        except MessageError as error:
            self._refused.add(node)
            if not names:
                log_event("node refused", reason=str(error))
            elif not self.server.secret:
                log_event("report refused", site=names[0], reason=str(error))

    def _enrol(self, node: int, text: str) -> None:
        """Let a node be the site whose certificate it gave; a site that is known moves to this node."""
        name = Certificate.from_json(text).site
        self.server.enrol(text)
        self.nodes[name] = node


def wait_for_nodes(grid: Grid, count: int, wait: float) -> list[int]:
    """The numbers of the nodes that are there, once there are enough or the time is over."""
    end = time.monotonic() + wait
    while len(nodes := sorted(grid.get_node_ids())) < count and time.monotonic() < end:
        time.sleep(PAUSE)
    return nodes


def ask_nodes(
    grid: Grid, kind: str, nodes: Iterable[int], content: Content, timeout: float, group: str
) -> list[tuple[int, Content]]:
    """What nodes reply, by node; those that failed or were late are left out, and so are nodes that were not asked."""
    asked = set(nodes)
    sent = [_message(dict(content), dst_node_id=node, message_type=kind, group_id=group) for node in sorted(asked)]
    found: dict[int, Content] = {}
    for reply in grid.send_and_receive(sent, timeout=timeout):
        node = int(reply.metadata.src_node_id)
        if node in asked and not reply.has_error() and RECORD in reply.content:
            found.setdefault(node, dict(reply.content[RECORD]))
    return sorted(found.items())


# ------------------------------------------------------------------------------------------------ devices


def device_app(make: MakeDevice) -> ClientApp:
    """A ClientApp for one person.

    Guarantee
    ---------
    That of `Device`: give it a `memory` file, since Flower may run the messages of one node in several processes.

    Parameters
    ----------
    make : function of a protocol's text and a Context
        The person's device.
    """
    return _app(partial(_answer_of_device, make), "query")


def _answer_of_device(make: MakeDevice, message: Message, context: Context) -> Message:
    """The one report of a device."""

    def answer() -> Content:
        asked = message.content[RECORD]
        return {"report": make(str(asked["protocol"]), context).answer(bytes(asked["task"]))}

    return reply_with(message, answer)


def run_devices(
    server: LocalServer, grid: Grid, *, people: int, timeout: float = 3600.0, wait: float = 60.0
) -> SparseLinear:
    """All rounds of a server of the local model over a grid of Flower, and the model.

    Parameters
    ----------
    server : dpsparse.local.Server
        Asking for gradients; labels need the number of each row, which nodes do not have.
    grid : Grid
    people : int
        Nodes to wait for.
    timeout, wait : float
        Seconds for a round, and for nodes to come.
    """
    if server.protocol.labels:
        raise ValueError("nodes are asked for gradients; for labels, carry the messages of dpsparse.local yourself.")
    nodes = wait_for_nodes(grid, people, wait)
    groups = [nodes[k :: server.protocol.rounds] for k in range(server.protocol.rounds)]
    while not server.finished:
        content = {"protocol": server.protocol.to_json(), "task": server.task()}
        for _, said in ask_nodes(grid, "query", groups[server.round], content, timeout, f"{server.round}"):
            try:
                server.receive(said.get("report", b""))
            except MessageError as error:
                log_event("report refused", reason=str(error))
        server.close()
    return server.model()
