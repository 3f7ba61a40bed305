"""What the interpreter sees of a dialect: what gives meaning to device calls, and hooks.

What a front end makes of Python that Python itself would not is said by hooks of the dialect, which
see the whole machine (``M``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.machine import Call, Machine
from verifier.symbolic.python.kind import Kind, M
from verifier.symbolic.tensors import LoopKind, View
from verifier.symbolic.values import ApiRef, DeviceData, HostUse, Range

if TYPE_CHECKING:
    from verifier.source.project import Module
    from verifier.symbolic.python.inputs import Parameter
    from verifier.symbolic.python.model import Class, Function


class Dialect(Protocol[M]):
    """What gives meaning to names of a kernel API, to device calls and to operators on tiles."""

    name: str
    #: whether what the front end says of a statement hangs on where it is reached from
    judges_statements: bool

    def root(self, dotted: str) -> object | None:
        """The value of an imported dotted name (``nki.language``), or None if it is not ours."""
        ...

    def external(self, path: str) -> object | None:
        """What a name of another library (a NumPy dtype or operator) means to kernels, or None."""
        ...

    def attribute(self, machine: Machine, owner: ApiRef, attr: str, span: Span) -> object | None:
        """``owner.attr``: a namespace, a function, a constant; None if there is no such name."""
        ...

    def imports(self, machine: Machine, dotted: str) -> str | None:
        """Why a name that other generations have cannot be imported, or None."""
        ...

    def imported(self, machine: Machine, dotted: str, span: Span) -> None:
        """A name of the API is imported: what is to be said of it."""
        ...

    def call(self, machine: Machine, api: ApiRef, call: Call) -> object:
        """A call of an API function. Unknown functions are reported as unmodelled."""
        ...

    def view_attribute(self, machine: Machine, view: View, attr: str, span: Span) -> object | None:
        """``tensor.attr`` for data attributes (``shape``, ``dtype`` ...); None if unknown."""
        ...

    def view_method(self, machine: Machine, view: View, method: str, call: Call) -> object | None:
        """``tensor.method(...)``; None if there is no such method."""
        ...

    def api_subscript(self, machine: Machine, api: ApiRef, index: object, span: Span) -> object:
        """``name[index]`` for a name of the API (``nl.mgrid[0:128, 0:512]``)."""
        ...

    def subscript(self, machine: Machine, view: View, index: object, span: Span) -> object:
        """``tensor[index]``; ``index`` is one value or a tuple of values."""
        ...

    def operator(
        self, machine: Machine, op: str, left: object, right: object, span: Span
    ) -> object | None:
        """A Python operator with a tile operand (Beta 1); ``right`` is None for unary ones."""
        ...

    def inplace(
        self, machine: M, op: str, target: View, value: object, span: Span
    ) -> object | None:
        """``tensor op= value``: what the name stands for then; None: the tensor, as before."""
        ...

    def store(
        self,
        machine: Machine,
        target: View,
        value: object,
        op: str | None,
        span: Span,
        value_span: Span,
    ) -> None:
        """``target[...] = value``, or ``target[...] op= value`` when ``op`` is given."""
        ...

    # -- hooks: what the front end makes of Python ------------------------------------------------

    def prepare(self, machine: M, definition: ir.FunctionDef, module: Module) -> None:
        """Before a kernel is entered."""
        ...

    def enter(self, machine: M, definition: ir.FunctionDef | ir.LambdaExpr, span: Span) -> None:
        """Before a function of the project is called."""
        ...

    def computes(self, machine: M, path: str, given: Sequence[object], span: Span) -> None:
        """Before a function of a library that is not followed is called, with what it is given."""
        ...

    def keyed(self, machine: M, key: object, span: Span, *, stored: bool = True) -> None:
        """A dictionary is given an entry under a key, or (not ``stored``) asked for one it has."""
        ...

    def instantiate(self, machine: M, cls: Class, span: Span) -> None:
        """Before an instance of a class of the project is made."""
        ...

    def operates(self, machine: M, cls: Class, method: str, span: Span) -> None:
        """Members of an enumeration have an operator besides equality, and it was asked."""
        ...

    def launched(self, machine: M, kernel: Function, span: Span) -> None:
        """Before a kernel is given a launch grid, ``kernel[grid]``."""
        ...

    def compares_annotations(self, machine: M) -> bool:
        """Whether the front end rejects a tile of another shape than its annotation says."""
        ...

    def statement(self, machine: M, stmt: ir.Stmt) -> None:
        """Before a statement runs."""
        ...

    def assigned(self, machine: M, stmt: ir.Assign) -> None:
        """After an assignment."""
        ...

    def branch(self, machine: M, stmt: ir.If, test: Bool) -> None:
        """Before an ``if`` statement branches."""
        ...

    def region(
        self, machine: M, stmt: ir.For | ir.While | ir.If, unrolled: bool
    ) -> Callable[[Sequence[ir.Stmt]], None]:
        """Before the bodies of a loop or an ``if`` run: what is to be done at the end of one.

        ``unrolled``: the front end itself runs the loop.
        """
        ...

    def drops(self, machine: M, stmt: ir.Assert) -> bool:
        """Whether an assertion of a kernel is left out of what runs."""
        ...

    def conditional(self, machine: M, node: ir.IfExpr, test: Bool) -> Bool:
        """What decides that ``a if test else b`` is ``a``: the test, as Python has it."""
        ...

    def divides(
        self, machine: M, node: ir.BinOp | ir.AugAssign, left: object, right: object
    ) -> None:
        """Before ``left // right`` or ``left % right``."""
        ...

    def identical(self, machine: M, node: ir.Compare, value: object) -> object:
        """What ``a is b`` gives: the ``value`` that Python has."""
        ...

    def loop_factors(self, machine: M, stmt: ir.For, range: Range) -> tuple[Expr, str] | None:
        """Before a loop over a range: the inner factor of one over a product, and its name; None:
        one loop."""
        ...

    def tensor_truth(self, machine: Machine, span: Span, *, optional: bool = False) -> bool | None:
        """``bool(tensor)``, None if nobody knows; ``optional``: of what may be None as well."""
        ...

    def on_device(
        self,
        machine: M,
        use: HostUse,
        data: DeviceData,
        what: str,
        span: Span,
        held: Sequence[View] = (),
    ) -> object:
        """What the host makes of ``what``, which only the device knows: a condition, an integer.

        ``held``: the elements that it is made of.
        """
        ...

    def traced_once(self, machine: M, kind: LoopKind) -> bool:
        """Whether the body of a loop of that kind is traced once, whatever its trips."""
        ...

    def grid_axis(self, machine: M, number: int) -> GridAxis:
        """An axis of the launch grid, when it is first asked for."""
        ...

    # -- hooks: inputs and values -----------------------------------------------------------------

    def arguments(
        self, machine: M, definition: ir.FunctionDef, declare: Declare
    ) -> Mapping[str, object] | None:
        """The arguments of a kernel whose inputs are not its parameters; None: they are."""
        ...

    def parameter(self, machine: M, p: Parameter, annotation: ir.Expr | None) -> object | None:
        """The value of an input that the dialect knows from its annotation, else None."""
        ...

    def kinds(self) -> Mapping[type, Kind[M]]:
        """How values behave that are the dialect's own, by type."""
        ...

    def number_attribute(self, machine: M, value: object, name: str, span: Span) -> object | None:
        """An attribute of a number that Python's numbers do not have; None: there is none."""
        ...

    def view_names(self, machine: Machine | None = None) -> frozenset[str] | None:
        """All attributes and methods of tensors; None: there may be others.

        With a machine those of the generation in force, without one those of any.
        """
        ...

    def closed(self, owner: ApiRef, attr: str) -> frozenset[str] | None:
        """All names in a namespace of the API; None: it may well have ``attr`` besides."""
        ...


class GridAxis(Struct, frozen=True):
    """An axis of the launch grid: ``index`` and ``count`` as kernels write them, and the count."""

    index: str
    count: str
    size: Expr


class Input(Struct, frozen=True):
    """One input of a kernel as it is declared; ``default`` is there if ``has_default``."""

    name: str
    span: Span
    annotation: ir.Expr | None = None
    default: object = None
    has_default: bool = False


#: makes the value of an input
Declare = Callable[[Input], object]
