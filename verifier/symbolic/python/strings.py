"""Texts of values: f-strings, ``str()``, ``repr()``, ``format()``, ``%``.

What is concrete is CPython's text. What is not is a harmless string: parts are evaluated for their
effects and errors, and the text itself is not known.
"""

from __future__ import annotations

import enum
import string
import sys
from collections.abc import Mapping, Sequence

from verifier.source import ir
from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python import hierarchy, probes
from verifier.symbolic.python.choices import choices
from verifier.symbolic.python.concrete import (
    MAX_LENGTH,
    MAX_NESTING,
    SYMBOLIC,
    payload,
    run,
    to_host,
)
from verifier.symbolic.python.heap import UNBOUND, DictBox, ListBox, ObjectBox, SetBox
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import TEXT, ExternalRef, Guarded, Opaque, OpaqueOf, Ratio, Ref

#: texts that depend on the path are put together for so many combinations
_MAX_VARIANTS = 24


def joined(vm: VM, node: ir.JoinedStr) -> object:
    """The value of an f-string."""
    pieces: list[object] = []
    for part in node.parts:
        if isinstance(part, str):
            pieces.append(part)
            continue
        value = vm.eval(part.value)
        if part.conversion:
            value = text_of(vm, value, part.conversion, part.span)
        spec: object = "" if part.format_spec is None else joined(vm, part.format_spec)
        pieces.append(formatted(vm, value, spec, part.span))
    return concatenated(vm, pieces)


def concatenated(vm: VM, pieces: Sequence[object], between: str = "") -> object:
    """Strings put together; a harmless string if one of them is not known."""
    if any(isinstance(piece, Opaque) for piece in pieces):
        return TEXT
    variants = 1
    for piece in pieces:
        if isinstance(piece, Guarded):
            variants *= len(piece.cases)
    if variants > _MAX_VARIANTS:
        return TEXT
    out: object = ""
    for position, piece in enumerate(pieces):
        out = _appended(vm, out, between if position else "", piece)
    return out


def _appended(vm: VM, out: object, between: str, piece: object) -> object:
    if isinstance(out, Guarded):
        return vm.each(out, lambda v: _appended(vm, v, between, piece))
    if isinstance(piece, Guarded):
        return vm.each(piece, lambda v: _appended(vm, out, between, v))
    if not isinstance(out, str) or not isinstance(piece, str):
        return TEXT
    whole = out + between + piece
    return whole if len(whole) <= MAX_LENGTH else TEXT


# ------------------------------------------------------------------------ str, repr


def text_of(vm: VM, value: object, how: str, span: Span, depth: int = 0) -> object:
    """``str(value)`` (how ``s``), ``repr(value)`` (``r``) or ``ascii(value)`` (``a``)."""
    if how == "a":
        shown = text_of(vm, value, "r", span, depth)
        return vm.each(shown, lambda v: v if isinstance(v, Opaque) else _escaped(v))
    return vm.each(value, lambda v: _typed(_text(vm, v, how, span, depth)))


def _typed(text: object) -> object:
    """A text that is not known: what it is not known of, it is a string."""
    plain = isinstance(text, Opaque) and not isinstance(text, OpaqueOf) and not text.lost
    return TEXT if plain else text


