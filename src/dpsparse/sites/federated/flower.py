"""Flower as the carrier of tasks and reports (extra ``flower``).

Thin: everything that matters is in `Site` and `Server`.

A node is asked for its certificate once (a *query*), and for a report in every round (*train*).
Messages of ours are bytes inside a record of Flower's; what a site refuses comes back in words that
tell nothing of it. Flower is imported when a function here is called.

The local model (`dpsparse.local`) is carried in the same way: a node is then one person's device.
Nodes are dealt into as many groups as the protocol has rounds, by their numbers alone; each is
asked once.

>>> from dpsparse.sites.federated.flower import client_app, server_app
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core import PrivacyError
from ...core.log import log_event
from ...estimators.linear import SparseLinear
from ..local import Device
from ..local import Server as LocalServer
from ..rounds import MessageError
from .certificate import Certificate
from .messages import Report
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
#: Seconds between looks for nodes.
PAUSE = 0.5

#: Sites of this process, by run and node. An app itself holds none: the simulation engine sends it to other processes.
_SITES: dict[tuple[bytes, int], Site] = {}
_MAKING = threading.Lock()

#: Makes the site of a node from what the server published.
Join = Callable[[Protocol, "Context"], Site]
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
    The promise is that of `Site`. Flower may run the messages of one node in several processes, one
    after the other or at once: give every site a `memory` folder, which all of them share, and a
    ledger, so that no round is answered twice.

    Parameters
    ----------
    join : function of a Protocol and a Context
        The site of this node: rows, name, epsilon, ledger, memory. It is called before the first
        answer in a process.
    """
    require_flower()
    from flwr.clientapp import ClientApp

    app = ClientApp()
    app.query()(partial(_tell, join))
    app.train()(partial(_answer, join))
    return app


def _tell(join: Join, message: Message, context: Context) -> Message:
    """What this site promises."""
    from flwr.app import ConfigRecord

    def answer() -> Content:
        text = str(message.content[RECORD]["protocol"])
        said = _site(join, text, context).certificate()
        context.state[RECORD] = ConfigRecord({"protocol": text})
        return {"certificate": said}

    return reply_with(message, answer)


def _answer(join: Join, message: Message, context: Context) -> Message:
    """The report of a round."""

    def answer() -> Content:
        if RECORD not in context.state:
            raise MessageError("this node was asked for a report before it was asked for its certificate.")
        site = _site(join, str(context.state[RECORD]["protocol"]), context)
        return {"report": site.answer(bytes(message.content[RECORD]["task"]))}

    return reply_with(message, answer)


def _site(join: Join, text: str, context: Context) -> Site:
    """The site of a node, made once in a process."""
    protocol = Protocol.from_json(text)
    place = (protocol.identity, int(context.node_id))
    with _MAKING:
        if place not in _SITES:
            _SITES[place] = join(protocol, context)
        return _SITES[place]


def reply_with(message: Message, answer: Callable[[], Content]) -> Message:
    """The answer, or the words of a refusal."""
    from flwr.app import ConfigRecord, RecordDict
    from flwr.app import Message as Made

    try:
        content = answer()
    except MessageError as error:
        content = {"refused": str(error)}
    except PrivacyError:  # its words could tell what is left in the site's ledger
        content = {"refused": "the site does not allow this answer."}
    except Exception:  # its words could be about rows
        content = {"refused": "the site could not answer."}
    return Made(RecordDict({RECORD: ConfigRecord(content)}), reply_to=message)


# ------------------------------------------------------------------------------------------------ the server


def server_app(
    make: Callable[[Context], Server],
    done: Callable[[SparseLinear, Server], None],
    *,
    timeout: float = 3600.0,
    wait: float = 60.0,
) -> ServerApp:
    """A ServerApp that runs all rounds of a server and hands the model over.

    Parameters
    ----------
    make : function of a Context
        The server: new, or resumed from its state.
    done : function of the fitted estimator and the server
        What to do with the model.
    timeout : float
        Seconds that a round waits for reports.
    wait : float
        Seconds to wait until as many nodes are there as the protocol has sites; then it goes on with those that are.
    """
    require_flower()
    from flwr.serverapp import ServerApp

    app = ServerApp()

    def main(grid: Grid, context: Context) -> None:
        server = make(context)
        done(run_rounds(server, grid, timeout=timeout, wait=wait), server)

    app.main()(main)
    return app


