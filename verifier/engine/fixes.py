"""Changes of the text that remove a finding: preconditions that are missing, names that changed.

A precondition that is written down rejects inputs that were taken before: not safe. A name that
changed between generations of an API, with the meaning the same, is safe to replace: the call
cannot work as it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from verifier.dialects.nki import renames
from verifier.dialects.registry import of_generation
from verifier.engine.verdicts import Verdict
from verifier.hardware import dtypes
from verifier.report import model as report
from verifier.source import ir, suppressions
from verifier.source.discovery import Enclosing
from verifier.source.outline import BindingKind
from verifier.source.project import Module, Project
from verifier.source.scopes import names_of_module
from verifier.source.text import SourceError

#: the fact that memory is named by a region, not by a string
_REGIONS = "M062"


@dataclass(slots=True)
class Fixer:
    """Finds the fixes of one kernel's findings."""

    project: Project
    module: Module
    definition: ir.FunctionDef
    enclosing: Sequence[Enclosing]
    api: str

    def attached(self, diagnostic: report.Diagnostic, verdict: Verdict) -> report.Diagnostic:
        """The finding of a verdict, with its fix if there is one."""
        fix = self.of(verdict, diagnostic.help)
        return diagnostic if fix is None else replace(diagnostic, fix=fix)

    def of(self, verdict: Verdict, help_lines: Iterable[str]) -> report.Fix | None:
        """The fix of a finding with this help, or None."""
        if not verdict.kind.violated:
            return None
        if verdict.obligation.rule.id in ("api-signature", "api-removed"):
            return self._renamed(verdict)
        if not of_generation(self.api).asserts_kept:
            return None  # writing one down would help nobody
        for line in help_lines:
            if line.startswith("assert "):
                return self._precondition(line, verdict.obligation.check.span)
        return None

    # -- preconditions ---------------------------------------------------------------

    def _precondition(self, proposed: str, place: ir.Span) -> report.Fix | None:
        """The assertion that was proposed for a violation at ``place``."""
        rewriter = _Rewriter(self._inputs(), self._language(), self._is_taken)
        text = rewriter.statement(proposed)
        top = self._top(place)
        if text is None or top is None:
            return None
        line, lead = top
        span = report.Span(str(self.module.path), line, 0, line, 0)
        edit = report.Edit(span, f"{lead}{text}\n")
        return report.Fix(f"insert `{text}`", False, (edit,))

    def _is_taken(self, name: str) -> bool:
        """Whether the module binds a name, which may be that of a builtin."""
        return self.module.binding(name) is not None

    def _inputs(self) -> dict[str, bool]:
        """The names of inputs at the top of the kernel; True: it may be None."""
        out: dict[str, bool] = {}
        for outer in (e.definition for e in self.enclosing):
            bound = _bound(outer)
            out.update((p.name, _optional(p)) for p in outer.params if p.name not in bound)
        for name in _bound(self.definition):  # bound later than at the top
            out.pop(name, None)
        for param in self.definition.params:
            out.pop(param.name, None)
            if param.kind in (
                ir.ParamKind.POSITIONAL_ONLY,
                ir.ParamKind.POSITIONAL,
                ir.ParamKind.KEYWORD,
            ):
                out[param.name] = _optional(param)
        return out

    def _language(self) -> str | None:
        """The name of the module that has the dtypes, if the kernel's module imports it."""
        language = of_generation(self.api).language
        hidden = _bound(self.definition) | {p.name for p in self.definition.params}
        for name, binding in self.module.bindings.items():
            whole = binding.imported or f"{binding.module}.{binding.original}"
            if binding.kind.imports and whole in language and name not in hidden:
                if binding.kind is BindingKind.FROM or name != binding.imported.partition(".")[0]:
                    self.module.binding(name)  # the fix depends on it
                    return name
        return None

    def _top(self, place: ir.Span) -> tuple[int, str] | None:
        """The line before which an assertion at the top of the kernel stands, and its margin.

        What is asserted there already stays above, one assertion may be what the next one needs;
        but not what is violated at ``place`` itself.
        """
        body = self.definition.body
        at = place.line if place.path == str(self.module.path) else 0
        rest = [
            s for s in body if not isinstance(s, ir.Assert) or s.span.line <= at <= s.span.end_line
        ]
        if not rest:
            return None
        first = body[0].span
        lead = self.module.lines[first.line - 1][: first.column]
        if lead.strip() or not lead:
            return None  # the body is on the line of the def
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

    # -- names that changed ----------------------------------------------------------

    def _renamed(self, verdict: Verdict) -> report.Fix | None:
        place, facts = verdict.obligation.check.span, verdict.obligation.check.facts
        try:
            module = self.project.module(Path(place.path))
            statements = module.statements_at(place.line)
        except SourceError:
            return None
        text = _Text(module)
        for call, around in _calls(statements, place):
            if call.span == place and _last(call.func) == "par_dim":
                return text.first_dimension(call, around)
            for keyword in call.keywords:
                if keyword.name is None or place not in (keyword.span, keyword.value.span):
                    continue
                if _REGIONS in facts:
                    return text.region(call, keyword.value)
                if keyword.name == "dtype" and renames.drops_dtype(self.api):
                    return text.without(call, keyword)
                return text.renamed(call, keyword, self.api)
            for argument in call.args:
                if argument.span == place and _REGIONS in facts:
                    return text.region(call, argument)
        return None


