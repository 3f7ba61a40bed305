"""The rank of a tensor parameter: an unknown that the kernel's own conditions settle.

Where they do not by the time that it is needed, one is assumed, which the report lists: what the
text of the kernel shows (:mod:`.hints`), else the usual one. What the kernel demands later may say
otherwise: nothing after the assumption is decided then.
"""

from __future__ import annotations

from verifier.source.ir import Span
from verifier.symbolic import expr as E
from verifier.symbolic.expr import Bool, Expr, Sym
from verifier.symbolic.python import guesses
from verifier.symbolic.python.inputs import MAX_RANK, Guess, InputKind, LazyShape, Parameter
from verifier.symbolic.python.vm import VM
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import AssumptionKind

#: the rank that is taken where neither a condition nor the text says one
USUAL = 2


def count(vm: VM, p: Parameter) -> Expr:
    """``len(p.shape)``."""
    p.kind = p.kind or InputKind.TENSOR
    return vm.inputs.rank_symbol(p)


def learn(vm: VM, p: Parameter, rank: int, span: Span) -> bool:
    """A use that fits one rank only: a demand on the input; False if it has another one."""
    return _demanded(vm, p, E.eq(count(vm, p), rank), span)


def at_least(vm: VM, p: Parameter, least: int, span: Span) -> bool:
    """A use that needs so many dimensions; False if there are fewer."""
    return _demanded(vm, p, E.ge(count(vm, p), least), span)


def _demanded(vm: VM, p: Parameter, demand: Bool, span: Span) -> bool:
    known = vm.decide(demand)
    if known is None or (known and guesses.behind(vm, demand) is not None):
        caught(vm, f"the rank of `{p.name}`", span)
        vm.assume(demand, "", span, AssumptionKind.TYPE)
    elif not known:
        guesses.refuted(vm, demand, span)
    return known is not False


def caught(vm: VM, what: str, span: Span) -> None:
    """Something that is taken for granted decides an error that a handler waits for."""
    if any(landing.catches for landing in vm.landings):
        vm.unfollowed(f"{what} decides what is caught", span)


def settle(vm: VM, p: Parameter, span: Span, least: int = 1) -> int:
    """The rank on this path; where nothing settles it, the likeliest one is assumed.

    ``least``: it is used as if it had so many dimensions.
    """
    symbol = vm.inputs.rank_symbol(p)
    if symbol.is_const:
        return symbol.const
    rank = _known(vm, p, symbol)
    if rank is None:
        rank = _likely(vm, p, symbol, least)
        caught(vm, f"the rank of `{p.name}`", span)
        _assume(vm, p, rank, span)
    elif rank < least:
        guesses.refuted(vm, E.ge(symbol, least), span)
    return rank


def _known(vm: VM, p: Parameter, symbol: Expr) -> int | None:
    """The rank that the facts of the path settle."""
    likely = dict.fromkeys((*(guess.rank for guess in p.guesses), *p.hints))
    for rank in likely:
        if vm.decide(E.eq(symbol, rank)) is True:
            return rank
    possible = []
    for rank in range(1, MAX_RANK + 1):
        known = vm.decide(E.eq(symbol, rank))
        if known is True:
            return rank
        if known is None:
            possible.append(rank)
        if len(possible) > 1:
            return None
    return possible[0] if possible else None


def _likely(vm: VM, p: Parameter, symbol: Expr, least: int) -> int:
    """The rank to assume among those that the path admits."""
    ranks = (*p.hints, max(least, USUAL), *range(least, MAX_RANK + 1), *range(1, least))
    return next((k for k in ranks if vm.decide(E.eq(symbol, k)) is not False), USUAL)


def known(vm: VM, p: Parameter) -> int | None:
    """The rank that the kernel's own conditions settle on this path."""
    symbol = vm.inputs.rank_symbol(p)
    if symbol.is_const:
        return symbol.const
    return None if p.guesses else _known(vm, p, symbol)


def told(vm: VM, value: Expr, span: Span) -> Expr:
    """A number that hangs on ranks, with those of this path: a loop over dimensions has as many
    trips as there are."""
    free = set(value.free())
    if not free:
        return value
    known: dict[Sym, Expr] = {}
    for p in list(vm.inputs.parameters.values()):
        symbol = vm.inputs.rank_symbol(p).as_atom()
        if isinstance(symbol, Sym) and symbol in free:
            known[symbol] = E.const(settle(vm, p, span))
    return E.Substitution(known).expr(value) if known else value


def tensor(vm: VM, p: Parameter, span: Span, least: int = 1) -> View:
    """The whole tensor that a parameter is on this path."""
    return vm.inputs.tensor(p, settle(vm, p, span, least))


def shape(vm: VM, p: Parameter, span: Span) -> tuple[Expr, ...]:
    """``p.shape`` on this path."""
    p.kind = p.kind or InputKind.TENSOR
    return vm.inputs.shape(p, settle(vm, p, span))


def _assume(vm: VM, p: Parameter, rank: int, span: Span) -> None:
    """Assume a rank; it is listed as an assumption."""
    condition = E.eq(vm.inputs.rank_symbol(p), rank)
    assumptions = vm.trace.assumptions
    before = len(assumptions)
    vm.assume(condition, f"{p.name} has rank {rank}", span, AssumptionKind.TYPE)
    for made in assumptions[before:]:
        if p not in vm.inputs.guessed:
            vm.inputs.guessed.append(p)
        p.guesses.append(Guess(rank, made.condition, made.order, rank in p.hints))


def shape_of(vm: VM, p: Parameter) -> object:
    """``p.shape``: a tuple where the rank is known on this path, else one that settles it."""
    rank = known(vm, p)
    return LazyShape(p) if rank is None else vm.inputs.shape(p, rank)
