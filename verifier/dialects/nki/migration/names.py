"""Imports, removed and deprecated names, and decorators."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

from verifier.dialects.nki import names
from verifier.dialects.nki.migration.changes import NAME, Change, Edit, Weight
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.migration.visits import Visits
from verifier.dialects.nki.signatures import deprecation, generations_with, lookup, removal
from verifier.dialects.nki.versions import following, newer, said
from verifier.hardware.dtypes import NAMES as DTYPES
from verifier.source.ir import Span

_OLD: Final = "neuronxcc"

#: entry points of frameworks that are gone (NKI-M042)
_FRAMEWORKS: Final = ("torch_neuronx.nki_jit", "jax_neuronx.nki_call")


# ----------------------------------------------------------------------------- imports


def imports(text: Text, to: str) -> Iterator[Change]:
    """Imports of the package of Beta 1 (NKI-M001, NKI-M091) and of entry points that are gone."""
    found = [n for n in ast.walk(text.tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
    fallback = any(_packages(node) & {"nki"} for node in found)
    for node in found:
        guarded = fallback and text.around(node, ast.Try) is not None
        if _OLD in _packages(node) and not guarded:
            yield from _of_beta1(text, node, to)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                if f"{node.module}.{alias.name}" in _FRAMEWORKS:
                    yield _framework(text, alias, f"{node.module}.{alias.name}")


def _packages(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The packages of the API that an import is of."""
    if isinstance(node, ast.ImportFrom):
        of_nki = node.module == _OLD and any(alias.name == "nki" for alias in node.names)
        dotted = [f"{_OLD}.nki" if of_nki else node.module or ""] if not node.level else []
    else:
        dotted = [alias.name for alias in node.names]
    return {
        _OLD if each.startswith(_OLD) else "nki"
        for each in dotted
        if each in ("nki", f"{_OLD}.nki") or each.startswith(("nki.", f"{_OLD}.nki."))
    }


def _of_beta1(text: Text, node: ast.Import | ast.ImportFrom, to: str) -> Iterator[Change]:
    weight: Weight = "warning" if newer(to, "0.4") else "note"
    why = "is not available to kernels since NKI 0.4" if weight == "warning" else "is deprecated"
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.startswith(f"{_OLD}.nki"):
                new = alias.name.removeprefix(f"{_OLD}.")
                written = f"{new} as {alias.asname}" if alias.asname not in (None, new) else new
                edits = (Edit(text.start(alias), text.end(alias), written), *_chains(text, alias))
                yield _import(text, alias, alias.name, f"import `{new}`", edits, weight, why)
        return
    assert node.module is not None
    if node.module == _OLD:
        if len(node.names) == 1:
            (alias,) = node.names
            written = "import nki" + (f" as {alias.asname}" if alias.asname else "")
            edits = (Edit(text.start(node), text.end(node), written),)
            yield _import(text, node, f"{_OLD}.nki", "import `nki`", edits, weight, why)
        else:
            yield _import(text, node, f"{_OLD}.nki", "import `nki`", (), weight, why)
        return
    new = node.module.removeprefix(f"{_OLD}.")
    line, column = text.start(node)
    begin = text.lines[line - 1].find(node.module, column)
    edits = ()
    if begin >= 0:
        edits = (Edit((line, begin), (line, begin + len(node.module)), new),)
    yield _import(text, node, node.module, f"import from `{new}`", edits, weight, why)


def _chains(text: Text, alias: ast.alias) -> Iterator[Edit]:
    """Uses of ``neuronxcc.nki`` where the import binds the name of the package."""
    if alias.asname is not None:
        return
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Attribute) and text.dotted(node) == f"{_OLD}.nki":
            yield Edit(text.start(node), text.end(node), "nki")


def _import(
    text: Text,
    node: ast.alias | ast.stmt,
    dotted: str,
    help_: str,
    edits: tuple[Edit, ...],
    weight: Weight,
    why: str,
) -> Change:
    return Change(
        NAME,
        text.span(node),
        f"`{dotted}` {why}",
        weight,
        ("NKI-M001", "NKI-M091"),
        (help_,),
        help_,
        edits,
    )


def _framework(text: Text, alias: ast.alias, dotted: str) -> Change:
    return Change(
        NAME,
        text.span(alias),
        f"`{dotted}` does not exist any more",
        "warning",
        ("NKI-M042",),
        ("call the function that `nki.jit` returns with tensors of the framework",),
    )


# ----------------------------------------------------------------------------- names


#: what goes with the shapes, and with the indices
_WITH_OTHERS: Final = ("language.par_dim", "language.arange", "language.mgrid")


