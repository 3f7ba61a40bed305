"""Loops of which a few iterations say as much as all: a replay runs the first ones and the last.

An iteration may be left out if no other one can tell: its body calls the device and computes
numbers, and leaves nothing behind in Python (no list grows, no variable is carried along). What
is run is then a part of the whole run, operation for operation, so that a rule that is broken
there is broken in the whole run. The opposite does not hold: rules that ask what was *not* done
need every iteration.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final, TypeAlias

from msgspec import Struct, field

from verifier.dialects.nki.methods import METHODS
from verifier.executor import places

#: functions called inside each other that are followed
_DEPTH: Final = 6

_NUMBERS: Final = (abs, bool, divmod, float, int, max, min, round, sum)
_ITEMS: Final = (enumerate, len, list, range, reversed, slice, str, tuple, zip)
_HARMLESS: Final = frozenset((*_NUMBERS, *_ITEMS, isinstance, print, repr, type))
_LISTS: Final = ("append", "extend", "insert", "pop", "remove", "reverse", "sort")
_MUTATORS: Final = frozenset(
    (*_LISTS, "add", "clear", "discard", "popitem", "setdefault", "update", "write")
)
_REFUSED: Final = (
    ast.Assert,
    ast.AsyncFor,
    ast.AsyncWith,
    ast.Await,
    ast.ClassDef,
    ast.Delete,
    ast.Global,
    ast.NamedExpr,
    ast.Nonlocal,
    ast.Raise,
    ast.Try,
    ast.While,
    ast.With,
    ast.Yield,
    ast.YieldFrom,
)


class _CarriedError(Exception):
    """Something may be left behind."""


_verdicts: dict[tuple[CodeType, int], bool] = {}


#: how many iterations to run before the last one of a loop in a file, at a line
Beginning: TypeAlias = Callable[[str, int], int]


def abridged(numbers: range, first: Beginning, tensor: type, name: str) -> Sequence[int]:
    """The iterations to run of the loop over ``numbers`` that the user's code is about to begin.

    ``first``: how many there are besides the last one. ``tensor``: the class of tensors, which
    the device writes and Python does not. ``name``: of the function that made the numbers.
    """
    if len(numbers) <= 2:
        return numbers
    frame = places.user_frame()
    if frame is None:
        return numbers
    count = first(frame.f_code.co_filename, frame.f_lineno)
    if len(numbers) <= count + 1:
        return numbers
    key = (frame.f_code, frame.f_lasti)
    free = _verdicts.get(key)
    if free is None:
        free = _verdicts[key] = _independent(frame, tensor, name)
    return (*numbers[:count], numbers[-1]) if free else numbers


def _independent(frame: FrameType, tensor: type, name: str) -> bool:
    loop = places.loop_over(frame, name)
    if loop is None:
        return False
    function = places.function_node(frame.f_code)
    try:
        values = {**frame.f_globals, **frame.f_locals}
        _Loop(values, tensor).check(loop, function)
    except _CarriedError:
        return False
    return True


class _Loop(Struct):
    """A body, with the values of the names around it."""

    values: Mapping[str, Any]
    tensor: type
    depth: int = 0
    #: names that the body binds, and those of them that something new is bound to each time
    bound: set[str] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)

    def check(self, loop: ast.For, function: ast.AST | None) -> None:
        """Whether iterations of a loop do not know of each other.

        Raises:
            _CarriedError: they may.
        """
        if loop.orelse or not isinstance(loop.target, (ast.Name, ast.Tuple)):
            raise _CarriedError
        for node in _own(loop.body, into_loops=False):
            if isinstance(node, (ast.Break, ast.Return)):
                raise _CarriedError
        for node in _own(loop.body):
            if isinstance(node, ast.Return):
                raise _CarriedError
        self._names([loop.target], loop.body)
        self._block(loop.body)
        left = self.bound - self._assigned(loop.body, _targets(loop.target))
        if left and function is not None:
            _outside(function, [], loop, left)

    def function(self, node: ast.FunctionDef | ast.Lambda) -> None:
        """Whether a call of a function leaves nothing behind.

        Raises:
            _CarriedError: it may leave something.
        """
        arguments = node.args
        names = [
            ast.Name(arg.arg, ast.Store())
            for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        ]
        body = node.body if isinstance(node.body, list) else [ast.Expr(node.body)]
        self._names(names, body)
        self._block(body)

    def _names(self, targets: list[Any], body: list[Any]) -> None:
        parameters = {name for target in targets for name in _targets(target)}
        stored: dict[str, list[ast.expr | None]] = {}
        for node in _own(body):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    for name in _targets(target):
                        value = node.value if isinstance(target, ast.Name) else None
                        stored.setdefault(name, []).append(value)
            elif isinstance(node, (ast.AnnAssign, ast.For)):
                for name in _targets(node.target):
                    value = node.value if isinstance(node, ast.AnnAssign) else None
                    stored.setdefault(name, []).append(value)
            elif isinstance(node, ast.FunctionDef):
                stored.setdefault(node.name, []).append(None)
        self.bound = parameters | set(stored)
        self.fresh = {
            name
            for name, values in stored.items()
            if name not in parameters and all(map(self._made, values))
        }

    def _made(self, value: ast.expr | None) -> bool:
        """Whether a value is made where it is written: a display, or what the API returns."""
        if isinstance(value, ast.Call):
            return self._harmless(self._value(value.func))
        return isinstance(value, (ast.List, ast.ListComp, ast.Dict, ast.DictComp))

    def _block(self, body: list[Any]) -> None:
        """Nothing that the body does is seen outside of it, but on the device."""
        for node in _own(body):
            if isinstance(node, _REFUSED):
                raise _CarriedError
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    self._target(target, isinstance(node, ast.AugAssign))
            elif isinstance(node, ast.Call):
                self._call(node)

    def _target(self, target: ast.expr, sums: bool) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                self._target(item, sums)
        elif isinstance(target, ast.Starred):
            self._target(target.value, sums)
        elif isinstance(target, ast.Name):
            if sums and target.id not in self.fresh and not self._is_tensor(target):
                raise _CarriedError
        elif not isinstance(target, ast.Subscript) or not self._owned(target.value):
            raise _CarriedError

    def _owned(self, node: ast.expr) -> bool:
        """Whether what is written through a name is the device's, or new in each iteration."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            return node.id in self.fresh or self._is_tensor(node)
        return False

    def _is_tensor(self, node: ast.Name) -> bool:
        """Whether a name is a tensor of outside: a sum into it binds it to the same tensor."""
        return node.id not in self.bound and isinstance(self.values.get(node.id), self.tensor)

    def _call(self, node: ast.Call) -> None:
        name = node.func
        if isinstance(name, ast.Attribute):
            root: ast.expr = name
            while isinstance(root, (ast.Attribute, ast.Subscript)):
                root = root.value
            value = self._value(name)
            if value is not None and self._harmless(value):
                return
            if isinstance(root, ast.Name) and isinstance(self.values.get(root.id), ModuleType):
                self._follow(value)
            elif name.attr in _MUTATORS:
                if not self._owned(name.value):
                    raise _CarriedError
            elif name.attr not in METHODS:
                raise _CarriedError
        elif isinstance(name, ast.Name):
            if name.id in self.bound:
                raise _CarriedError
            value = self.values.get(name.id, vars(builtins).get(name.id))
            if not self._harmless(value):
                self._follow(value)
        else:
            raise _CarriedError

    def _value(self, node: ast.expr) -> Any:
        """The value of a name, or of an attribute of a module, that the body does not bind."""
        if isinstance(node, ast.Name):
            if node.id in self.bound:
                return None
            return self.values.get(node.id, vars(builtins).get(node.id))
        if isinstance(node, ast.Attribute):
            value = self._value(node.value)
            return getattr(value, node.attr, None) if isinstance(value, ModuleType) else None
        return None

    @staticmethod
    def _harmless(value: Any) -> bool:
        if hasattr(type(value), "tilelint_api") or hasattr(value, "tilelint_api"):
            return True
        if getattr(value, "__module__", None) in ("math", "numpy"):
            return True
        try:
            return value in _HARMLESS
        except TypeError:
            return False

    def _follow(self, value: Any) -> None:
        if self.depth >= _DEPTH or not isinstance(value, FunctionType):
            raise _CarriedError
        node = places.function_node(value.__code__)
        if node is None:
            raise _CarriedError
        cells: dict[str, Any] = {}
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                cells[name] = cell.cell_contents
            except ValueError:  # not bound yet
                continue
        inner = _Loop({**value.__globals__, **cells}, self.tensor, self.depth + 1)
        inner.function(node)

    def _assigned(self, body: list[ast.stmt], before: set[str]) -> set[str]:
        """The names that a body has bound at its end, whatever way it took.

        Raises:
            _CarriedError: a name is read that an earlier iteration may have bound.
        """
        done = set(before)
        for statement in body:
            if isinstance(statement, ast.If):
                self._read(statement.test, done)
                done = self._assigned(statement.body, done) & self._assigned(statement.orelse, done)
            elif isinstance(statement, ast.For):
                self._read(statement.iter, done)
                self._assigned(statement.body, done | _targets(statement.target))
                self._assigned(statement.orelse, done)
            elif isinstance(statement, ast.FunctionDef):
                done.add(statement.name)
            elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
                if statement.value is not None:
                    self._read(statement.value, done)
                targets = (
                    statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                )
                for target in targets:
                    self._read(target, done)
                    done |= _targets(target)
            elif isinstance(statement, ast.AugAssign):
                self._read(statement.value, done)
                self._read(statement.target, done)
                if isinstance(statement.target, ast.Name) and statement.target.id in self.bound:
                    if statement.target.id not in done:
                        raise _CarriedError
            else:
                self._read(statement, done)
        return done

    def _read(self, node: ast.AST, done: set[str]) -> None:
        own = {
            name
            for inner in ast.walk(node)
            if isinstance(inner, ast.comprehension)
            for name in _targets(inner.target)
        }
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                if inner.id in self.bound and inner.id not in done and inner.id not in own:
                    raise _CarriedError


