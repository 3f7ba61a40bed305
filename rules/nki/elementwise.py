"""Shapes of elementwise instructions: what flows through the lanes together has to match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.kit import at_least, check, register
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Instruction, Lanes, PerPartition, Streams, Takes
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _streams(op: Operation) -> list[tuple[str, Streams]]:
    """The inputs that have one element for each element of dst."""
    roles = kit.described(op).roles
    return [(role.name, role.shape) for role in roles if isinstance(role.shape, Streams)]


def _stream_facts(instruction: Instruction) -> Iterator[str]:
    for role in instruction.roles:
        if isinstance(role.shape, Streams):
            yield role.shape.fact


def _full_size(op: Operation, role: str) -> View | None:
    """The tile at ``role``, unless it is off chip or the copy of a single column into a tile."""
    view = op.view(role)
    return view if view is not None and view.buffer.on_chip else None


def _partition_mismatch(op: Operation, target: Target) -> Iterator[Check]:
    inputs = [role for role, _ in _streams(op)]
    dst = _full_size(op, "dst")
    extra = [r.name for r in kit.described(op).roles if isinstance(r.shape, Lanes)]
    for role in (*inputs, *extra):
        view = _full_size(op, role)
        if view is None:
            continue
        other = dst
        other_role = "dst"
        if other is None and role != inputs[0]:
            other, other_role = _full_size(op, inputs[0]), inputs[0]
        if other is None:
            continue
        yield check(
            op,
            role,
            E.eq(view.partitions, other.partitions),
            f"partitions of {role} == partitions of {other_role}",
            f"{role} and {other_role} have different numbers of partitions",
            "P09",
            values=(
                (f"partitions of {role}", view.partitions),
                (f"partitions of {other_role}", other.partitions),
            ),
            about=(role, other_role),
        )


register(
    Rule(
        id="partition-mismatch",
        code="NKI401",
        family="elementwise",
        summary="inputs and result of an elementwise instruction have the same partitions",
        reason=(
            "Each lane of an engine works on one partition: partition p of the inputs produces "
            "partition p of the result. There is no broadcast along the partition axis, and a "
            "smaller tile does not leave the other lanes alone."
        ),
        facts=("P09",),
        on="operation",
        enforces=lambda instruction: ("NKI-P09",) * any(_stream_facts(instruction)),
        check=_partition_mismatch,
        sources=("Trainium/Inferentia2 architecture, cross-partition connectivity",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def add_bias(x, bias):
    assert x.shape == (96, 200) and bias.shape == (1, 200)
    out = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.sbuf)
    shift = nl.ndarray((1, 200), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=shift, src=bias)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=shift, op=nl.add)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def add_bias(x, bias):
    assert x.shape == (96, 200) and bias.shape == (96, 200)
    out = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.sbuf)
    shift = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=shift, src=bias)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=shift, op=nl.add)
    nisa.dma_copy(dst=out, src=tile)
    return out
""",
    )
)


def _free_size_mismatch(op: Operation, target: Target) -> Iterator[Check]:
    dst = _full_size(op, "dst")
    reference = dst
    name = "dst"
    for role, stream in _streams(op):
        view = _full_size(op, role)
        if view is None:
            continue
        if reference is None:
            reference, name = view, role
            continue
        column = op.name == "isa.tensor_tensor" and view.free is E.const(1)
        yield check(
            op,
            role,
            E.eq(view.free, reference.free),
            f"{role} free size == {name} free size",
            f"{role} and {name} have different numbers of elements per partition",
            stream.fact,
            *(("TTN09",) if column else ()),
            values=((f"{role} free size", view.free), (f"{name} free size", reference.free)),
            about=(role, name),
            help=("nisa.tensor_scalar takes one value per partition as operand0",)
            if column
            else (),
        )


