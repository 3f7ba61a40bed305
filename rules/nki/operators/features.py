"""What only some targets and compilers have."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit
from rules.nki.kit import check, register
from rules.nki.samples import kernel, variants
from verifier.hardware import targets
from verifier.hardware.capabilities import Capability
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.instruction import Instruction, Program
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _target_feature(op: Operation, target: Target) -> Iterator[Check]:
    instruction = kit.described(op)
    if instruction.needs is not None:
        yield _has_instruction(op, instruction.short, target, *instruction.needs)
    for item in instruction.operators:
        operator = kit.operator_name(op.value(item.role))
        if operator is None or operator not in item.needs:
            continue
        capability, facts = item.needs[operator]
        yield check(
            op,
            item.role,
            E.truth(target.has(capability)),
            f"the target is {targets.needing(capability)} (it is {target.name})",
            f"{target.name} has no {operator} in {instruction.short}",
            *facts,
            about=(),
        )
    for role in instruction.roles:
        if role.needs is not None and op.value(role.name) is not None:
            yield _has_option(op, role.name, target, *role.needs)
    if instruction.role("bias") is not None:
        yield from _bias(op, target)
    told = instruction.needs is not None and not target.has(instruction.needs[0])
    for name, operand in op.operands.items():
        view = operand.value
        if isinstance(view, View) and instruction.computes and not told:
            packed = view.dtype.among(kit.PACKED)
            if not target.has(Capability.MX_MATMUL) and packed is not E.FALSE:
                what = view.dtype.name or "its dtype"
                yield check(
                    op,
                    name,
                    E.not_(packed),
                    f"{name} is not packed (it is {what})",
                    f"{target.name} cannot compute with {what}",
                    "H82",
                )


def _has_instruction(
    op: Operation, short: str, target: Target, capability: Capability, facts: tuple[str, ...]
) -> Check:
    version = f"nisa.nc_version.{targets.first_with(capability).version}"
    return Check(
        predicate=E.truth(target.has(capability)),
        span=op.span,
        text=f"the target is {targets.needing(capability)} (it is {target.name})",
        message=f"{target.name} has no {short}",
        facts=facts,
        help=(f"guard the call with nisa.get_nc_version() >= {version}",),
    )


def _has_option(
    op: Operation, name: str, target: Target, capability: Capability, facts: tuple[str, ...]
) -> Check:
    first = targets.first_with(capability)
    return check(
        op,
        name,
        E.or_(E.truth(target.has(capability)), E.not_(kit.flag(op, name))),
        f"{name} is not set, or the target is {first.name} or newer (it is {target.name})",
        f"{target.name} has no {name} in {kit.described(op).short}",
        *facts,
        about=(),
    )


def _bias(op: Operation, target: Target) -> Iterator[Check]:
    operand = op.operands.get("bias")
    given = operand is not None and operand.given and not target.has(Capability.BIAS_NUMBER)
    if given and kit.is_number(op.value("bias")):
        yield check(
            op,
            "bias",
            E.FALSE,
            "bias is a tile of shape (partitions, 1)",
            f"the Scalar Engine of {target.name} takes bias as a tile only",
            "ACT05",
            "H73",
            about=(),
        )
    if target.has(Capability.BIASED_RECIPROCAL):
        return
    if kit.operator_name(op.value("op")) == "reciprocal":
        yield check(
            op,
            "bias",
            E.truth(op.value("bias") is None),
            "bias is None",
            f"reciprocal takes no bias on {target.name}",
            "ACT09",
            about=(),
        )


def _feature_facts(instruction: Instruction) -> Iterator[str]:
    if instruction.needs is not None:
        yield from instruction.needs[1]
    for item in instruction.operators:
        yield from (fact for _, facts in item.needs.values() for fact in facts)
    for role in instruction.roles:
        if role.needs is not None:
            yield from role.needs[1]
    if instruction.computes:
        yield "NKI-H82"


register(
    Rule(
        id="target-feature",
        code="NKI615",
        family="operators",
        summary="the instruction, or the feature it uses, exists on the target",
        reason=(
            "Instructions and operators were added with each generation of the NeuronCore. A "
            "kernel for several targets asks for the version before it uses the newer ones."
        ),
        facts=("ACT05", "ACT06", "ACT09", "H73"),
        on=On.OPERATION,
        enforces=_feature_facts,
        of_target=True,
        check=_target_feature,
        sources=("NKI ISA", "Neuron architecture guides"),
        failing=kernel(
            "softmax_numerator",
            {"x": ((128, 256), "float32")},
            ((128, 256), "float32"),
            "nisa.exponential(dst=result, src=x_tile, max_value=0.0)",
        ),
        passing=kernel(
            "softmax_numerator",
            {"x": ((128, 256), "float32")},
            ((128, 256), "float32"),
            "nisa.exponential(dst=result, src=x_tile, max_value=0.0)",
            target="trn3",
        ),
    )
)


def _language_support(op: Operation, target: Target) -> Iterator[Check]:
    instruction = kit.described(op)
    short, simulated = instruction.short, instruction.simulated
    if simulated is not None:
        if op.generation.at_least(simulated.since):
            yield Check(
                predicate=E.FALSE,
                span=op.span,
                text=f"nl.{short} exists on hardware",
                message=f"nl.{short} does not compile for hardware",
                facts=(simulated.fact,),
                help=(simulated.instead,),
            )
        return
    program = instruction.program
    if program is not None and op.generation.at_least(program.since):
        yield from _of_program(op, program)


def _of_program(op: Operation, program: Program) -> Iterator[Check]:
    """What a program of GpSimd can reach, and what it takes."""
    short = kit.described(op).short
    for role, fact in program.tiles.items():
        if kit.is_number(op.value(role)):
            yield check(
                op,
                role,
                E.FALSE,
                f"{role} is a tile",
                f"nl.{short} takes its exponent as a tile",
                fact,
                about=(),
            )
    for described in kit.described(op).roles:
        role, view = described.name, op.view(described.name)
        if described.memories is None or view is None or not view.buffer.on_chip:
            continue
        found = kit.buffer_check(
            op,
            role,
            view,
            program.memories.buffers,
            f"nl.{short} runs on GpSimd, which cannot reach {role} in PSUM",
            *program.memories.facts,
            help=("copy the tile to SBUF first",),
        )
        if found is not None:
            yield found


def _support_facts(instruction: Instruction) -> Iterator[str]:
    if instruction.simulated is not None:
        yield instruction.simulated.fact
    if instruction.program is not None:
        yield from instruction.program.memories.facts


_LANGUAGE_SUPPORT = variants(
    """\
import nki
import nki.language as nl


@nki.jit
def ratio(a, b):
    assert a.shape == (64, 25) and b.shape == (64, 25)
    out = nl.ndarray((64, 25), dtype=a.dtype, buffer=nl.shared_hbm)
    top = nl.load(a)
    bottom = nl.load(b)
-    nl.store(out, nl.divide(top, bottom))
+    nl.store(out, nl.multiply(top, nl.reciprocal(bottom)))
    return out
"""
)


register(
    Rule(
        id="language-support",
        code="NKI616",
        family="operators",
        summary="functions of nki.language are used as far as hardware supports them",
        reason=(
            "Some functions of nki.language run in the simulator only, and some became programs of "
            "GpSimd, which sees SBUF alone. They are accepted when a kernel is traced and fail "
            "when it is compiled."
        ),
        facts=("L44", "L45"),
        on=On.OPERATION,
        enforces=_support_facts,
        check=_language_support,
        sources=("NKI 0.4 known issues", "NKI migration guide 0.5"),
        failing=_LANGUAGE_SUPPORT.failing,
        passing=_LANGUAGE_SUPPORT.passing,
    )
)
