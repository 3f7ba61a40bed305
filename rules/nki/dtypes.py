"""Element types of operands: what each instruction takes, and which operands share one."""

from __future__ import annotations

from collections.abc import Iterator

from rules.beta1 import TWINS
from rules.nki import kinds, kit, twins
from rules.nki.kit import check, register
from rules.nki.samples import kernel
from verifier.hardware import dtypes as dt
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import SameType, Takes, Types
from verifier.symbolic.trace import Operation


def _operand_dtype(op: Operation, target: Target) -> Iterator[Check]:
    instruction = kit.described(op)
    for role in instruction.roles:
        types, view = _in_force(op, role.dtypes), op.view(role.name)
        if types is None or view is None:
            continue
        if not kit.chosen(op, role.name):
            continue  # the result of a value-returning call has the dtype it comes with
        have = kit.dtype_words(view.dtype)
        for asked, where in _asked(op, types):
            yield check(
                op,
                role.name,
                view.dtype.among(asked.codes),
                f"dtype of {role.name} is {asked.words} (it is {have})",
                f"{instruction.short} cannot take {role.name} as {have}",
                asked.fact,
                given=(where,),
                help=("cast the tile with nisa.tensor_copy first",) if role.name != "dst" else (),
            )
    for role in instruction.roles:
        same = role.same_dtype
        if same is None:
            continue
        wanted = _where_same(op, same)
        a, b = op.view(same.role), op.view(role.name)
        if a is None or b is None or wanted is None:
            continue
        yield check(
            op,
            role.name,
            a.dtype.same(b.dtype),
            f"dtype of {same.role} == dtype of {role.name} (they are {kit.dtype_words(a.dtype)} "
            f"and {kit.dtype_words(b.dtype)})",
            f"{instruction.short} does not convert: {same.role} and {role.name} have "
            "different dtypes",
            same.fact,
            given=(wanted,),
            about=(same.role, role.name),
        )


def _where_same(op: Operation, same: SameType) -> Bool | None:
    """Where two element types are demanded to be one; None: nowhere, or it is not known."""
    if op.generation.at_least(same.since):
        return E.TRUE
    return same.earlier.holds(op) if same.earlier is not None else None


def _in_force(op: Operation, types: Types | None) -> Types | None:
    """The element types of the call's generation."""
    while types is not None and not op.generation.at_least(types.since):
        types = types.before
    return types


def _asked(op: Operation, types: Types) -> Iterator[tuple[Types, Bool]]:
    """Element types that are demanded, and where; nothing is while that is not known."""
    holds = types.when.holds(op)
    if holds is None:
        return
    yield types, holds
    if types.otherwise is not None:
        yield types.otherwise, E.not_(holds)


def _type_facts(instruction: Instruction) -> Iterator[str]:
    for role in instruction.roles:
        for item in (role.dtypes, role.same_dtype):
            if item is not None:
                yield item.fact


register(
    Rule(
        id="operand-dtype",
        code="NKI601",
        family="dtypes",
        summary="operands have element types that the instruction takes",
        reason=(
            "Most instructions convert what they read to float32 and back. Some move or test bits "
            "instead, or run in a mode that exists for a few types only: predicates are unsigned "
            "integers, index tensors have the width the unit decodes, scales are float32."
        ),
        facts=("T11", "E02"),
        on=On.OPERATION,
        unreached=True,
        enforces=_type_facts,
        check=_operand_dtype,
        sources=("NKI ISA, data types of each instruction",),
        twins=(*twins.OPERAND_DTYPE, *twins.SELECTED, *TWINS["operand-dtype"]),
        failing=kernel(
            "keep_where",
            {"values": ((64, 90), "float32"), "keep": ((64, 90), "int32")},
            ((64, 90), "float32"),
            """
            nisa.memset(dst=result, value=0.0)
            nisa.tensor_copy_predicated(dst=result, src=values_tile, predicate=keep_tile)
            """,
        ),
        passing=kernel(
            "keep_where",
            {"values": ((64, 90), "float32"), "keep": ((64, 90), "uint32")},
            ((64, 90), "float32"),
            """
            nisa.memset(dst=result, value=0.0)
            nisa.tensor_copy_predicated(dst=result, src=values_tile, predicate=keep_tile)
            """,
        ),
    )
)

# ----------------------------------------------------------------------------- vector operands


def _scalar_operand_dtype(op: Operation, target: Target) -> Iterator[Check]:
    chain = kit.described(op).chain
    for step in chain.steps if chain is not None else ():
        role, described = step.operand, kit.described(op).role(step.operand)
        since = described.arithmetic if described is not None else None
        view = op.view(role)
        operator = kit.operator_name(op.value(step.operator))
        if since is None or not op.generation.at_least(since.generation):
            continue
        if view is None or operator is None or kit.is_on_bits(op, step.operator):
            continue
        yield check(
            op,
            role,
            view.dtype.among(kit.FP32),
            f"dtype of {role} is float32 (it is {kit.dtype_words(view.dtype)})",
            f"an arithmetic {role} has to be float32",
            since.fact,
            help=("keep the per-partition operand in a float32 tile",),
        )


register(
    Rule(
        id="scalar-operand-dtype",
        code="NKI602",
        family="dtypes",
        summary="per-partition operands of arithmetic are float32",
        reason=(
            "The lanes hold the per-partition operand of an arithmetic operator as a float32. The "
            "documentation demands that the tile is float32 as well; other types may be read as "
            "bits."
        ),
        facts=(),
        on=On.OPERATION,
        enforces=lambda i: (r.arithmetic.fact for r in i.roles if r.arithmetic is not None),
        check=_scalar_operand_dtype,
        sources=("NKI ISA tensor_scalar",),
        failing=kernel(
            "scale_rows",
            {"x": ((128, 300), "bfloat16"), "s": ((128, 1), "bfloat16")},
            ((128, 300), "bfloat16"),
            "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.multiply, operand0=s_tile)",
        ),
        passing=kernel(
            "scale_rows",
            {"x": ((128, 300), "bfloat16"), "s": ((128, 1), "float32")},
            ((128, 300), "bfloat16"),
            "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.multiply, operand0=s_tile)",
        ),
    )
)

