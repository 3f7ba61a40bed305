"""Decorators, launches and Python that a later front end reads otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from verifier.dialects.nki.generation import jit_problem
from verifier.dialects.nki.migration.calls import without
from verifier.dialects.nki.migration.changes import CALL, PYTHON, Change, Edit, Weight
from verifier.dialects.nki.migration.forms import Given, forms
from verifier.dialects.nki.migration.grids import grids
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.migration.visits import Visits, key_of
from verifier.dialects.nki.versions import newer
from verifier.dialects.signature import Parameter

_JITS: Final = frozenset({"jit", "baremetal", "benchmark", "profile", "trace"})
_VIEWS_COMPOSE: Final = "0.5"


def constructs(text: Text, visits: Visits, since: str, to: str) -> Iterator[Change]:
    """What of the Python around the API has to change."""
    kernels = [n for n in ast.walk(text.tree) if isinstance(n, ast.FunctionDef) and _jit(text, n)]
    device = [n for n in ast.walk(text.tree) if isinstance(n, ast.FunctionDef) and _uses(text, n)]
    called = _called(text, kernels)
    for function in kernels:
        yield from _decorated(text, function, to, called)
        if newer(to, "0.3"):
            yield from _keyword_only(text, function)
    if newer(to, "0.3"):
        yield from _identities(text, device)
        yield from _listed(text, kernels)
        if not newer(since, "0.3"):
            yield from _outputs(text, visits, kernels)
            yield from _fills(text, visits, since, to)
    if newer(to, "0.2"):
        yield from _dictionaries(text, device)
        yield from grids(text, visits, {function.name for function in kernels}, since, to)
    if since == "beta1" and newer(to, "0.2"):
        yield from _directives(text, to)
        yield from _annotations(text)
        yield from _dynamic(visits, text)
        if not newer(to, _VIEWS_COMPOSE):
            yield from _nested(text, visits)
    if newer(to, "0.4") and not newer(since, "0.4"):
        yield from _inductions(text)
    if newer(to, "0.6"):
        yield from _whiles(text, visits, device)


def _jit(text: Text, function: ast.FunctionDef) -> ast.expr | None:
    """The decorator that makes a kernel of a function."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if text.name(called) in _JITS:
            return decorator
    return None


def _called(text: Text, kernels: list[ast.FunctionDef]) -> set[str]:
    """The names of what kernels of the text call, and of what that calls."""
    named = {n.name: n for n in ast.walk(text.tree) if isinstance(n, ast.FunctionDef)}
    found: set[str] = set()
    ahead: list[ast.FunctionDef] = list(kernels)
    while ahead:
        function = ahead.pop()
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            called = node.func if isinstance(node, ast.Call) else None
            if not isinstance(called, ast.Name) or called.id in (*found, function.name):
                continue
            found.add(called.id)
            if called.id in named:
                ahead.append(named[called.id])
    return found


def _uses(text: Text, function: ast.FunctionDef) -> bool:
    """Whether a function uses the device."""
    return any(
        isinstance(node, ast.Attribute) and text.name(node) is not None
        for statement in function.body
        for node in ast.walk(statement)
    )


# ----------------------------------------------------------------------------- decorators


def _decorated(
    text: Text, function: ast.FunctionDef, to: str, called: set[str]
) -> Iterator[Change]:
    decorator = _jit(text, function)
    if not isinstance(decorator, ast.Call) or text.name(decorator.func) != "jit":
        return
    written = text.written(decorator.func)
    # what goes, goes with one edit
    gone = [k for k in decorator.keywords if k.arg == "mode" or jit_problem(to, k.arg or "")]
    for keyword in decorator.keywords:
        problem = jit_problem(to, keyword.arg or "")
        if problem is not None:
            message, facts = problem
            name = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            help_ = f"set NEURON_PLATFORM_TARGET_OVERRIDE={name}" if isinstance(name, str) else ""
            edits = _without(text, decorator, gone)
            end = text.end(decorator)
            alone = text.lines[end[0] - 1][end[1] :].strip() == ""
            if edits and help_ and alone:  # what the text has said stays in it
                edits = (*edits, Edit(end, end, f"  # {help_}"))
            yield Change(
                CALL,
                text.span(keyword),
                message,
                "warning",
                tuple(f"NKI-{fact}" for fact in facts),
                (help_,) if help_ else (),
                "remove `platform_target=`",
                edits,
            )
        elif keyword.arg == "mode" and newer(to, "0.2"):
            whole = function.name in called
            yield _mode(text, decorator, keyword, written, whole, gone)


