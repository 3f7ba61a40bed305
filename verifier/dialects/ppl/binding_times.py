"""What the compiler of a function knows of the values in it, and what only a run knows.

The compiler has two stages. The *front end* runs what it knows (PPL-A02, PPL-C01): literals,
parameters that are annotated with ``constexpr`` or happen to be 1, what is computed of those
directly, the counters of ``static_range``. A number that is assigned to a name is a value of the
run to it from there on, as are counters of ``range`` and what functions return. The *optimiser*
behind it folds what is made of constants, also by way of names and functions, and so knows the
memory shapes that depend on nothing else (PPL-B07).

How a parameter is bound decides, whatever values it can have: what callers and contracts say of a
value is not known to either.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from msgspec import Struct

from verifier.symbolic.values import ApiRef

#: what is annotated with it is known when the kernel is compiled (PPL-A02)
CONSTANT: Final = "constexpr"
#: what differs between the programs of a launch, and what a launch chooses
_INDICES: Final = frozenset(f"get_{what}_index" for what in ("core", "group", "block"))
#: functions of Python that the front end runs itself, on what it knows
_ITS_OWN: Final = frozenset({"int", "float", CONSTANT})
#: and on whatever there is
_OF_OBJECTS: Final = frozenset({"isinstance", "getattr"})
#: makes the counter of a loop that the front end runs
UNROLLED: Final = "static_range"
#: calls that are looked into
_DEPTH: Final = 8


class Hangs(Enum):
    """What has to be so for a compiler to know something."""

    #: the input of that name is 1
    ON_ONE = auto()
    #: the variable of that name holds no number
    ON_TYPE = auto()
    #: what the name says is known in a run only
    ON_RUN = auto()


Source: TypeAlias = tuple[Hangs, str]
Sources: TypeAlias = frozenset[Source]
"""All of them have to be so; what has no sources is known."""

KNOWN: Final[Sources] = frozenset()


def run(name: str = "") -> Sources:
    """Nothing makes it known."""
    return frozenset({(Hangs.ON_RUN, name)})


class Stage(Enum):
    """Which part of the compiler is asked."""

    FRONT_END = auto()
    OPTIMISER = auto()


class Given(Struct, frozen=True):
    """What is known of a parameter, by stage."""

    front_end: Sources
    optimiser: Sources

    def at(self, stage: Stage) -> Sources:
        return self.front_end if stage is Stage.FRONT_END else self.optimiser


class _Loop(Struct, frozen=True):
    """A loop around statements; ``unrolled`` by the front end."""

    first: int
    last: int
    unrolled: bool


class _Branch(Struct, frozen=True):
    """A condition, and where what stands under it begins and ends."""

    test: ast.expr
    first: int
    last: int


class _Bound(Struct, frozen=True):
    """One place where a name is bound."""

    name: str
    #: the end of the statement: line and column
    end: tuple[int, int]
    value: ast.expr
    loops: tuple[_Loop, ...]
    #: the conditions around it
    tests: tuple[_Branch, ...]
    #: it is the counter of a loop
    counter: _Loop | None = None
    #: ``x: pl.constexpr = value``
    constant: bool = False
    #: it becomes what it was and something: ``x += value``
    again: bool = False
    #: the value is taken apart
    part: bool = False


#: gives the functions of the file by name
Find: TypeAlias = Callable[[str], "ast.FunctionDef | None"]
#: what an expression is a name of in the API
Named: TypeAlias = Callable[[ast.expr], "ApiRef | None"]


def _nothing(name: str) -> ast.FunctionDef | None:
    return None


def _no_name(node: ast.expr) -> ApiRef | None:
    return None


@dataclass(eq=False)
class BindingTimes:
    """What is known of the expressions of one function."""

    function: ast.FunctionDef
    given: Mapping[str, Given]
    find: Find = _nothing
    named: Named = _no_name
    depth: int = 0
    _bound: dict[str, list[_Bound]] = field(default_factory=dict)
    #: all that its statements bind
    _stored: frozenset[str] = frozenset()
    _asked: set[tuple[Stage, str, tuple[int, int]]] = field(default_factory=set)

    def __post_init__(self) -> None:
        for each in _bindings(self.function.body, (), (), self.named):
            self._bound.setdefault(each.name, []).append(each)
        self._stored = frozenset(_stored(self.function.body))

    def sources(self, node: ast.expr, stage: Stage) -> Sources:
        """What has to be so for a value to be known to a stage of the compiler."""
        if isinstance(node, ast.Constant):
            return KNOWN
        if isinstance(node, ast.Attribute):
            return self._attribute(node, stage)
        if isinstance(node, ast.Name):
            return self._name(node, stage)
        if isinstance(node, ast.Call):
            return self._call(node, stage)
        if isinstance(node, ast.Subscript):
            return self._item(node, stage)
        if isinstance(node, ast.NamedExpr):
            return self.sources(node.value, stage)
        return self._all(_operands(node), stage)

    def is_wrapped(self, node: ast.expr) -> bool:
        """Whether the front end has a ``constexpr`` object for it for certain, whatever it holds:
        for literals, parameters that are no value of the run, names annotated as constants, and
        what operators make of these."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, (ast.UnaryOp, ast.BinOp)):
            return all(map(self.is_wrapped, _operands(node)))
        if not isinstance(node, ast.Name):
            return False
        bindings, first = self._reaching(node)
        if not bindings and not first:
            return False
        counted = (b.constant or (b.counter is not None and b.counter.unrolled) for b in bindings)
        return all(counted) and (node.id in self.given if first else True)

    def _all(self, nodes: Iterable[ast.expr], stage: Stage) -> Sources:
        return KNOWN.union(*(self.sources(node, stage) for node in nodes))

    def _attribute(self, node: ast.Attribute, stage: Stage) -> Sources:
        """A name of the language, a dtype, or the shape of a block: that is what it was made of."""
        if stage is Stage.FRONT_END or node.attr == "dtype" or not isinstance(node.value, ast.Name):
            return KNOWN
        out = KNOWN
        for bound in self._reaching(node.value)[0]:
            made = bound.value
            if isinstance(made, ast.Call):  # of sizes, and of pointers that come from outside
                args = (*made.args, *(k.value for k in made.keywords))
                sizes = (a for a in args if not isinstance(a, ast.Name) or a.id not in self.given)
                out |= self._all((*sizes, *_left(bound, node.lineno)), stage)
            else:
                out |= self._folded(bound, node.lineno)
        return out

    # -- names ---------------------------------------------------------------------------

    def _name(self, node: ast.Name, stage: Stage) -> Sources:
        key = (stage, node.id, (node.lineno, node.col_offset))
        if key in self._asked:
            return KNOWN  # what it is made of besides itself is said by the one that asks
        self._asked.add(key)
        try:
            bindings, first = self._reaching(node)
            out = self.given[node.id].at(stage) if first and node.id in self.given else KNOWN
            if not bindings and node.id in self._stored and node.id not in self.given:
                return run(node.id)  # it is bound in a way that is not looked at
            for bound in bindings:
                if stage is Stage.FRONT_END:
                    out |= self._to_front_end(bound)
                else:
                    out |= self._folded(bound, node.lineno)
            return out
        finally:
            self._asked.discard(key)

    def _reaching(self, node: ast.Name) -> tuple[list[_Bound], bool]:
        """The places whose value a name may have somewhere, and whether it may still have that
        which the function was given."""
        line, all_bound = node.lineno, self._bound.get(node.id, [])
        at, start = (line, node.col_offset), (0, 0)
        for bound in all_bound:
            always = all(_holds(loop, line) for loop in bound.loops)
            always = always and all(_holds(branch, line) for branch in bound.tests)
            if always and bound.end <= at and bound.counter is None:
                start = bound.end
        found = [
            bound
            for bound in all_bound
            if start <= bound.end <= at
            or any(_holds(loop, line) for loop in bound.loops)
            or (bound.counter is not None and _holds(bound.counter, line))
        ]
        return found, start == (0, 0)

    def _to_front_end(self, bound: _Bound) -> Sources:
        if bound.counter is not None:
            return (
                self.sources(bound.value, Stage.FRONT_END)
                if bound.counter.unrolled
                else run(bound.name)
            )
        if bound.constant:
            return self.sources(bound.value, Stage.FRONT_END)
        if bound.again:
            return run(bound.name)
        return frozenset({(Hangs.ON_TYPE, bound.name)})

    def _folded(self, bound: _Bound, line: int) -> Sources:
        """What the optimiser has to know of a name that is used in a line."""
        if bound.counter is not None and not bound.counter.unrolled:
            return run(bound.name)
        if self._is_carried(bound):
            return run(bound.name)
        return self._all((bound.value, *_left(bound, line)), Stage.OPTIMISER)

    def _is_carried(self, bound: _Bound) -> bool:
        """Whether a loop of the device hands the name from one trip to the next."""
        for loop in bound.loops:
            if loop.unrolled:
                continue
            for other in self._bound.get(bound.name, ()):
                if other.end < (loop.first, 0) and all(_holds(o, loop.first) for o in other.loops):
                    return True
            if bound.name in self.given:
                return True
        return False

    # -- calls and items -----------------------------------------------------------------

    def _call(self, node: ast.Call, stage: Stage) -> Sources:
        name = _last_name(node.func)
        given = self._all((*node.args, *(k.value for k in node.keywords)), stage)
        if stage is Stage.FRONT_END:
            if name in _OF_OBJECTS:
                return KNOWN
            own = name in _ITS_OWN or is_unrolled(node, self.named)
            return given if own else run(f"{ast.unparse(node.func)}()")
        if name in _INDICES:
            return run(f"{ast.unparse(node.func)}()")
        called = self.find(name) if isinstance(node.func, ast.Name) else None
        if called is None or self.depth >= _DEPTH:
            return given
        return self.called(called, node).returned()

    def called(self, function: ast.FunctionDef, call: ast.Call) -> BindingTimes:
        """A function that this one calls: a parameter is what it is given."""
        takes = [*function.args.posonlyargs, *function.args.args]
        values: dict[str, ast.expr] = {}
        for parameter, value in zip(takes, call.args, strict=False):
            if isinstance(value, ast.Starred):
                break
            values[parameter.arg] = value
        values.update({k.arg: k.value for k in call.keywords if k.arg is not None})
        spread = any(isinstance(a, ast.Starred) for a in call.args)
        spread = spread or any(k.arg is None for k in call.keywords)
        given = {}
        for name in _parameters(function):
            if name not in values:
                given[name] = Given(run(name), run(name)) if spread else Given(KNOWN, KNOWN)
                continue
            front = self.sources(values[name], Stage.FRONT_END)
            by_type = any(how is Hangs.ON_TYPE for how, _ in front)
            front = frozenset(each for each in front if each[0] is not Hangs.ON_TYPE)
            # a variable that holds no number is handed on as it is, and so is the parameter
            front |= {(Hangs.ON_TYPE, name)} if by_type else KNOWN
            given[name] = Given(front, self.sources(values[name], Stage.OPTIMISER))
        return BindingTimes(function, given, self.find, self.named, self.depth + 1)

    def returned(self) -> Sources:
        """What has to be so for the optimiser to know what the function returns."""
        return self._all(_returned(self.function.body), Stage.OPTIMISER)

    def _item(self, node: ast.Subscript, stage: Stage) -> Sources:
        """An item of a list: lists that are assigned keep what they are made of."""
        if stage is Stage.OPTIMISER or not isinstance(node.value, ast.Name):
            return self._all(_operands(node), stage)
        bindings, first = self._reaching(node.value)
        out = self.sources(node.slice, stage)
        if first and node.value.id in self.given:
            out |= self.given[node.value.id].at(stage)
        for bound in bindings:
            written = isinstance(bound.value, (ast.List, ast.Tuple)) and not bound.part
            out |= self.sources(bound.value, stage) if written else run(bound.name)
        return out


