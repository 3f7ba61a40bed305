"""Operands of one number per partition."""

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
from verifier.symbolic.roles import PerPartition
from verifier.symbolic.trace import Operation


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


_VECTOR_OPERAND_SHAPE = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def scaled(x, factors):
-    assert x.shape == (128, 320) and factors.shape == (128, 2)
+    assert x.shape == (128, 320) and factors.shape == (128, 1)
    out = nl.ndarray((128, 320), dtype=nl.float32, buffer=nl.shared_hbm)
    data = nl.load(x)
    factor = nl.load(factors, dtype=nl.float32)
    result = nisa.tensor_scalar(data, op0=nl.multiply, operand0=factor)
    nl.store(out, result)
    return out
"""
)


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
        on=On.OPERATION,
        enforces=_vector_facts,
        check=_vector_operand_shape,
        sources=("NKI ISA activation, tensor_scalar, scalar_tensor_tensor",),
        twins=TWINS["vector-operand-shape"],
        failing=_VECTOR_OPERAND_SHAPE.failing,
        passing=_VECTOR_OPERAND_SHAPE.passing,
    )
)
