"""What the rules for PPL kernels share: operands, shapes, examples, building checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from verifier.dialects.names import PPL
from verifier.hardware import dtypes as dt
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.rulebase import AT_ONCE, Monitor, On, Replayed, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.tensors import DType, Mark, StorageKind, View
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import Enumerator

# ----------------------------------------------------------------------------- dtype sets

FP32: Final = dt.codes("float32")
INT4: Final = dt.codes("int4", "uint4")
INT16: Final = dt.codes("int16", "uint16")
INT32: Final = dt.codes("int32", "uint32")
SIGNED: Final = dt.codes("int8", "int16", "int32", "int4")
UNSIGNED: Final = dt.codes("uint8", "uint16", "uint32", "uint4")

# ----------------------------------------------------------------------------- operands


def described(op: Operation) -> Instruction:
    """The description of the function."""
    assert op.instruction is not None
    return op.instruction


#: what functions that slide a window over their input do, and those that multiply matrices
WINDOWS: Final = frozenset({Trait.POOLS, Trait.CONVOLVES, Trait.DEPTHWISE})
PRODUCTS: Final = frozenset({Trait.FIRST_PRODUCTS, Trait.SECOND_PRODUCTS})


def having(*wanted: Trait) -> Callable[[Instruction], bool]:
    """Whether a function does one of these things."""
    return lambda instruction: not instruction.traits.isdisjoint(wanted)


def function(op: Operation) -> str:
    """The name without its prefix: ``tiu.fadd``."""
    return op.name.removeprefix("ppl.")


def is_device(op: Operation) -> bool:
    """Whether an engine executes it: no mark of control, no helper."""
    engines = (Engine.TIU, Engine.DMA, Engine.SDMA, Engine.HAU)
    return op.engine in engines and op.instruction is not None


def tensors(op: Operation) -> Iterator[tuple[str, View]]:
    """The operands that are tensors, by role, as the call sees them."""
    for role, operand in op.operands.items():
        if operand.view is not None:
            yield role, operand.view


def local(view: View | None) -> bool:
    return view is not None and view.buffer is Buffer.LOCAL


def number(op: Operation, role: str) -> Expr | None:
    """An integer argument."""
    value = op.value(role)
    if isinstance(value, Expr):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return E.const(value)
    return None


def flag(op: Operation, role: str) -> Bool:
    """A truth value among the arguments; one that is not known is taken as false."""
    value = op.value(role)
    if isinstance(value, Bool):
        return value
    if isinstance(value, Expr):
        return E.ne(value, 0)
    return E.truth(value is True)


def mode(op: Operation, role: str) -> str:
    """The name of a member of an enumeration among the arguments; empty if absent."""
    value = op.value(role)
    return value.name if isinstance(value, Enumerator) else ""


def numbers(op: Operation, role: str) -> tuple[Expr, ...] | None:
    """A list of integers among the arguments (lists of the heap arrive as tuples)."""
    value = op.value(role)
    if not isinstance(value, tuple):
        return None
    out: list[Expr] = []
    for item in value:
        if isinstance(item, Expr):
            out.append(item)
        elif isinstance(item, int) and not isinstance(item, bool):
            out.append(E.const(item))
        else:
            return None
    return tuple(out)


def layout(view: View) -> str:
    """The align mode that the tensor was made with."""
    found = view.storage.marks.get(Mark.LAYOUT)
    return found if isinstance(found, str) else ""


def bits(dtype: DType) -> Expr:
    """Bits per element."""
    return dtype.bits


# ----------------------------------------------------------------------------- predicates


def same(a: Sequence[Expr], b: Sequence[Expr]) -> Bool:
    return E.and_(*(E.eq(x, y) for x, y in zip(a, b, strict=True)))


def one_of(value: Expr, options: Iterable[int]) -> Bool:
    return E.or_(*(E.eq(value, option) for option in options))


def product(sizes: Iterable[Expr]) -> Expr:
    total = E.const(1)
    for size in sizes:
        total = total * size
    return total


def implies(condition: Bool, then: Bool) -> Bool:
    return E.or_(E.not_(condition), then)


def dtype_words(codes: Iterable[int]) -> str:
    return ", ".join(dt.NAMES[code] for code in sorted(codes))


# ----------------------------------------------------------------------------- checks


def notes(op: Operation, *views: View | None) -> tuple[Note, ...]:
    """Where the tensors come from, each once."""
    found: dict[int, Note] = {}
    for view in views:
        if view is None or view.storage.span == op.span:
            continue
        word = "a parameter" if view.storage.kind is StorageKind.INPUT else "made here"
        found.setdefault(
            id(view.storage), Note(view.storage.span, f"`{view.storage.name}` is {word}")
        )
    return tuple(found.values())


def check(
    op: Operation,
    role: str,
    predicate: Bool,
    text: str,
    message: str,
    *facts: str,
    values: Iterable[tuple[str, Expr]] = (),
    views: Iterable[View | None] = (),
    help: Iterable[str] = (),
    given: Iterable[Bool] = (),
    severity: str | None = None,
    exact: bool = True,
    reason: str = "",
) -> Check:
    """A check at the operand ``role``."""
    return Check(
        predicate=predicate,
        span=op.span_of(role),
        text=text,
        message=message,
        facts=facts,
        given=tuple(given),
        values=tuple(values),
        notes=notes(op, op.view(role), *views),
        help=tuple(help),
        severity=severity,
        exact=exact,
        reason=reason,
    )


# ----------------------------------------------------------------------------- examples


def example(body: str, parameters: str, contract: str, target: str = "bm1684x") -> str:
    """A kernel for a rule's examples: its body, indented by four, its parameters, its sizes."""
    lines = "\n".join(f"    {line}" if line else "" for line in body.strip("\n").splitlines())
    return (
        f"# target: {target}\nimport ppl\nimport ppl.language as pl\n\n\n"
        f"# tilelint: contract ({contract})\n@ppl.jit\ndef sample({parameters}):\n{lines}\n"
    )


