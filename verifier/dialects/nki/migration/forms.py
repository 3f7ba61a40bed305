"""Calls of the API as they are meant: by what the text says, else by what a run has come by.

``f = nisa.tensor_copy; f(*tiles)`` is as much a call of ``nisa.tensor_copy`` as one that says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from verifier.dialects.nki import isa, names, renames
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.migration.visits import Said, Visits
from verifier.dialects.nki.signatures import lookup
from verifier.dialects.nki.versions import GENERATIONS, newer
from verifier.dialects.signature import Parameter, Signature
from verifier.symbolic.roles import Takes
from verifier.symbolic.values import Enumerator


class Given(Struct, frozen=True):
    """An argument, the parameter it is for, and where it stands; ``keyword`` None: by position.

    ``known``: what it was, in the text or where it was run: numbers, texts and members.
    """

    parameter: Parameter
    value: ast.expr
    keyword: ast.keyword | None
    place: int
    known: tuple[object, ...] = ()


class Form(Struct, frozen=True):
    """A call as the generation reads it that it is written for.

    ``written``: its arguments stand in its text as they are given, and it is always this function;
    else there is nothing to write in their stead.
    """

    call: ast.Call
    name: str
    signature: Signature
    given: tuple[Given, ...]
    written: bool = True

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    def value(self, parameter: str) -> ast.expr | None:
        return next((g.value for g in self.given if g.parameter.name == parameter), None)


class _Told(Struct, frozen=True):
    """A call of a function: what it is given by position and by name, and what that is known as."""

    call: ast.Call
    name: str
    args: Sequence[tuple[ast.expr, tuple[object, ...]]]
    keywords: Sequence[tuple[ast.keyword, tuple[object, ...]]]
    written: bool


def forms(text: Text, visits: Visits, since: str, to: str) -> Iterator[Form]:
    """All calls of the API, inner calls first."""
    found = [n for n in ast.walk(text.tree) if isinstance(n, ast.Call)]
    found.sort(key=lambda call: (text.end(call), tuple(-x for x in text.start(call))))
    for call in found:
        for told in _told(text, visits, call):
            form = None if lookup(told.name, to) is None else _form(told, since, to)
            if form is not None:
                yield form


def _told(text: Text, visits: Visits, call: ast.Call) -> Iterator[_Told]:
    """What function a call is of, and its arguments: of several that it was, each."""
    name, said = text.name(call.func), visits.said(text.span(call))
    plain = not any(isinstance(argument, ast.Starred) for argument in call.args)
    plain = plain and all(keyword.arg is not None for keyword in call.keywords)
    same = all(_as_written(call, each) for each in said)
    functions = sorted({each.name for each in said} if name is None else {name})
    if plain and (same or name is not None):
        for function in functions:
            yield _Told(
                call,
                function,
                [(value, _known(text, visits, value)) for value in call.args],
                [(keyword, _known(text, visits, keyword.value)) for keyword in call.keywords],
                len(functions) == 1,
            )
        return
    for each in said:
        if name is None or each.name == name:
            yield _Told(
                call,
                each.name,
                [(text.at(span) or call, known) for span, known in each.args],
                [
                    (_keyword(text, call, word, text.at(span) or call), known)
                    for word, (span, known) in each.keywords
                ],
                False,
            )


def _as_written(call: ast.Call, said: Said) -> bool:
    """Whether a call was given what its text says, and no more."""
    words = {keyword.arg for keyword in call.keywords}
    return len(said.args) == len(call.args) and words == {word for word, _ in said.keywords}


def _known(text: Text, visits: Visits, value: ast.expr) -> tuple[object, ...]:
    if isinstance(value, ast.Constant):
        return (value.value,)
    if isinstance(value, (ast.List, ast.Tuple)):
        return ((),)
    namespace, *parts = (text.name(value) or "").split(".")
    if namespace == "isa" and len(parts) == 2 and parts[0] in names.ENUMS:
        return (Enumerator(*parts),)
    if namespace == "language" and len(parts) == 1 and names.operator_name(parts[0]) is not None:
        return (Enumerator(_OPERATOR, parts[0]),)
    return visits.values(text.span(value))


_OPERATOR: Final = "op"


def _fits(form: Form) -> bool:
    """Whether all arguments by position may be of the kind that their parameters take, as far as
    it is known: numbers, members of enumerations, operators and sequences are told apart."""
    instruction = isa.find(form.name)
    for given in form.given:
        parameter = given.parameter
        role = None if instruction is None else instruction.role(parameter.name)
        kind = (parameter.default or "").partition(".")[0]
        if role is not None and role.takes is Takes.OPERATOR:
            kind = _OPERATOR
        elif kind not in names.ENUMS:
            kind = ""
        numbered = kind != _OPERATOR and not newer(form.signature.generation, "0.3")
        for value in given.known if given.keyword is None else ():
            if isinstance(value, Enumerator) and value.kind != kind:
                return False
            if kind and isinstance(value, (int, float, tuple)):
                if not numbered or type(value) is not int:
                    return False
    return True


def _keyword(text: Text, call: ast.Call, word: str, value: ast.expr) -> ast.keyword:
    """A keyword of a call; one that does not stand there stands where its value does."""
    for keyword in call.keywords:
        if keyword.arg == word:
            return keyword
    made = ast.keyword(word, value)
    return ast.copy_location(made, value)


def _bound(told: _Told, signature: Signature, *, loose: bool) -> Form | None:
    """The call as a signature binds it; None if it does not fit. ``loose``: with keywords that a
    generation takes and drops, if it is one that does."""
    positional = signature.positional
    if len(told.args) > len(positional):
        return None
    given = [
        Given(parameter, value, None, place, seen)
        for place, (parameter, (value, seen)) in enumerate(zip(positional, told.args, strict=False))
    ]
    known = {parameter.name: parameter for parameter in signature.parameters}
    for number, (keyword, seen) in enumerate(told.keywords):
        assert keyword.arg is not None
        short = told.name.rpartition(".")[2]
        other = renames.parameter(short, keyword.arg, signature.generation)
        parameter = known.get(keyword.arg) or known.get(other or "")
        if parameter is None and signature.open and loose:
            parameter = Parameter(keyword.arg, "None", True)
        if (
            parameter is None
            and keyword.arg == "dtype"
            and renames.drops_dtype(signature.generation)
        ):
            parameter = Parameter("dtype", "None", True)
        if parameter is None or any(g.parameter.name == parameter.name for g in given):
            return None
        place = len(told.args) + number
        given.append(Given(parameter, keyword.value, keyword, place, seen))
    there = {g.parameter.name for g in given}
    if any(p.default is None and p.name not in there for p in signature.parameters):
        return None
    return Form(told.call, told.name, signature, tuple(given), told.written)


def _form(told: _Told, since: str, to: str) -> Form | None:
    """How a call is meant: as the generation of the file reads it, else as the latest that can; one
    that cannot take the kinds of its arguments is none of them, if another one can."""
    upto = GENERATIONS.index(to)
    others = [g for g in reversed(GENERATIONS[: upto + 1]) if g != since]
    first: Form | None = None
    for loose in (False, True):
        for generation in (since, *others):
            signature = lookup(told.name, generation)
            found = None
            if signature is not None:
                found = _bound(told, _of(signature, generation), loose=loose)
            if found is not None and _fits(found):
                return found
            first = first or found
    return first


def _of(signature: Signature, generation: str) -> Signature:
    """The signature as that of a generation, not only of the one that has it first."""
    return replace(signature, generation=generation)
