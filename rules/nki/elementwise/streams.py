"""Tiles that stream through the lanes together."""

from __future__ import annotations

from collections.abc import Iterator

from rules.beta1 import TWINS
from rules.nki import kit
from rules.nki.kit import check, register
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import Lanes, Streams
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


_PARTITION_MISMATCH = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def add_bias(x, bias):
-    assert x.shape == (96, 200) and bias.shape == (1, 200)
+    assert x.shape == (96, 200) and bias.shape == (96, 200)
    out = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.sbuf)
-    shift = nl.ndarray((1, 200), dtype=nl.float32, buffer=nl.sbuf)
+    shift = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=shift, src=bias)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=shift, op=nl.add)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
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
        on=On.OPERATION,
        enforces=lambda instruction: ("NKI-P09",) * any(_stream_facts(instruction)),
        check=_partition_mismatch,
        sources=("Trainium/Inferentia2 architecture, cross-partition connectivity",),
        twins=TWINS["partition-mismatch"],
        failing=_PARTITION_MISMATCH.failing,
        passing=_PARTITION_MISMATCH.passing,
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
        column = stream.column if view.free is E.const(1) else ""
        fits, text = E.eq(view.free, reference.free), f"{role} free size == {name} free size"
        message = f"{role} and {name} have different numbers of elements per partition"
        if stream.column and op.generation.fits_tiles:
            repeats = kit.broadcastable(view.shape[1:], reference.shape[1:])
            fits = E.or_(fits, E.eq(view.free, 1), repeats)
            text = f"{role} free size == {name} free size, or {role} is repeated"
        if stream.alike:
            fits = E.and_(fits, kit.same_shape(view.shape[1:], reference.shape[1:]))
            text, message = (
                f"{role} and {name} have one shape",
                f"{role} and {name} differ in shape",
            )
        yield check(
            op,
            role,
            fits,
            text,
            message,
            stream.fact,
            *((column,) if column else ()),
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
            "column (but in Beta 1, whose compiler repeats it), and what is left over of a longer "
            "operand is not defined. Tail tiles are the usual cause."
        ),
        facts=("TTN09",),
        on=On.OPERATION,
        enforces=_stream_facts,
        check=_free_size_mismatch,
        sources=("NKI ISA, tile size of each instruction",),
        twins=TWINS["free-size-mismatch"],
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
