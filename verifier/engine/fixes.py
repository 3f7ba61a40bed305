"""Changes of the text that remove a finding: names that changed between generations of an API.

Where the meaning is the same, such a name is safe to replace: the call cannot work as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from verifier.dialects.nki import renames
from verifier.engine.gathering import Verdict
from verifier.report import model as report
from verifier.source import ir
from verifier.source.project import Module, Project
from verifier.source.text import SourceError

#: the fact that memory is named by a region, not by a string
_REGIONS = "M062"


class Fixer(Struct):
    """Finds the fixes of findings under a generation of an API."""

    project: Project
    api: str

    def attached(self, diagnostic: report.Diagnostic, verdict: Verdict) -> report.Diagnostic:
        """The finding of a verdict, with its fix if there is one."""
        if not verdict.kind.violated:
            return diagnostic
        if verdict.obligation.rule.id not in ("api-signature", "api-removed"):
            return diagnostic
        fix = self._renamed(verdict)
        return diagnostic if fix is None else replace(diagnostic, fix=fix)

    def _renamed(self, verdict: Verdict) -> report.Fix | None:
        place, facts = verdict.obligation.check.span, verdict.obligation.check.facts
        try:
            module = self.project.module(Path(place.path))
            statements = module.statements_at(place.line)
        except SourceError:
            return None
        text = _Text(module)
        for call, around in _calls(statements, place):
            if call.span == place and ir.last_name(call.func) == "par_dim":
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


class _Text(Struct, frozen=True):
    """Changes of calls in the text of a module."""

    module: Module

    def renamed(self, call: ir.Call, keyword: ir.Keyword, api: str) -> report.Fix | None:
        """Another name for a keyword."""
        assert keyword.name is not None
        new = renames.parameter(ir.last_name(call.func), keyword.name, api)
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
        if maker is None or ir.last_name(maker.func) not in renames.SHAPED:
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
