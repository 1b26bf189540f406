"""Steps that skl2onnx can convert without being registered: it asks an object for its own converter."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

MISSING_PACKAGES = "exporting to ONNX needs skl2onnx. Install it with: pip install 'dpsparse[onnx]'"

#: Nodes, variables and operators of ONNX graphs, which have no types.
Node = Any


class OnnxStep:
    """A transformer or regressor with one output of doubles, converted by `onnx_graph`; not for direct use."""

    @abstractmethod
    def onnx_width(self) -> int:
        """The number of columns that come out."""

    @abstractmethod
    def onnx_graph(self, inputs: list[Node], opset: int) -> Node:
        """The graph that computes the output from variables of the inputs."""

    def onnx_parser(self) -> Callable[..., list[tuple[str, Node]]]:
        """What comes out, for skl2onnx."""
        from skl2onnx.common.data_types import DoubleTensorType

        return lambda scope=None, inputs=None: [("variable", DoubleTensorType([None, self.onnx_width()]))]

    def onnx_shape_calculator(self) -> Callable[[Node], None]:
        """Set the type and shape of the output, for skl2onnx."""
        from skl2onnx.common.data_types import DoubleTensorType

        def shape(operator: Node) -> None:
            operator.outputs[0].type = DoubleTensorType([None, self.onnx_width()])

        return shape

    def onnx_converter(self) -> Callable[[Node, Node, Node], None]:
        """Add the graph, for skl2onnx."""
        from skl2onnx.algebra.onnx_ops import OnnxIdentity

        def convert(scope: Node, operator: Node, container: Node) -> None:
            opset = container.target_opset
            graph = self.onnx_graph(operator.inputs, opset)
            OnnxIdentity(graph, op_version=opset, output_names=operator.outputs[:1]).add_to(scope, container)

        return convert


def operators() -> Node:
    """The module of ONNX operators, or an error that says what to install."""
    try:
        from skl2onnx.algebra import onnx_ops
    except ImportError:
        raise ImportError(MISSING_PACKAGES) from None
    return onnx_ops


def as_double(variable: Node, opset: int) -> Node:
    """A numeric input of any type as doubles."""
    from onnx import TensorProto

    return operators().OnnxCast(variable, to=TensorProto.DOUBLE, op_version=opset)
