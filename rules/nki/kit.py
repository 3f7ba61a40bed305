"""What the NKI rules share: reading operands, comparing API versions, building checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from verifier import rulebase
from verifier.hardware import dtypes as dt
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.rulebase import Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction, Operators, Trait
from verifier.symbolic.pretty import pretty
from verifier.symbolic.roles import Limit, Role, Sized
from verifier.symbolic.tensors import DType, Storage, StorageKind, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import ApiRef, Enumerator, ExternalRef, Missing

# ----------------------------------------------------------------------------- dtype sets

INT: Final = dt.of_class("int")
INT32: Final = dt.codes("int32", "uint32")
FLOAT: Final = dt.of_class("float")
F32: Final = dt.codes("float32", "tfloat32")
FP32: Final = dt.codes("float32")
BF16: Final = dt.codes("bfloat16")
HALF: Final = dt.codes("float16", "bfloat16")
F8_LEGACY: Final = dt.codes("float8_e4m3", "float8_e5m2")
F8_OCP: Final = dt.codes("float8_e4m3fn")
PACKED: Final = dt.of_class("packed")
U8: Final = dt.codes("uint8")
SCALES: Final = dt.codes("float8_e8m0fnu") | U8
EVERY: Final = frozenset(dt.CODES.values())

# ----------------------------------------------------------------------------- operations


def is_compute(op: Operation) -> bool:
    """Whether a compute engine executes the operation on SBUF or PSUM tiles."""
    return op.instruction is not None and op.instruction.computes


def made_as_needed(op: Operation) -> bool:
    """Whether the compiler makes instructions of it as operands need: it splits and moves them."""
    return Trait.LANGUAGE in described(op).traits and op.generation.fits_tiles


def chosen(op: Operation, name: str) -> bool:
    """Whether the kernel chooses the element type of an operand: it gives it, or asks for a result
    of a type that the compiler does not convert by itself."""
    asked = op.operands.get("dtype")
    if op.operands[name].given:
        return True
    return asked is not None and asked.value is not None and not op.generation.fits_tiles


def multiplies(instruction: Instruction) -> bool:
    """Whether it is a matrix multiplication of the Tensor Engine."""
    return Trait.MATMUL in instruction.traits


def packed(op: Operation) -> bool:
    """Whether it multiplies packed elements, whose groups share scales."""
    return Trait.PACKED in described(op).traits


def described(op: Operation) -> Instruction:
    """The description of the function, for rules that go by it."""
    assert op.instruction is not None
    return op.instruction


def role(op: Operation, name: str) -> Role:
    """How the function is described to take a parameter."""
    found = described(op).role(name)
    assert found is not None, (op.name, name)
    return found


def sized(op: Operation, name: str, words: str = "") -> Iterator[Check]:
    """An operand has the partitions and elements that follow from another one (:class:`Sized`).

    ``words``: the shape as messages say it, if not as the contract does.
    """
    shape, view = role(op, name).shape, op.view(name)
    of = op.view(shape.of) if isinstance(shape, Sized) else None
    if not isinstance(shape, Sized) or view is None or of is None:
        return
    fits = E.and_(E.eq(view.partitions, shape.rows(of)), E.eq(view.free, shape.columns(of)))
    extents = None if shape.extents is None else shape.extents(of)
    if extents is not None:
        fits = E.and_(fits, same_shape(view.shape, extents))
    yield check(
        op,
        name,
        fits,
        f"{name} has {shape.words}",
        f"{name} does not have {words or shape.words}",
        shape.fact,
        values=(
            (f"partitions of {name}", view.partitions),
            (f"{name} free size", view.free),
            (f"partitions of {shape.of}", of.partitions),
            (f"{shape.of} free size", of.free),
        ),
        about=(name, shape.of),
    )


def value_limit(op: Operation, name: str) -> Limit | None:
    """What a number may be; None where the function has no such parameter, or nothing is said."""
    found = described(op).role(name)
    return found.value if found is not None else None


def free_limit(op: Operation, name: str) -> Limit | None:
    """How many elements per partition an operand may have, if that is said."""
    found = described(op).role(name)
    return found.free if found is not None else None


def in_force(op: Operation, limits: Iterable[Limit]) -> Limit | None:
    """Of limits that took each other's place, that of the call's generation."""
    held = [
        each
        for each in limits
        if op.generation.at_least(each.since)
        and not (each.until and op.generation.at_least(each.until))
    ]
    return held[-1] if held else None


def insistence(op: Operation, limit: Limit) -> str | None:
    """The severity of a limit that is broken: the documentation may only advise by now."""
    advice = limit.advice_from is not None and op.generation.at_least(limit.advice_from)
    return "warning" if advice else None


# ----------------------------------------------------------------------------- operand values


def operator_name(value: object) -> str | None:
    """The name of an operator; of what is none, the name it has where it is from."""
    if isinstance(value, Enumerator):
        return value.name
    if isinstance(value, ApiRef):
        return value.name.rpartition(".")[2]
    return value.path.rpartition(".")[2] if isinstance(value, ExternalRef) else None


def written_operator(value: object) -> str:
    """The name that the text has for an operator, if it is known."""
    return (value.written or value.name) if isinstance(value, Enumerator) else ""


def _operators(op: Operation, role: str) -> Operators | None:
    return next((item for item in described(op).operators if item.role == role), None)


def is_unary(op: Operation, role: str) -> bool:
    """Whether the operator that a parameter is given has one operand."""
    found = _operators(op, role)
    return found is not None and operator_name(op.value(role)) in found.unary


def is_on_bits(op: Operation, role: str) -> bool:
    """Whether the operator that a parameter is given works on bits."""
    found = _operators(op, role)
    return found is not None and operator_name(op.value(role)) in found.on_bits


def choice(value: object) -> str | None:
    """The canonical name of an enumeration value (engine, mode, command), None if unknown."""
    if isinstance(value, Enumerator):
        return value.name.removesuffix("_engine")
    if isinstance(value, str):
        return value
    return None


def engine(op: Operation) -> Engine | None:
    """The engine that the call asks for, ``UNKNOWN`` if none; None if it is not followed."""
    asked = op.value("engine")
    if asked is None:
        return Engine.UNKNOWN
    named = choice(asked)
    return next((each for each in Engine if each.value == named), None)


def is_absent(op: Operation, role: str) -> bool:
    """Whether an optional operand is missing or None."""
    operand = op.operands.get(role)
    return operand is None or operand.value is None


def flag(op: Operation, role: str) -> Bool:
    """Whether a flag is set; one that is not given is not."""
    value = op.value(role)
    if isinstance(value, Expr):
        return E.ne(value, 0)
    return value if isinstance(value, Bool) else E.truth(value is True)


def equals(value: object, number: int) -> Bool:
    """Whether a value is that number."""
    return E.eq(value, number) if isinstance(value, Expr) else E.truth(constant(value) == number)


def is_number(value: object) -> bool:
    return isinstance(value, (Expr, int, float))


def as_expr(value: object) -> Expr | None:
    """The value as an integer expression; None if it is not an integer."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return E.const(value)
    return None