def removed(text: Text, to: str) -> Iterator[Change]:
    """Names that a later generation does not have, and those that it has for a while only."""
    for node, name in text.api():
        problem = _gone(name, to)
        if name.startswith(_WITH_OTHERS):
            continue
        if problem is not None:
            _, since, facts, instead = problem
            title, edits = _replaced(text, node, name, to)
            yield Change(
                NAME,
                text.span(node),
                f"`{text.written(node)}` does not exist since {said(since)}",
                "warning",
                facts,
                (instead,) if instead else (),
                title,
                edits,
            )
            continue
        later = deprecation(name, to)
        if later is not None:
            yield _deprecated(text, node, name, later[0], later[1])


#: values that are gone, as numbers
_NUMBERS: Final = dict.fromkeys(("language.fp32.min", "isa.fp32.min"), repr(names.FP32_MIN))


def _replaced(text: Text, node: ast.expr, name: str, to: str) -> tuple[str, tuple[Edit, ...]]:
    """What is written instead where that says the same."""
    number = _NUMBERS.get(name)
    if number is not None:
        return f"write `{number}`", (Edit(text.start(node), text.end(node), number),)
    parent = text.parents.get(node)
    call = parent if isinstance(parent, ast.Call) and parent.func is node else None
    if name == "simulate_kernel" and newer(to, "0.3") and call is not None and call.args:
        kernel, *given = call.args
        rest: list[ast.expr | ast.keyword] = [*given, *call.keywords]
        owner, _, _ = text.written(node).rpartition(".")
        if owner and isinstance(kernel, ast.Name):
            behind = text.start(rest[0]) if rest else text.end(kernel)
            edits = (
                Edit(text.start(node), text.end(node), f"{owner}.simulate"),
                Edit(text.end(kernel), behind, ")("),
            )
            return f"write `{owner}.simulate({kernel.id})(...)`", edits
    place = name.removeprefix("compiler.").removesuffix(".auto_alloc")
    module = text.module("language")
    if place in ("sbuf", "psum") and place != name and call is not None and module is not None:
        if not call.args and not call.keywords:
            new = f"{module}.{place}"
            return f"write `{new}`", (Edit(text.start(call), text.end(call), new),)
    if name in _DECORATORS:
        return _undecorated(text, node if call is None else call)
    return "", ()


#: decorators that nothing is written instead of
_DECORATORS: Final = (
    *("trace", "compiler.enable_stack_allocator", "compiler.force_auto_alloc"),
    "compiler.skip_middle_end_transformations",
)


def _undecorated(text: Text, node: ast.expr) -> tuple[str, tuple[Edit, ...]]:
    """A function without one of its decorators, which has a line of its own."""
    function = text.parents.get(node)
    if not isinstance(function, ast.FunctionDef) or node not in function.decorator_list:
        return "", ()
    line, end = text.start(node)[0], text.end(node)
    if line != end[0] or text.lines[line - 1][end[1] :].strip():
        return "", ()
    return "remove the decorator", (Edit((line, 0), (line + 1, 0), ""),)