def annotated_constant(annotation: ast.expr, named: Named, *, postponed: bool = False) -> bool:
    """Whether an annotation makes a constant of what it annotates.

    That of a parameter is one by its text as Python shows it: of a type that is its name, whatever
    the file calls it; one that is not evaluated (``postponed``) is what is written.
    """
    if CONSTANT in ast.unparse(annotation):
        return True
    if postponed:
        return False
    found = (named(n) for n in ast.walk(annotation) if isinstance(n, (ast.Name, ast.Attribute)))
    return any(ref is not None and ref.name == f"pl.{CONSTANT}" for ref in found)


def is_unrolled(iterable: ast.expr, named: Named) -> bool:
    """Whether the front end runs a loop over it, by whatever name the file calls the range."""
    if not isinstance(iterable, ast.Call):
        return False
    if _last_name(iterable.func) == UNROLLED:
        return True
    ref = named(iterable.func)
    return ref is not None and ref.name == f"pl.{UNROLLED}"


def of_kernel(
    function: ast.FunctionDef,
    find: Find = _nothing,
    named: Named = _no_name,
    *,
    postponed: bool = False,
) -> BindingTimes:
    """A kernel: parameters are constants if they are annotated so, or if they are 1 (PPL-A02)."""
    given = {}
    for name, annotation in _parameters(function).items():
        constant = annotation is not None and annotated_constant(
            annotation, named, postponed=postponed
        )
        sources = KNOWN if constant else frozenset({(Hangs.ON_ONE, name)})
        given[name] = Given(sources, sources)
    return BindingTimes(function, given, find, named)