register(
    Rule(
        id="free-size-mismatch",
        code="NKI402",
        family="elementwise",
        summary="inputs and result of an elementwise instruction have as many elements",
        reason=(
            "Operands stream through a lane element by element, each along its own access pattern. "
            "Ranks may differ, but the patterns have to end together: there is no broadcast of one "
            "column, and what is left over of a longer operand is not defined. Tail tiles are the "
            "usual cause."
        ),
        facts=("TTN09",),
        on="operation",
        enforces=_stream_facts,
        check=_free_size_mismatch,
        sources=("NKI ISA, tile size of each instruction",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def tail_copy(x):
    rows, columns = x.shape
    assert rows == 64 and columns > 256 and columns < 512
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    for start in range(0, 512, 256):
        width = min(256, columns - start)
        tile = nl.ndarray((rows, 256), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[:, 0:width], src=x[:, start : start + width])
        doubled = nl.ndarray((rows, 256), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=doubled, data=tile[:, 0:width], op0=nl.multiply, operand0=2.0
        )
        nisa.dma_copy(dst=out[:, start : start + width], src=doubled[:, 0:width])
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def tail_copy(x):
    rows, columns = x.shape
    assert rows == 64 and columns > 256 and columns < 512
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    for start in range(0, 512, 256):
        width = min(256, columns - start)
        tile = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[:, start : start + width])
        doubled = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=doubled, data=tile, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[:, start : start + width], src=doubled)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- vector operands


def _vector_operand_shape(op: Operation, target: Target) -> Iterator[Check]:
    for described in kit.described(op).roles:
        shape, role = described.shape, described.name
        view = op.view(role)
        if view is None or not isinstance(shape, PerPartition):
            continue
        fact, data_role = shape.fact, shape.of
        data = op.view(data_role)
        yield check(
            op,
            role,
            E.eq(view.free, 1),
            f"{role} free size == 1",
            f"{role} has more than one element per partition",
            fact,
            "N11",
            values=((f"{role} free size", view.free),),
            help=(f"{role} takes a number, or a tile of shape (partitions, 1)",),
        )
        if shape.rank is not None:
            count = f"{shape.rank} dimension{'s' * (shape.rank != 1)}"
            yield check(
                op,
                role,
                E.truth(view.rank == shape.rank),
                f"{role} has {count}",
                f"{role} has {view.rank} dimension{'s' * (view.rank != 1)}, not {shape.rank}",
                fact,
                "N11",
                help=(f"index a tile of {count}: (partitions, 1)",),
            )
        if data is None or not data.buffer.on_chip or not view.buffer.on_chip:
            continue
        yield check(
            op,
            role,
            E.eq(view.partitions, data.partitions),
            f"partitions of {role} == partitions of {data_role}",
            f"{role} has another number of partitions than {data_role}",
            fact,
            "N11",
            values=(
                (f"partitions of {role}", view.partitions),
                (f"partitions of {data_role}", data.partitions),
            ),
            about=(role, data_role),
        )


def _vector_facts(instruction: Instruction) -> Iterator[str]:
    for role in instruction.roles:
        if isinstance(role.shape, PerPartition):
            yield role.shape.fact


register(
    Rule(
        id="vector-operand-shape",
        code="NKI403",
        family="elementwise",
        summary="a per-partition operand has one element for each partition of the data",
        reason=(
            "Scalar operands such as bias, scale and operand0 are held in a lane while its "
            "partition streams by: one value for all lanes, or one per lane. A tile given for "
            "such an operand has the data's partitions and exactly one element in each."
        ),
        facts=("N11",),
        on="operation",
        enforces=_vector_facts,
        check=_vector_operand_shape,
        sources=("NKI ISA activation, tensor_scalar, scalar_tensor_tensor",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def scaled(x, factors):
    assert x.shape == (128, 320) and factors.shape == (128, 2)
    out = nl.ndarray((128, 320), dtype=nl.float32, buffer=nl.shared_hbm)
    data = nl.load(x)
    factor = nl.load(factors, dtype=nl.float32)
    result = nisa.tensor_scalar(data, op0=nl.multiply, operand0=factor)
    nl.store(out, result)
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def scaled(x, factors):
    assert x.shape == (128, 320) and factors.shape == (128, 1)
    out = nl.ndarray((128, 320), dtype=nl.float32, buffer=nl.shared_hbm)
    data = nl.load(x)
    factor = nl.load(factors, dtype=nl.float32)
    result = nisa.tensor_scalar(data, op0=nl.multiply, operand0=factor)
    nl.store(out, result)
    return out
""",
    )
)

# ----------------------------------------------------------------------------- language functions


def _of_two(instruction: Instruction) -> bool:
    """Whether it computes on two tiles or numbers, element by element."""
    vectors = [role.name for role in instruction.roles if role.takes is Takes.VECTOR]
    return vectors == ["x", "y"] and instruction.role("condition") is None


_SYMBOLS: Final = frozenset({"+", "-", "*", "/", "%", "**", "&", "|", "^", "<<", ">>"})


def _language_shapes(op: Operation, target: Target) -> Iterator[Check]:
    x, y = op.view("x"), op.view("y")
    if x is None or y is None:
        return
    strict = at_least(op.api, "0.3")
    if strict:
        predicate = E.and_(E.eq(x.partitions, y.partitions), E.eq(x.free, y.free))
        text = "x and y have the same shape"
    else:
        pairs = list(zip(reversed(x.shape), reversed(y.shape), strict=False))
        predicate = E.and_(*(E.or_(E.eq(a, b), E.eq(a, 1), E.eq(b, 1)) for a, b in pairs))
        text = "the dimensions of x and y are equal or 1"
        if op.call_text in _SYMBOLS:
            predicate = E.and_(predicate, E.eq(x.partitions, y.partitions))
            text += ", and their partitions are equal"
    severity = "warning" if strict else None
    yield check(
        op,
        "y",
        predicate,
        text,
        "x and y do not have the same shape"
        if strict
        else "the shapes of x and y do not go together",
        "L40" if strict else "P17",
        values=(
            ("partitions of x", x.partitions),
            ("x free size", x.free),
            ("partitions of y", y.partitions),
            ("y free size", y.free),
        ),
        about=("x", "y"),
        severity=severity,
        help=("nisa.tensor_scalar applies one value per partition to a tile",)
        if strict
        else ("use .broadcast_to to repeat a row over the partitions",),
    )


register(
    Rule(
        id="language-broadcast",
        code="NKI404",
        family="elementwise",
        summary="tiles combined by a function of nki.language have shapes that go together",
        reason=(
            "From NKI 0.3 on, binary functions do not broadcast: both tiles have the same shape. "
            "In Beta 1 a dimension of size 1 is repeated, along the partition axis by functions "
            "only: operators do not, since that moves data between lanes."
        ),
        facts=("L40", "P17", "OQ27"),
        on="operation",
        concerns=_of_two,
        check=_language_shapes,
        sources=("NKI 0.3 and 0.4 known issues", "Beta 1 known issues, unsupported syntax"),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def add_row(matrix, row):
    assert matrix.shape == (64, 250) and row.shape == (1, 250)
    out = nl.ndarray((64, 250), dtype=matrix.dtype, buffer=nl.shared_hbm)
    tile = nl.load(matrix)
    line = nl.load(row)
    nl.store(out, tile + line)
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def add_row(matrix, row):
    assert matrix.shape == (64, 250) and row.shape == (1, 250)
    out = nl.ndarray((64, 250), dtype=matrix.dtype, buffer=nl.shared_hbm)
    tile = nl.load(matrix)
    line = nl.load(row).broadcast_to((64, 250))
    nl.store(out, tile + line)
    return out
""",
    )
)


def _where_shapes(op: Operation, target: Target) -> Iterator[Check]:
    condition = op.view("condition")
    for role in ("x", "y"):
        view = op.view(role)
        if view is None or condition is None:
            continue
        same = E.and_(E.eq(view.partitions, condition.partitions), E.eq(view.free, condition.free))
        if not at_least(op.api, "0.3"):
            same = E.or_(same, kit.broadcastable(view.shape, condition.shape))
        yield check(
            op,
            role,
            same,
            f"{role} has the shape of condition",
            f"{role} and condition have different shapes",
            "L33",
            values=(
                (f"partitions of {role}", view.partitions),
                (f"{role} free size", view.free),
                ("partitions of condition", condition.partitions),
                ("condition free size", condition.free),
            ),
            about=(role, "condition"),
        )


register(
    Rule(
        id="where-shapes",
        code="NKI405",
        family="elementwise",
        summary="nl.where selects between tiles of the condition's shape",
        reason=(
            "The condition holds one truth value per element; the tiles it selects from have an "
            "element for each of them."
        ),
        facts=("L33",),
        on="operation",
        operations=("language.where",),
        check=_where_shapes,
        sources=("NKI language where",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def mask_scores(keep, scores, floor):
    assert keep.shape == (128, 96) and scores.shape == (128, 96)
    assert floor.shape == (128, 95)
    out = nl.ndarray((128, 96), dtype=scores.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.where(nl.load(keep), nl.load(scores), nl.load(floor)))
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def mask_scores(keep, scores, floor):
    assert keep.shape == (128, 96) and scores.shape == (128, 96)
    assert floor.shape == (128, 96)
    out = nl.ndarray((128, 96), dtype=scores.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.where(nl.load(keep), nl.load(scores), nl.load(floor)))
    return out
""",
    )
)

# ----------------------------------------------------------------------------- assignment


def _wide(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The extents that are not 1: dimensions of size 1 may be left out or added."""
    return tuple(extent for extent in shape if extent is not E.const(1))


def _assignment_shape(op: Operation, target: Target) -> Iterator[Check]:
    dst, value = op.view("dst"), op.view("value")
    if dst is None or value is None:
        return
    yield check(
        op,
        "value",
        E.or_(
            kit.broadcastable(value.shape, dst.shape),
            kit.same_shape(_wide(value.shape), _wide(dst.shape)),
        ),
        "the value has the shape of the target, or dimensions of size 1",
        "the assigned value does not fit the target",
        "X69",
        values=(
            *((f"target dimension {k}", extent) for k, extent in enumerate(dst.shape)),
            *((f"value dimension {k}", extent) for k, extent in enumerate(value.shape)),
        ),
        about=("dst", "value"),
    )


register(
    Rule(
        id="assignment-shape",
        code="NKI406",
        family="elementwise",
        summary="a tile assigned into another has its shape, or is repeated to it",
        reason=(
            "An assignment writes every element of its target. A value with a dimension of size 1 "
            "is repeated along it; the other way round, elements of the value would be lost."
        ),
        facts=("X69",),
        on="operation",
        operations=("language.assign",),
        check=_assignment_shape,
        sources=("Beta 1 errors, store destination smaller than the other shape",),
        failing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def collect(x):
    assert x.shape == (128, 200)
    out = nl.ndarray((128, 100), dtype=x.dtype, buffer=nl.shared_hbm)
    buffer = nl.ndarray((128, 100), dtype=x.dtype, buffer=nl.sbuf)
    tile = nl.load(x)
    buffer[...] = nl.exp(tile)
    nl.store(out, buffer)
    return out
""",
        passing="""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def collect(x):
    assert x.shape == (128, 100)
    out = nl.ndarray((128, 100), dtype=x.dtype, buffer=nl.shared_hbm)
    buffer = nl.ndarray((128, 100), dtype=x.dtype, buffer=nl.sbuf)
    tile = nl.load(x)
    buffer[...] = nl.exp(tile)
    nl.store(out, buffer)
    return out
""",
    )
)
