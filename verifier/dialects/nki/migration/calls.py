"""Calls whose parameters came, went, moved or got another meaning.

Everything is read from the signatures of the descriptions: those that the call was written for, and
those that it is to fit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.dialects.nki import isa, names, renames
from verifier.dialects.nki.migration.changes import CALL, MEANING, Change, Edit, Place, Weight
from verifier.dialects.nki.migration.forms import Form, Given, forms
from verifier.dialects.nki.migration.text import Text, inserted
from verifier.dialects.nki.migration.visits import Visits
from verifier.dialects.nki.signatures import lookup
from verifier.dialects.nki.versions import newer, said
from verifier.dialects.signature import Parameter, Signature
from verifier.symbolic.roles import Takes

#: numbers of enumerations up to 0.2, and the members that they are (NKI-M031)
_NUMBERED: Final = {
    "beta1": {"dge_mode": ("none", "swdge", "hwdge", "unknown")},
    "0.2": {"dge_mode": ("unknown", "swdge", "hwdge", "none")},
}
#: a default that is written otherwise and means the same
_ALIKE: Final = frozenset(
    {("None", "matmul_perf_mode.none"), ("None", "buffer.sbuf"), ("0", "0.0"), ("0.0", "0")}
)
#: facts of parameters that moved, by function (others: NKI-N01)
_MOVED: Final = {
    "isa.nc_stream_shuffle": ("NKI-M010",),
    "isa.dma_compute": ("NKI-M053",),
    "isa.affine_select": ("NKI-M009", "NKI-M057"),
    "isa.nc_matmul": ("NKI-M072",),
    "isa.nc_matmul_mx": ("NKI-M072",),
    "isa.dma_copy": ("NKI-M074", "NKI-M094"),
    "isa.dma_transpose": ("NKI-M094",),
    "isa.tensor_copy_predicated": ("NKI-M018",),
}
#: facts of parameters that are gone or have another name
GONE: Final = {
    "dtype": ("NKI-N03", "NKI-M003"),
    "mask": ("NKI-N03", "NKI-M004"),
    "dst_rmw_op": ("NKI-M052",),
    "unique_indices": ("NKI-M052",),
    "use_gpsimd_dma": ("NKI-M056",),
    "imm": ("NKI-M058",),
    "num_channels": ("NKI-M059",),
    "prefix": ("NKI-M036",),
    "x": ("NKI-M036",),
    "psumAccumulateFlag": ("NKI-M037",),
    "is_moving_zero": ("NKI-M037",),
    "mode": ("NKI-M028", "NKI-M068", "NKI-M101"),
}
#: facts of defaults that changed
_DEFAULTS: Final = {
    "isa.range_select": ("NKI-M033", "NKI-M070"),
    "language.num_programs": ("NKI-M071",),
}
#: what to write instead of a keyword that has no counterpart
INSTEAD: Final = {
    "mask": "clamp the slices instead: `t[0:min(size, limit)]`",
    "dtype": "the result has the dtype of `dst`: allocate `dst` with the wanted dtype",
    "dst_rmw_op": "fold with `nisa.dma_compute`",
    "num_channels": "name the channels with `channel_ids=`",
    "use_gpsimd_dma": "write `dma_engine=nisa.dma_engine.gpsimd_dma`",
}


def counterpart(form: Form, parameter: str, to: str) -> str | None:
    """The name of a parameter in another generation, or None if it has none."""
    signature = lookup(form.name, to)
    if signature is None:
        return None
    if parameter in signature.names:
        return parameter
    renamed = renames.parameter(form.short, parameter, to)
    return renamed if renamed in signature.names else _only_other(form, parameter, signature)


def _only_other(form: Form, parameter: str, signature: Signature) -> str | None:
    """The argument that a call must be given there, where it must be given one here: the only tile
    (``src``, ``x``), or what comes first."""
    instruction = isa.find(form.name)

    def tiles(one: Signature, other: Signature) -> list[str]:
        assert instruction is not None
        return [
            each.name
            for each in one.parameters
            if each.default is None and each.name not in other.names and each.name != "dst"
            if (role := instruction.role(each.name)) is not None and role.takes is Takes.TILE
        ]

    if instruction is not None:
        before, after = tiles(form.signature, signature), tiles(signature, form.signature)
        if before == [parameter] and len(after) == 1:
            return after[0]
    here, there = (each.parameters[:1] for each in (form.signature, signature))
    if not here or not there or here[0].name != parameter or there[0].name.endswith("dst"):
        return None
    needed = here[0].default is None and there[0].default is None
    return there[0].name if needed and there[0].name not in form.signature.names else None


#: a call that returned its result, and the signature that it is to fit
Returned = tuple[Form, Signature]


def calls(
    text: Text, since: str, to: str, visits: Visits, returned: list[Returned]
) -> Iterator[Change]:
    """What of every call has to change, inner calls first; of those that returned their result,
    which are put into ``returned``, what is inside of them."""
    for form in forms(text, visits, since, to):
        for change in _changes(text, form, to, visits, returned):
            yield change if form.written else replace(change, title="", edits=())


def _changes(
    text: Text, form: Form, to: str, visits: Visits, returned: list[Returned]
) -> Iterator[Change]:
    signature = lookup(form.name, to)
    assert signature is not None
    yield from _arguments(text, form, to)
    yield from _heeded(text, form, to, visits)
    if all(given.parameter in signature.parameters for given in form.given) and (
        form.signature.parameters == signature.parameters
    ):
        return
    first = signature.parameters[0].name if signature.parameters else ""
    old = form.signature.names
    if first.endswith("dst") and first not in old and signature.parameters[0].default is None:
        returned.append((form, signature))
    else:
        yield from _parameters(text, form, signature, to)
    yield from _defaults(text, form, signature)


# ----------------------------------------------------------------------------- parameters


class Fitted(Struct, frozen=True):
    """The arguments of a call for another signature: what is to be named, and what is left out."""

    named: tuple[tuple[Given, str], ...]
    lost: tuple[Given, ...]
    moved: tuple[tuple[Given, str], ...]


def fitted(form: Form, signature: Signature, to: str, shift: int = 0) -> Fitted:
    """``shift``: so many parameters come before the positional arguments there."""
    places = [parameter.name for parameter in signature.positional]
    named: list[tuple[Given, str]] = []
    lost: list[Given] = []
    moved: list[tuple[Given, str]] = []
    for given in form.given:
        new = counterpart(form, given.parameter.name, to)
        if new is None:
            if not signature.open or given.keyword is None:
                lost.append(given)
        elif given.keyword is None:
            at = given.place + shift
            behind = any(each.keyword is None for each in lost)
            if behind or at >= len(places) or places[at] != new:
                moved.append((given, new))
        elif given.keyword.arg != new:
            named.append((given, new))
    return Fitted(tuple(named), tuple(lost), tuple(moved))


def _parameters(text: Text, form: Form, signature: Signature, to: str) -> Iterator[Change]:
    fit = fitted(form, signature, to)
    written = called(text, form)
    for given, new in fit.named:
        assert given.keyword is not None
        yield Change(
            CALL,
            text.span(given.keyword),
            f"`{given.keyword.arg}` of `{written}` is `{new}` in {said(to)}",
            "warning",
            _gone_of(given.keyword.arg or ""),
            (f"write `{new}=`",),
            f"rename `{given.keyword.arg}` to `{new}`",
            (_renamed(text, given.keyword, new),),
        )
    named = _named(text, form, fit, to)
    for given in fit.lost:
        change = _lost(text, form, given, to)
        if given.keyword is None and change.edits:  # what follows needs its name then
            change = replace(change, edits=() if named is None else (*change.edits, *named))
        yield change
    places = [parameter.name for parameter in signature.positional]
    # (an argument may stand in its place, and have to be named for one before it to go)
    moved = [
        (given, new) for given, new in fit.moved if places[given.place : given.place + 1] != [new]
    ]
    if moved:
        yield _moved(text, form, signature, moved, named or (), to)


def _named(text: Text, form: Form, fit: Fitted, to: str) -> tuple[Edit, ...] | None:
    """The names of the arguments by position from the first on that moved; None: one has none."""
    first = min((given.place for given, _ in fit.moved), default=len(form.given))
    edits: list[Edit] = []
    for given in form.given:
        if given.keyword is None and given.place >= first and given not in fit.lost:
            name = counterpart(form, given.parameter.name, to)
            if name is None:
                return None
            edits.append(inserted(argument_start(text, form.call, given.value), f"{name}="))
    return tuple(edits)


def _renamed(text: Text, keyword: ast.keyword, new: str) -> Edit:
    assert keyword.arg is not None
    line, column = text.start(keyword)
    return Edit((line, column), (line, column + len(keyword.arg)), new)


def _lost(text: Text, form: Form, given: Given, to: str) -> Change:
    """A parameter that is gone."""
    name, written = given.parameter.name, called(text, form)
    harmless = _without_effect(form, given)
    edits = without(text, form.call, [given]) if harmless else ()
    identity = _identity(text, form) if name == "dtype" else None
    help_, title = INSTEAD.get(name, ""), _REMOVE.format(name)
    constant = form.name == "language.shared_constant"
    if constant:
        help_, title = "give the array that dtype", "write the function" if identity else title
        edits = edits if identity is None else (identity,)
    engine = _sent(text, given) if name == "use_gpsimd_dma" else ""
    if engine and given.keyword is not None:
        help_ = title = f"write `{engine}`"
        edits = (Edit(text.start(given.keyword), text.end(given.keyword), engine),)
    return Change(
        CALL,
        text.span(given.keyword or given.value),
        f"`{written}` has no parameter `{name}` in {said(to)}",
        "warning",
        ("NKI-M076",) if constant else _gone_of(name),
        (help_,) if help_ else (),
        title if edits else "",
        edits,
    )


def _sent(text: Text, given: Given) -> str:
    """What says which engine sends, in place of a flag (NKI-M056)."""
    module = text.module("isa")
    flag = given.value.value if isinstance(given.value, ast.Constant) else None
    if module is None or not isinstance(flag, bool):
        return ""
    return f"dma_engine={module}.dma_engine.{'gpsimd_dma' if flag else 'dma'}"


def _gone_of(parameter: str) -> tuple[str, ...]:
    return GONE.get(parameter, ("NKI-N02",))


_REMOVE: Final = "remove `{}=`, which has no effect"


def _identity(text: Text, form: Form) -> Edit | None:
    """An identity matrix of a given dtype, which has a function of its own (NKI-M076)."""
    constant, dtype = form.value("constant"), form.value("dtype")
    if form.name != "language.shared_constant" or not isinstance(constant, ast.Call):
        return None
    module = text.module("language")
    square = text.dotted(constant.func) in ("numpy.identity", "numpy.eye")
    if module is None or dtype is None or not square or len(constant.args) != 1:
        return None
    if any(keyword.arg != "dtype" for keyword in constant.keywords):
        return None
    size, kind = text.rendered(constant.args[0]), text.rendered(dtype)
    new = f"{module}.shared_identity_matrix({size}, dtype={kind})"
    return Edit(text.start(form.call), text.end(form.call), new)


def _without_effect(form: Form, given: Given) -> bool:
    """Whether a call does the same without an argument."""
    if given.parameter.name == "dtype" and renames.drops_dtype(form.signature.generation):
        return form.name.startswith("isa.")
    return is_default(given)


def is_default(given: Given) -> bool:
    """Whether an argument is what its default is."""
    default = given.parameter.default
    if default is None:
        return False
    written = ast.unparse(given.value)
    return written == default or written.endswith(f".{default}")


def _moved(
    text: Text,
    form: Form,
    signature: Signature,
    moved: Sequence[tuple[Given, str]],
    edits: tuple[Edit, ...],
    to: str,
) -> Change:
    """Arguments by position that would be for another parameter."""
    written = called(text, form)
    silent = all(_unnoticed(form, given, new, signature) for given, new in moved)
    first, new = moved[0]
    places = signature.positional
    there = places[first.place].name if first.place < len(places) else ""
    what = f"`{new}` of `{written}` stands where {said(to)} has "
    what += f"`{there}`" if there else "no parameter"
    weight: Weight = "error" if silent else "warning"
    return Change(
        MEANING if silent else CALL,
        text.span(first.value),
        f"{what}, which takes it as well: nobody is told" if silent else what,
        weight,
        _MOVED.get(form.name, ("NKI-N01",)),
        (f"write `{new}=`: positions of parameters differ between NKI generations",),
        f"name the arguments from `{new}` on" if edits else "",
        edits,
    )


def _unnoticed(form: Form, given: Given, new: str, signature: Signature) -> bool:
    """Whether the parameter that an argument would be for takes the same kind of thing."""
    if given.place >= len(signature.positional):
        return False
    there = signature.positional[given.place]
    meant = next(p for p in signature.parameters if p.name == new)
    return _kind(form.name, there) == _kind(form.name, meant)


def _kind(function: str, parameter: Parameter) -> object:
    """What tells the arguments of a parameter from those of others."""
    instruction = isa.find(function)
    role = None if instruction is None else instruction.role(parameter.name)
    if role is not None and role.takes is not Takes.PLAIN:
        return Takes.TILE if role.takes is Takes.VECTOR else role.takes
    default = parameter.default or ""
    kind = default.partition(".")[0]
    if kind in names.ENUMS:
        return kind
    if default in ("True", "False"):
        return bool
    return int if default.lstrip("-").replace(".", "").isdigit() else parameter.name


def _defaults(text: Text, form: Form, signature: Signature) -> Iterator[Change]:
    """Arguments that are not given, and stand for something else there."""
    given = {each.parameter.name for each in form.given}
    now = {parameter.name: parameter.default for parameter in signature.parameters}
    for parameter in form.signature.parameters:
        name, before, after = parameter.name, parameter.default, now.get(parameter.name)
        if name in given or before is None or after is None or before == after:
            continue
        if (before, after) in _ALIKE or before.startswith("engine."):
            continue
        new = _written_default(text, before)
        edits = (appended(text, form.call, f"{name}={new}"),) if new else ()
        yield Change(
            MEANING,
            text.span(form.call),
            f"`{name}` of `{called(text, form)}` is {before} if it is not given, and "
            f"{after} in {said(signature.generation)}: nobody is told",
            "error",
            _DEFAULTS.get(form.name, ("NKI-M075",)),
            (f"write `{name}=`",),
            f"write `{name}={new}`" if new else "",
            edits,
        )


def _written_default(text: Text, default: str) -> str | None:
    """A default as a file writes it; None: it has no such name."""
    kind, _, member = default.partition(".")
    if kind in names.ENUMS:
        module = text.module("isa")
        return f"{module}.{kind}.{member}" if module else None
    if kind == "dtype":
        module = text.module("language")
        return f"{module}.{member}" if module else None
    return None if default == "None" else default


# ----------------------------------------------------------------------------- arguments


def _arguments(text: Text, form: Form, to: str) -> Iterator[Change]:
    """Numbers for members of enumerations, strings for memories (NKI-M031, M061, M062)."""
    for given in form.given:
        kind = (given.parameter.default or "").partition(".")[0]
        for value in given.known:
            change: Change | None = None
            if type(value) is int and kind in names.ENUMS and newer(to, "0.2"):
                change = _numbered(text, form, given, value, kind, to)
            elif isinstance(value, str) and given.parameter.name == "buffer":
                change = _memory(text, given, value, to)
            if change is not None:
                yield change
                break


def _memory(text: Text, given: Given, value: str, to: str) -> Change | None:
    if value not in names.BUFFERS or not newer(to, "0.3"):
        return None
    module = text.module("language")
    new = f"{module}.{value}" if module else ""
    return Change(
        CALL,
        text.span(given.value),
        f"`buffer` takes no names of memories since {said('0.3')}",
        "warning",
        ("NKI-M062",),
        (f"write `{new or 'nki.language.' + value}`",),
        *_instead(text, given, new),
    )


def _instead(text: Text, given: Given, new: str) -> tuple[str, tuple[Edit, ...]]:
    """What is written in place of a literal."""
    if not new or not isinstance(given.value, ast.Constant):
        return "", ()
    return f"write `{new}`", (Edit(text.start(given.value), text.end(given.value), new),)


def _numbered(
    text: Text, form: Form, given: Given, value: int, kind: str, to: str
) -> Change | None:
    table = _NUMBERED.get(form.signature.generation, {}).get(kind, ())
    member = table[value] if 0 <= value < len(table) else ""
    there = _NUMBERED.get(to, {}).get(kind, ())
    silent = bool(there)
    if silent and (not member or there[value] == member):
        return None
    module = text.module("isa")
    new = f"{module}.{kind}.{member}" if module and member else ""
    message = f"`{given.parameter.name}` takes no numbers since NKI 0.3"
    if silent:
        message = (
            f"`{given.parameter.name}={value}` was `{member}` and is `{there[value]}` in "
            f"{said(to)}: nobody is told"
        )
    return Change(
        MEANING if silent else CALL,
        text.span(given.value),
        message,
        "error" if silent else "warning",
        ("NKI-M031", "NKI-M061"),
        (f"write `{new}`" if new else f"write a member of `nisa.{kind}`",),
        *_instead(text, given, new),
    )


def _heeded(text: Text, form: Form, to: str, visits: Visits) -> Iterator[Change]:
    """An engine that was asked for in vain, and is taken at its word (NKI-M098)."""
    instruction = isa.find(form.name)
    given = next((g for g in form.given if g.parameter.name == "engine"), None)
    engines = None if instruction is None else instruction.engines
    if engines is None or given is None or is_default(given):
        return
    found = visits.at(text.span(form.call), form.name)
    if found and not any(visit.elsewhere for visit in found):
        return  # it was run by that one anyhow
    if form.signature.generation in engines.unheeded and to not in engines.unheeded:
        yield Change(
            MEANING,
            text.span(given.keyword or given.value),
            f"`{called(text, form)}` runs on the engine that it names in {said(to)}, "
            f"with the limits of that engine; in {said(form.signature.generation)} the name has "
            "no effect: nobody is told",
            "error",
            ("NKI-M098",),
            ("leave `engine=` out, which runs it where it ran before",),
            _REMOVE.format("engine"),
            without(text, form.call, [given]) if given.keyword is not None else (),
        )


# ----------------------------------------------------------------------------- places in a call


def called(text: Text, form: Form) -> str:
    """The function of a call as it is written, and what it is where that does not say so."""
    written = text.written(form.call.func)
    return written if text.name(form.call.func) is not None else f"nki.{form.name}"


def opening(text: Text, call: ast.Call) -> Place:
    """Behind the parenthesis that opens the arguments."""
    line, column = text.end(call.func)
    while True:
        found = text.lines[line - 1].find("(", column)
        if found >= 0:
            return line, found + 1
        line, column = line + 1, 0


def argument_start(text: Text, call: ast.Call, value: ast.expr) -> Place:
    """Where an argument starts, its own parentheses included."""
    start = text.start(value)
    before = text.between(opening(text, call), start)
    kept = before.rstrip()
    while kept.endswith("("):
        kept = kept[:-1].rstrip()
        start = _at(opening(text, call), before[: len(kept)], before)
    return start


def _at(origin: Place, kept: str, whole: str) -> Place:
    """The place of the first character behind some text that is no white space."""
    length = len(kept) + len(whole[len(kept) :]) - len(whole[len(kept) :].lstrip())
    passed = whole[:length]
    line = origin[0] + passed.count("\n")
    column = len(passed) - passed.rfind("\n") - 1 if "\n" in passed else origin[1] + len(passed)
    return line, column


def arguments(call: ast.Call) -> list[ast.expr | ast.keyword]:
    """All arguments in the order of the text."""
    found: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def appended(text: Text, call: ast.Call, new: str) -> Edit:
    """One more argument, behind the last one."""
    every = arguments(call)
    if not every:
        return inserted(opening(text, call), new)
    return inserted(text.end(every[-1]), f", {new}")


def without(text: Text, call: ast.Call, gone: Sequence[Given]) -> tuple[Edit, ...]:
    """The call without some arguments; nothing if something else stands between them."""
    every = arguments(call)
    drop = [each.keyword or each.value for each in gone]
    kept = [node for node in every if node not in drop]
    for before, after in pairwise(every):
        between = text.between(text.end(before), text.start(after))
        if (before in drop or after in drop) and between.strip() != ",":
            return ()
    edits: list[Edit] = []
    if not kept:
        return (Edit(text.start(every[0]), text.end(every[-1]), ""),) if every else ()
    first = every.index(kept[0])
    if first:
        edits.append(Edit(text.start(every[0]), text.start(kept[0]), ""))
    for before, node in pairwise(every[first:]):
        if node in drop:
            edits.append(Edit(text.end(before), text.end(node), ""))
    return tuple(edits)