def _mode(
    text: Text,
    decorator: ast.Call,
    keyword: ast.keyword,
    written: str,
    called: bool,
    gone: Sequence[ast.keyword],
) -> Change:
    """``mode=`` of a decorator; one that traces what kernels call goes as a whole (NKI-M028)."""
    traced = isinstance(keyword.value, ast.Constant) and keyword.value.value == "trace"
    if traced and called:
        line, end = text.start(decorator)[0], text.end(decorator)
        alone = text.lines[line - 1].strip().startswith("@") and line == end[0]
        alone = alone and not text.lines[line - 1][end[1] :].strip()
        return Change(
            CALL,
            text.span(decorator),
            f'`{written}(mode="trace")` marks what a kernel calls, which has no decorator since '
            "NKI 0.2",
            "warning",
            ("NKI-M028",),
            ("remove the decorator",),
            "remove the decorator",
            (Edit((line, 0), (line + 1, 0), ""),) if alone else (),
        )
    return Change(
        CALL,
        text.span(keyword),
        f"`{written}` takes `mode=` for a while only: it has no effect since NKI 0.3",
        "note",
        ("NKI-M068", "NKI-M101"),
        ("remove it",),
        "remove `mode=`",
        _without(text, decorator, gone),
    )


def _without(text: Text, decorator: ast.Call, gone: Sequence[ast.keyword]) -> tuple[Edit, ...]:
    if len(decorator.keywords) == len(gone) and not decorator.args:
        return (Edit(text.end(decorator.func), text.end(decorator), ""),)
    given = [Given(Parameter(k.arg or "", "None", True), k.value, k, 0) for k in gone]
    return without(text, decorator, given)


def _keyword_only(text: Text, function: ast.FunctionDef) -> Iterator[Change]:
    """``*`` in the parameters of a kernel (NKI-M064)."""
    arguments = function.args
    if not arguments.kwonlyargs or arguments.vararg is not None:
        return
    before = [*arguments.posonlyargs, *arguments.args]
    first = arguments.kwonlyargs[0]
    needed = any(default is None for default in arguments.kw_defaults)
    edits: tuple[Edit, ...] = ()
    if not (arguments.defaults and needed) and before and not arguments.defaults:
        between = text.between(text.end(before[-1]), text.start(first))
        if "".join(between.split()) == ",*,":
            edits = (Edit(text.end(before[-1]), text.start(first), ", "),)
    weight: Weight = "warning"
    yield Change(
        PYTHON,
        text.span(first),
        f"`{function.name}` has parameters behind `*`, which kernels may not since NKI 0.3",
        weight,
        ("NKI-M064",),
        ("remove the `*`: parameters may still be given by name",),
        "remove the `*`" if edits else "",
        edits,
    )


# ----------------------------------------------------------------------------- loops


def _directives(text: Text, to: str) -> Iterator[Change]:
    """Loops whose order the compiler keeps: a block of its own (NKI-M023)."""
    for loop in ast.walk(text.tree):
        call = loop.iter if isinstance(loop, ast.For) else None
        if not isinstance(loop, ast.For) or not isinstance(call, ast.Call) or loop.orelse:
            continue
        name, directives = text.name(call.func), call.keywords
        if name not in ("language.sequential_range", "language.affine_range"):
            continue
        if len(directives) != 1 or directives[0].arg != "directives":
            continue
        value, language = directives[0].value, text.module("language")
        kept = isinstance(value, ast.Call) and text.name(value.func) == "compiler.no_reorder"
        indent = text.indent(loop)
        edits: tuple[Edit, ...] = ()
        if kept and language and indent is not None:
            edits = tuple(_in_block(text, loop, call, language, indent, to))
        yield Change(
            PYTHON,
            text.span(directives[0]),
            "loops have no directives since NKI 0.2",
            "warning",
            ("NKI-M023",),
            (f"write `with {language or 'nl'}.no_reorder():` around the loop",),
            f"write `with {language}.no_reorder():`" if edits else "",
            edits,
        )


def _in_block(
    text: Text, loop: ast.For, call: ast.Call, language: str, indent: str, to: str
) -> Iterator[Edit]:
    last = loop.end_lineno or loop.lineno
    inside = {
        line
        for node in ast.walk(loop)
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno is not None
        for line in range(node.lineno + 1, node.end_lineno + 1)
    }
    if inside:  # the lines of a text keep their places
        return
    start = text.start(loop)
    yield Edit(start, start, f"with {language}.no_reorder():\n{indent}    ")
    given = ", ".join(text.rendered(argument) for argument in call.args)
    function = "range" if newer(to, "0.6") else text.written(call.func)
    yield Edit(text.start(call), text.end(call), f"{function}({given})")
    for line in range(loop.lineno + 1, last + 1):
        if text.lines[line - 1].strip():
            yield Edit((line, 0), (line, 0), "    ")


