"""What code of a host goes through: the items of loops, the rows of tests, arguments of helpers.

Each is told as bindings of names to expressions, so that a block can be read once for each.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from verifier.source.meanings import FUNCTIONS
from verifier.source.values import Bound, Names, origin_of, value_of

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
#: names and what they are bound to; None: not known
Row: TypeAlias = "dict[str, Bound]"

#: items of a loop, rows of a test
_MOST: Final = 64


def items_of(node: ast.expr, names: Names) -> list[Bound] | None:
    """The items of what is gone through, as far as the text lists them; None: not known."""
    if isinstance(node, ast.Name):
        found = names.find(node.id)
        if found is None or found[0].value is None or found[0].item is not None:
            return None
        (bound, there), value = found, found[0].value
        if isinstance(value, ast.List) and node.id in there.module.escaped:
            return None  # another name may change it
        same = isinstance(value, (ast.List, ast.Tuple))
        return items_of(value, bound.names or there) if same else None
    if isinstance(node, (ast.Tuple, ast.List)):
        plain = len(node.elts) <= _MOST and not any(isinstance(p, ast.Starred) for p in node.elts)
        return [Bound(part, names=names) for part in node.elts] if plain else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        ends = [value_of(part, names) for part in node.args]
        if not node.keywords and names.find("range") is None and 1 <= len(ends) <= 3:
            numbers = [end for end in ends if type(end) is int]
            if len(numbers) == len(ends) and numbers[2:] != [0]:
                every = range(*numbers)
                known = len(every) <= _MOST
                return [Bound(ast.Constant(n), names=names) for n in every] if known else None
    return None


def unpacked(target: ast.expr, bound: Bound) -> Row | None:
    """What an assignment to names binds them to."""
    if isinstance(target, ast.Name):
        return {target.id: bound}
    value = bound.value
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(
        value, (ast.Tuple, ast.List)
    ):
        return None
    parts = [*target.elts, *value.elts]
    if len(target.elts) != len(value.elts) or any(isinstance(p, ast.Starred) for p in parts):
        return None
    row: Row = {}
    for inner, part in zip(target.elts, value.elts, strict=True):
        found = unpacked(inner, Bound(part, names=bound.names))
        if found is None:
            return None
        row |= found
    return row


def stops_early(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop may end before it is through."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Break, ast.Return, ast.Raise)):
            return True
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(node))
    return False


def rows_of(function: Function, names: Names, places: Mapping[int, Names]) -> list[Row]:
    """What a test is given, row by row, by its marks and by fixtures of its file; none: nothing
    is known of it."""
    given = {p.arg for p in (*function.args.args, *function.args.kwonlyargs)}
    tables: list[list[Row]] = []
    for mark in function.decorator_list:
        if not isinstance(mark, ast.Call) or origin_of(mark.func, names) != _PARAMETRIZE:
            continue
        table = _table(mark, names)
        if table is None:
            return []
        tables.append(table)
        given -= {name for row in table for name in row}
    fixed = {name: bound for name in given if (bound := _fixture(name, names, places)) is not None}
    if not tables and not fixed:
        return []
    every = itertools.islice(itertools.product(*tables), _MOST)
    return [{name: b for row in rows for name, b in row.items()} | fixed for rows in every]


_PARAMETRIZE: Final = "pytest.mark.parametrize"


def _table(mark: ast.Call, names: Names) -> list[Row] | None:
    """The rows of a mark, but for those that are marked themselves."""
    said = dict(zip(("argnames", "argvalues"), mark.args, strict=False))
    said |= {keyword.arg or "": keyword.value for keyword in mark.keywords}
    if not {"argnames", "argvalues"} <= said.keys() or "indirect" in said:
        return None
    wanted = value_of(said["argnames"], names)
    if isinstance(wanted, str):
        wanted = tuple(part.strip() for part in wanted.split(","))
        single = len(wanted) == 1
    else:
        single = False
    if not isinstance(wanted, tuple) or not all(isinstance(name, str) for name in wanted):
        return None
    rows: list[Row] = []
    for bound in items_of(said["argvalues"], names) or ():
        values = _values(bound, names)
        if values is None:
            continue
        if single and len(values) == 1:
            rows.append({wanted[0]: values[0]})
            continue
        target = ast.Tuple([ast.Name(name) for name in wanted])
        parts = [value.value for value in values if value.value is not None]
        row = unpacked(target, Bound(ast.Tuple(parts), names=names)) if not single else None
        if row is None and len(values) == 1:
            row = unpacked(target, values[0])
        if row is not None:
            rows.append(row)
    return rows or None


def _values(bound: Bound, names: Names) -> list[Bound] | None:
    """The values of a row; None: it is marked, so that it may be left out or expected to fail."""
    node = bound.value
    if isinstance(node, ast.Call):
        if origin_of(node.func, names) != "pytest.param":
            return [bound]
        if any(keyword.arg != "id" for keyword in node.keywords):
            return None
        return [Bound(part, names=bound.names) for part in node.args]
    return [bound]


def _fixture(name: str, names: Names, places: Mapping[int, Names]) -> Bound | None:
    """What a fixture of the file gives that only names things and gives one."""
    found = names.module.find(name)
    function = None if found is None else found[0].function
    if function is None or len(function.decorator_list) != 1 or function.args.args:
        return None
    mark = function.decorator_list[0]
    if isinstance(mark, ast.Call):
        if mark.args or any(keyword.arg not in ("scope", "autouse") for keyword in mark.keywords):
            return None
        mark = mark.func
    last = function.body[-1]
    given = last.value if isinstance(last, (ast.Return, ast.Expr)) else None
    given = given.value if isinstance(given, ast.Yield) else given
    plain = all(isinstance(s, (ast.Assign, ast.AnnAssign, ast.Expr)) for s in function.body[:-1])
    if given is None or not plain or origin_of(mark, names) != "pytest.fixture":
        return None
    return Bound(given, names=places.get(id(given)))


def given_to(function: Function, call: ast.Call, names: Names) -> Row | None:
    """What a call of a function of the file binds its parameters to; None: that is not certain."""
    own = function.args
    if own.vararg or own.kwarg or function.decorator_list or _is_generator(function):
        return None
    positional = [*own.posonlyargs, *own.args]
    every = {parameter.arg for parameter in (*positional, *own.kwonlyargs)}
    if any(isinstance(part, ast.Starred) for part in call.args):
        return None
    if len(call.args) > len(positional) or not every.issuperset(k.arg for k in call.keywords):
        return None
    row = {p.arg: Bound(part, names=names) for p, part in zip(positional, call.args, strict=False)}
    row |= {k.arg: Bound(k.value, names=names) for k in call.keywords if k.arg is not None}
    return row or None


def _is_generator(function: Function) -> bool:
    """Whether a call does not run it."""
    if isinstance(function, ast.AsyncFunctionDef):
        return True
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function))
