"""Which text of the user's file is being run: from frames to spans, by the file's syntax tree."""

from __future__ import annotations

import ast
import sys
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from verifier.source import targets
from verifier.source.ir import Span
from verifier.source.nodes import below, walk
from verifier.symbolic.trace import Round

_TREE = Path(__file__).resolve().parent.parent.parent
#: the folders of our own code: what judges calls is none of the user's
_OURS = tuple(f"{_TREE / package}/" for package in ("verifier", "rules"))
#: calls kernels
_LAUNCHES = str(Path(__file__).resolve().parent / "session.py")

NOWHERE = Span("<unknown>", 1, 0, 1, 0)


#: a loop, and the names that it binds
_Loop: TypeAlias = tuple[ast.For | ast.While, list[str]]


class SourceText(Struct):
    """A parsed file. ``nodes`` maps ``(line, column, end line, end column)`` in bytes to nodes."""

    path: str
    lines: list[str] = field(default_factory=list)
    tree: ast.Module | None = None
    nodes: dict[tuple[int, int, int, int], list[ast.AST]] = field(default_factory=dict)
    parents: dict[int, ast.AST] = field(default_factory=dict)
    repeated: list[ast.For | ast.While] = field(default_factory=list)
    #: by line: those around it
    loops: dict[int, list[_Loop]] = field(default_factory=dict)
    #: by their names and the lines where they begin, decorators included
    functions: dict[tuple[str, int], ast.FunctionDef] = field(default_factory=dict)

    def span(self, node: ast.AST) -> Span:
        line: int = getattr(node, "lineno", 1)
        end: int = getattr(node, "end_lineno", line) or line
        return Span(
            self.path,
            line,
            self._points(line, getattr(node, "col_offset", 0)),
            end,
            self._points(end, getattr(node, "end_col_offset", 0) or 0),
        )

    def _points(self, line: int, column: int) -> int:
        """Bytes to code points."""
        if not 1 <= line <= len(self.lines):
            return column
        text = self.lines[line - 1]
        if text.isascii():
            return column
        return len(text.encode("utf-8")[:column].decode("utf-8", "replace"))

    def text(self, node: ast.AST) -> str:
        return ast.unparse(node) if isinstance(node, ast.expr) else ""


_texts: dict[str, SourceText] = {}


def source(path: str) -> SourceText:
    """The file, read once; empty if it cannot be read or parsed."""
    known = _texts.get(path)
    if known is not None:
        return known
    found = SourceText(path)
    _texts[path] = found
    try:
        text = Path(path).read_text(encoding="utf-8")
        found.tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return found
    found.lines = text.splitlines()
    for node in walk(found.tree):
        for child in below(node):
            found.parents[id(child)] = node
        if isinstance(node, (ast.expr, ast.stmt)):
            key = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            found.nodes.setdefault(key, []).append(node)
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found.functions.setdefault((node.name, first), node)
        elif isinstance(node, (ast.For, ast.While)):
            found.repeated.append(node)
    return found


def user_frame(frame: FrameType | None = None) -> FrameType | None:
    """The innermost frame that is not of this package."""
    current = frame if frame is not None else sys._getframe(1)
    while current is not None:
        if not current.f_code.co_filename.startswith(_OURS):
            return current
        current = current.f_back  # type: ignore[assignment]
    return None


