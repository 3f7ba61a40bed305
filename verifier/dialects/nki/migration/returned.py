"""Calls that returned their result, and assignments to parts of tiles: the destination comes first.

``r = nisa.f(x)`` becomes an allocation and ``nisa.f(dst=r, ...)``; ``t[...] = nisa.f(x)`` becomes
``nisa.f(dst=t[...], ...)`` where the tile holds exactly what was returned, else a copy of it;
``t += nisa.nc_matmul(...)`` accumulates by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from verifier.dialects.nki import isa
from verifier.dialects.nki.migration.calls import (
    GONE,
    INSTEAD,
    Fitted,
    argument_start,
    arguments,
    called,
    fitted,
    is_default,
    opening,
    without,
)
from verifier.dialects.nki.migration.changes import CALL, Change, Edit
from verifier.dialects.nki.migration.forms import Form, Given
from verifier.dialects.nki.migration.lowering import Lowered
from verifier.dialects.nki.migration.results import Allocation, allocation
from verifier.dialects.nki.migration.text import Text, inserted
from verifier.dialects.nki.migration.visits import Stored, Visits
from verifier.dialects.nki.versions import said
from verifier.dialects.signature import Signature
from verifier.hardware.memories import Buffer
from verifier.source.ir import Span
from verifier.symbolic.instruction import Trait

_FACTS: Final = ("NKI-M002", "NKI-N01")
#: facts of single functions, by name (others: NKI-M017)
_OF: Final = {
    "isa.memset": "NKI-M007",
    "isa.iota": "NKI-M008",
    "isa.affine_select": "NKI-M009",
    "isa.activation": "NKI-M011",
    "isa.activation_reduce": "NKI-M012",
    "isa.tensor_tensor": "NKI-M013",
    "isa.tensor_scalar": "NKI-M014",
    "isa.tensor_reduce": "NKI-M015",
    "isa.tensor_partition_reduce": "NKI-M015",
    "isa.nc_matmul": "NKI-M016",
    "isa.dma_transpose": "NKI-M019",
}
_HELP: Final = "since NKI 0.2 instructions return nothing: allocate a tile and pass it as `dst`"
#: what a call with a value that nobody asks for is replaced by
_BUFFERS: Final = {Buffer.SBUF: "sbuf", Buffer.PSUM: "psum"}


class Returning(Struct):
    """Rewrites the calls of a statement, inner ones first; ``lowered``: what comes to stand before
    it, None: nothing can."""

    text: Text
    visits: Visits
    to: str
    lowered: Lowered | None

    def change(self, form: Form, signature: Signature, edits: tuple[Edit, ...]) -> Change:
        """What there is to say of a call, with the edits of its statement."""
        written = called(self.text, form)
        gone = [given.parameter.name for given in form.given if given.parameter.name in GONE]
        return Change(
            CALL,
            self.text.span(form.call),
            f"`{written}` returns its result no longer: `{signature.names[0]}` comes first in "
            f"{said(self.to)}",
            "warning",
            (
                *_FACTS,
                _OF.get(form.name, "NKI-M017"),
                *(f for name in gone for f in GONE[name][1:]),
            ),
            (_HELP, *(INSTEAD[name] for name in gone if name in INSTEAD)),
            f"give `{written}` its destination" if edits else "",
            edits,
        )

    def written(self, form: Form, signature: Signature) -> bool:
        """Whether a call can be given its destination; the edits are pending then."""
        lowered = self.lowered
        fit = fitted(form, signature, self.to, shift=1)
        if lowered is None or not form.written or not all(_given_up(lost) for lost in fit.lost):
            return False
        if not lowered.in_order(form.call):
            return False
        before = lowered.copy()
        edits = self._statement(form, signature, fit)
        if edits is not None:
            self.text.pending += edits
            return True
        lowered.restore(before)
        if self._before(form, signature, fit):
            return True
        lowered.restore(before)
        return False

    def _statement(self, form: Form, signature: Signature, fit: Fitted) -> tuple[Edit, ...] | None:
        """The statement that is nothing but the call, or assigns it."""
        assert self.lowered is not None
        statement = self.lowered.statement
        target = _target(statement, form.call)
        if target is None or self.text.end(statement) != self.text.end(form.call):
            return None
        if isinstance(statement, ast.AugAssign):
            return self._summed(form, signature, fit, statement)
        made = self._made(form)
        if made is None:
            return None
        if isinstance(target, ast.Name):
            return self._named(form, signature, fit, statement, target, made)
        return self._stored(form, signature, fit, statement, target, made)

    def _before(self, form: Form, signature: Signature, fit: Fitted) -> bool:
        """``g(f(x))``: the call before the statement that it is a part of."""
        assert self.lowered is not None
        made = self._made(form)
        allocated = None if made is None else self._allocated(made)
        if allocated is None:
            return False
        call, statement = form.call, self.lowered.statement
        name = self.text.fresh(f"{form.short}_out")
        destined = tuple(self._destined(form, signature, fit, name))
        if isinstance(statement, ast.Expr) and statement.value is call:  # nobody asks for it
            self.text.pending += destined
            return self.lowered.line(call, f"{name} = {allocated}")
        lines = (f"{name} = {allocated}", self.text.rendered(call, destined))
        return self.lowered.put(call, name, lines)

    def _made(self, form: Form) -> Allocation | None:
        return allocation(self.text, self.visits, form, self._bound)

    def _bound(self, argument: ast.expr) -> bool:
        """A name for an argument that is to be spoken of twice."""
        assert self.lowered is not None
        name = self.text.name(argument.func) if isinstance(argument, ast.Call) else None
        name = self.text.fresh(f"{(name or 'value').rpartition('.')[2]}_out")
        line = f"{name} = {self.text.rendered(argument)}"
        return self.lowered.put(argument, name, (line,))

    # -- forms of statements -----------------------------------------------------------------------

    def _named(
        self,
        form: Form,
        signature: Signature,
        fit: Fitted,
        statement: ast.stmt,
        target: ast.Name,
        made: Allocation,
    ) -> tuple[Edit, ...] | None:
        """``r = f(x)``"""
        allocated = self._allocated(made)
        if allocated is None:
            return None
        indent = self._indent()
        before = target.id
        used = {n.id for n in ast.walk(form.call) if isinstance(n, ast.Name)}
        name = self.text.fresh(f"{before}_new") if before in used else before
        annotation = ""
        if isinstance(statement, ast.AnnAssign):
            annotation = f": {self.text.rendered(statement.annotation)}"
        after = ""
        if name != before:
            after, annotation = f"\n{indent}{before}{annotation} = {name}", ""
        start = f"{name}{annotation} = {allocated}\n{indent}"
        begin = Edit(self.text.start(statement), self.text.start(form.call), start)
        edits = [begin, *self._destined(form, signature, fit, name)]
        if after:
            edits.append(inserted(self.text.end(statement), after))
        return tuple(edits)

    def _stored(
        self,
        form: Form,
        signature: Signature,
        fit: Fitted,
        statement: ast.stmt,
        target: ast.Subscript,
        made: Allocation,
    ) -> tuple[Edit, ...] | None:
        """``t[...] = f(x)``"""
        assigned = self._assigned(statement)
        indent = self._indent()
        isa_ = self.text.module("isa")
        allocated = self._allocated(made)
        if not assigned or isa_ is None or allocated is None:
            return None
        if not all(each.buffer in _BUFFERS and each.fits for each in assigned):
            return None
        place = self._place(target, assigned)
        begin = (self.text.start(statement), self.text.start(form.call))
        more = ", accumulate=False" if _sums(form, signature) else ""
        if all(each.exact for each in assigned):
            named = self._destined(form, signature, fit, place)
            end = inserted(_closing(self.text, form.call), more) if more else None
            return (Edit(*begin, ""), *named, *([end] if end is not None else []))
        name = self.text.fresh(f"{_root(target)}_new")
        copied = f"\n{indent}{isa_}.tensor_copy(dst={place}, src={name})"
        return (
            Edit(*begin, f"{name} = {allocated}\n{indent}"),
            *self._destined(form, signature, fit, name),
            inserted(self.text.end(statement), copied),
        )

    def _summed(
        self,
        form: Form,
        signature: Signature,
        fit: Fitted,
        statement: ast.AugAssign,
    ) -> tuple[Edit, ...] | None:
        """``t += nisa.nc_matmul(...)``: the first product into a tile overwrites what is there."""
        assigned = self._assigned(statement)
        if not assigned or not isinstance(statement.op, ast.Add) or not _sums(form, signature):
            return None
        if not all(each.sum_alone and each.fits for each in assigned):
            return None
        target = statement.target
        if isinstance(target, ast.Attribute):
            return None
        place = self.text.rendered(target)
        begin = Edit(self.text.start(statement), self.text.start(form.call), "")
        return (begin, *self._destined(form, signature, fit, place))

    def _indent(self) -> str:
        assert self.lowered is not None
        return self.lowered.indent

    # -- parts -------------------------------------------------------------------------------------

    def _assigned(self, statement: ast.stmt) -> list[Stored]:
        """The stores of a statement; nothing if not all of them are known."""
        found = self.visits.at(stored_at(self.text, statement), "language.assign")
        stored = [each.stored for each in found if each.stored is not None]
        return stored if len(stored) == len(found) else []

    def _allocated(self, made: Allocation) -> str | None:
        module = self.text.module("language")
        if module is None or made.buffer not in _BUFFERS:
            return None
        where = f"{module}.{_BUFFERS[made.buffer]}"
        return f"{module}.ndarray({made.shape}, dtype={made.dtype}, buffer={where})"

    def _place(self, target: ast.Subscript, tiles: Sequence[Stored]) -> str:
        """A part of a tile; tiles keep two dimensions: the last index becomes a slice."""
        written = self.text.rendered(target)
        if any(tile.rank != 1 for tile in tiles):
            return written
        items = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        last = items[-1]
        if isinstance(last, (ast.Slice, ast.Starred)) or not written.endswith("]"):
            return written
        index = self.text.rendered(last)
        if not written[:-1].endswith(index):
            return written
        more = f"{index} + 1" if isinstance(last, (ast.Name, ast.Constant)) else f"({index}) + 1"
        return f"{written[:-1]}:{more}]"

    def _destined(
        self, form: Form, signature: Signature, fit: Fitted, place: str
    ) -> Iterator[Edit]:
        """The call with a destination, all its arguments by name."""
        text, call = self.text, form.call
        name = signature.names[0]
        gone = [each.keyword or each.value for each in fit.lost]
        kept = [node for node in arguments(call) if node not in gone]
        yield from without(text, call, fit.lost)
        if not kept:
            yield inserted(opening(text, call), f"{name}={place}")
            return
        first = kept[0]
        value = first.value if isinstance(first, ast.keyword) else first
        start = text.start(first) if isinstance(first, ast.keyword) else None
        at = start or argument_start(text, call, value)
        renamed = {id(given.value): new for given, new in (*fit.named, *fit.moved)}
        named: dict[int, str] = {}
        for given in form.given:
            if given.keyword is None and given not in fit.lost:
                named[id(given.value)] = renamed.get(id(given.value), given.parameter.name)
        lead = f"{name}={place}, "
        if id(first) in named:
            lead += f"{named.pop(id(first))}="
        yield inserted(at, lead)
        for given in form.given:
            if id(given.value) in named:
                start_ = argument_start(text, call, given.value)
                yield inserted(start_, f"{named[id(given.value)]}=")
        for given, new in fit.named:
            assert given.keyword is not None
            assert given.keyword.arg is not None
            line, column = text.start(given.keyword)
            yield Edit((line, column), (line, column + len(given.keyword.arg)), new)


def _given_up(lost: Given) -> bool:
    """Whether a call may go without an argument that has no counterpart: it is in the tile."""
    return lost.parameter.name in ("dtype", "shape") or is_default(lost)


def _target(statement: ast.stmt, call: ast.Call) -> ast.Name | ast.Subscript | None:
    """What a statement assigns the call to, if that is one name or one part of a tile."""
    target: ast.expr | None = None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0] if statement.value is call else None
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        target = statement.target if statement.value is call else None
    return target if isinstance(target, (ast.Name, ast.Subscript)) else None


def stored_at(text: Text, statement: ast.stmt) -> Span:
    """Where a run says that a statement stores something."""
    return text.span(statement.targets[0] if isinstance(statement, ast.Assign) else statement)


def _root(target: ast.Subscript) -> str:
    node: ast.expr = target
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else "tile"


def _closing(text: Text, call: ast.Call) -> tuple[int, int]:
    """Behind the last argument."""
    return text.end(arguments(call)[-1])


def _sums(form: Form, signature: Signature) -> bool:
    """Whether it is a matmul that can be told whether it adds."""
    instruction = isa.find(form.name)
    return (
        instruction is not None
        and Trait.SUMS in instruction.traits
        and ("accumulate" in signature.names)
    )