# ----------------------------------------------------------------------------- expressions


def _identities(text: Text, device: list[ast.FunctionDef]) -> Iterator[Change]:
    """``is``, but for None, which released kernels of every version test so (NKI-M065)."""
    found = {
        node
        for function in device
        for node in ast.walk(function)
        if isinstance(node, ast.Compare) and len(node.ops) == 1
        if isinstance(node.ops[0], (ast.Is, ast.IsNot))
    }
    for node in sorted(found, key=text.start):
        (operator,), (right,) = node.ops, node.comparators
        sides = (node.left, right)
        if any(isinstance(side, ast.Constant) and side.value is None for side in sides):
            continue
        new = "==" if isinstance(operator, ast.Is) else "!="
        said = "is" if new == "==" else "is not"
        between = text.between(text.end(node.left), text.start(right))
        edits: tuple[Edit, ...] = ()
        if isinstance(right, ast.Constant) and between.split() == said.split():
            edits = (Edit(text.end(node.left), text.start(right), f" {new} "),)
        yield Change(
            PYTHON,
            text.span(node),
            f"`{said}` is no operator of kernels since NKI 0.3",
            "warning",
            ("NKI-M065",),
            (f"write `{new}`",),
            f"write `{new}`" if edits else "",
            edits,
        )


def _listed(text: Text, kernels: list[ast.FunctionDef]) -> Iterator[Change]:
    """Lists as arguments of a kernel (NKI-M066)."""
    known = {function.name for function in kernels}
    for call in ast.walk(text.tree):
        if not isinstance(call, ast.Call):
            continue
        func = call.func.value if isinstance(call.func, ast.Subscript) else call.func
        if not isinstance(func, ast.Name) or func.id not in known:
            continue
        for value in (*call.args, *(keyword.value for keyword in call.keywords)):
            if isinstance(value, ast.List):
                inner = text.rendered(value)[1:-1]
                comma = "," if len(value.elts) == 1 and not inner.rstrip().endswith(",") else ""
                yield Change(
                    PYTHON,
                    text.span(value),
                    f"`{func.id}` is given a list, which kernels do not take since NKI 0.3",
                    "warning",
                    ("NKI-M066",),
                    ("write a tuple",),
                    "write a tuple",
                    (Edit(text.start(value), text.end(value), f"({inner}{comma})"),),
                )


def _outputs(text: Text, visits: Visits, kernels: list[ast.FunctionDef]) -> Iterator[Change]:
    """Results of kernels that are in private memory (NKI-M060)."""
    found = {span: "what is allocated" for span in visits.private if span.path == text.path}
    for function in kernels:  # those that no run has come by
        returned = {
            name.id
            for node in ast.walk(function)
            if isinstance(node, ast.Return) and isinstance(node.value, (ast.Name, ast.Tuple))
            for name in ast.walk(node.value)
            if isinstance(name, ast.Name)
        }
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            (target, *more) = node.targets
            if more or not isinstance(target, ast.Name) or target.id not in returned:
                continue
            for keyword in node.value.keywords:
                if keyword.arg == "buffer" and text.name(keyword.value) in _PRIVATE:
                    found[text.span(keyword.value)] = f"`{target.id}`"
    for span, what in found.items():
        value, module = text.at(span), text.module("language")
        new = f"{module}.shared_hbm" if module else ""
        edit = bool(new) and value is not None and text.name(value) in _PRIVATE
        start, end = (span.line, span.column), (span.end_line, span.end_column)
        yield Change(
            PYTHON,
            span,
            f"{what} is returned, and results are in `shared_hbm` since NKI 0.3",
            "warning",
            ("NKI-M060",),
            (f"write `{new or 'nl.shared_hbm'}`",),
            f"write `{new}`" if edit else "",
            (Edit(start, end, new),) if edit else (),
        )


_PRIVATE: Final = ("language.hbm", "language.private_hbm")


