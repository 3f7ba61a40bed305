"""What was done with an input before it was known what it is, tied to what it turns out to be."""

from __future__ import annotations

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool
from verifier.symbolic.python.inputs import InputKind, Parameter
from verifier.symbolic.python.vm import VM
from verifier.symbolic.trace import Assumption, AssumptionKind, LedgerEntry, LedgerKind


def is_tensor(p: Parameter) -> bool:
    """Whether a contract or the annotation of a parameter says that it is a tensor.

    A contract that names an element type alone may mean the type, or a number of it.
    """
    return p.declared_shape is not None or annotated_tensor(p)


def annotated_tensor(p: Parameter) -> bool:
    """Whether the annotation of a parameter says that it is a tensor."""
    return any(name in p.annotation.lower() for name in ("tensor", "ndarray"))


def tie(vm: VM, p: Parameter, true: Bool) -> None:
    """Whether the parameter was true is known now that it is decided what it is."""
    if p.asked is None or p.tied == p.kind:
        return
    p.tied = p.kind
    _say(vm, p, true)


def _say(vm: VM, p: Parameter, true: Bool) -> None:
    """What the parameter was when it was asked whether it is true."""
    assert p.asked is not None
    was = vm.inputs.truth(p)
    both = E.or_(E.and_(was, true), E.and_(E.not_(was), E.not_(true)))
    vm.trace.assumptions.append(Assumption(both, "", p.span, AssumptionKind.TYPE, p.asked, True))


def of_a_tensor(vm: VM, p: Parameter, reason: str, span: Span) -> None:
    """What is not followed if the parameter is a tensor, which may turn out later."""
    if p.kind is InputKind.TENSOR or is_tensor(p):
        vm.unfollowed(reason, span)
    elif p.kind is None:
        p.unfollowed.append((reason, span, vm.next_order()))


def true_of_a_tensor(vm: VM, p: Parameter, span: Span, optional: bool) -> None:
    """What it means that the parameter is a condition if it is a tensor, which may turn out later.

    ``optional``: it may be None as well.
    """
    checks, ledger = len(vm.checks), len(vm.trace.ledger)
    vm.dialect.tensor_truth(vm, span, optional=optional)
    p.as_tensor.append((vm.checks[checks:], vm.trace.ledger[ledger:]))
    del vm.checks[checks:], vm.trace.ledger[ledger:]


def of_a_number(vm: VM, p: Parameter, reason: str, span: Span) -> None:
    """What is an error if the parameter is a number, which may turn out later."""
    p.refused.append((reason, span, vm.next_order()))


def tie_tensors(vm: VM) -> None:
    """What was done with inputs before they turned out to be tensors, at the end of a run."""
    ledger = vm.trace.ledger
    for p in vm.inputs.parameters.values():
        if p.kind in (InputKind.INTEGER, InputKind.FLAG):
            for reason, span, order in p.refused:
                ledger.append(LedgerEntry(LedgerKind.SKIPPED, reason, span, (), order))
        if p.kind is not InputKind.TENSOR:
            continue
        for reason, span, order in p.unfollowed:
            ledger.append(LedgerEntry(LedgerKind.SKIPPED, reason, span, (), order))
        for checks, entries in p.as_tensor:
            vm.checks.extend(checks)
            ledger.extend(entries)
        if p.asked is None:
            continue
        if p.has_default and p.default is None:
            _say(vm, p, E.TRUE)
        else:
            unknown = vm.unknown_bool("a condition depends on a tensor", p.span)
            _say(vm, p, unknown)


__all__ = ["is_tensor", "of_a_number", "of_a_tensor", "tie", "tie_tensors"]