def _gone(name: str, to: str) -> tuple[str, str, tuple[str, ...], str] | None:
    """The part of a name that a generation lacks, since when, the facts, what to write."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        part = ".".join(parts[:length])
        having = generations_with(part)
        if having and lookup(part, to) is None and not newer(having[0], to):
            instead, facts = removal(part)
            last = [g for g in having if not newer(g, to)][-1]
            return part, following(last), facts, instead
        if not names.value_in(part, to):
            since = names.VALUES[part][1]
            if since:
                return part, since, ("NKI-M021",), _INSTEAD.get(part, "")
        if part in _CLASSES_OF_BETA1 and newer(to, "0.2"):
            instead, facts = removal(_CLASSES_OF_BETA1[part])
            return part, "0.2", facts, instead
    return None


#: names that are no functions and share the fate of one
_CLASSES_OF_BETA1: Final = {"language.mgrid": "language.arange", "language.nc": "language.nc"}

#: what to write instead of values that are gone
_INSTEAD: Final = {
    "language.fp32": "write the number, e.g. -3.4028235e38 for `nl.fp32.min`",
    "isa.fp32": "write the number, e.g. -3.4028235e38 for `nisa.fp32.min`",
    "language.bfp16": "write the number",
}


def imported(text: Text, to: str) -> Iterator[Change]:
    """Names that are imported one by one and gone."""
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.ImportFrom) or node.module is None or node.level:
            continue
        for alias in node.names:
            local = alias.asname or alias.name
            name = text.name(ast.Name(local, ast.Load()))
            problem = None if name is None else _gone(name, to)
            if problem is None or text.aliases.get(local) != f"{node.module}.{alias.name}":
                continue
            _, since, facts, instead = problem
            edits: tuple[Edit, ...] = ()
            if problem[0] == "language.par_dim" or _all_written(text, local):
                edits = _without(text, node, alias)  # its uses go with the shapes, and the indices
            yield Change(
                NAME,
                text.span(alias),
                f"`{alias.name}` does not exist since {said(since)}",
                "warning",
                facts,
                (instead,) if instead else (),
                f"do not import `{alias.name}`" if edits else "",
                edits,
            )


def _all_written(text: Text, local: str) -> bool:
    """Whether nothing is left of a name when all that was found is written."""
    every = (n for n in ast.walk(text.tree) if isinstance(n, ast.Name) and n.id == local)
    edits = [edit for change in text.changes for edit in change.edits]
    uses = [Edit(text.start(n), text.end(n), "") for n in every]
    return bool(uses) and all(any(e.holds(use) for e in edits) for use in uses)


def _without(text: Text, node: ast.ImportFrom, alias: ast.alias) -> tuple[Edit, ...]:
    """The import without one of its names."""
    kept = [each for each in node.names if each is not alias]
    if not kept:
        line = text.start(node)[0]
        alone = text.written(node).strip() == text.lines[line - 1].strip()
        if not alone or node.end_lineno != line or not _dispensable(text, node):
            return ()
        return (Edit((line, 0), (line + 1, 0), ""),)
    at = node.names.index(alias)
    if at > 0:
        return (Edit(text.end(node.names[at - 1]), text.end(alias), ""),)
    return (Edit(text.start(alias), text.start(node.names[1]), ""),)


def _dispensable(text: Text, node: ast.stmt) -> bool:
    """Whether a block has other statements than this one."""
    parent = text.parents.get(node)
    bodies = (getattr(parent, field, ()) for field in ("body", "orelse", "finalbody"))
    return any(node in body and len(body) > 1 for body in bodies)


def _deprecated(
    text: Text, node: ast.expr, name: str, instead: str, facts: tuple[str, ...]
) -> Change:
    written = text.written(node)
    new = instead
    if "." in instead:  # of the same namespace
        owner, _, _ = written.rpartition(".")
        new = f"{owner}.{instead.rpartition('.')[2]}" if owner else ""
    edits: tuple[Edit, ...] = ()
    if new and _same_form(text, node, name, instead):
        edits = (Edit(text.start(node), text.end(node), new),)
    return Change(
        NAME,
        text.span(node),
        f"`{written}` is deprecated",
        "note",
        facts,
        (f"write `{new or instead}`",),
        f"write `{new}`" if edits else "",
        edits,
    )


def _same_form(text: Text, node: ast.expr, name: str, instead: str) -> bool:
    """Whether only the name has to change."""
    if instead == "language.fori_loop":
        return False
    if instead == "range" and any(
        isinstance(n, ast.Name) and n.id == "range" and not isinstance(n.ctx, ast.Load)
        for n in ast.walk(text.tree)
    ):
        return False
    if "." in instead and not generations_with(name):
        return True  # a value
    call = text.parents.get(node)
    return isinstance(call, ast.Call) and call.func is node and not call.keywords


def keywords(text: Text, to: str) -> Iterator[Change]:
    """Keywords of methods of tensors that are gone (NKI-M113)."""
    own = {n.name for n in ast.walk(text.tree) if isinstance(n, ast.FunctionDef)}
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        method = node.func.attr
        if method in own or text.name(node.func) is not None:
            continue  # of a class of the file, or a function
        for keyword in node.keywords:
            gone = f"{method}.{keyword.arg}"
            new = _KEYWORDS.get(gone)
            if new is None or names.member_in(gone, to):
                continue
            start = text.start(keyword)
            end = (start[0], start[1] + len(keyword.arg or ""))
            yield Change(
                NAME,
                text.span(keyword),
                f"`{method}` of tensors has no parameter `{keyword.arg}` since "
                f"{said(names.MEMBERS[gone][1])}",
                "warning",
                ("NKI-M113",),
                (f"write `{new}=`",),
                f"write `{new}=`",
                (Edit(start, end, new),),
            )


#: keywords of methods -> what they are called since
_KEYWORDS: Final = {"reshape.new_shape": "shape"}


# ----------------------------------------------------------------------------- NumPy


def foreign(text: Text, visits: Visits, to: str) -> Iterator[Change]:
    """Operators and dtypes of NumPy as arguments of the API, which has its own (NKI-M020)."""
    if not newer(to, "0.2"):
        return
    told: set[Span] = set()
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.Call) or text.name(node.func) is None:
            continue
        for keyword in (*node.keywords, *(ast.keyword(None, a) for a in node.args)):
            dotted = text.dotted(keyword.value)
            own = None if dotted is None else _own(dotted, keyword.arg)
            if own is not None:
                told.add(text.span(keyword.value))
                yield _foreign(text, text.span(keyword.value), own, keyword.value)
    others = [(s, _operator(own) or own) for s, own in visits.foreign() if s.path == text.path]
    others = [(span, own) for span, own in others if span not in told]
    named = _mentions(text, {own for _, own in others})
    for own, nodes in named.items():
        for node in nodes:
            yield _foreign(text, text.span(node), own, node)
    for span, own in others:  # what is named elsewhere
        if own not in named:
            yield _foreign(text, span, own)


def _mentions(text: Text, wanted: Collection[str]) -> dict[str, list[ast.expr]]:
    """Where operators that kernels are given under other names are named themselves."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(text.tree):
        parent = text.parents.get(node)
        if not isinstance(node, (ast.Attribute, ast.Name)) or isinstance(parent, ast.Attribute):
            continue
        if isinstance(parent, ast.Call) and (
            parent.func is node or text.name(parent.func) is not None
        ):
            continue
        own = _operator_of(text, node)
        if own in wanted and own is not None and not _on_host(text, node):
            found.setdefault(own, []).append(node)
            beside = parent if isinstance(parent, (ast.Dict, ast.List, ast.Tuple)) else None
            others = () if beside is None else ast.iter_child_nodes(beside)
            for other in (each for each in others if isinstance(each, ast.expr)):
                new = _operator_of(text, other)
                if new is not None and new not in DTYPES:
                    found.setdefault(new, []).append(other)
    return {own: list(dict.fromkeys(nodes)) for own, nodes in found.items()}


