"""Binding the arguments of a call to a signature of its generation.

Calls that do not fit become checks of the host rules ``api-signature`` and ``api-removed``, whose
predicate is false: they fail on every path that reaches them.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.dialects.binding import Bound, assigned, bound, literal
from verifier.dialects.nki import names, parameter_kinds
from verifier.dialects.nki.signatures import generations_with, lookup, removal, said_of, table
from verifier.dialects.nki.versions import GENERATIONS, following, insists, newer, said
from verifier.dialects.signature import Parameter, Signature
from verifier.source.ir import Span
from verifier.symbolic.expr import FALSE
from verifier.symbolic.machine import Arg, Call, Machine
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import BufferValue, Enumerator, Missing

SIGNATURE_RULE = "api-signature"
REMOVED_RULE = "api-removed"

#: parameters that say where and by what something is computed, and where it goes: functions may
#: well have them though it is not documented, as released kernels of Beta 1 take for granted
_HOW: Final = frozenset({"buffer", "dge_mode", "dtype", "engine", "mask", "name"})
#: from which likeness on a keyword is taken for the parameter that is spelled so
_MEANT: Final = 0.75


def spoken(name: str) -> str:
    """A canonical name as users write it: ``isa.nc_matmul`` is ``nki.isa.nc_matmul``."""
    return f"nki.{name}"


def signature_of(machine: Machine, name: str, call: Call) -> Signature | None:
    """The signature of ``name`` in the generation in force.

    When that generation lacks the name, ``api-removed`` is raised and the signature of the nearest
    generation that has it is used, so that the rest of the kernel is still looked at.
    """
    generation = machine.api
    signature = lookup(name, generation)
    if signature is not None:
        return signature
    having = generations_with(name)
    return lookup(name, check_function(machine, name, call.text, call.span)) if having else None


def nearest(name: str, generation: str) -> str:
    """The generation that has a function of another: the last one before, else the first."""
    having = generations_with(name)
    before = [g for g in having if newer(generation, g)]
    return before[-1] if before else having[0]


def check_function(machine: Machine, name: str, text: str, span: Span) -> str:
    """A function that the generation in force does not have (``api-removed``).

    Returns:
        The nearest generation that has it.
    """
    generation = machine.api
    near = nearest(name, generation)
    before = newer(generation, near)
    if before:
        gone = following(near)
        message = f"`{text}` does not exist since NKI {gone}"
    else:
        message = f"`{text}` exists from NKI {near} on, and this file is written for "
        message += said(generation)
    instead, facts = removal(name)
    machine.check(
        REMOVED_RULE,
        FALSE,
        span,
        f"{spoken(name)} exists in {said(generation)}",
        message,
        facts=facts,
        help=(instead,) if instead and before else (),
        severity=None if before else insists(generation, near),
    )
    return near


def check_value(machine: Machine, name: str, span: Span) -> None:
    """A dtype, an operator, a constant exists in the generation in force (``api-removed``)."""
    if names.value_in(name, machine.api):
        return
    since, until = names.VALUES[name]
    gone = bool(until) and newer(machine.api, until)
    facts = ("M021",) if gone else ("M032" if since == "0.2" else "M104",)
    _lives(machine, spoken(name), names.VALUES[name], span, facts)


def check_member(machine: Machine, name: str, span: Span) -> None:
    """Tensors have an attribute, a method or a keyword of one in the generation in force."""
    if names.member_in(name, machine.api):
        return
    method, _, keyword = name.partition(".")
    what = f"`{method}` of tensors" if not keyword else f"`{keyword}=` of `{method}`"
    facts: tuple[str, ...] = ("M113",) if keyword else ("M039",)
    if not keyword and names.MEMBERS[name][0]:
        facts = ("M114", "G12")
    _lives(machine, what, names.MEMBERS[name], span, facts)


def check_order(machine: Machine, span: Span) -> None:
    """Instructions are put in an order in the generation in force."""
    name = "depends_on"
    if not names.member_in(name, machine.api):
        _lives(machine, f"`{name}` of instructions", names.MEMBERS[name], span, ("M138",))


def _lives(
    machine: Machine, what: str, life: tuple[str, str], span: Span, facts: tuple[str, ...]
) -> None:
    """A finding: something exists in other generations than the one in force."""
    (since, until), generation = life, machine.api
    gone = bool(until) and newer(generation, until)
    shown = what if "`" in what else f"`{what}`"
    message = f"{shown} does not exist since NKI {until}"
    if not gone:
        message = f"{shown} exists from NKI {since} on, and this file is written for "
        message += said(generation)
    machine.check(
        REMOVED_RULE,
        FALSE,
        span,
        f"{what} exists in {said(generation)}",
        message,
        facts=facts,
        severity=None if gone else insists(generation, since),
    )


def bind(machine: Machine, signature: Signature, call: Call) -> Bound:
    """Assign arguments to parameters as Python would, and report what does not fit."""
    call = _in_order(machine, signature, call)
    arguments = assigned(signature, call, _Faults(machine, signature, call))
    for parameter in signature.parameters:
        given = arguments.get(parameter.name)
        if given is not None:
            arguments[parameter.name] = _of_kind(machine, signature, call, parameter, given)
    return bound(signature, call, arguments, default_value)


def _in_order(machine: Machine, signature: Signature, call: Call) -> Call:
    """The call as it was meant: arguments in the order of another generation are a finding."""
    wrong = _misplaced(machine, signature, call)
    if wrong is None:
        return call
    if _shape_of_beta1(signature, call):
        old = lookup(signature.name, "beta1")
        if old is not None and _misplaced(machine, old, call) is None:
            # it returned its result: the one that is missing is reported, and no other
            return _by_name(old, call)
    for generation in reversed(generations_with(signature.name)):
        other = lookup(signature.name, generation)
        if other is None or other.names[:1] != signature.names[:1]:
            continue  # another form, not another order
        places = [parameter.name for parameter in other.positional[: len(call.args)]]
        again = {name for name in places if name in call.keywords or name not in signature.names}
        if len(places) < len(call.args) or again or _misplaced(machine, other, call) is not None:
            continue
        meant = places[wrong]
        if meant == signature.positional[wrong].name:
            continue  # of another kind, at its own place
        _report(
            machine,
            call.args[wrong].span,
            f"the arguments of {spoken(signature.name)} are in its order",
            f"`{call.text}` is given `{meant}` at the place of "
            f"`{signature.positional[wrong].name}`: that is the order of {said(generation)}",
            facts=("M053", "M072", "M074", "M094"),
            help=(f"write `{meant}=`: positions of parameters differ between NKI generations",),
        )
        return _by_name(other, call)
    return call


def _by_name(signature: Signature, call: Call) -> Call:
    """The call with all arguments by the names that they have in a signature."""
    names = (parameter.name for parameter in signature.positional)
    given = dict(zip(names, call.args, strict=False))
    return replace(call, args=(), keywords={**given, **call.keywords})


def _misplaced(machine: Machine, signature: Signature, call: Call) -> int | None:
    """The first argument by position that is nothing its parameter takes."""
    for place, (parameter, argument) in enumerate(
        zip(signature.positional, call.args, strict=False)
    ):
        if not parameter_kinds.fits(machine, signature, parameter, argument.value, argument.span):
            return place
    return None


class _Faults(Struct, frozen=True):
    """:class:`verifier.dialects.binding.Faults` as checks of ``api-signature``."""

    machine: Machine
    signature: Signature
    call: Call

    def crowded(self, first: Arg, most: int) -> None:
        signature, call = self.signature, self.call
        _report(
            self.machine,
            first.span,
            f"{len(call.args)} positional arguments fit {spoken(signature.name)}",
            f"`{call.text}` takes {most} positional argument"
            f"{'' if most == 1 else 's'}, {len(call.args)} are given",
            facts=("N01",) if _shape_of_beta1(signature, call) else ("N02",),
            help=_expected(signature),
        )

    def unknown(self, keyword: str, argument: Arg) -> str | None:
        _unknown_keyword(self.machine, self.signature, self.call, keyword, argument)
        close = () if self.signature.open else _close(self.signature, keyword)
        return next((name for name in close if _likeness(keyword, name) >= _MEANT), None)

    def twice(self, keyword: str, argument: Arg) -> None:
        _report(
            self.machine,
            argument.span,
            f"`{keyword}` is given once",
            f"`{self.call.text}` is given `{keyword}` twice",
            facts=("N02", *said_of(self.signature.name, keyword)),
        )

    def missing(self, parameters: tuple[Parameter, ...]) -> None:
        _missing(self.machine, self.signature, self.call, parameters)


def default_value(text: str) -> object:
    """The value of a default: a literal, or ``kind.member`` of an enumeration."""
    kind, _, member = text.partition(".")
    if kind in names.ENUMS or kind == "op":
        return Enumerator(kind, member)
    if kind == "dtype":
        return DType.named(member)
    if kind == "buffer":
        return BufferValue(names.BUFFERS[member])
    return literal(text)


def _of_kind(
    machine: Machine, signature: Signature, call: Call, parameter: Parameter, argument: Arg
) -> Arg:
    """The argument, if it is of a kind that its parameter takes; else a finding, and anything."""
    found = parameter_kinds.misfit(machine, signature, parameter, argument.value, argument.span)
    if found is None:
        return argument
    what = f"`{parameter.name}` of `{call.text}`"
    _report(
        machine,
        argument.span,
        f"`{parameter.name}` is {found.wanted}",
        f"{what} {found.said}",
        facts=found.facts,
        help=found.help,
    )
    return Arg(Missing(f"{what}, which is none", api=True), argument.span)


def _shape_of_beta1(signature: Signature, call: Call) -> bool:
    """Whether the call is the Beta 1 form, which returned the result, of a dst-first function."""
    first = signature.parameters[0].name if signature.parameters else ""
    if not first.endswith("dst") or signature.generation == "beta1" or first in call.keywords:
        return False
    old = lookup(signature.name, "beta1")
    if old is None or (old.parameters and old.parameters[0].name == first):
        return False
    required = sum(1 for p in old.parameters if p.default is None)
    return len(call.args) <= len(old.positional) and required <= len(call.args) + len(call.keywords)


def _missing(
    machine: Machine, signature: Signature, call: Call, missing: tuple[Parameter, ...]
) -> None:
    listed = " and ".join(f"`{p.name}`" for p in missing)
    old_form = _shape_of_beta1(signature, call)
    help_ = _expected(signature)
    if old_form:
        first = signature.parameters[0].name
        help_ = (
            f"since NKI 0.2 instructions return nothing: allocate a tile and pass it as `{first}`",
        )
    _report(
        machine,
        call.span,
        f"{listed} is given" if len(missing) == 1 else f"{listed} are given",
        f"`{call.text}` is called without {listed}",
        facts=("N01", "M002") if old_form else ("N02",),
        help=help_,
    )


def _unknown_keyword(
    machine: Machine, signature: Signature, call: Call, keyword: str, argument: Arg
) -> None:
    device = signature.name.startswith(("isa.", "language."))
    if signature.open:
        close = _close(signature, keyword)
        meant = bool(close) and _likeness(keyword, close[0]) >= _MEANT
        if not device or not (meant or keyword in _of_others(signature.generation)):
            return  # it may well be one that is not documented
        found = _Unknown(
            f"`{call.text}` drops `{keyword}=` without a word: it is no parameter of it",
            ("N02", *said_of(signature.name, keyword)),
            (f"did you mean `{close[0]}`?",) if meant else _expected(signature),
            "warning",
        )
    elif device and keyword == "dtype" and machine.api == "0.2":
        # the compiler of SDK 2.27 dropped unknown keywords (NKI-N02), and kernels rely on it
        found = _Unknown(
            f"`{call.text}` ignores `dtype=`, and rejects it from NKI 0.3 on",
            ("N03", "M003"),
            ("the result has the dtype of `dst`: drop the argument",),
            "note",
        )
    elif device and keyword in ("dtype", "mask") and machine.api != "beta1":
        found = _of_beta1(signature, call, keyword)
    else:
        found = _unheard_of(signature, call, keyword, machine.api)
    _report(
        machine,
        argument.span,
        f"`{keyword}` is a parameter of {spoken(signature.name)}",
        found.message,
        facts=found.facts,
        help=found.help,
        severity=found.severity,
    )


@cache
def _of_others(generation: str) -> frozenset[str]:
    """The parameters that say what functions of the device compute: one that does not have such a
    parameter computes without it."""
    found = {
        parameter.name
        for name in table(generation)
        if name.startswith(("isa.", "language.")) and (form := lookup(name, generation))
        for parameter in form.parameters
    }
    return frozenset((found | {"dst", "accumulate"}) - _HOW)


class _Unknown(Struct, frozen=True):
    """What to say of a keyword that a function has no parameter for."""

    message: str
    facts: tuple[str, ...]
    help: tuple[str, ...]
    severity: str | None = None


def _of_beta1(signature: Signature, call: Call, keyword: str) -> _Unknown:
    """One of the two that every function had once."""
    isa = signature.name.startswith("isa.")
    if keyword == "dtype":
        help_ = "the result has the dtype of `dst`: allocate `dst` with the wanted dtype"
        facts = ("N03", "M003")
    else:
        help_ = "clamp the slices instead: `t[0:min(size, limit)]`"
        facts = ("N03", "M004")
    what = "an instruction" if isa else "a function"
    return _Unknown(
        f"`{call.text}` does not take `{keyword}=`: no longer a parameter of {what} "
        f"since NKI {'0.2' if keyword == 'mask' or isa else _without_since(signature, keyword)}",
        facts,
        (help_,) if isa or keyword == "mask" else _expected(signature),
    )


def _without_since(signature: Signature, keyword: str) -> str:
    """The generation from which on a function has not had a parameter."""
    since = signature.generation
    for earlier in reversed(GENERATIONS[: GENERATIONS.index(since)]):
        form = lookup(signature.name, earlier)
        if form is None or keyword in form.names:
            break
        since = earlier
    return since


def _close(signature: Signature, keyword: str) -> list[str]:
    """The parameter that is spelled most like a keyword, if one is near; of several the first."""
    near = difflib.get_close_matches(keyword, signature.names, 3)
    best = [n for n in near if _likeness(keyword, n) == _likeness(keyword, near[0])]
    return sorted(best, key=signature.names.index)[:1]


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, other, one).ratio()


def _unheard_of(signature: Signature, call: Call, keyword: str, generation: str) -> _Unknown:
    """One that another generation has, or that is near one of this."""
    close = _close(signature, keyword)
    before = [
        g
        for g in generations_with(signature.name)
        if keyword in getattr(lookup(signature.name, g), "names", ())
    ]
    message = f"`{call.text}` has no parameter `{keyword}` in {said(generation)}"
    help_ = _expected(signature)
    if before:
        older = [g for g in before if newer(generation, g)]
        if older:
            gone = following(older[-1])
            message = f"`{call.text}` has no parameter `{keyword}` since NKI {gone}"
        else:
            message = f"`{call.text}` has `{keyword}` from {said(before[0])} on, and this file "
            message += f"is written for {said(generation)}"
    elif close:
        help_ = (f"did you mean `{close[0]}`?",)
    return _Unknown(message, ("N02", *said_of(signature.name, keyword)), help_)


def _expected(signature: Signature) -> tuple[str, ...]:
    shown = []
    for parameter in signature.parameters:
        shown.append(parameter.name if parameter.default is None else f"{parameter.name}=...")
    return (f"parameters: {', '.join(shown)}",) if shown else ("it takes no arguments",)


def _report(
    machine: Machine,
    span: Span,
    text: str,
    message: str,
    *,
    facts: tuple[str, ...],
    help: tuple[str, ...] = (),
    severity: str | None = None,
) -> None:
    machine.check(
        SIGNATURE_RULE, FALSE, span, text, message, facts=facts, help=help, severity=severity
    )
