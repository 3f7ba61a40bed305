"""Marks of tests, and the rows of values that they give a test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from verifier.source.ir import Span
from verifier.suites.given import Given, items_of
from verifier.suites.values import Mark, Row
from verifier.symbolic.machine import Call
from verifier.symbolic.python import notes
from verifier.symbolic.python.heap import UNBOUND, ObjectBox
from verifier.symbolic.python.model import Class, Function
from verifier.symbolic.python.vm import VM

#: under which name functions and classes have their marks
MARKS: Final = "pytestmark"
#: marks of tests that do not run, or are to fail
_LEFT_OUT: Final = frozenset({"skip", "xfail"})


def called(vm: VM, mark: Mark, call: Call) -> object:
    """A mark with arguments, or what it marks."""
    values = tuple(arg.value for arg in call.args)
    if len(values) == 1 and not call.keywords and isinstance(values[0], (Function, Class)):
        return marked(vm, values[0], mark)
    named = tuple((name, arg.value) for name, arg in call.keywords.items())
    return Mark(mark.name, values, named, called=True)


def marked(vm: VM, owner: Function | Class, mark: Mark) -> object:
    """A function or class with one more mark."""
    notes.note(vm, owner, MARKS, (*marks_of(vm, owner), mark))
    return owner


def marks_of(vm: VM, owner: object) -> tuple[Mark, ...]:
    """The marks of a function or class, the innermost first."""
    held = notes.noted(vm, owner, MARKS)
    return tuple(one for one in held if isinstance(one, Mark)) if isinstance(held, tuple) else ()


def marks_in(vm: VM, value: object, span: Span) -> tuple[Mark, ...]:
    """The marks that are a value, or items of one."""
    items = (value,) if isinstance(value, Mark) else items_of(vm, value, span) or ()
    return tuple(one for one in items if isinstance(one, Mark))


def left_out(mark: Mark) -> bool:
    """Whether what is marked does not run, or is to fail; ``skipif`` depends on the machine."""
    return mark.name in _LEFT_OUT


class UnreadRowsError(Exception):
    """The values of a mark are not evident."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parametrised(vm: VM, mark: Mark, span: Span) -> list[dict[str, object]]:
    """The rows of ``parametrize(names, values)``.

    Raises:
        UnreadRowsError: they are not known.
    """
    keywords = dict(mark.keywords)
    names_ = mark.args[0] if mark.args else keywords.get("argnames", UNBOUND)
    values = mark.args[1] if len(mark.args) > 1 else keywords.get("argvalues", UNBOUND)
    return rows_of(vm, names_, values, span)


def rows_of(vm: VM, argnames: object, argvalues: object, span: Span) -> list[dict[str, object]]:
    """The rows that names and lists of their values make.

    Raises:
        UnreadRowsError: they are not known.
    """
    names = _names(vm, vm.settled(argnames), span)
    items = _iterated(vm, vm.settled(argvalues), span)
    if names is None or items is None:
        what = vm.kind(argvalues).describe(vm, argvalues) if items is None else "their names"
        raise UnreadRowsError(f"the values of `parametrize` are not evident: {what}")
    single = isinstance(argnames, str) and len(names) == 1
    return [row for item in items for row in _row(vm, names, single, vm.settled(item), span)]


def _names(vm: VM, value: object, span: Span) -> list[str] | None:
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    items = items_of(vm, value, span)
    if items is None or not all(isinstance(item, str) for item in items):
        return None
    return [item for item in items if isinstance(item, str)]


def _iterated(vm: VM, value: object, span: Span) -> tuple[object, ...] | None:
    """The items of whatever can be iterated, also a generator or a class of members."""
    return vm.items_of(value, span)


def _row(
    vm: VM, names: Sequence[str], single: bool, item: object, span: Span
) -> Iterator[dict[str, object]]:
    """One row, with its marks; none if it is marked as one that does not run."""
    own: tuple[Mark, ...] = ()
    if isinstance(item, Row):
        own = marks_in(vm, item.marks, span)
        if any(map(left_out, own)):
            return
        values: tuple[object, ...] | None = item.values
    elif single:
        values = (item,)
    else:
        box = vm.box(item)
        inner = box.payload if isinstance(box, ObjectBox) else item  # a named tuple
        values = items_of(vm, inner, span)
    if values is None or len(values) != len(names):
        raise UnreadRowsError("a row of `parametrize` has not a value for each name")
    yield {**dict(zip(names, values, strict=True)), MARKS: own}


def row(vm: VM, call: Call) -> Row:
    """``pytest.param(...)``"""
    marks = Given(vm, call).value(-1, "marks")
    return Row(tuple(arg.value for arg in call.args), () if marks is UNBOUND else marks)