def _operator_of(text: Text, node: ast.expr) -> str | None:
    """What NKI has for what an expression names."""
    dotted = text.dotted(node)
    return None if dotted is None else _own(dotted, None)


def _on_host(text: Text, node: ast.expr) -> bool:
    """Whether a program of the host may ask for what is named here, under a name of the file."""
    function = text.function(node)
    if function is not None:
        return not any(
            isinstance(part, (ast.Attribute, ast.Name)) and text.name(part) is not None
            for part in ast.walk(function)
        )
    statement = text.statement(node)
    bound = {
        name.id
        for name in ast.walk(statement or node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    uses = (n for n in ast.walk(text.tree) if isinstance(n, ast.Name) and n.id in bound)
    return any(
        isinstance(use.ctx, ast.Load) and (text.function(use) is None or _on_host(text, use))
        for use in uses
    )


def _foreign(text: Text, span: Span, own: str, value: ast.expr | None = None) -> Change:
    """``value``: what stands there, if it names the operator or dtype itself."""
    module = text.module("language")
    new = f"{module}.{own}" if module else ""
    edit = bool(new) and value is not None
    written = text.between((span.line, span.column), (span.end_line, span.end_column))
    if value is None:
        written = f"numpy.{own}"
    return Change(
        NAME,
        span,
        f"`{written}` is no {'dtype' if own in DTYPES else 'operator'} of NKI since NKI 0.2"
        + ("" if value is not None else ", and is given here"),
        "warning",
        ("NKI-M020",),
        (f"write `{new or 'nki.language.' + own}`",),
        f"write `{new}`" if edit else "",
        (Edit((span.line, span.column), (span.end_line, span.end_column), new),) if edit else (),
    )


def _own(dotted: str, keyword: str | None) -> str | None:
    """The name in ``nki.language`` of an operator or a dtype of NumPy."""
    parent, _, last = dotted.rpartition(".")
    if parent not in ("numpy", "np"):
        return None
    found = names.external(dotted)
    dtype = getattr(found, "name", None)
    if not isinstance(dtype, str):
        return None
    if dtype in DTYPES:
        return dtype if keyword in (None, "dtype", "compute_dtype") else None
    return _operator(last) or dtype


def _operator(written: str) -> str | None:
    """The operator's name in ``nki.language``, which has functions of NumPy's names besides."""
    name = names.operator_name(written)
    return written if written in _KEPT else name


#: functions that operators are named as where they fold
_KEPT: Final = ("max", "min")
