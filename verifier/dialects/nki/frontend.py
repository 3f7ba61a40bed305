"""The Python that the front ends of NKI take (catalogue section (f)).

Beta 1 traces a kernel as Python runs it. Since 0.2 a compiler reads the text: what it does not know
is an error, though CPython, and with it the simulator, runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from verifier.dialects.nki.deviceloops import RULE as LOOP_RULE
from verifier.dialects.nki.versions import newer
from verifier.source import ir
from verifier.source.ir import ParamKind, Span
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Note
from verifier.symbolic.python import hierarchy
from verifier.symbolic.python.model import Class
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import StorageKind, View

RULE: Final = "python-subset"

#: decorators of Beta 1 that ran what they decorated
_WRAPPERS: Final = frozenset({"baremetal", "benchmark", "profile", "simulate_kernel"})
#: libraries that compute on the host
_ON_HOST: Final = frozenset({"jax", "numpy", "scipy", "torch"})

#: what is no text, as a key
_NO_TEXTS: Final = (E.Expr, E.Bool, int, float, complex, bytes, tuple, type(None))

#: the built-in types of which a class may be without being an object of NKI's
_APART: Final = (BaseException,)


def prepare(vm: VM, definition: ir.FunctionDef) -> None:
    """Before a kernel is entered: what its signature must not have."""
    if not newer(vm.api, "0.2"):
        return
    for decorator in definition.decorators:
        name = ir.last_name(decorator.func if isinstance(decorator, ir.Call) else decorator)
        if name in _WRAPPERS:
            _reject(
                vm,
                decorator.span,
                "a kernel is decorated with `nki.jit`",
                f"`{name}` is no decorator of kernels since NKI 0.2",
                "G48",
                help=("decorate with `nki.jit`; profile with neuron-profile",),
            )
    if vm.api == "0.2" and not definition.params:
        _reject(
            vm,
            definition.name_span,
            "a kernel has parameters",
            f"`{definition.name}` has no parameters: the compiler of NKI 0.2 fails to call it",
            "G47",
        )
    if newer(vm.api, "0.3"):
        _signature(vm, definition)
    scan(vm, definition)


def enter(vm: VM, definition: ir.FunctionDef | ir.LambdaExpr, span: Span) -> None:
    """Before a function of the project is called: it is inlined, and no kernel of its own.

    The migration guide to 0.2 says so; released kernels of 0.3 and later do call kernels.
    """
    if not newer(vm.api, "0.2") or not isinstance(definition, ir.FunctionDef):
        return
    if vm.api == "0.2" and any(
        ir.last_name(d.func if isinstance(d, ir.Call) else d) == "jit"
        for d in definition.decorators
    ):
        _reject(
            vm,
            span,
            f"`{definition.name}` is a plain function",
            f"`{definition.name}` is a kernel of its own, which no kernel calls in NKI 0.2",
            "G35",
            notes=(Note(definition.name_span, "decorated here"),),
            help=("leave the decorator out, and write `nki.jit(f)` where it is launched",),
        )
    scan(vm, definition)


def instantiate(vm: VM, cls: Class, span: Span) -> None:
    """Before an instance is made: of a class that the compiler reads as well."""
    definition = cls.definition
    if not newer(vm.api, "0.2") or hierarchy.is_external(cls):
        return
    if definition is None and not hierarchy.derives_from_host(cls, tuple):  # a named tuple
        return
    if hierarchy.trait(cls, "enum") is not None:
        return
    if any(hierarchy.derives_from_host(cls, each) for each in _APART):
        return
    own = hierarchy.trait(cls, hierarchy.DEVICE) is not None
    if own and definition is not None and len(definition.bases) <= 1:
        return
    what = "inherits from other classes besides" if own else "does not inherit from"
    _reject(
        vm,
        span,
        f"`{cls.name}` inherits from `nl.NKIObject` alone",
        f"`{cls.name}` {what} `nl.NKIObject`: kernels make instances of no other classes",
        "G33",
        notes=() if definition is None else (Note(definition.name_span, "defined here"),),
    )


def operates(vm: VM, cls: Class, span: Span) -> None:
    """Members of enumerations are compared by ``==`` and ``!=`` alone (NKI-G36)."""
    if newer(vm.api, "0.2"):
        _reject(
            vm,
            span,
            f"members of `{cls.name}` are compared by `==` or `!=`",
            f"`{cls.name}` is an enumeration, whose members have `==` and `!=` alone",
            "G36",
            help=("compare the members' `value`",),
        )


def compute(vm: VM, path: str, given: Sequence[object], span: Span) -> None:
    """A library of the host is given a tile: it has no values there (NKI-G44)."""
    if path.partition(".")[0] not in _ON_HOST or not newer(vm.api, "0.2"):
        return
    if any(isinstance(v, View) and v.storage.kind is not StorageKind.CONSTANT for v in given):
        _reject(
            vm,
            span,
            "functions of NKI compute with tensors",
            f"`{path}` computes on the host, and is given a tensor of the device",
            "G44",
            help=("use an instruction of `nki.isa`, or a function of `nki.language`",),
        )


def outside(vm: VM, name: str, span: Span) -> None:
    """An instruction in the body of a module belongs to no kernel (NKI-N12, NKI-G46)."""
    vm.check(
        RULE,
        E.FALSE,
        span,
        "instructions are called in a kernel",
        f"`{name}` is called where no kernel runs: when the module is imported",
        facts=("N12", "G46"),
        help=("move it into a function that `nki.jit` decorates",),
    )


def nested_slice(vm: VM, view: View, span: Span) -> None:
    """The compiler of 0.2 takes one subscript of a tensor (NKI-G41)."""
    if vm.api != "0.2" or not view.exact or view.broadcast or view.frame != view.storage.shape:
        return
    if _is_part(view):
        _reject(
            vm,
            span,
            "a tensor is indexed once",
            f"a part of `{view.name}` is indexed again, which NKI 0.2 does not compile",
            "G41",
            help=("index once, with the sum of the offsets",),
        )


def _is_part(view: View) -> bool:
    """Whether a view is a part of its tensor with the axes in their order."""
    order = {axis.symbol: place for place, axis in enumerate(view.axes)}
    places = [order[s] for coord in view.coords for s in coord.free() if s in order]
    whole = view.shape == view.storage.shape
    return not whole and places == sorted(places)


def _signature(vm: VM, definition: ir.FunctionDef) -> None:
    for p in definition.params:
        if p.kind is ParamKind.KEYWORD:
            _reject(
                vm,
                p.span,
                "parameters are positional",
                f"`{p.name}` is given by name alone: kernels have no `*` in their signature "
                "since NKI 0.3",
                "G30",
                help=("put parameters with defaults last, and leave the `*` out",),
            )
        if isinstance(p.default, ir.ListExpr):
            _reject(
                vm,
                p.default.span,
                "arguments are tuples",
                f"the default of `{p.name}` is a list, which is no argument of a kernel since "
                "NKI 0.3",
                "G32",
                help=("write a tuple",),
            )
        elif isinstance(p.default, (ir.DictExpr, ir.SetExpr)):
            kind = "dictionary" if isinstance(p.default, ir.DictExpr) else "set"
            _reject(
                vm,
                p.default.span,
                "arguments are tensors, numbers, texts, tuples, functions or objects of NKI's",
                f"the default of `{p.name}` is a {kind}, which is no argument of a kernel",
                "L77",
                help=("give the entries as parameters of their own, or as an `nl.NKIObject`",),
            )


def scan(vm: VM, definition: ir.FunctionDef) -> None:
    """Report the expressions that the front end rejects, and loops that cannot end."""
    for node in ir.own(definition.body):
        if isinstance(node, ir.While) and isinstance(node.test, ir.Name):
            _endless(vm, definition, node, node.test.id)
        if isinstance(node, ir.Compare) and newer(vm.api, "0.3"):
            _identity(vm, node)
        if isinstance(node, ir.DictExpr):
            for key in node.keys:
                if isinstance(key, (ir.Const, ir.TupleExpr)):
                    keyed(vm, key.value if isinstance(key, ir.Const) else (), key.span)


def keyed(vm: VM, key: object, span: Span) -> bool:
    """Keys of dictionaries are texts: what is evidently none is a finding (NKI-G34)."""
    found = newer(vm.api, "0.2") and isinstance(key, _NO_TEXTS)
    if found:
        _reject(
            vm,
            span,
            "keys are texts",
            "a dictionary of a kernel has a key that is no text",
            "G34",
            help=("write the key as a text: `str(i)`",),
        )
    return found


def _endless(vm: VM, definition: ir.FunctionDef, loop: ir.While, name: str) -> None:
    """``while register:`` whose body has no way to the register (NKI-LP06)."""
    made = False
    for node in _everywhere(definition.body):
        if isinstance(node, ir.Assign):
            value = node.value
            if isinstance(value, ir.Name) and value.id == name:
                return  # it has another name
            made = made or (
                any(isinstance(target, ir.Name) and target.id == name for target in node.targets)
                and isinstance(value, ir.Call)
                and ir.last_name(value.func) == "register_alloc"
            )
        elif isinstance(node, ir.FunctionDef) and _mentions(node.body, name):
            return  # whoever calls it may load the register
    if made and not _mentions(loop.body, name):
        vm.check(
            LOOP_RULE,
            E.FALSE,
            loop.test.span,
            f"the body loads `{name}`",
            f"nothing in this loop changes the register `{name}`: it never ends",
            facts=("LP06",),
            help=(f"load the next condition: `nisa.register_load({name}, ...)`",),
        )


def _mentions(body: Sequence[ir.Node], name: str) -> bool:
    return any(isinstance(node, ir.Name) and node.id == name for node in _everywhere(body))


def _everywhere(body: Sequence[ir.Node]) -> Iterator[ir.Node]:
    """Every node below, in nested functions too."""
    stack = list(body)
    while stack:
        node = stack.pop()
        yield node
        stack.extend(ir.children(node))


def _identity(vm: VM, node: ir.Compare) -> None:
    """``is`` and ``is not``, but for None, which released kernels of every version test so."""
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        if op in ("is", "is not") and not (_is_none(left) or _is_none(right)):
            equal = "==" if op == "is" else "!="
            _reject(
                vm,
                node.span,
                f"`{op}` compares with None alone",
                f"`{op}` asks which object it is, which the compiler does not know since NKI 0.3",
                "G31",
                help=(f"write `{equal}`",),
            )
        left = right


def _is_none(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) and node.value is None


def _reject(
    vm: VM,
    span: Span,
    text: str,
    message: str,
    fact: str,
    *,
    notes: tuple[Note, ...] = (),
    help: tuple[str, ...] = (),
) -> None:
    vm.check(
        RULE,
        E.FALSE,
        span,
        text,
        message,
        facts=(fact,),
        notes=notes,
        help=help,
        compiled=True,
    )


__all__ = ["compute", "enter", "instantiate", "nested_slice", "outside", "prepare", "scan"]
