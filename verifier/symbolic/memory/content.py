"""What places hold that go on from what is there: locations of PSUM, accumulators of engines.

And what operations without operands write, what others pass on.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

from verifier.symbolic import expr as E
from verifier.symbolic.effects import Accumulation, Carried, Effect
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import SystemTensor
from verifier.symbolic.tensors import DType
from verifier.symbolic.trace import Operation
from verifier.symbolic.values import ApiRef, Enumerator


class Content(Enum):
    """What a location of PSUM holds."""

    NOTHING = "no sum"
    ZEROS = "zeros that no multiplication wrote"
    FOREIGN = "what no multiplication wrote"
    SUM = "a sum"
    USED = "a sum that was read"
    #: of several locations
    PART = "a sum in some of them, and none in others"


class Held(Struct, frozen=True):
    """What an accumulator of an engine holds.

    ``by``: the function that set it (or that altered it) last, by its short name; empty: none did.
    ``operator``: how that folds data into it, if it said so. ``facts``: those about that function.
    """

    by: str = ""
    operator: str = ""
    altered: bool = False
    facts: tuple[str, ...] = ()

    @staticmethod
    def after(operation: Operation, used: Accumulation) -> Held | None:
        """What an accumulator holds that an operation sets or alters; None: it does neither."""
        instruction = operation.instruction
        registers = instruction.footprint.accumulators if instruction is not None else None
        if registers is None or not (used.begins or used.alters):
            return None
        name = operation.name.rpartition(".")[2]
        return Held(name, used.operator, not used.begins, registers.facts)


def written(operation: Operation) -> Content:
    """What the locations hold that an operation writes which is no multiplication.

    After a call that was reported they hold what the next one needs.
    """
    instruction = operation.instruction
    if instruction is not None and Trait.REFUSED in instruction.traits:
        return Content.SUM
    return Content.ZEROS if constant(operation) == 0 else Content.FOREIGN


def constant(operation: Operation) -> int | float | None:
    """The number that an operation writes everywhere, if it reads nothing and that is known."""
    value = _everywhere(operation)
    if isinstance(value, Expr):
        return value.const if value.is_const else None
    return value if isinstance(value, int | float) else None


def filled(operation: Operation) -> Expr | None:
    """The integer that an operation writes everywhere, if it reads nothing."""
    value = _everywhere(operation)
    if isinstance(value, Expr):
        return value
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return E.const(int(value)) if whole and isinstance(value, int | float) else None


def _everywhere(operation: Operation) -> object:
    """What an operation writes everywhere, as it is given."""
    instruction = operation.instruction
    if instruction is None or operation.reads or len(operation.writes) != 1:
        return None
    ((role, _),) = operation.writes
    given = {write.constant for write in instruction.footprint.writes_of(role)}
    held = given.pop() if len(given) == 1 else None
    return operation.value(held) if isinstance(held, str) else held


def skips(operation: Operation) -> bool:
    """Whether a transfer leaves elements as they are where it would lie outside of its tensors."""
    mode = operation.value("oob_mode")
    return isinstance(mode, Enumerator) and mode.name == "skip"


def stored(operation: Operation, role: str) -> str:
    """How messages say that something is stored to what an operand is."""
    for touch in operation.touches:
        if touch.role == role and isinstance(touch.tensor, SystemTensor):
            return stored_to(touch.tensor.address.storage.name)
    view = operation.view(role)
    return stored_to(view.name) if view is not None else "it is stored"


def stored_to(name: str) -> str:
    """How messages say that something is stored to a tensor."""
    return f"it is stored to `{name}`"


def combines(operation: Operation) -> str:
    """The operator with which the memory adds what is written; empty: it is not known, or sets.

    Several such sums with one operator may come in any order.
    """
    instruction = operation.instruction
    if instruction is None or operation.effect is not Effect.ADDS:
        return ""
    named = {write.by for write in instruction.footprint.writes if write.by}
    if not named:
        return "add"
    operator = operation.value(named.pop())
    return operator.name if isinstance(operator, Enumerator) else ""


#: what an operation may be given besides terms and views: the same for whoever gives it
PLAIN: Final = (bool, int, float, str, DType, Enumerator, ApiRef, type(None))


def determined(operation: Operation) -> bool:
    """Whether what is written hangs on what is given and read, and on nothing else."""
    return _hangs_on_operands(operation) and not exchanged(operation)


def exchanged(operation: Operation) -> bool:
    """Whether it hangs on what other ranks take part with, too, and on nothing else."""
    instruction = operation.instruction
    collective = instruction is not None and Trait.COLLECTIVE in instruction.traits
    return collective and _hangs_on_operands(operation)


def _hangs_on_operands(operation: Operation) -> bool:
    instruction = operation.instruction
    if instruction is None or Trait.RANDOM in instruction.traits:
        return False
    return not (instruction.footprint.orders or instruction.footprint.remembers(operation))


def moved(operation: Operation) -> str | None:
    """The role of what an operation passes on as it is, if it reads nothing else."""
    instruction = operation.instruction
    if instruction is None or len(operation.reads) != 1 or instruction.footprint.orders:
        return None  # what another core has sent is no move
    ((role, _),) = operation.reads
    fates = [entry.fate for entry in instruction.footprint.reads_of(role)]
    plain = bool(fates) and all(isinstance(fate, Carried) and fate.moved for fate in fates)
    return role if plain and not operation.adds else None


def folded(operation: Operation) -> tuple[Expr, ...]:
    """The indices of the loops whose iterations an operation folds together.

    What it writes is the same for all of them: it counts when the last one is over.
    """
    instruction = operation.instruction
    if instruction is None or not instruction.footprint.folds:
        return ()
    given = operation.value(instruction.footprint.folds)
    indices = given if isinstance(given, tuple) else (given,)
    return tuple(index for index in indices if isinstance(index, Expr))