def _position(code: CodeType, last: int) -> tuple[int, int, int, int] | None:
    """Where in the source an instruction stands (known from Python 3.11 on)."""
    positions = getattr(code, "co_positions", None)
    if positions is None or last < 0:
        return None
    found = next(islice(positions(), last // 2, None), None)
    if found is None or None in found:
        return None
    line, end, column, end_column = found
    return line, column, end, end_column


class Place(Struct, frozen=True):
    """The expression that runs. ``arguments`` are spans by position, ``keywords`` by name."""

    span: Span
    text: str
    arguments: tuple[Span, ...] = ()
    keywords: tuple[tuple[str, Span], ...] = ()
    target_name: str | None = None
    #: it is what a function gives, which calls it by no name
    returned: bool = False
    #: of an assignment or an augmented one: the target and the value
    sides: tuple[Span, Span] | None = None

    def argument(self, position: int) -> Span:
        return self.arguments[position] if position < len(self.arguments) else self.span

    def keyword(self, name: str) -> Span:
        for keyword, span in self.keywords:
            if keyword == name:
                return span
        return self.span


#: by code, file (code of two files may be equal), instruction and name
_places: dict[tuple[CodeType, str, int, str], Place] = {}


def here(name: str = "") -> Place:
    """The place in the user's file; ``name``: the last part of the function being called."""
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return Place(NOWHERE, name)
    key = (frame.f_code, frame.f_code.co_filename, frame.f_lasti, name)
    found = _places.get(key)
    if found is None:
        found = _place(frame, name)
        _places[key] = found
    if not found.returned:
        return found
    return replace(found, target_name=_result_name(frame) or found.target_name)


def _result_name(frame: FrameType) -> str | None:
    """What the caller of a function calls the result."""
    caller = user_frame(frame.f_back) if frame.f_back is not None else None
    if caller is None:
        return None
    file = source(caller.f_code.co_filename)
    node = _node(file, caller, "")
    if node is None:
        return None
    name = _target(file, node, caller)
    return (_result_name(caller) if _returned(file, node, caller, name) else None) or name


def _place(frame: FrameType, name: str) -> Place:
    file = source(frame.f_code.co_filename)
    node = _node(file, frame, name)
    if node is None:
        line = frame.f_lineno or 1
        text = file.lines[line - 1] if line <= len(file.lines) else ""
        start = len(text) - len(text.lstrip())
        return Place(Span(file.path, line, start, line, max(len(text.rstrip()), start + 1)), name)
    span, target = file.span(node), _target(file, node, frame)
    if isinstance(node, ast.Call):
        plain = not any(isinstance(a, ast.Starred) for a in node.args)
        return Place(
            span,
            file.text(node.func),
            tuple(file.span(a) for a in node.args) if plain else (),
            tuple((k.arg, file.span(k.value)) for k in node.keywords if k.arg is not None),
            target,
            _returned(file, node, frame, target),
        )
    if isinstance(node, ast.Assign):
        return Place(span, "", sides=(file.span(node.targets[0]), file.span(node.value)))
    if isinstance(node, ast.AugAssign):
        return Place(span, "", sides=(file.span(node.target), file.span(node.value)))
    text = ast.unparse(node) if isinstance(node, ast.expr) else ""
    return Place(span, text, target_name=target)


def _target(file: SourceText, node: ast.AST, frame: FrameType) -> str | None:
    parent = file.parents.get(id(node))
    outer = file.parents.get(id(parent))
    match parent:
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return targets.called(target)
        case ast.For(iter=items, target=target) if items is node:
            return targets.called(target)
        case ast.Call():
            return targets.appended_to(parent)
        case ast.Dict(keys=keys, values=values):
            key = next(key for key, value in zip(keys, values, strict=True) if value is node)
            return targets.item(_target(file, parent, frame), key)
        case ast.keyword(arg=str(name)) if isinstance(outer, ast.Call) and _makes(outer, frame):
            owner = _target(file, outer, frame)
            return None if owner is None else f"{owner}.{name}"
        case ast.Tuple(elts=values) if isinstance(outer, ast.Assign) and len(outer.targets) == 1:
            names = outer.targets[0]
            if not isinstance(names, ast.Tuple) or len(names.elts) != len(values):
                return targets.called(names)
            pairs = zip(names.elts, values, strict=True)
            return targets.called(next(name for name, value in pairs if value is node))
        case ast.List():
            return _target(file, parent, frame)
    return None


def _makes(call: ast.Call, frame: FrameType) -> bool:
    """Whether a call makes an instance of a class, as far as its plain name says that."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return isinstance(frame.f_locals.get(name, frame.f_globals.get(name)), type)


def _returned(file: SourceText, node: ast.AST, frame: FrameType, name: str | None) -> bool:
    """Whether an expression is all that a function gives, or has the ``name`` that it returns."""
    parent = file.parents.get(id(node))
    if isinstance(parent, ast.Return) or (isinstance(parent, ast.Lambda) and parent.body is node):
        return True
    function = function_node(frame.f_code) if name is not None else None
    return function is not None and targets.returned(function.body) == name


def _node(file: SourceText, frame: FrameType, name: str) -> ast.AST | None:
    position = _position(frame.f_code, frame.f_lasti)
    if position is not None:
        nodes = file.nodes.get(position, [])
        if nodes:
            calls = [n for n in nodes if isinstance(n, ast.Call)]
            chosen: ast.AST = calls[0] if name and calls else nodes[0]
            if isinstance(chosen, ast.Subscript) and isinstance(chosen.ctx, ast.Store):
                parent = file.parents.get(id(chosen))
                if isinstance(parent, (ast.Assign, ast.AugAssign)):
                    return parent
            return chosen
        return None
    line = frame.f_lineno
    candidates = [
        node
        for nodes in file.nodes.values()
        for node in nodes
        if isinstance(node, ast.Call)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
        and name
        and ast.unparse(node.func).rpartition(".")[2] == name
    ]
    return max(candidates, key=lambda n: n.lineno, default=None)


def loop_over(frame: FrameType, name: str) -> ast.For | None:
    """The loop over what the call of ``name`` that runs in a frame gives, if it is one."""
    file = source(frame.f_code.co_filename)
    node = _node(file, frame, name)
    loop = file.parents.get(id(node)) if isinstance(node, ast.Call) else None
    return loop if isinstance(loop, ast.For) and loop.iter is node else None


def function_node(code: CodeType) -> ast.FunctionDef | None:
    """The definition that a function's code is of, if it is one and was found."""
    return source(code.co_filename).functions.get((code.co_name, code.co_firstlineno))


def loop_around(span: Span) -> tuple[str, int, int] | None:
    """The file, the first and the last line of the innermost loop around a place."""
    around = _loops_at(span.path, span.line)
    if not around:
        return None
    loop, _ = around[-1]
    return span.path, loop.lineno, loop.end_lineno or loop.lineno


def reached() -> tuple[tuple[Round, ...], tuple[object, ...]]:
    """The rounds of loops that the user's code is in, outermost first, through the functions that
    are being called; none within a ``while``, whose rounds have no names. And those calls."""
    frames: list[FrameType] = []
    kernel = 0  # how many of them are of the kernel that was launched, and of what it calls
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user(frame.f_code.co_filename):
            frames.append(frame)
        elif frame.f_code.co_filename == _LAUNCHES:
            kernel = len(frames)
        frame = frame.f_back
    out: list[Round] = []
    named = True
    calls: tuple[int, ...] = ()
    for each in reversed(frames[:kernel]):
        for loop, names in _loops_at(each.f_code.co_filename, each.f_lineno or 0):
            named &= isinstance(loop, ast.For)
            if named:
                value = tuple(_known(each.f_locals.get(name)) for name in names)
                out.append(Round((each.f_code.co_filename, loop.lineno, *calls), value))
        calls = (*calls, each.f_lasti)
    return tuple(out), calls[:-1]


def _known(value: object) -> object:
    """Something that two values have in common if they are the same."""
    return value if isinstance(value, (bool, int, float, str)) else id(value)


def _loops_at(path: str, line: int) -> list[_Loop]:
    """The loops around a line of a file, outermost first."""
    file = source(path)
    if line not in file.loops:
        found = [
            (node, _bound(node))
            for node in file.repeated
            if node.body[0].lineno <= line <= (node.body[-1].end_lineno or line)
        ]
        file.loops[line] = sorted(found, key=lambda loop: loop[0].lineno)
    return file.loops[line]


def _bound(loop: ast.For | ast.While) -> list[str]:
    """The names that a loop binds in each round."""
    target = loop.target if isinstance(loop, ast.For) else None
    return [n.id for n in ast.walk(target) if isinstance(n, ast.Name)] if target else []


def is_user(path: str) -> bool:
    """Whether a file is neither ours nor of the Python library."""
    return not path.startswith((*_OURS, "<", sys.prefix, sys.base_prefix))


def line_at(path: str, line: int) -> Span:
    """A whole line of a file."""
    file = source(path)
    text = file.lines[line - 1] if 0 < line <= len(file.lines) else ""
    start = len(text) - len(text.lstrip())
    return Span(path, line, start, line, max(len(text.rstrip()), start + 1))


def definition(path: str, line: int, name: str) -> Span:
    """The name in a function's definition; ``line`` may be that of its first decorator."""
    file = source(path)
    for number in range(line, min(line + 40, len(file.lines)) + 1):
        text = file.lines[number - 1]
        stripped = text.lstrip()
        if stripped.startswith((f"def {name}", f"async def {name}")):
            column = text.index(name, text.index("def ") + 4)
            return Span(path, number, column, number, column + len(name))
    return line_at(path, line)