def run_rounds(server: Server, grid: Grid, *, timeout: float = 3600.0, wait: float = 60.0) -> SparseLinear:
    """All rounds that are left over a grid of Flower, and the model.

    A node that does not answer, answers late, or with something that is refused, is left out of its
    round. Where too few sites have answered for the round to be closed, those that have not are
    asked again, `ATTEMPTS` times in all; then it is refused.
    """
    nodes = _enrol(server, grid, timeout, wait)
    while not server.finished:
        task, turn = server.task(), server.round
        waiting = {node: name for node, name in nodes.items() if name in server.invited}
        for attempt in range(ATTEMPTS):
            for node, content in ask_nodes(grid, "train", waiting, {"task": task}, timeout, f"{turn}"):
                if _taken(server, nodes[node], content):
                    waiting.pop(node, None)
            try:
                server.close()
                break
            except MessageError:
                if attempt == ATTEMPTS - 1:
                    raise
        log_event("round closed", round=turn, **({} if server.secret else {"sites": server.answered[-1]}))
    return server.model()


def _enrol(server: Server, grid: Grid, timeout: float, wait: float) -> dict[int, str]:
    """Ask nodes what they promise; the site that each of them is."""
    nodes = wait_for_nodes(grid, len(server.protocol.sites), wait)
    found: dict[int, str] = {}
    protocol = {"protocol": server.protocol.to_json()}
    for node, content in ask_nodes(grid, "query", nodes, protocol, timeout, "enrol"):
        try:
            if "certificate" not in content:
                raise MessageError(str(content.get("refused", "the node sent no certificate."))[:1000])
            text = str(content["certificate"])
            name = Certificate.from_json(text).site
            if name in found.values():
                raise MessageError("two nodes say that they are the same site.")
            server.enrol(text)
            found[node] = name
        except MessageError as error:
            log_event("node refused", reason=str(error))
    return found


def wait_for_nodes(grid: Grid, count: int, wait: float) -> list[int]:
    """The numbers of the nodes that are there, once there are so many or the time is over."""
    end = time.monotonic() + wait
    while len(nodes := sorted(grid.get_node_ids())) < count and time.monotonic() < end:
        time.sleep(PAUSE)
    return nodes


def ask_nodes(
    grid: Grid, kind: str, nodes: Iterable[int], content: Content, timeout: float, group: str
) -> list[tuple[int, Content]]:
    """What nodes reply, by node; those that failed or were late are left out, and so is whoever was not asked."""
    from flwr.app import ConfigRecord, Message, RecordDict

    asked = set(nodes)
    messages = [
        Message(RecordDict({RECORD: ConfigRecord(dict(content))}), dst_node_id=node, message_type=kind, group_id=group)
        for node in sorted(asked)
    ]
    replies = grid.send_and_receive(messages, timeout=timeout)
    found: dict[int, Content] = {}
    for reply in replies:
        node = int(reply.metadata.src_node_id)
        if node in asked and not reply.has_error() and RECORD in reply.content:
            found.setdefault(node, dict(reply.content[RECORD]))
    return sorted(found.items())


def _taken(server: Server, name: str, content: Content) -> bool:
    """Whether the report of a node was taken; it must be of the site that the node enrolled as."""
    try:
        if "report" not in content:
            raise MessageError(str(content.get("refused", "the node sent no report."))[:1000])
        report = content["report"]
        if server.protocol.sites.index(name) != Report.from_bytes(report).site:
            raise MessageError("a node sent the report of another site.")
        server.receive(report)
    except MessageError as error:
        if not server.secret:
            log_event("report refused", site=name, reason=str(error))
        return False
    return True


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
    require_flower()
    from flwr.clientapp import ClientApp

    app = ClientApp()
    app.query()(partial(_answer_of_device, make))
    return app


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