def _own(body: Iterable[ast.AST], into_loops: bool = True) -> Iterable[ast.AST]:
    """The nodes of a body without those of functions that it defines."""
    stack = list(body)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            continue
        if not into_loops and isinstance(node, ast.For):
            continue
        stack.extend(ast.iter_child_nodes(node))


def _outside(node: ast.AST, done: list[set[str]], loop: ast.For, left: set[str]) -> None:
    """Whether what the last iteration may not have bound anew is read outside of the loop.

    ``done``: names that are bound after the loop, or in a block that the loop is not in.

    Raises:
        _CarriedError: it may be.
    """
    if node is loop:
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id in left and not any(node.id in names for names in done):
            raise _CarriedError
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            bound: set[str] = set()
            if isinstance(node, ast.For) and name == "body" and not _holds(node.body, loop):
                bound |= _targets(node.target)
            for item in value:
                if isinstance(item, ast.AST):
                    _outside(item, [*done, bound], loop, left)
                    if _holds([item], loop):
                        bound.clear()
                    elif isinstance(item, ast.Assign):
                        bound |= {n for target in item.targets for n in _targets(target)}
        elif isinstance(value, ast.AST):
            _outside(value, done, loop, left)


def _holds(body: Iterable[ast.AST], loop: ast.For) -> bool:
    return any(inner is loop for item in body for inner in ast.walk(item))


def _targets(target: ast.expr) -> set[str]:
    if isinstance(target, ast.Name):
        return {target.id}
    if isinstance(target, (ast.Tuple, ast.List)):
        return {name for item in target.elts for name in _targets(item)}
    return _targets(target.value) if isinstance(target, ast.Starred) else set()