def of_file(statements: Sequence[ast.stmt]) -> Find:
    """The functions at the top level of a file."""
    found = {each.name: each for each in statements if isinstance(each, ast.FunctionDef)}
    return found.get


def _parameters(function: ast.FunctionDef) -> dict[str, ast.expr | None]:
    given = function.args
    params = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    params += [each for each in (given.vararg, given.kwarg) if each is not None]
    return {each.arg: each.annotation for each in params}


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that a value is made of."""
    if isinstance(node, ast.Compare) and all(isinstance(o, (ast.Is, ast.IsNot)) for o in node.ops):
        return  # the front end asks whether they are one object
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.comprehension):
            yield child.iter
            yield from child.ifs


def _returned(body: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """What a function returns is made of: values, and conditions that choose among them."""
    for node in body:
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        elif isinstance(node, (ast.If, ast.While)):
            inner = list(_returned((*node.body, *node.orelse)))
            if inner:
                yield node.test
                yield from inner
        elif isinstance(node, ast.For):
            yield from _returned((*node.body, *node.orelse))


def _stored(body: Iterable[ast.AST]) -> Iterator[str]:
    """The names that statements bind: those of comprehensions and inner functions are their own."""
    for node in body:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif not isinstance(node, (ast.comprehension, ast.FunctionDef, ast.Lambda)):
            yield from _stored(ast.iter_child_nodes(node))


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _holds(loop: _Loop | _Branch, line: int) -> bool:
    return loop.first <= line <= loop.last


def _end(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _bindings(
    body: Sequence[ast.stmt],
    loops: tuple[_Loop, ...],
    tests: tuple[_Branch, ...],
    named: Named,
) -> Iterator[_Bound]:
    """Where statements bind names, in the order of the text."""
    for node in body:
        for each in _own_expressions(node):
            for inner in ast.walk(each):
                if isinstance(inner, ast.NamedExpr):
                    yield from _targets(inner.target, inner.value, _end(each), loops, tests)
        yield from _bindings_of(node, loops, tests, named)


def _own_expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement that are in none below it."""
    return (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))


