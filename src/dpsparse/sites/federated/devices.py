"""The local model over Flower: people whose nodes randomise their own reports (`dpsparse.local`), carried like those of sites.

A node is one person's device. Nodes are dealt into as many groups as the protocol has rounds, by their numbers alone; each is asked once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ...core.log import log_event
from ...estimators.linear import SparseLinear
from ..local import Device, MessageError, Server
from .flower import ask_nodes, reply_with, require_flower, wait_for_nodes

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid

#: Makes the device of a node from the text of a protocol.
MakeDevice = Callable[[str, "Context"], Device]


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
    app.query()(partial(_answer, make))
    return app


def _answer(make: MakeDevice, message: Message, context: Context) -> Message:
    """The one report of a device."""
    from .flower import RECORD

    def answer() -> dict[str, Any]:
        asked = message.content[RECORD]
        return {"report": make(str(asked["protocol"]), context).answer(bytes(asked["task"]))}

    return reply_with(message, answer)


def run_devices(
    server: Server, grid: Grid, *, people: int, timeout: float = 3600.0, wait: float = 60.0
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
