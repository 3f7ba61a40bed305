"""Launches that break the precondition of the kernel that they start, or what it asserts itself.

A condition is evaluated on what a file shows of the arguments. Where something in it is not known
it says nothing, unless it is the same either way. Of several conditions each is told that is
certain to be broken: by itself, or because one before it is.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from verifier.dialects.names import NKI
from verifier.hardware.dtypes import DTYPES, canonical
from verifier.report import model as report
from verifier.rulebase import find
from verifier.source.launches import Launch, Launches, Place, Reader
from verifier.source.project import Project
from verifier.source.values import COMPARISONS, UNREAD, Array, ElementType, Value, number

RULE: Final = "launch-precondition"
_WORD: Final = re.compile(r"\w+")

#: the classes of element types that kernels are given as they are: tensors of others are converted
_GIVEN: Final = frozenset({"float", "int"})


class Judged(Struct, frozen=True):
    """A kernel and those of its conditions that count."""

    kernel: report.KernelReport
    precondition: report.Precondition
    conjuncts: tuple[report.Conjunct, ...]


class Naming:
    """Which files name some kernels, as those do that launch them."""

    def __init__(self, kernels: Iterable[report.KernelReport], read: Reader) -> None:
        self._read = read
        self._names: dict[frozenset[str], set[str]] = {}
        for kernel in kernels:
            file = os.path.abspath(kernel.path)  # noqa: PTH100
            self._names.setdefault(_names_of(kernel), set()).add(file)

    def may_be_in(self, path: str) -> bool:
        """Whether a file names a kernel besides its definition, or the file that it is in."""
        text = self._read(path) or ""
        own = os.path.abspath(path)  # noqa: PTH100
        words = Counter(_WORD.findall(text))  # kernels are many, and looked for at once

        def times(name: str) -> int:
            return words[name] if _WORD.fullmatch(name) else len(_word(name).findall(text))

        return any(
            sum(map(times, names)) > (files == {own}) for names, files in self._names.items()
        )


class Broken:
    """The findings about launches in the files of a project.

    ``device`` are functions that run on a device besides the kernels.
    """

    def __init__(
        self,
        judged: Sequence[Judged],
        device: Collection[Place],
        read: Reader,
        project: Project | None = None,
    ) -> None:
        self._judged: dict[Place, list[Judged]] = {}
        for one in judged:
            if one.conjuncts or one.kernel.demands:
                place = (os.path.abspath(one.kernel.path), one.kernel.line)  # noqa: PTH100
                self._judged.setdefault(place, []).append(one)
        self._launches = Launches(self._judged.keys(), device, read, project)
        self._naming = Naming((one.kernel for ones in self._judged.values() for one in ones), read)

    def of(self, path: str) -> list[report.Diagnostic]:
        """The findings in a file; of a launch that is made several times the first one counts."""
        found: dict[object, report.Diagnostic] = {}
        for launch in self._launches.of(path) if self._naming.may_be_in(path) else ():
            for one in self._judged[launch.kernel]:
                for told in _judge(one, launch):
                    found.setdefault((told.span, told.kernel, told.targets), told)
        return list(found.values())


def _names_of(kernel: report.KernelReport) -> frozenset[str]:
    """What names a kernel or its module."""
    file = os.path.basename(kernel.path).removesuffix(".py")  # noqa: PTH119
    return frozenset((kernel.name.rpartition(".")[2], file))


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


def _judge(judged: Judged, launch: Launch) -> Iterator[report.Diagnostic]:
    if launch.misfit:
        if judged.kernel.dialect == NKI:
            yield _no_call(judged.kernel, launch)
        return
    inputs = _Inputs(judged, launch)
    refused = [
        demand
        for demand in judged.kernel.demands
        if inputs.truth(ast.parse(demand.text, mode="eval").body) is False
    ]
    if refused:  # the kernel has said so: it is not at fault for what else such inputs break
        yield _refused(judged, launch, refused, inputs)
        return
    told: list[tuple[report.Conjunct, str]] = []
    for conjunct in judged.conjuncts:
        tree = ast.parse(conjunct.text, mode="eval").body
        if not conjunct.exact and inputs.truth(tree) is not True:
            break  # those after it are meant for inputs that meet it
        if inputs.truth(tree) is False:
            told.append((conjunct, inputs.shown(tree)))
    if not told:
        return
    (first, values), kernel = told[0], judged.kernel
    alone = launch.grid is None and first.grid
    how = "is launched without a grid" if alone else "is not right for this launch"
    yield _finding(
        kernel,
        launch,
        message=f"`{kernel.name}` {how}: {values} breaks {first.text}",
        predicate=first.text,
        notes=tuple(f"{shown} breaks {c.text}, too" for c, shown in told[1:]),
        label=report.Label(first.span, f"needs {first.text}: {first.what}"),
        facts=first.facts,
    )


def _no_call(kernel: report.KernelReport, launch: Launch) -> report.Diagnostic:
    """The finding that Python makes no call of a kernel with such arguments."""
    text = "the arguments of the call are those that the kernel has parameters for"
    return _finding(
        kernel,
        launch,
        message=f"`{kernel.name}` does not take this launch: {launch.misfit}",
        predicate=text,
        notes=(),
        label=None,
    )


def _refused(
    judged: Judged, launch: Launch, demands: Sequence[report.Label], inputs: _Inputs
) -> report.Diagnostic:
    """The finding that a launch breaks what the kernel asserts."""
    kernel = judged.kernel
    told = [(demand, inputs.shown(ast.parse(demand.text, mode="eval").body)) for demand in demands]
    first, values = told[0]
    return _finding(
        kernel,
        launch,
        message=f"`{kernel.name}` does not take this launch: {values} breaks {first.text}",
        predicate=first.text,
        notes=tuple(f"{shown} breaks {demand.text}, too" for demand, shown in told[1:]),
        label=report.Label(first.span, "the kernel asserts it here"),
    )


def _finding(
    kernel: report.KernelReport,
    launch: Launch,
    *,
    message: str,
    predicate: str,
    notes: tuple[str, ...],
    label: report.Label | None,
    facts: tuple[str, ...] = (),
) -> report.Diagnostic:
    rule, place = find(RULE), launch.span
    assert rule is not None
    return report.Diagnostic(
        rule=RULE,
        name=rule.summary,
        severity="error",
        verdict="always",
        message=message,
        span=report.Span(place.path, place.line, place.column, place.end_line, place.end_column),
        kernel=kernel.name,
        facts=facts,
        predicate=predicate,
        notes=notes,
        labels=() if label is None else (label,),
        targets=(kernel.target,),
    )


class _Inputs:
    """What a launch says of the names in conditions."""

    def __init__(self, judged: Judged, launch: Launch) -> None:
        self._arguments = launch.arguments
        self._sizes = _sizes(judged.precondition, launch.arguments)
        self._grid = launch.grid
        self._by_one = judged.kernel.dialect == NKI

    def truth(self, node: ast.expr) -> Value:
        """Whether a condition holds: a bool, or not known."""
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(part) for part in node.values]
            decides = isinstance(node.op, ast.Or)
            if decides in parts:
                return decides
            return UNREAD if UNREAD in parts else not decides
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            value = self.truth(node.operand)
            return not value if isinstance(value, bool) else UNREAD
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._comparison(node.ops[0], node.left, node.comparators[0])
        value = self.value(node)
        return value if isinstance(value, bool) else UNREAD

    def _comparison(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Value:
        if isinstance(left, (ast.Compare, ast.BoolOp)):  # two conditions that hold together
            one, other = self.truth(left), self.truth(right)
            known = UNREAD not in (one, other) and isinstance(op, (ast.Eq, ast.NotEq))
            return (one == other) is isinstance(op, ast.Eq) if known else UNREAD
        a, b = self.value(left), self.value(right)
        if isinstance(op, (ast.Is, ast.IsNot)):
            none = isinstance(right, ast.Constant) and right.value is None and a is not UNREAD
            return (a is None) is isinstance(op, ast.Is) if none else UNREAD
        if isinstance(a, str) and isinstance(b, str) and isinstance(op, (ast.Eq, ast.NotEq)):
            return (a == b) is isinstance(op, ast.Eq)
        if isinstance(a, ElementType):
            inside = isinstance(b, tuple) and all(isinstance(t, ElementType) for t in b)
            if isinstance(op, (ast.In, ast.NotIn)) and inside:
                return (a in b) is isinstance(op, ast.In)  # type: ignore[operator]
            if isinstance(op, (ast.Eq, ast.NotEq)) and isinstance(b, ElementType):
                return (a == b) is isinstance(op, ast.Eq)
        elif isinstance(a, (str, int)) and isinstance(b, tuple):
            if isinstance(op, (ast.In, ast.NotIn)) and all(type(each) is type(a) for each in b):
                return (a in b) is isinstance(op, ast.In)
        elif type(a) is int and type(b) is int and type(op) in COMPARISONS:
            return COMPARISONS[type(op)](a, b)
        return UNREAD

    def value(self, node: ast.expr) -> Value:
        """What an expression in a condition is worth."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) in (int, str) else UNREAD
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.Tuple):
            return tuple(self.value(part) for part in node.elts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.value(node.operand)
            return -value if type(value) is int else UNREAD
        if isinstance(node, ast.BinOp):
            return number(node.op, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.IfExp):
            test = self.truth(node.test)
            then, other = self.value(node.body), self.value(node.orelse)
            return (then if test else other) if isinstance(test, bool) else UNREAD
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node.func.id, [self.value(part) for part in node.args])
        if isinstance(node, ast.Attribute):
            return self._attribute(node.attr, self.value(node.value))
        if isinstance(node, ast.Subscript):
            value, at = self.value(node.value), self.value(node.slice)
            inside = isinstance(value, tuple) and type(at) is int and 0 <= at < len(value)
            return value[at] if inside else UNREAD  # type: ignore[index]
        return UNREAD

    def _name(self, name: str) -> Value:
        size, argument = self._sizes.get(name, UNREAD), self._arguments.get(name, UNREAD)
        if UNREAD in (size, argument) or size == argument:
            found = argument if size is UNREAD else size
            if found is not UNREAD:
                return found
            known = name in DTYPES and name not in self._sizes
            return ElementType(name) if known else UNREAD
        return UNREAD

    def _call(self, name: str, values: list[Value]) -> Value:
        if name == "num_programs" and len(values) == 1 and type(values[0]) is int:
            if self._grid is None:
                return 1 if self._by_one else UNREAD
            grid = self._grid if isinstance(self._grid, tuple) else ()
            size = grid[values[0]] if values[0] < len(grid) else UNREAD
            return size if type(size) is int and size > 0 else UNREAD
        if name == "bool" and len(values) == 1:
            known = values[0] is None or isinstance(values[0], (bool, int, float, str))
            return bool(values[0]) if known else UNREAD
        if name == "len" and len(values) == 1 and isinstance(values[0], tuple):
            return len(values[0])
        if name in ("min", "max", "abs") and all(type(value) is int for value in values):
            made: int = {"min": min, "max": max, "abs": abs}[name](*values)  # type: ignore[operator]
            return made
        return UNREAD

    @staticmethod
    def _attribute(name: str, value: Value) -> Value:
        if isinstance(value, Array):
            if name == "shape":
                return value.shape
            known = canonical(value.dtype) if name == "dtype" else None
            given = known is not None and DTYPES[known][1] in _GIVEN
            return ElementType(known) if known is not None and given else UNREAD
        if name == "itemsize" and isinstance(value, ElementType):
            return DTYPES[value.name][0] if value.name in DTYPES else UNREAD
        return UNREAD

    def shown(self, node: ast.expr) -> str:
        """The values of what a condition speaks of, ``K = 256``."""
        parts: dict[str, None] = {}
        stack: list[ast.AST] = [node]
        while stack:
            part = stack.pop()
            whole = isinstance(part, (ast.Subscript, ast.Attribute, ast.Call, ast.Name))
            value = self.value(part) if whole and isinstance(part, ast.expr) else UNREAD
            truth = isinstance(part, ast.Call) and isinstance(value, bool)
            if not truth and (value is None or isinstance(value, (int, str))):
                itemsize = isinstance(part, ast.Attribute) and part.attr == "itemsize"
                if not itemsize:
                    parts[f"{ast.unparse(part)} = {value}"] = None
                    continue
            if isinstance(value, ElementType) and isinstance(part, ast.Attribute):
                parts[f"{ast.unparse(part)} = {value.name}"] = None
                continue
            stack.extend(reversed(list(ast.iter_child_nodes(part))))
        return ", ".join(parts) or "it"


def _sizes(precondition: report.Precondition, arguments: Mapping[str, Value]) -> dict[str, Value]:
    """The sizes that a kernel has names for; what two arguments say differently is not known."""
    found: dict[str, Value] = {}
    for tensor, names in precondition.shapes:
        value = arguments.get(tensor, UNREAD)
        fits = isinstance(value, Array) and len(value.shape) == len(names)
        for axis, name in enumerate(names):
            if name:
                size = value.shape[axis] if fits else UNREAD  # type: ignore[attr-defined]
                found[name] = size if found.get(name, size) == size else UNREAD
    return found