def _bindings_of(
    node: ast.stmt,
    loops: tuple[_Loop, ...],
    tests: tuple[_Branch, ...],
    named: Named,
) -> Iterator[_Bound]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, node.value, _end(node), loops, tests)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        if isinstance(node.target, ast.Name):
            constant = annotated_constant(node.annotation, named)
            name = node.target.id
            yield _Bound(name, _end(node), node.value, loops, tests, constant=constant)
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        made = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        ast.fix_missing_locations(ast.copy_location(made, node))
        yield _Bound(node.target.id, _end(node), made, loops, tests, again=True)
    elif isinstance(node, ast.For):
        unrolled = is_unrolled(node.iter, named)
        loop = _Loop(node.lineno, node.end_lineno or node.lineno, unrolled)
        for each in ast.walk(node.target):
            if isinstance(each, ast.Name):
                yield _Bound(each.id, _end(node), node.iter, loops, tests, counter=loop)
        yield from _bindings(node.body, (*loops, loop), tests, named)
        yield from _bindings(node.orelse, loops, tests, named)
    elif isinstance(node, ast.While):
        loop = _Loop(node.lineno, node.end_lineno or node.lineno, False)
        for body in (node.body, node.orelse):
            under = (*tests, *_branches(node.test, body))
            yield from _bindings(body, (*loops, loop), under, named)
    elif isinstance(node, ast.If):
        for body in (node.body, node.orelse):
            yield from _bindings(body, loops, (*tests, *_branches(node.test, body)), named)


def _branches(test: ast.expr, body: Sequence[ast.stmt]) -> Iterator[_Branch]:
    if body:
        yield _Branch(test, body[0].lineno, body[-1].end_lineno or body[-1].lineno)


def _left(bound: _Bound, line: int) -> Iterator[ast.expr]:
    """The conditions that a name is bound under and that a line does not stand under: they decide
    which value it has there."""
    return (each.test for each in bound.tests if not _holds(each, line))


def _targets(
    target: ast.expr,
    value: ast.expr,
    end: tuple[int, int],
    loops: tuple[_Loop, ...],
    tests: tuple[_Branch, ...],
    part: bool = False,
) -> Iterator[_Bound]:
    if isinstance(target, ast.Name):
        yield _Bound(target.id, end, value, loops, tests, part=part)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value, value, end, loops, tests, part=True)
    elif isinstance(target, (ast.Tuple, ast.List)):
        values = value.elts if isinstance(value, ast.Tuple) else []
        starred = any(isinstance(each, ast.Starred) for each in target.elts)
        if len(values) != len(target.elts) or starred:
            values, part = [value] * len(target.elts), True
        for each, own in zip(target.elts, values, strict=True):
            yield from _targets(each, own, end, loops, tests, part)


__all__ = [
    "CONSTANT",
    "KNOWN",
    "UNROLLED",
    "BindingTimes",
    "Find",
    "Hangs",
    "Named",
    "Source",
    "Sources",
    "Stage",
    "annotated_constant",
    "is_unrolled",
    "of_file",
    "of_kernel",
    "run",
]