def _fills(text: Text, visits: Visits, since: str, to: str) -> Iterator[Change]:
    """Floats that tiles of integers are filled with (NKI-M054)."""
    for form in forms(text, visits, since, to):
        found = visits.at(text.span(form.call), "isa.memset")
        given = next((each for each in form.given if each.parameter.name == "value"), None)
        if form.name != "isa.memset" or given is None or not found:
            continue
        numbers = [number for number in given.known if isinstance(number, float)]
        if not numbers or not all(each.integers for each in found):
            continue
        number, value = numbers[0], given.value
        whole = str(int(number)) if number.is_integer() else ""
        edit = bool(whole) and isinstance(value, ast.Constant)
        yield Change(
            PYTHON,
            text.span(value),
            "a tile of integers is filled with an integer since NKI 0.3",
            "warning",
            ("NKI-M054",),
            (f"write `{whole}`" if whole else "write an integer",),
            f"write `{whole}`" if edit else "",
            (Edit(text.start(value), text.end(value), whole),) if edit else (),
        )


def _dictionaries(text: Text, device: list[ast.FunctionDef]) -> Iterator[Change]:
    """Dictionaries with keys that are no strings (NKI-M030)."""
    seen: set[ast.Dict] = set()
    for function in device:
        for node in ast.walk(function):
            if not isinstance(node, ast.Dict) or node in seen:
                continue
            seen.add(node)
            wrong = [key for key in node.keys if key is not None and not _may_be_text(key)]
            if wrong:
                yield Change(
                    PYTHON,
                    text.span(wrong[0]),
                    "keys of dictionaries in kernels are strings since NKI 0.2",
                    "warning",
                    ("NKI-M030",),
                    ("write the keys as strings, or a list",),
                )


def _may_be_text(key: ast.expr) -> bool:
    constant = isinstance(key, ast.Constant) and type(key.value) is not str
    return not constant and not isinstance(key, ast.Tuple)


def _annotations(text: Text) -> Iterator[Change]:
    """``nt.mutable_tensor`` (NKI-M040)."""
    for node, name in text.api():
        if name == "typing.mutable_tensor":
            yield Change(
                PYTHON,
                text.span(node),
                "since NKI 0.2 kernels write into inputs without an annotation, or a return",
                "note",
                ("NKI-M040",),
            )


def _dynamic(visits: Visits, text: Text) -> Iterator[Change]:
    """Tiles in subscripts (NKI-M027)."""
    spans = {span for each in visits.known.values() for visit in each for span in visit.dynamic}
    for span in spans:
        if span.path == text.path:
            yield Change(
                PYTHON,
                span,
                "a tile in a subscript is no index since NKI 0.2",
                "warning",
                ("NKI-M027",),
                ("write `.ap(...)` with `vector_offset=` or `scalar_offset=`",),
            )


def _nested(text: Text, visits: Visits) -> Iterator[Change]:
    """Slices of slices, which 0.2 to 0.4 do not have (NKI-M029)."""
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Subscript):
            continue
        if key_of(text.span(node)) in visits.tensors:
            yield Change(
                PYTHON,
                text.span(node),
                f"slices of slices exist again from NKI {_VIEWS_COMPOSE} on",
                "warning",
                ("NKI-M029",),
                ("write one subscript",),
            )


def _inductions(text: Text) -> Iterator[Change]:
    """Assignments to the index of a loop on the device (NKI-M097)."""
    for loop in ast.walk(text.tree):
        if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
            continue
        index = loop.target
        if text.name(loop.iter.func) != "language.dynamic_range" or not isinstance(index, ast.Name):
            continue
        for statement in loop.body:
            for node in ast.walk(statement):
                stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                if stored and isinstance(node, ast.Name) and node.id == index.id:
                    yield Change(
                        PYTHON,
                        text.span(node),
                        f"`{index.id}` is the index of a loop on the device: since NKI 0.4 an "
                        "assignment to it fails, before it was ignored",
                        "warning",
                        ("NKI-M097",),
                        ("use another name",),
                    )


def _whiles(text: Text, visits: Visits, device: list[ast.FunctionDef]) -> Iterator[Change]:
    """``while`` on a register (NKI-M131)."""
    found = {span for span in visits.loops.values() if span.path == text.path}
    for function in device:  # those that no run has come by
        registers = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            if text.name(node.value.func) == "isa.register_alloc"
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.While) and isinstance(node.test, ast.Name):
                if node.test.id in registers:
                    found.add(text.span(node.test))
    for span in sorted(found, key=lambda each: (each.line, each.column)):
        yield Change(
            PYTHON,
            span,
            "`while` on a register is deprecated since NKI 0.6",
            "note",
            ("NKI-M131",),
            ("write `nl.while_loop(init, body)`",),
        )