def as_number(value: object) -> Expr | float | None:
    """The value as an integer expression, or as the plain number that it is; None if it is none."""
    return value if isinstance(value, float) else as_expr(value)


def constant(value: object) -> int | float | None:
    """The value as a plain number; None while it depends on an input or is no number."""
    if isinstance(value, Expr):
        return value.const if value.is_const else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return None


def integers(value: object) -> tuple[Expr, ...] | None:
    """A tuple of integers as expressions, None if it is something else."""
    if not isinstance(value, (tuple, list)):
        return None
    out = [as_expr(item) for item in value]
    return tuple(item for item in out if item is not None) if None not in out else None


def on_chip(view: View | None) -> bool:
    return view is not None and view.buffer.on_chip


def tiles(op: Operation) -> Iterator[tuple[str, View]]:
    """The operands that are on-chip tiles, by role; each view once."""
    seen: set[int] = set()
    for role, operand in op.operands.items():
        items = operand.value if isinstance(operand.value, (tuple, list)) else (operand.value,)
        for item in items:
            if isinstance(item, View) and item.buffer.on_chip and id(item) not in seen:
                seen.add(id(item))
                yield role, item


# ----------------------------------------------------------------------------- predicates


def product(extents: Iterable[Expr]) -> Expr:
    total = E.const(1)
    for extent in extents:
        total = total * extent
    return total


def one_of(value: Expr, options: Iterable[int]) -> Bool:
    return E.or_(*(E.eq(value, option) for option in options))


def alternatives(options: Sequence[int]) -> str:
    """``1, 2 or 4``."""
    *first, last = map(str, options)
    return f"{', '.join(first)} or {last}" if first else last


def divisible(value: Expr, divisor: int) -> Bool:
    return E.eq(E.mod(value, divisor), 0)


def same_shape(a: Sequence[Expr], b: Sequence[Expr]) -> Bool:
    if len(a) != len(b):
        return E.FALSE
    return E.and_(*(E.eq(x, y) for x, y in zip(a, b, strict=True)))


def broadcastable(source: Sequence[Expr], target: Sequence[Expr]) -> Bool:
    """Whether ``source`` extends to ``target`` by repeating dimensions of size 1 (NumPy's rule)."""
    if len(source) > len(target):
        return E.FALSE
    tail = target[len(target) - len(source) :]
    return E.and_(*(E.or_(E.eq(x, y), E.eq(x, 1)) for x, y in zip(source, tail, strict=True)))


def is_settled(dtype: DType) -> bool:
    """Whether a dtype is a name, or the free dtype of one input (which may then be inferred)."""
    return dtype.name is not None or dtype.code.as_atom() in dtype.code.free()