# ----------------------------------------------------------------------------- bit operators


def _bitwise_dtype(op: Operation, target: Target) -> Iterator[Check]:
    instruction = kit.described(op)
    chosen = [
        (item.bits, name)
        for item in instruction.operators
        if item.bits and (name := kit.operator_name(op.value(item.role))) in item.on_bits
    ]
    if instruction.on_bits:
        chosen = [(instruction.on_bits, instruction.short)]
    for fact, operator in chosen[:1]:
        for role in instruction.roles:
            view = op.view(role.name) if role.takes in (Takes.TILE, Takes.VECTOR) else None
            if view is None or not kit.chosen(op, role.name):
                continue
            have = kit.dtype_words(view.dtype)
            yield check(
                op,
                role.name,
                view.dtype.among(kit.INT),
                f"dtype of {role.name} is an integer (it is {have})",
                f"{operator} works on integers, and {role.name} is {have}",
                fact,
                "T02",
                help=("view the bits with an integer dtype: tile.view(nl.uint32)",),
            )


def _bit_facts(instruction: Instruction) -> Iterator[str]:
    yield from (item.bits for item in instruction.operators if item.bits)
    if instruction.on_bits:
        yield instruction.on_bits


register(
    Rule(
        id="bitwise-dtype",
        code="NKI603",
        family="dtypes",
        summary="bit operators work on integers",
        reason=(
            "Bit operators bypass the conversion to float32 and see the stored bits. On a float "
            "they would mix sign, exponent and fraction; the compiler rejects it."
        ),
        facts=("T02",),
        on=On.OPERATION,
        unreached=True,
        enforces=_bit_facts,
        check=_bitwise_dtype,
        sources=("NKI supported operators", "NKI ISA tensor_tensor"),
        failing=kernel(
            "low_bits",
            {"x": ((32, 60), "float32")},
            ((32, 60), "int32"),
            "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.bitwise_and, operand0=7)",
        ),
        passing=kernel(
            "low_bits",
            {"x": ((32, 60), "int32")},
            ((32, 60), "int32"),
            "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.bitwise_and, operand0=7)",
        ),
    )
)

# ----------------------------------------------------------------------------- memset


def _memset_value(op: Operation, target: Target) -> Iterator[Check]:
    dst = op.view("dst")
    if dst is None or not kit.chosen(op, "dst") or not kit.is_settled(dst.dtype):
        return
    if dst.dtype.among(kit.INT | kit.PACKED) is E.FALSE:
        return
    written = kit.described(op).fills
    role = written if isinstance(written, str) else "dtype"
    value = op.value(written) if isinstance(written, str) else written
    exact = kit.role(op, written).exact if isinstance(written, str) else None
    if isinstance(value, float) and exact is not None and op.generation.at_least(exact.generation):
        yield check(
            op,
            role,
            E.not_(dst.dtype.among(kit.INT)),
            f"dst is no integer tile (its dtype is {kit.dtype_words(dst.dtype)})",
            "a float value is written into an integer tile",
            exact.fact,
            about=("dst",),
            help=("write the value as an integer literal",),
        )
    if kit.is_number(value) and kit.equals(value, 0) is not E.TRUE:
        number = kit.constant(value)
        yield check(
            op,
            role,
            E.or_(E.not_(dst.dtype.among(kit.PACKED)), kit.equals(value, 0)),
            "dst is not packed, or the value is 0"
            + (f" (it is {number})" if number is not None else ""),
            "a packed tile can be set to 0 only",
            "MST03",
            about=("dst",),
        )
    name, whole = dst.dtype.name, kit.as_expr(value)
    if whole is not None and name is not None and dt.DTYPES[name][1] == "int":
        low, high = dt.integers(name)
        yield check(
            op,
            role,
            E.and_(E.ge(whole, low), E.le(whole, high)),
            f"{low} <= value <= {high}",
            f"the value does not fit into {name}",
            "MST05",
            values=(("value", whole),),
            severity="warning",
        )


register(
    Rule(
        id="memset-value",
        code="NKI604",
        family="dtypes",
        summary="a tile is filled with a value of its type",
        reason=(
            "The value is stored as it is, in the tile's type. From NKI 0.3 on a float for an "
            "integer tile is rejected instead of being cut off, and packed tiles take zero only."
        ),
        facts=("MST02", "MST03", "MST05"),
        on=On.OPERATION,
        concerns=kinds.fills,
        check=_memset_value,
        sources=("NKI ISA memset", "NKI migration guide 0.3, strict type matching"),
        failing=kernel(
            "counters",
            {"x": ((16, 33), "int32")},
            ((16, 33), "int32"),
            """
            ones = nl.ndarray((16, 33), dtype=nl.int32, buffer=nl.sbuf)
            nisa.memset(dst=ones, value=1.0)
            nisa.tensor_tensor(dst=result, data1=x_tile, data2=ones, op=nl.add)
            """,
        ),
        passing=kernel(
            "counters",
            {"x": ((16, 33), "int32")},
            ((16, 33), "int32"),
            """
            ones = nl.ndarray((16, 33), dtype=nl.int32, buffer=nl.sbuf)
            nisa.memset(dst=ones, value=1)
            nisa.tensor_tensor(dst=result, data1=x_tile, data2=ones, op=nl.add)
            """,
        ),
    )
)