def elementwise(
    statement: str,
    *,
    dtype: str = "fp16",
    out: str = "",
    shape: str = "[1, rows, 1, 96]",
    result: str = "",
    target: str = "bm1684x",
) -> str:
    """Load ``a``, do something that fills ``b``, store ``b``; sizes: ``rows`` from 1 to 64."""
    names = {
        "fp16": "float16",
        "fp32": "float32",
        "bf16": "bfloat16",
        "fp8_e4m3": "float8e4",
    }
    out = out or dtype
    result = result or shape
    body = (
        f"source = pl.gtensor({shape}, pl.GLOBAL, src_ptr)\n"
        f"target = pl.gtensor({result}, pl.GLOBAL, out_ptr)\n"
        f"a = pl.make_tensor({shape}, pl.{names.get(dtype, dtype)})\n"
        f"b = pl.make_tensor({result}, pl.{names.get(out, out)})\n"
        f"pl.dma.load(a, source)\n{statement}\npl.dma.store(target, b)"
    )
    return example(
        body,
        "out_ptr, src_ptr, rows: pl.constexpr",
        f"rows: 1..64, out_ptr: {out}{result}, src_ptr: {dtype}{shape}",
        target,
    )


def equal(
    op: Operation,
    role: str,
    what: str,
    a: Expr,
    other: str,
    b: Expr,
    fact: str,
    *,
    relation: str = "is not",
    views: Iterable[View | None] = (),
) -> Check:
    """Two numbers of an operation are the same."""
    return check(
        op,
        role,
        E.eq(a, b),
        f"{what} == {other}",
        f"{what} of `pl.{function(op)}` {relation} {other}",
        fact,
        values=((what, a), (other, b)),
        views=views,
    )


def declare(
    id: str,
    code: str,
    on: On,
    summary: str,
    reason: str,
    facts: tuple[str, ...],
    check: Callable[..., Iterable[Check]] | None,
    failing: str,
    passing: str,
    *,
    severity: str = "error",
    gather: bool = False,
    learns: bool = True,
    silent: bool = False,
    remark: bool = False,
    monitors: tuple[Monitor, ...] = (),
    replayed: Replayed = AT_ONCE,
    concerns: Callable[[Instruction], bool] | None = None,
    enforces: Callable[[Instruction], Iterable[str]] | None = None,
) -> None:
    """Register a rule of the family ``ppl``; the fields are those of :class:`Rule`."""
    register(
        Rule(
            id=id,
            code=code,
            family=PPL,
            summary=summary,
            reason=reason,
            facts=facts,
            on=on,
            check=check,
            failing=failing,
            passing=passing,
            severity=severity,
            dialects=(PPL,),
            gather=gather,
            learns=learns,
            silent=silent,
            remark=remark,
            monitors=monitors,
            replayed=replayed,
            concerns=concerns,
            enforces=enforces,
        )
    )
