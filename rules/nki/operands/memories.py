"""Memories that operands are in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.beta1 import TWINS
from rules.nki import kit
from rules.nki.kit import check, register, tiles
from rules.nki.samples import variants
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import Role
from verifier.symbolic.trace import Operation

SBUF: Final = (Buffer.SBUF,)


PSUM: Final = (Buffer.PSUM,)


ON_CHIP: Final = (Buffer.SBUF, Buffer.PSUM)


def _earlier(op: Operation, role: Role) -> bool:
    """Whether an operand's memories are those of an earlier generation."""
    memories = role.memories
    return memories is not None and not op.generation.at_least(memories.since)


def _operand_buffers(op: Operation, target: Target) -> Iterator[Check]:
    for role in kit.described(op).roles:
        view = op.view(role.name)
        if role.memories is None or view is None:
            continue
        hint: tuple[str, ...] = ()
        facts, buffers, severity = role.memories.facts, role.memories.buffers, None
        if _earlier(op, role):
            buffers = role.memories.before
            severity = role.memories.severity if view.buffer.on_chip else None
        if view.buffer.off_chip:
            message = f"{role.name} is in HBM, where compute engines cannot reach it"
            hint = ("copy it to an SBUF tile with nisa.dma_copy first",)
            facts = ("N09", facts[-1])
        elif buffers == SBUF:
            message = f"{role.name} has to be in SBUF"
            hint = ("copy it to SBUF with nisa.tensor_copy on the Vector Engine first",)
        else:
            message = f"{role.name} has to be on chip"
        found = kit.buffer_check(
            op, role.name, view, buffers, message, *facts, help=hint, severity=severity
        )
        if found is not None:
            yield found
    if kit.engine(op) is Engine.GPSIMD:
        for name, view in tiles(op):
            described = kit.described(op).role(name)
            if described is not None and _earlier(op, described):
                continue
            found = kit.buffer_check(
                op,
                name,
                view,
                SBUF,
                f"{name} is in PSUM, which GpSimd cannot reach",
                "N07",
                help=("run the instruction on the Vector Engine, or copy the tile to SBUF first",),
            )
            if found is not None:
                yield found


def _memory_facts(instruction: Instruction) -> Iterator[str]:
    if instruction.traits.isdisjoint((Trait.DMA, Trait.COLLECTIVE, Trait.MATMUL)):
        for role in instruction.roles:
            yield from role.memories.facts if role.memories is not None else ()


_OPERAND_BUFFERS = variants(
    """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def positive_part(values):
    assert values.shape == (128, 96)
    out = nl.ndarray((128, 96), dtype=values.dtype, buffer=nl.shared_hbm)
    held = nl.ndarray((128, 96), dtype=values.dtype, buffer=nl.sbuf)
-    nisa.activation(dst=held, op=nl.relu, data=values)
+    nisa.dma_copy(dst=held, src=values)
+    nisa.activation(dst=held, op=nl.relu, data=held)
    nisa.dma_copy(dst=out, src=held)
    return out
"""
)


register(
    Rule(
        id="operand-buffers",
        code="NKI106",
        family="operands",
        summary="each operand of a compute instruction is in a memory its engine can reach",
        reason=(
            "The engines read and write SBUF, and all but GpSimd also PSUM. None of them reaches "
            "HBM: data comes from and goes there by DMA only. GpSimd has no port to PSUM, and some "
            "instructions of the other engines read SBUF alone."
        ),
        facts=(
            "N07",
            "N09",
            "L25",
            "L56",
            "BUF07",
            "CPY03",
            "TTN07",
            "TSC12",
            "NGA01",
            "LGA06",
            "SQB04",
            "PRD03",
            "QMX07",
            "AFS01",
        ),
        on=On.OPERATION,
        enforces=_memory_facts,
        check=_operand_buffers,
        sources=("NKI ISA, memory types of each instruction", "Neuron architecture guides"),
        twins=TWINS["operand-buffers"],
        failing=_OPERAND_BUFFERS.failing,
        passing=_OPERAND_BUFFERS.passing,
    )
)


def _one_port_facts(instruction: Instruction) -> tuple[str, ...]:
    pair = instruction.one_psum_input
    return () if pair is None else (pair.fact,)


def _two_psum_inputs(op: Operation, target: Target) -> Iterator[Check]:
    pair = kit.described(op).one_psum_input
    if pair is None or not op.generation.at_least(pair.since):
        return
    first, second = pair.first, pair.second
    a, b = op.view(first), op.view(second)
    if a is None or b is None or Buffer.UNKNOWN in (a.buffer, b.buffer):
        return
    yield check(
        op,
        second,
        E.truth(not (a.buffer is Buffer.PSUM and b.buffer is Buffer.PSUM)),
        f"{first} and {second} are not both in PSUM",
        f"{first} and {second} are both in PSUM",
        *dict.fromkeys(("NKI-N08", pair.fact)),
        about=(first, second),
        help=(f"copy {first} or {second} to SBUF with nisa.tensor_copy first",),
    )


register(
    Rule(
        id="two-psum-inputs",
        code="NKI107",
        family="operands",
        summary="at most one of two full-size inputs is in PSUM",
        reason=(
            "The Vector Engine has one read port to PSUM. An instruction that streams two tiles at "
            "a time takes at least one of them from SBUF."
        ),
        facts=("N08",),
        on=On.OPERATION,
        enforces=_one_port_facts,
        check=_two_psum_inputs,
        sources=("NKI ISA tensor_tensor, scalar_tensor_tensor, tensor_tensor_scan",),
        failing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def difference_of_products(weights, left, right):
    assert weights.shape == (128, 64)
    assert left.shape == (128, 256) and right.shape == (128, 256)
    out = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.shared_hbm)
    w = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    a = nl.ndarray((128, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    b = nl.ndarray((128, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=w, src=weights)
    nisa.dma_copy(dst=a, src=left)
    nisa.dma_copy(dst=b, src=right)
    first = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
    second = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=first, stationary=w, moving=a)
    nisa.nc_matmul(dst=second, stationary=w, moving=b)
    result = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=result, data1=first, data2=second, op=nl.subtract)
    nisa.dma_copy(dst=out, src=result)
    return out
""",
        passing="""\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product_minus(weights, left, offset):
    assert weights.shape == (128, 64)
    assert left.shape == (128, 256) and offset.shape == (64, 256)
    out = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.shared_hbm)
    w = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    a = nl.ndarray((128, 256), dtype=nl.bfloat16, buffer=nl.sbuf)
    shift = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=w, src=weights)
    nisa.dma_copy(dst=a, src=left)
    nisa.dma_copy(dst=shift, src=offset)
    product = nl.ndarray((64, 256), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=w, moving=a)
    nisa.tensor_tensor(dst=shift, data1=product, data2=shift, op=nl.subtract)
    nisa.dma_copy(dst=out, src=shift)
    return out
""",
    )
)
