"""A kernel's precondition as assertions at the place where all names in it are bound."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from verifier.dialects.registry import of_generation
from verifier.engine.wrapping import statement
from verifier.hardware import dtypes
from verifier.report import model as report
from verifier.source import ir, suppressions
from verifier.source.discovery import Enclosing
from verifier.source.outline import BindingKind
from verifier.source.project import Module
from verifier.source.scopes import names_of_module
from verifier.symbolic.python.inputs import FREE_DTYPES

#: dtypes that one condition may name in order to say how large an element is
_MOST_NAMED = 12
_NAMED = (ir.ParamKind.POSITIONAL_ONLY, ir.ParamKind.POSITIONAL, ir.ParamKind.KEYWORD)
_BUILTINS = ("min", "max", "abs", "len")


class Assertions(Struct):
    """Writes the preconditions of one kernel down.

    ``sizes`` are the names that the kernel binds to sizes of its inputs, and the lines where.
    ``width`` is how long a line may be.
    """

    module: Module
    definition: ir.FunctionDef
    enclosing: Sequence[Enclosing]
    api: str
    sizes: Mapping[str, int]
    width: int

    def added(self, precondition: report.Precondition) -> report.Precondition:
        """The precondition with an assertion for each conjunct that can be written as one."""
        conjuncts = precondition.conjuncts
        edits: Mapping[str, report.Edit] = {}
        if of_generation(self.api).asserts_kept:
            # what is more than needed keeps out inputs that are right: for a proof, or not at all
            needed = [c for c in conjuncts if c.exact or precondition.sufficient]
            wanted = [c for c in needed if not (c.grid or c.minor or c.dtype or c.rank)]
            edits = self._edits(wanted, [c.text for c in precondition.dtypes])
        return replace(
            precondition,
            conjuncts=tuple(replace(c, assertion=edits.get(c.text)) for c in conjuncts),
        )

    def _edits(
        self, wanted: Sequence[report.Conjunct], demanded: Sequence[str]
    ) -> dict[str, report.Edit]:
        """The assertions, by the texts of conjuncts."""
        trees = {c.text: tree for c in wanted if (tree := _parsed(c.text)) is not None}
        after = max((self._bound_at(tree) for tree in trees.values()), default=0)
        places = [span for c in wanted for span in (need.span for need in c.needs)]
        place = self._behind(after, places) if after else self._top(places)
        if place is None:
            return {}
        line, lead = place
        rewriter = _Rewriter(
            self._inputs(line),
            self._language(),
            self._is_taken,
            {name for name, bound in self.sizes.items() if bound < line},
            [_parsed(text) for text in (*demanded, *trees)],
            self._has,
        )
        span = report.Span(str(self.module.path), line, 0, line, 0)
        edits = {}
        for text, tree in trees.items():
            expression = rewriter.expression(tree)
            if expression is not None:
                edits[text] = report.Edit(span, f"{statement(expression, lead, self.width)}\n")
        return edits

    def _has(self, dtype: str) -> bool:
        """Whether the generation has a name for a dtype."""
        return of_generation(self.api).has_value(f"language.{dtype}", self.api)

    def _is_taken(self, name: str) -> bool:
        """Whether the module binds a name, which may be that of a builtin."""
        return self.module.binding(name) is not None

    def _bound_at(self, tree: ast.expr) -> int:
        """The line behind which the names of a condition are bound; 0: they are parameters."""
        names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        return max((self.sizes.get(name, 0) for name in names), default=0)

    def _inputs(self, line: int) -> dict[str, bool]:
        """The names that are inputs before a line of the kernel; True: it may be None."""
        out: dict[str, bool] = {}
        for outer in (e.definition for e in self.enclosing):
            bound = _bound(outer.body)
            out.update((p.name, _optional(p)) for p in outer.params if p.name not in bound)
        for name in _bound(self.definition.body):
            out.pop(name, None)
        before = _bound([s for s in self.definition.body if s.span.line < line])
        for param in self.definition.params:
            out.pop(param.name, None)
            named = param.kind in _NAMED
            if named and param.name not in before:
                out[param.name] = _optional(param)
        return out

    def _language(self) -> str | None:
        """The name of the module that has the dtypes, if the kernel's module imports it."""
        language = of_generation(self.api).language
        hidden = _bound(self.definition.body) | {p.name for p in self.definition.params}
        for name, binding in self.module.bindings.items():
            whole = binding.imported or f"{binding.module}.{binding.original}"
            if binding.kind.imports and whole in language and name not in hidden:
                if binding.kind is BindingKind.FROM or name != binding.imported.partition(".")[0]:
                    self.module.binding(name)  # the fix depends on it
                    return name
        return None

    # -- places ----------------------------------------------------------------------------

    def _behind(self, after: int, places: Sequence[report.Span]) -> tuple[int, str] | None:
        """The line behind the statement that ends at ``after``, and the margin of the body.

        Assertions that follow at once stay above, but not one that is violated at ``places``.
        """
        body = self.definition.body
        lead = self._margin(body[0].span) if body else None
        if lead is None:
            return None
        for statement_, following in pairwise(body):
            end = statement_.span.end_line
            apart = following.span.line > end
            if end < after or not apart:
                continue
            guard = isinstance(following, ir.Assert) and not self._violated(following, places)
            if not (guard and following.span.line == end + 1):
                return end + 1, lead
        return None

    def _margin(self, first: ir.Span) -> str | None:
        """What stands before the first statement; None if that is on the line of the def."""
        lead = self.module.lines[first.line - 1][: first.column]
        return lead if lead and not lead.strip() else None

    def _violated(self, assertion: ir.Stmt, places: Sequence[report.Span]) -> bool:
        span = assertion.span
        own = str(self.module.path)
        return any(p.path == own and span.line <= p.line <= span.end_line for p in places)

    def _top(self, places: Sequence[report.Span]) -> tuple[int, str] | None:
        """The line before which an assertion at the top of the kernel stands, and its margin.

        What is asserted there already stays above, one assertion may be what the next one needs;
        but not what is violated at ``places``.
        """
        body = self.definition.body
        rest = [s for s in body if not isinstance(s, ir.Assert) or self._violated(s, places)]
        lead = self._margin(body[0].span) if body else None
        if not rest or lead is None:
            return None
        after = rest[0].span
        line = after.line
        if self.module.lines[line - 1][: after.column] != lead:
            return None
        if not self.module.lines[line - 2].startswith(f"{lead}#"):
            return line, lead
        layout = suppressions.scan(self.module.text)
        owner = layout.line_at(line)
        above = {
            comment.line
            for comment in layout.comments
            if comment.alone
            and owner is not None
            and comment.owner < len(layout.lines)
            and layout.lines[comment.owner] == owner
        }
        while line - 1 in above and self.module.lines[line - 2].startswith(f"{lead}#"):
            line -= 1
        return line, lead