@dataclass(frozen=True, slots=True)
class _Text:
    """Changes of calls in the text of a module."""

    module: Module

    def renamed(self, call: ir.Call, keyword: ir.Keyword, api: str) -> report.Fix | None:
        """Another name for a keyword."""
        assert keyword.name is not None
        new = renames.parameter(_last(call.func), keyword.name, api)
        if new is None or any(other.name == new for other in call.keywords):
            return None
        start = keyword.span
        end = start.column + len(keyword.name)
        if self.module.lines[start.line - 1][start.column : end] != keyword.name:
            return None
        edit = report.Edit(report.Span(start.path, start.line, start.column, start.line, end), new)
        return report.Fix(f"rename `{keyword.name}` to `{new}`", True, (edit,))

    def without(self, call: ir.Call, keyword: ir.Keyword) -> report.Fix | None:
        """The call without a keyword that has no effect."""
        arguments: list[ir.Node] = sorted(
            (*call.args, *call.keywords), key=lambda node: (node.span.line, node.span.column)
        )
        at = arguments.index(keyword)
        if at > 0:
            gone = _between(_end(arguments[at - 1].span), _end(keyword.span), keyword.span.path)
            blank = self._text(_end(arguments[at - 1].span), _start(keyword.span))
        elif len(arguments) > 1:
            gone = _between(_start(keyword.span), _start(arguments[1].span), keyword.span.path)
            blank = self._text(_end(keyword.span), _start(arguments[1].span))
        else:
            return None
        if blank.strip() != ",":
            return None
        title = f"remove `{keyword.name}=`, which has no effect"
        return report.Fix(title, True, (report.Edit(gone, ""),))

    def region(self, call: ir.Call, value: ir.Expr) -> report.Fix | None:
        """A memory region for its name in a string."""
        if not isinstance(value, ir.Const) or not isinstance(value.value, str):
            return None
        if not isinstance(call.func, ir.Attribute):
            return None
        owner = self._text(_start(call.func.value.span), _end(call.func.value.span))
        if not owner.replace(".", "").isidentifier() or not value.value.isidentifier():
            return None
        new = f"{owner}.{value.value}"
        place = value.span
        gone = _between(_start(place), _end(place), place.path)
        return report.Fix(f"write `{new}`", True, (report.Edit(gone, new),))

    def first_dimension(self, call: ir.Call, around: tuple[ir.Node, ...]) -> report.Fix | None:
        """The size alone for the partition dimension that comes first anyway."""
        if len(call.args) != 1 or call.keywords or len(around) < 2:
            return None
        shape, maker = around[-1], next((n for n in around[-2::-1] if isinstance(n, ir.Call)), None)
        if not isinstance(shape, (ir.TupleExpr, ir.ListExpr)) or shape.elements[0] is not call:
            return None
        if maker is None or _last(maker.func) not in renames.SHAPED:
            return None
        given = maker.args[:1] + tuple(k.value for k in maker.keywords if k.name == "shape")
        if shape not in given[:1]:
            return None
        size = call.args[0]
        before = self._text(_start(call.span), _start(size.span))
        after = self._text(_end(size.span), _end(call.span))
        if "#" in before + after or "\n" in before + after:
            return None
        path = call.span.path
        edits = (
            report.Edit(_between(_start(call.span), _start(size.span), path), ""),
            report.Edit(_between(_end(size.span), _end(call.span), path), ""),
        )
        return report.Fix("write the size without `par_dim`", True, edits)

    def _text(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        (line, column), (last, until) = start, end
        rows = list(self.module.lines[line - 1 : last])
        if not rows:
            return ""
        rows[-1] = rows[-1][:until]
        rows[0] = rows[0][column:]
        return "\n".join(rows)


def _start(span: ir.Span) -> tuple[int, int]:
    return span.line, span.column


def _end(span: ir.Span) -> tuple[int, int]:
    return span.end_line, span.end_column


def _between(start: tuple[int, int], end: tuple[int, int], path: str) -> report.Span:
    return report.Span(path, *start, *end)


def _last(func: ir.Expr) -> str:
    """The last part of a dotted name."""
    if isinstance(func, ir.Attribute):
        return func.attr
    return func.id if isinstance(func, ir.Name) else ""


def _calls(
    statements: Iterable[ir.Stmt], place: ir.Span
) -> Iterator[tuple[ir.Call, tuple[ir.Node, ...]]]:
    """Every call around a place, with the nodes around the call, outermost first."""
    stack: list[tuple[ir.Node, tuple[ir.Node, ...]]] = [(s, ()) for s in statements]
    while stack:
        node, around = stack.pop()
        if _start(node.span) > _start(place) or _end(node.span) < _end(place):
            continue
        if isinstance(node, ir.Call):
            yield node, around
        stack.extend((child, (*around, node)) for child in ir.children(node))


def _optional(param: ir.Param) -> bool:
    return isinstance(param.default, ir.Const) and param.default.value is None


def _bound(definition: ir.FunctionDef) -> frozenset[str]:
    """The names that a function's own statements bind, those of other blocks included."""
    names = names_of_module(definition.body)
    return names.local | names.declared_global | names.declared_nonlocal


# ------------------------------------------------------------------ what can be written down


class _NotWritableError(Exception):
    """The condition is about something that has no name at the top of the kernel."""


class _Rewriter(ast.NodeTransformer):
    """Turns a proposed assertion into Python that runs at the top of the kernel."""

    def __init__(
        self, inputs: dict[str, bool], language: str | None, taken: Callable[[str], bool]
    ) -> None:
        """``taken``: whether the module binds a name, which may be that of a builtin."""
        self._inputs = inputs
        self._language = language
        self._taken = taken

    def statement(self, proposed: str) -> str | None:
        """The assertion as Python, or None."""
        try:
            tree = ast.parse(proposed)
        except (SyntaxError, ValueError, RecursionError):
            return None
        if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Assert):
            return None
        try:
            return ast.unparse(ast.fix_missing_locations(self.visit(tree)))
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
        if node.id in self._inputs:
            return node
        if node.id in dtypes.DTYPES and self._language is not None:
            return ast.Attribute(ast.Name(self._language, ast.Load()), node.id, ast.Load())
        raise _NotWritableError

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        root: ast.expr = node
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        if not isinstance(root, ast.Name) or self._inputs.get(root.id, True):
            raise _NotWritableError  # of what may be None nothing can be asked
        return super().generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if node.keywords or name in self._inputs or (self._taken(name) and name != "ceil"):
            raise _NotWritableError
        if name == "ceil" and len(node.args) == 1:
            return self._ceiling(node.args[0])
        if name not in ("min", "max", "abs"):
            raise _NotWritableError
        return ast.Call(node.func, [self.visit(argument) for argument in node.args], [])

    def _ceiling(self, quotient: ast.expr) -> ast.AST:
        """``ceil(a / b)`` in integers."""
        if not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.Div):
            raise _NotWritableError
        number, by = self.visit(quotient.left), self.visit(quotient.right)
        if isinstance(by, ast.Constant) and isinstance(by.value, int) and by.value > 0:
            raised = ast.BinOp(number, ast.Add(), ast.Constant(by.value - 1))
            return ast.BinOp(raised, ast.FloorDiv(), by)
        down = ast.BinOp(ast.UnaryOp(ast.USub(), number), ast.FloorDiv(), by)
        return ast.UnaryOp(ast.USub(), down)


#: what may stand in an assertion; a device language knows no more of Python than this
_WRITABLE = (
    ast.Module,
    ast.Assert,
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
    ast.Tuple,
    ast.Subscript,
    ast.Load,
)