def _escaped(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("ascii")


def _of_library(vm: VM, value: object, span: Span) -> object:
    """The text of a value that is not followed, whose methods may raise."""
    if isinstance(value, ExternalRef) or (isinstance(value, Opaque) and not value.harmless):
        vm.may_raise(f"the text of {vm.kind(value).describe(vm, value)}", span)
    return TEXT


def _text(vm: VM, value: object, how: str, span: Span, depth: int) -> object:
    if isinstance(value, (Opaque, ExternalRef)) or depth > MAX_NESTING:
        return _of_library(vm, value, span)
    if isinstance(value, tuple):
        return _tuple(vm, value, span, depth)
    if not isinstance(value, Ref):
        return vm.kind(value).text(vm, value, how, span)
    box = vm.heap.get(value.id)
    if isinstance(box, ListBox):
        items = box.concrete
        return TEXT if items is None else _bracketed(vm, "[", items, "]", span, depth)
    if isinstance(box, DictBox):
        return _dictionary(vm, box, span, depth)
    if isinstance(box, SetBox):
        return _set(vm, value, box, span)
    return vm.kind(value).text(vm, value, how, span)


def _bracketed(
    vm: VM, opening: str, items: Sequence[object], closing: str, span: Span, depth: int
) -> object:
    shown = [text_of(vm, item, "r", span, depth + 1) for item in items]
    return concatenated(vm, [opening, concatenated(vm, shown, ", "), closing])


def _tuple(vm: VM, items: tuple[object, ...], span: Span, depth: int) -> object:
    return _bracketed(vm, "(", items, ",)" if len(items) == 1 else ")", span, depth)


def _dictionary(vm: VM, box: DictBox, span: Span, depth: int) -> object:
    pieces = []
    for key, value in box.items.items():
        absent = isinstance(value, Guarded) and any(v is UNBOUND for _, v in value.cases)
        if absent or value is UNBOUND or not isinstance(key, (str, int, float, type(None), bytes)):
            return TEXT
        shown = text_of(vm, value, "r", span, depth + 1)
        pieces.append(concatenated(vm, [repr(key), ": ", shown]))
    return concatenated(vm, ["{", concatenated(vm, pieces, ", "), "}"])


def _set(vm: VM, ref: Ref, box: SetBox, span: Span) -> object:
    held = to_host(vm, ref)
    if held is SYMBOLIC or len(held) > 1:  # the order is that of hashes
        return TEXT
    return run(vm, span, repr, held)


def _checked(vm: VM, text: object, what: str, span: Span) -> object:
    """The text that a special method has returned, which must be one."""

    def one(value: object) -> object:
        if isinstance(value, (str, Opaque)):
            return value
        held = payload(vm, value)
        if isinstance(held, str):
            return held
        kind = vm.kind(value)
        if kind.complete:
            vm.fault(TypeError, f"{what} returns {kind.describe(vm, value)}, not a string", span)
        return TEXT

    return vm.each(text, one)


# ------------------------------------------------------------------------ format


def formatted(vm: VM, value: object, spec: object, span: Span) -> object:
    """``format(value, spec)``."""
    if isinstance(spec, Guarded):
        return vm.each(spec, lambda s: formatted(vm, value, s, span))
    return vm.each(value, lambda v: _formatted(vm, v, spec, span))


def _formatted(vm: VM, value: object, spec: object, span: Span) -> object:
    plain = payload(vm, spec)
    if isinstance(value, OpaqueOf) and isinstance(plain, str):
        _takes_format(vm, value, plain, span)
    if isinstance(value, (Opaque, ExternalRef)):
        return _of_library(vm, value, span)
    if not isinstance(plain, (str, Opaque)) and vm.kind(spec).complete:
        vm.fault(TypeError, "the format of a value is a string", span)
    box = vm.box(value)
    if isinstance(box, ObjectBox):
        return _of_instance(vm, value, box, spec, span)
    spec = plain
    if spec == "":
        return text_of(vm, value, "s", span)
    if not isinstance(spec, str):
        return vm.unfollowed("a format that is not known", span)  # it may be none
    told = choices(vm, value)
    if told is not None:
        return vm.each(told, lambda v: _formatted(vm, v, spec, span))
    held = stand_in(vm, value)
    if held is SYMBOLIC:
        if isinstance(box, (ListBox, DictBox, SetBox)) or isinstance(value, tuple):
            vm.fault(TypeError, "a container does not take a format", span)
        return TEXT
    text = run(vm, span, format, held, spec)
    return text if to_host(vm, value) is not SYMBOLIC else TEXT


def _takes_format(vm: VM, value: OpaqueOf, spec: str, span: Span) -> None:
    """A value of which the type is known must take a format."""
    held = probes.sample(vm, value)
    if spec and (value.loose or held is probes.UNSAMPLED):
        vm.unfollowed(f"whether {value.reason} takes a format", span)
    elif spec:
        run(vm, span, format, "1" if held == "a" else held, spec)


def _of_instance(vm: VM, value: object, box: ObjectBox, spec: object, span: Span) -> object:
    """An instance in a format: what its class says, or the built-in type that it derives from."""

    def built_in(found: hierarchy.Inherited) -> object:
        if issubclass(found.type, enum.Enum):
            bound = hierarchy.bind(vm, found, value, box.cls, span)
            return vm.call(bound, (spec,), span=span)
        plain = payload(vm, spec)
        if plain == "":
            return text_of(vm, value, "s", span)  # which its class may say, too
        if not isinstance(plain, str):
            return TEXT
        if found.type is object or box.payload is UNBOUND:
            if hierarchy.is_external(box.cls):
                return vm.unfollowed("a format of a value that is not followed", span)
            if found.type is not object:
                return TEXT
            vm.fault(TypeError, "an object does not take a format", span)
            return TEXT
        if hierarchy.trait(box.cls, "enum") is not None:
            if hierarchy.overrides(vm, box.cls, "__str__"):
                return TEXT  # its text or its value, by version
        return formatted(vm, box.payload, plain, span)

    def missing() -> object:
        return TEXT

    answer = hierarchy.special(vm, value, "__format__", (spec,), span, built_in, missing)
    return _checked(vm, answer, "`__format__()`", span)


def stand_in(vm: VM, value: object) -> object:
    """A value of the host of the same type: the value itself if it is concrete.

    What an operation that depends on types alone does with it, it does with the value.
    """
    held: object = to_host(vm, value)
    if held is not SYMBOLIC:
        return held
    if isinstance(value, Expr):
        return 1
    if isinstance(value, Bool):
        return True
    return 1.5 if isinstance(value, Ratio) else SYMBOLIC


# ------------------------------------------------------------------------ str.format


def template(
    vm: VM,
    text: str,
    args: Sequence[object],
    names: Mapping[str, object] | None,
    span: Span,
    mapping: object = UNBOUND,
) -> object:
    """``text.format(*args, **names)``, or ``text.format_map(mapping)``."""
    return _Template(vm, args, names or {}, mapping, span).fill(text, 0)


class _Template:
    """A text with replacement fields, and what they are replaced with."""

    def __init__(
        self,
        vm: VM,
        args: Sequence[object],
        names: Mapping[str, object],
        mapping: object,
        span: Span,
    ) -> None:
        self.vm = vm
        self.args = args
        self.names = names
        self.mapping = mapping
        self.span = span
        self.counted = 0
        self.numbered = False

    def fill(self, text: str, depth: int) -> object:
        """The text with its fields replaced; fields in formats too, one level deep."""
        if depth > 1:
            self.vm.fault(ValueError, "Max string recursion exceeded", self.span)
        try:
            parsed = list(string.Formatter().parse(text))
        except ValueError as error:
            self.vm.fault(ValueError, str(error), self.span)
            return TEXT
        pieces: list[object] = []
        for literal, field, spec, conversion in parsed:
            pieces.append(literal)
            if field is None:
                continue
            value = self.field(field)
            if conversion:
                if conversion not in ("s", "r", "a"):
                    message = f"Unknown conversion specifier {conversion}"
                    self.vm.fault(ValueError, message, self.span)
                value = text_of(self.vm, value, conversion, self.span)
            inner = self.fill(spec, depth + 1) if spec else ""
            pieces.append(formatted(self.vm, value, inner, self.span))
        return concatenated(self.vm, pieces)

    def field(self, name: str) -> object:
        """What a field names: ``0``, ``name``, ``0.attribute``, ``name[key]``."""
        end = next((k for k, char in enumerate(name) if char in ".["), len(name))
        value = self.first(name[:end])
        rest = name[end:]
        while rest:
            if rest[0] == ".":
                end = next((k for k in range(1, len(rest)) if rest[k] in ".["), len(rest))
                value = self.vm.attribute(value, rest[1:end], self.span)
                rest = rest[end:]
                continue
            end = rest.find("]")
            if rest[0] != "[" or end < 0:
                self.vm.fault(ValueError, f"the field `{name}` is malformed", self.span)
                return TEXT
            key = rest[1:end]
            index = E.const(self.number(key)) if key.isdecimal() else key
            value = self.vm.item(value, index, self.span)
            rest = rest[end + 1 :]
        return value

    def first(self, name: str) -> object:
        if not name or name.isdecimal():
            return self.positional(name)
        if self.mapping is not UNBOUND:
            return self.vm.item(self.mapping, name, self.span)
        if name not in self.names:
            self.vm.fault(KeyError, f"the format has no argument `{name}`", self.span, args=(name,))
        return self.names[name]

    def number(self, digits: str) -> int:
        value = int(digits) if len(digits) < 20 else sys.maxsize + 1
        if value > sys.maxsize:
            self.vm.fault(ValueError, "too many decimal digits in the format", self.span)
        return value

    def positional(self, name: str) -> object:
        if not name:
            name, self.counted = str(self.counted), self.counted + 1
        else:
            self.numbered = True
        if self.numbered and self.counted:
            message = "cannot mix automatic and manual numbering of fields"
            self.vm.fault(ValueError, message, self.span)
        if self.mapping is not UNBOUND:
            self.vm.fault(ValueError, "the format string has positional fields", self.span)
        if self.number(name) >= len(self.args):
            message = f"the format has no argument {name}: {len(self.args)} are given"
            self.vm.fault(IndexError, message, self.span, rule="uncaught-exception")
        return self.args[int(name)]