def _optional(param: ir.Param) -> bool:
    return isinstance(param.default, ir.Const) and param.default.value is None


def _bound(body: Sequence[ir.Stmt]) -> frozenset[str]:
    """The names that statements bind, those of other blocks included."""
    names = names_of_module(body)
    return names.local | names.declared_global | names.declared_nonlocal


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


# ------------------------------------------------------------------ what can be written down


class _NotWritableError(Exception):
    """The condition is about something that has no name at the place where it would stand."""


class _Rewriter(ast.NodeTransformer):
    """Turns a condition into Python that runs in a kernel."""

    def __init__(
        self,
        inputs: Mapping[str, bool],
        language: str | None,
        taken: Callable[[str], bool],
        sizes: Collection[str],
        said: Sequence[ast.expr | None],
        has: Callable[[str], bool],
    ) -> None:
        """``taken``: whether the module binds a name, which may be that of a builtin; ``said`` is
        what is demanded, of dtypes among other things; ``has``: whether there is a name for a
        dtype."""
        self._inputs = inputs
        self._language = language
        self._taken = taken
        self._sizes = sizes
        self._said = [tree for tree in said if tree is not None]
        self._has = has

    def expression(self, tree: ast.expr) -> str | None:
        """The condition as Python, or None."""
        try:
            return ast.unparse(ast.fix_missing_locations(self.visit(_copy(tree))))
        except (_NotWritableError, RecursionError):
            return None

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _WRITABLE):
            raise _NotWritableError
        return super().generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, (int, str)):
            raise _NotWritableError
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._inputs or node.id in self._sizes:
            return node
        if node.id in dtypes.DTYPES:
            return self._dtype(node.id)
        raise _NotWritableError

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """One of dtypes of which some have no name yet: none of the others."""
        names, op = list(_names(node.comparators[0])), node.ops[0]
        among = isinstance(op, (ast.In, ast.NotIn)) and all(name in dtypes.DTYPES for name in names)
        if among and not all(map(self._has, names)):
            others = [n for n in dtypes.NAMES[: FREE_DTYPES + 1] if n not in names]
            rest: list[ast.expr] = [ast.Name(name, ast.Load()) for name in others]
            turned = ast.NotIn() if isinstance(op, ast.In) else ast.In()
            node = ast.Compare(node.left, [turned], [ast.Tuple(rest, ast.Load())])
        return self.generic_visit(node)

    def _dtype(self, name: str) -> ast.expr:
        if self._language is None or not self._has(name):
            raise _NotWritableError
        return ast.Attribute(ast.Name(self._language, ast.Load()), name, ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr == "itemsize":
            return self._itemsize(node.value)
        root: ast.expr = node
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        if not isinstance(root, ast.Name) or self._inputs.get(root.id, True):
            raise _NotWritableError  # of what may be None nothing can be asked
        return super().generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        hidden = name in self._inputs or name in self._sizes or self._taken(name)
        if node.keywords or hidden or name not in _BUILTINS:
            raise _NotWritableError
        return ast.Call(node.func, [self.visit(argument) for argument in node.args], [])

    def _itemsize(self, dtype: ast.expr) -> ast.expr:
        """Bytes per element, as a choice among the dtypes that there may be: NKI's have no size."""
        subject = self.visit(_copy(dtype))
        if not isinstance(subject, (ast.Name, ast.Attribute)):
            raise _NotWritableError
        of_size: dict[int, list[str]] = {}
        asked = ast.unparse(dtype)
        for name in dtypes.NAMES[: FREE_DTYPES + 1]:
            if all(_admits(tree, asked, name) is not False for tree in self._said):
                of_size.setdefault(dtypes.DTYPES[name][0], []).append(name)
        if not of_size:
            raise _NotWritableError
        *named, (rest, _) = sorted(of_size.items(), key=lambda item: (len(item[1]), -item[0]))
        if sum(len(names) for _, names in named) > _MOST_NAMED:
            raise _NotWritableError
        choice: ast.expr = ast.Constant(rest)
        for size, names in sorted(named):
            known = [self._dtype(name) for name in names]
            test = ast.Compare(subject, [ast.Eq()], known)
            if len(known) > 1:
                test = ast.Compare(subject, [ast.In()], [ast.Tuple(known, ast.Load())])
            choice = ast.IfExp(test, ast.Constant(size), choice)
        return choice


def _copy(tree: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(tree), mode="eval").body


def _admits(tree: ast.expr, subject: str, dtype: str) -> bool | None:
    """Whether a condition allows ``dtype``; None: it does not speak of the subject, or compares it
    with other dtypes.

    What it only allows for certain sizes is not allowed.
    """
    if isinstance(tree, ast.BoolOp):
        found = [_admits(part, subject, dtype) for part in tree.values]
        known = [answer for answer in found if answer is not None]
        rest = [p for p, answer in zip(tree.values, found, strict=True) if answer is None]
        if not known or any(map(_speaks_of_dtypes, rest)):
            return None
        return any(known) if isinstance(tree.op, ast.Or) else all(known)
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        return None
    names = list(_names(tree.comparators[0]))
    if not names or not all(name in dtypes.DTYPES for name in names):
        return None
    if ast.unparse(tree.left) != subject:
        return None
    if isinstance(tree.ops[0], (ast.Eq, ast.In)):
        return dtype in names
    return dtype not in names if isinstance(tree.ops[0], (ast.NotEq, ast.NotIn)) else None


def _speaks_of_dtypes(tree: ast.expr) -> bool:
    return any(isinstance(n, ast.Name) and n.id in dtypes.DTYPES for n in ast.walk(tree))


def _names(node: ast.expr) -> Iterator[str]:
    elements = node.elts if isinstance(node, ast.Tuple) else [node]
    for element in elements:
        yield element.id if isinstance(element, ast.Name) else ""


#: what may stand in an assertion; a device language knows no more of Python than this
_WRITABLE = (
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.FloorDiv,
    ast.Mod,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.NotIn,
    ast.IfExp,
    ast.Tuple,
    ast.Subscript,
    ast.Load,
)
