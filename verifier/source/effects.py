"""Which top-level statements of a module must run in order, and which may wait.

A statement may wait until somebody asks for the name it binds if all it does is to bind it, once:
a definition, an import, an assignment of something that computes without touching anything. No
program can tell the difference. All other statements are effects.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

#: built-in functions that neither change anything nor call back
_QUIET_BUILTINS: Final = frozenset(
    {
        "abs", "bool", "bytes", "complex", "dict", "divmod", "float", "frozenset", "getattr",
        "hasattr", "int", "isinstance", "issubclass", "len", "list", "max", "min", "object", "pow",
        "range", "repr", "round", "set", "slice", "sorted", "str", "sum", "tuple", "type",
    }
)  # fmt: skip
#: expressions that may run code of the project or bind names
_LOUD: Final = (
    ast.Await,
    ast.Yield,
    ast.YieldFrom,
    ast.NamedExpr,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


def effects(
    statements: Iterable[ast.stmt], bound: Mapping[str, int], foreign: Collection[str]
) -> set[int]:
    """The positions of the statements that must run in order.

    ``bound`` says how often each name is bound at top level, ``foreign`` which names imports bind
    (calls of them do not reach the project's own state, unless they are given it).
    """
    statements = tuple(statements)
    bound = _once(statements, bound)
    found = {
        position
        for position, statement in enumerate(statements)
        if _has_effect(statement, bound, foreign) or _tells_base(statement, statements)
    }
    fixed = _fixed(statements, bound)
    last = max(found, default=0)
    for position, statement in enumerate(statements[:last]):
        # what it reads may be another value by the time that the effects have run
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            if any(name in bound and name not in fixed for name in _reads(statement.value)):
                found.add(position)
    return found


def _fixed(statements: Iterable[ast.stmt], bound: Mapping[str, int]) -> set[str]:
    """Names that mean the same whenever they are asked for: definitions, imports, constants."""
    out: set[str] = set()
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            out.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            out.update(a.asname or a.name.partition(".")[0] for a in node.names)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if _immutable(node.value) and all(name in out for name in _reads(node.value)):
                out.add(node.targets[0].id)
    return {name for name in out if bound.get(name, 0) <= 1}


def _immutable(node: ast.expr) -> bool:
    """Whether an expression makes a number, a string or a tuple of such."""
    kinds = (ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.BinOp, ast.UnaryOp)
    parts = (part for part in ast.walk(node) if isinstance(part, ast.expr))
    return all(isinstance(part, kinds) for part in parts)


def _reads(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _tells_base(node: ast.stmt, statements: Iterable[ast.stmt]) -> bool:
    """Whether a class statement runs ``__init_subclass__`` of a class of the module."""
    if not isinstance(node, ast.ClassDef):
        return False
    if any(keyword.arg != "metaclass" for keyword in node.keywords):
        return True
    known = {s.name: s for s in statements if isinstance(s, ast.ClassDef)}
    seen: set[str] = set()
    stack = [_root(base) for base in node.bases]
    while stack:
        base = known.get(stack.pop())
        if base is None or base.name in seen:
            continue
        seen.add(base.name)
        if any(getattr(s, "name", "") == "__init_subclass__" for s in base.body):
            return True
        stack.extend(_root(b) for b in base.bases)
    return False


def _has_effect(node: ast.stmt, bound: Mapping[str, int], foreign: Collection[str]) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        decorators = all(_quiet_decorator(d, foreign) for d in node.decorator_list)
        if bound.get(node.name, 0) > 1 or not decorators:
            return True
        if isinstance(node, ast.ClassDef):
            return any(_body_has_effect(part, foreign) for part in node.body)
        defaults = (*node.args.defaults, *node.args.kw_defaults)
        return not all(_quiet(default, foreign) for default in defaults if default is not None)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [a.asname or a.name.partition(".")[0] for a in node.names]
        return any(bound.get(name, 0) > 1 for name in names)
    if isinstance(node, (ast.Pass, ast.Global)):
        return False
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, (ast.Constant, ast.JoinedStr, ast.Name))
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return False
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        once = all(isinstance(t, ast.Name) and bound.get(t.id, 0) <= 1 for t in targets)
        assert node.value is not None
        return not once or len(targets) > 1 or not _quiet(node.value, foreign)
    if isinstance(node, ast.If):
        return not _never_runs(node.test) or bool(node.orelse)
    return True


def _body_has_effect(node: ast.stmt, foreign: Collection[str]) -> bool:
    """Whether a statement of a class body does more than to bind a name of the class."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if not all(isinstance(target, ast.Name) for target in targets):
            return True
        return node.value is not None and not _quiet(node.value, foreign)
    return _has_effect(node, {}, foreign)


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


def _never_runs(test: ast.expr) -> bool:
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


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _quiet_decorator(node: ast.expr, foreign: Collection[str]) -> bool:
    if isinstance(node, ast.Call):
        return _quiet_decorator(node.func, foreign) and all(
            _quiet(a, foreign) for a in (*node.args, *(k.value for k in node.keywords))
        )
    root = _root(node)
    return root in foreign or root in ("property", "staticmethod", "classmethod")


def _quiet(node: ast.expr, foreign: Collection[str]) -> bool:
    """Whether evaluating an expression changes nothing and runs no code of the project."""
    for part in ast.walk(node):
        if isinstance(part, _LOUD):
            return False
        if isinstance(part, ast.Call):
            root = _root(part.func)
            quiet = root in _QUIET_BUILTINS if isinstance(part.func, ast.Name) else False
            if not quiet and root not in foreign:
                return False
    return True
