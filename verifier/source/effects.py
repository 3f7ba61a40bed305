"""Which top-level statements of a module must run in order, and which may wait.

A statement may wait until somebody asks for the name it binds if all it does is to bind it, once,
to something that is the same whenever it is made, and if it cannot fail: a definition, an import,
a constant. No program can tell the difference. All other statements are effects.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from verifier.source.constants import QuietExpressions
from verifier.source.nodes import below

#: methods of a class that run when the class is made, if its base is a library's
_MAKERS: Final = frozenset(
    {"__new__", "__init__", "__set_name__", "_generate_next_value_", "_missing_"}
)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS: Final = (*_FUNCTIONS, ast.ClassDef)


def effects(
    statements: Iterable[ast.stmt],
    bound: Mapping[str, int],
    foreign: Collection[str],
    modules: Mapping[str, str] = MappingProxyType({}),
    origins: Mapping[str, str] = MappingProxyType({}),
) -> set[int]:
    """The positions of the statements that must run in order.

    ``bound`` says how often each name is bound at top level, ``foreign`` which names imports bind
    (calls of them do not reach the project's own state, unless they are given it), ``modules``
    which of these are modules, and their names, ``origins`` which libraries they are from.
    """
    quiet = QuietExpressions(foreign, modules, origins)
    return _Module(tuple(statements), bound, quiet).effects()


class _Module:
    """The statements of a module, gone through in order."""

    def __init__(
        self, statements: tuple[ast.stmt, ...], bound: Mapping[str, int], quiet: QuietExpressions
    ) -> None:
        self.statements = statements
        self.bound = _once(statements, bound)
        self.quiet = quiet
        #: classes that may wait, by name
        self.classes: dict[str, ast.ClassDef] = {}
        self.postponed = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in statements
        )

    def effects(self) -> set[int]:
        found: set[int] = set()
        unsettled = _declared_global(self.statements)
        for position, statement in enumerate(self.statements):
            if self._has_effect(statement):
                found.add(position)
            elif isinstance(statement, ast.ClassDef):
                self.classes[statement.name] = statement
            self._note(statement, position in found, unsettled)
        return found

    def _note(self, statement: ast.stmt, loud: bool, unsettled: Collection[str]) -> None:
        """Note what the names that a statement binds stand for from here on."""
        names = set(_binds(statement))
        self.quiet.bound |= names
        if any(map(_is_star, (statement, *_nested(statement)))):
            self.quiet.complete = False
        if loud or any(self.bound.get(name, 0) > 1 or name in unsettled for name in names):
            return
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            if self.quiet.is_number(statement.value):
                self.quiet.numbers |= names
            elif self.quiet.is_fixed(statement.value):
                self.quiet.fixed |= names
        elif isinstance(statement, _DEFINITIONS):
            self.quiet.defined |= names

    def _has_effect(self, node: ast.stmt) -> bool:
        if isinstance(node, _DEFINITIONS):
            return self.bound.get(node.name, 0) > 1 or self._defines_loudly(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.asname or a.name.partition(".")[0] for a in node.names]
            return any(self.bound.get(name, 0) > 1 for name in names)
        if isinstance(node, (ast.Pass, ast.Global)):
            return False
        if isinstance(node, ast.Expr):
            shown = isinstance(node.value, (ast.Constant, ast.Name))
            return not shown or not self.quiet(node.value)
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            return self._assigns_loudly(node)
        if isinstance(node, ast.If):
            return not never_runs(node.test) or bool(node.orelse)
        return True

    def _assigns_loudly(self, node: ast.Assign | ast.AnnAssign) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if isinstance(node, ast.AnnAssign) and not self._annotates_quietly([node.annotation]):
            return True
        if node.value is None:
            return not isinstance(targets[0], ast.Name)
        once = all(isinstance(t, ast.Name) and self.bound.get(t.id, 0) <= 1 for t in targets)
        return not once or len(targets) > 1 or not self.quiet(node.value)

    def _defines_loudly(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
        if not all(self.quiet.as_decorator(d) for d in node.decorator_list):
            return True
        if isinstance(node, ast.ClassDef):
            return self._makes_class_loudly(node)
        defaults = (*node.args.defaults, *node.args.kw_defaults)
        if not all(self.quiet(default) for default in defaults if default is not None):
            return True
        return not self._annotates_quietly(_annotations(node))

    def _annotates_quietly(self, annotations: Iterable[ast.expr]) -> bool:
        return self.postponed or all(map(self.quiet.as_annotation, annotations))

    # -- classes ---------------------------------------------------------------------

    def _makes_class_loudly(self, node: ast.ClassDef) -> bool:
        if any(not self._is_quiet_base(base, len(node.bases)) for base in node.bases):
            return True
        if _tells_base(node, self.classes):
            return True
        for keyword in node.keywords:
            if keyword.arg != "metaclass" or not self.quiet.as_decorator(keyword.value):
                return True
        methods = {s.name for s in node.body if isinstance(s, ast.FunctionDef)}
        values = [s for s in node.body if isinstance(s, ast.Assign)]
        if node.bases and values and methods & _MAKERS:
            return True  # members of an enumeration are made with them
        if node.decorator_list and _may_be_refused(node):
            return True
        outer = self.quiet.bound
        try:
            for statement in node.body:
                if self._runs_loudly(statement):
                    return True
                self.quiet.bound = self.quiet.bound | set(_binds(statement))
        finally:
            self.quiet.bound = outer
        return False

    def _is_quiet_base(self, base: ast.expr, count: int) -> bool:
        if isinstance(base, ast.Name) and base.id not in self.quiet.bound:
            made = getattr(builtins, base.id, None)
            return isinstance(made, type) and count == 1 and bool(made.__flags__ & 1 << 10)
        root = root_name(base)
        if root in self.classes and isinstance(base, ast.Name):
            return count == 1
        return root in self.quiet.foreign and self.quiet(base)

    def _runs_loudly(self, node: ast.stmt) -> bool:
        """Whether a statement of a class body does more than to bind a name of the class."""
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not all(isinstance(target, ast.Name) for target in targets):
                return True
            if isinstance(node, ast.AnnAssign):
                if not self._annotates_quietly([node.annotation]):
                    return True
            return node.value is not None and not self.quiet(node.value)
        if isinstance(node, _DEFINITIONS):
            return self._defines_loudly(node)
        if isinstance(node, ast.Expr):
            return not isinstance(node.value, ast.Constant)
        return not isinstance(node, ast.Pass)


def _is_star(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _declared_global(statements: Iterable[ast.stmt]) -> set[str]:
    """Names that functions bind in the module."""
    out: set[str] = set()
    for statement in statements:
        if isinstance(statement, _DEFINITIONS):
            for node in _nested(statement, ()):
                if isinstance(node, ast.Global):
                    out.update(node.names)
    return out


def _nested(node: ast.AST, closed: tuple[type[ast.stmt], ...] = _DEFINITIONS) -> Iterator[ast.AST]:
    """The statements in a statement; those of some kinds are not looked into."""
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, closed):
            continue
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            parts = getattr(item, name, ())
            if isinstance(parts, list):
                stack.extend(parts)
                yield from parts


def _binds(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, with the statements in it."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, _DEFINITIONS):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.id
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            if node.value is not None:
                stack.append(node.value)
                stack.extend(node.targets if isinstance(node, ast.Assign) else [node.target])
        elif not isinstance(node, ast.Lambda):
            yield from _named(node)
            stack.extend(below(node))


def _named(node: ast.AST) -> Iterator[str]:
    """Names that are bound by text, not by a node."""
    for field in ("name", "rest"):
        name = getattr(node, field, None)
        if isinstance(name, str) and not isinstance(node, ast.alias):
            yield name


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    args = node.args
    for arg in (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg):
        if arg is not None and arg.annotation is not None:
            yield arg.annotation
    if node.returns is not None:
        yield node.returns


def _tells_base(node: ast.ClassDef, known: Mapping[str, ast.ClassDef]) -> bool:
    """Whether a class statement runs ``__init_subclass__`` of a class of the module."""
    seen: set[str] = set()
    stack = [root_name(base) for base in node.bases]
    while stack:
        base = known.get(stack.pop())
        if base is None or base.name in seen:
            continue
        seen.add(base.name)
        if any(getattr(s, "name", "") == "__init_subclass__" for s in base.body):
            return True
        stack.extend(root_name(b) for b in base.bases)
    return False


def _may_be_refused(node: ast.ClassDef) -> bool:
    """Whether ``dataclass`` may refuse a class: fields without a default behind those with one."""
    given = False
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign):
            if isinstance(statement.value, (ast.List, ast.Dict, ast.Set)):
                return True
            if statement.value is None and given:
                return True
            given = statement.value is not None
    return False


def _once(statements: Iterable[ast.stmt], bound: Mapping[str, int]) -> dict[str, int]:
    """How often each name is bound; ``import a.b`` beside ``import a.c`` bind the same."""
    packages = Counter(
        alias.name.partition(".")[0]
        for node in statements
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.asname is None
    )
    return {name: 1 if packages[name] == count else count for name, count in bound.items()}


def never_runs(test: ast.expr) -> bool:
    """``if __name__ == "__main__"`` and ``if TYPE_CHECKING``: not where a kernel is traced."""
    if isinstance(test, ast.Name):
        return test.id == "TYPE_CHECKING"
    if isinstance(test, ast.Attribute):
        return test.attr == "TYPE_CHECKING"
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )


def root_name(node: ast.expr) -> str:
    """The name that a chain of attributes and items starts with, empty if there is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
