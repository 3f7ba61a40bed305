"""A kernel's inferred precondition as a contract, in the grammar of contracts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from verifier.configuration.contracts import Contract, Name, TensorSpec
from verifier.configuration.grammar import ContractError, parse
from verifier.configuration.showing import text_of
from verifier.report.model import KernelReport, Precondition

_WORD = re.compile(r"\b[A-Za-z_]\w*\b(?!\.)")
_SIZE = re.compile(r"\b(\w+)\.shape\[(\d+)\]")


class Inferred(Struct, frozen=True):
    """What is known of a kernel's inputs.

    ``contract`` is empty where nothing is known, and ``reasons`` say why. ``left_out`` are the
    conditions that the grammar has no form for.
    """

    kernel: KernelReport
    contract: str = ""
    left_out: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the contract says all."""
        return bool(self.contract) and not self.left_out


def inferred(kernel: KernelReport) -> Inferred:
    """The contract of a kernel's precondition, over all its tensors."""
    condition = kernel.precondition
    if condition is None or not condition.sufficient:
        reasons = condition.undecided if condition is not None else ()
        reasons = reasons or tuple(reason.message for reason in kernel.reasons)
        return Inferred(kernel, reasons=reasons or ("it has faults that no precondition excludes",))
    names = _names(condition)
    said = parse(kernel.contract) if kernel.contract else None
    own = {} if said is None else _renamed(condition, said, names)
    kept, left = [], []
    for conjunct in condition.conjuncts:
        if conjunct.rank:
            continue  # the shape of its tensor says so
        text = _SIZE.sub(lambda m: names.get((m[1], int(m[2])), m[0]), conjunct.text)
        text = _WORD.sub(lambda m: own.get(m[0], m[0]), text)
        if "?" not in text and _fits(text):
            kept.append(f"({text})" if " or " in text else text)
        else:
            left.append(conjunct.text)
    if said is not None:  # what is found is found under it
        text = text_of(replace(said, kernel=kernel.name))
        if kept:
            text += (", " if said.conditions else " where ") + ", ".join(kept)
        return Inferred(kernel, text_of(parse(text)), tuple(left))
    inputs = ", ".join(
        f"{tensor}: _[{', '.join(names[tensor, axis] for axis in range(len(sizes)))}]"
        for tensor, sizes in condition.shapes
    )
    text = f"{kernel.name}({inputs})" + (f" where {', '.join(kept)}" if kept else "")
    return Inferred(kernel, text_of(parse(text)), tuple(left))


def _names(condition: Precondition) -> Mapping[tuple[str, int], str]:
    """A name for each size: the kernel's own, or one of the tensor's name and the axis."""
    taken = {name for _, sizes in condition.shapes for name in sizes if name}
    taken |= {tensor for tensor, _ in condition.shapes}
    names = {}
    for tensor, sizes in condition.shapes:
        for axis, name in enumerate(sizes):
            free = name or f"{tensor}_{axis}"
            while not name and free in taken:
                free += "_"
            taken.add(free)
            names[tensor, axis] = free
    return names


def _renamed(
    condition: Precondition, said: Contract, names: Mapping[tuple[str, int], str]
) -> Mapping[str, str]:
    """What a contract calls the sizes that ``names`` has names for; ``?``: it has no name."""
    specs = {parameter.name: parameter.spec for parameter in said.parameters}
    own: dict[str, str] = {}
    for (tensor, axis), name in names.items():
        spec = specs.get(tensor)
        shape = spec.shape if isinstance(spec, TensorSpec) and spec.shape is not None else ()
        size = shape[axis] if axis < len(shape) else None
        found = size.id if isinstance(size, Name) else "?"
        if own.get(name, "?") == "?":
            own[name] = found
    return own


def _fits(condition: str) -> bool:
    """Whether the grammar of contracts has a form for a condition."""
    try:
        parse(f"k() where {condition}")
    except ContractError:
        return False
    return True