def dtype_words(dtype: DType) -> str:
    """What a dtype is: its name, the input whose dtype it is, or that it hangs on inputs."""
    atom = dtype.code.as_atom()
    if dtype.name is None and isinstance(atom, E.Sym) and atom.origin is E.Origin.INPUT:
        return pretty(dtype.code)
    return dtype.name or "an input's dtype"


def tile_bytes(storage: Storage) -> Expr:
    """Bytes per partition of one tile: the dimensions after the partition axis, no blocks."""
    axis = storage.partition_axis
    extents = storage.shape[1:] if axis is None else storage.shape[axis + 1 :]
    return product(extents) * storage.dtype.itemsize


BUFFER_WORDS: Final = {
    Buffer.SBUF: "SBUF",
    Buffer.PSUM: "PSUM",
    Buffer.HBM: "HBM",
    Buffer.SHARED_HBM: "shared HBM",
    Buffer.REGISTER: "a register",
    Buffer.UNKNOWN: "unknown memory",
}

# ----------------------------------------------------------------------------- checks


def catalogue(rows: Iterable[str]) -> tuple[str, ...]:
    """Full catalogue ids of rows named in short: ``MMU04`` is ``NKI-MMU04``."""
    return tuple(row if row.startswith("NKI-") else f"NKI-{row}" for row in rows)


def register(rule: Rule) -> Rule:
    """Register a rule whose facts are named in short."""
    return rulebase.register(replace(rule, facts=catalogue(dict.fromkeys(rule.facts))))


def allocation_notes(op: Operation, views: Iterable[View | None]) -> tuple[Note, ...]:
    """Where the tensors behind ``views`` come from, each once."""
    notes: dict[int, Note] = {}
    for view in views:
        if view is None or view.storage.span == op.span:
            continue
        storage = view.storage
        name = f"`{storage.name}`" if storage.name else "the tile"
        if storage.kind is StorageKind.ALLOC:
            notes.setdefault(id(storage), Note(storage.span, f"{name} is allocated here"))
        elif storage.kind is StorageKind.RESULT:
            notes.setdefault(id(storage), Note(storage.span, f"{name} is made here"))
        elif storage.kind is StorageKind.INPUT:
            notes.setdefault(id(storage), Note(storage.span, f"{name} is a parameter"))
    return tuple(notes.values())


def check(
    op: Operation,
    role: str,
    predicate: Bool,
    text: str,
    message: str,
    *facts: str,
    values: Iterable[tuple[str, Expr]] = (),
    about: Iterable[str] | None = None,
    views: Iterable[View] = (),
    help: Iterable[str] = (),
    given: Iterable[Bool] = (),
    severity: str | None = None,
    exact: bool = True,
    reason: str = "",
) -> Check:
    """A check at the operand ``role``; ``about`` names the roles whose allocations to point at."""
    roles = (role,) if about is None else tuple(about)
    return Check(
        predicate=predicate,
        span=op.span_of(role),
        text=text,
        message=message,
        facts=catalogue(facts),
        given=tuple(given),
        values=tuple(values),
        notes=allocation_notes(op, [*(op.view(name) for name in roles), *views]),
        help=tuple(help),
        severity=severity,
        exact=exact,
        reason=reason,
    )


def not_followed(op: Operation, role: str, *facts: str) -> Iterator[Check]:
    """A check that stays open: the argument is given, but its value is not known.

    Without it a call whose mask or pattern could not be read would count as proved.
    """
    value = op.value(role)
    if value is None or value == () or role in op.unseen or isinstance(value, Missing):
        return  # what is not seen at all is open for every rule that asks for it
    yield rulebase.unseen(op, role, catalogue(facts))


def buffer_check(
    op: Operation,
    role: str,
    view: View,
    allowed: Iterable[Buffer],
    message: str,
    *facts: str,
    help: Iterable[str] = (),
    severity: str | None = None,
) -> Check | None:
    """A check that ``view`` lives in one of ``allowed``; None while its buffer is unknown."""
    if view.buffer is Buffer.UNKNOWN:
        return None
    options = tuple(allowed)
    words = " or ".join(dict.fromkeys(BUFFER_WORDS[buffer] for buffer in options))
    return check(
        op,
        role,
        E.truth(view.buffer in options),
        f"{role} is in {words} (it is in {BUFFER_WORDS[view.buffer]})",
        message,
        *facts,
        views=(view,),
        help=help,
        severity=severity,
    )


def pattern_pairs(value: object) -> tuple[tuple[Expr, Expr], ...] | None:
    """``[[step, count], ...]`` as pairs of expressions, None if it is something else."""
    if not isinstance(value, (tuple, list)):
        return None
    pairs: list[tuple[Expr, Expr]] = []
    for item in value:
        numbers = integers(item)
        if numbers is None or len(numbers) != 2:
            return None
        pairs.append((numbers[0], numbers[1]))
    return tuple(pairs)
