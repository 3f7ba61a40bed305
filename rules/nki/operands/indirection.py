"""Operands whose columns an index names: views made by `.indirect`."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kit
from rules.nki.kit import check, register
from rules.nki.operands import twins
from rules.nki.samples import variants
from verifier.hardware import targets
from verifier.hardware.capabilities import Capability
from verifier.hardware.engines import Engine
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Expr
from verifier.symbolic.instruction import Indirection
from verifier.symbolic.tensors import Picked, View
from verifier.symbolic.trace import Operation


def _tensor_indirection(op: Operation, target: Target) -> Iterator[Check]:
    found = {role: view.picked for role, view in _views(op) if view.picked is not None}
    if not found:
        return
    described = kit.described(op).indirection
    for role, picked in found.items():
        yield from _operand(op, role, picked, described, target)
    if described is not None:
        yield from _engine(op, described, found)
        yield from _together(op, described, found)
        yield from _lanes(op, described, found, target)


def _views(op: Operation) -> Iterator[tuple[str, View]]:
    """The operands that are tensors, those of lists too."""
    for role, operand in op.operands.items():
        items = operand.value if isinstance(operand.value, (tuple, list)) else (operand.value,)
        yield from ((role, item) for item in items if isinstance(item, View))


def _operand(
    op: Operation, role: str, picked: Picked, described: Indirection | None, target: Target
) -> Iterator[Check]:
    short = kit.described(op).short
    yield check(
        op,
        role,
        E.truth(target.has(Capability.INDIRECTION)),
        f"the target is {targets.needing(Capability.INDIRECTION)} (it is {target.name})",
        f"{target.name} has no operands whose columns an index names",
        "TI01",
        "H87",
        "X31",
        about=(),
    )
    operands = described.operands if described is not None else frozenset[str]()
    listed = " and ".join(sorted(operands))
    yield check(
        op,
        role,
        E.truth(role in operands),
        f"{role} is a tile as it is" if not listed else f"only {listed} may be indirect",
        f"{role} of {short} cannot be columns that an index names",
        "TI09",
        about=(),
        help=("gather into a tile with `tensor_copy` first",),
    )
    if described is not None and described.dtypes:
        yield check(
            op,
            role,
            picked.of.dtype.among(described.dtypes),
            f"{role} is a 16-bit or 8-bit float (it is {kit.dtype_words(picked.of.dtype)})",
            f"columns of {role} that an index names are of a type that {short} does not pick",
            "TI11",
        )


def _engine(op: Operation, described: Indirection, found: dict[str, Picked]) -> Iterator[Check]:
    role = next(iter(found))
    if described.engines and op.engine is not Engine.UNKNOWN:
        names = " or ".join(sorted(engine.value for engine in described.engines))
        yield check(
            op,
            "engine",
            E.truth(op.engine in described.engines),
            f"the engine is {names} (it is {op.engine.value})",
            f"the {op.engine.value} engine picks no columns by an index",
            "TI10",
            about=(role,),
        )
    dst = op.view("dst")
    if "dst" in found and dst is not None and op.engine is Engine.SCALAR:
        yield check(
            op,
            "dst",
            E.truth(dst.buffer is not Buffer.PSUM),
            "dst is in SBUF where the Scalar Engine scatters",
            "the Scalar Engine does not scatter into PSUM",
            "TI08",
        )


def _together(op: Operation, described: Indirection, found: dict[str, Picked]) -> Iterator[Check]:
    """What the call does not do when an operand is indirect."""
    role = next(iter(found))
    if described.untiled:
        for place in kit.integers(op.value("tile_position") or ()) or ():
            yield check(
                op,
                "tile_position",
                E.eq(place, 0),
                "tile_position is (0, 0), or not given",
                "an indirect operand goes to the array as a whole, not to a tile of it",
                described.untiled,
                about=(role,),
            )
    if described.unless is not None and described.unless[1] in found:
        flag, forbidden = described.unless
        yield check(
            op,
            forbidden,
            E.not_(kit.flag(op, flag)),
            f"{flag} is not set",
            f"{forbidden} cannot be indirect with {flag}=True",
            "TI11",
        )
    for one, other in described.pairs:
        if one in found or other in found:
            both = one in found and other in found
            same = both and found[one].index.storage is found[other].index.storage
            yield check(
                op,
                one if one in found else other,
                E.truth(same),
                f"{one} and {other} are columns of one index, or neither is",
                f"{one} and {other} are picked by different indices",
                "TI12",
            )
    source, dst = op.view(described.source), op.view("dst")
    if described.never_of and source is not None and dst is not None:
        yield check(
            op,
            role,
            E.not_(
                E.and_(source.dtype.among(described.never_of), dst.dtype.among(described.never_of))
            ),
            f"{described.source} or dst is not of 32-bit integers",
            "integers of 32 bits are computed as addresses, which takes no indirect operands",
            "TI13",
            severity="warning",  # the documentation names the form, and does not spell it out
        )


def _lanes(
    op: Operation, described: Indirection, found: dict[str, Picked], target: Target
) -> Iterator[Check]:
    """Where tiles that are placed by hand have to start: lanes find their index beside them."""
    for role, picked in found.items():
        start = picked.index.start_partition
        if start is not None:
            yield _starts(
                op,
                role,
                E.eq(E.mod(start, targets.QUADRANT), 0),
                "TI04",
                f"the index of {role} starts at a multiple of {targets.QUADRANT}",
                {f"start partition of the index of {role}": start},
            )
        if role != "dst":
            yield from _level(
                op, role, picked.of, picked.index, "TI05", f"{role} and its index", target
            )
    source = op.view(described.source)
    if "dst" not in found or source is None:
        return
    words = f"the index of dst and {described.source}"
    if source.buffer is Buffer.SBUF:
        shown = source if source.picked is None else source.picked.of
        yield from _level(op, "dst", found["dst"].index, shown, described.lanes, words, target)
    elif source.buffer is Buffer.PSUM and source.picked is not None:
        index = source.picked.index
        yield from _level(
            op,
            "dst",
            found["dst"].index,
            index,
            "TI07",
            f"the indices of dst and {described.source}",
            target,
        )


def _level(
    op: Operation, role: str, one: View, other: View, fact: str, words: str, target: Target
) -> Iterator[Check]:
    first, second = one.start_partition, other.start_partition
    if first is not None and second is not None:
        unit = E.minimum(_unit(one, target), _unit(other, target))
        yield _starts(
            op,
            role,
            E.eq(E.mod(first - second, unit), 0),
            fact,
            f"{words} start at one partition",
            {f"start partition of {one.name}": first, f"start partition of {other.name}": second},
        )


def _starts(
    op: Operation, role: str, predicate: E.Bool, fact: str, text: str, values: dict[str, Expr]
) -> Check:
    return check(
        op,
        role,
        predicate,
        text,
        f"{role} does not lie where its index is looked for",
        fact,
        values=values.items(),
    )


def _unit(view: View, target: Target) -> Expr:
    """By how much the compiler may shift a tile: not at all if it is placed by hand, or large."""
    if view.storage.address is not None:
        return E.const(target.partitions)
    rows, unit = view.storage.shape[0], E.const(target.partitions)
    for size in (target.partitions // 2, target.quadrant):
        unit = E.ite(E.le(rows, size), size, unit)
    return unit


_TENSOR_INDIRECTION = variants(
    """\
# target: trn3
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def picked(x, i):
    assert x.shape == (64, 80) and x.dtype == nl.bfloat16
    assert i.shape == (64, 3) and i.dtype == nl.uint16
    out = nl.ndarray((64, 48), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 80), dtype=x.dtype, buffer=nl.sbuf)
    index = nl.ndarray((64, 3), dtype=nl.uint16, buffer=nl.sbuf)
    kept = nl.ndarray((64, 48), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=i)
    nisa.dma_copy(dst=tile, src=x)
-    nisa.reciprocal(dst=kept, data=tile.indirect(index, num_elem=48))
+    nisa.tensor_copy(dst=kept, src=tile.indirect(index, num_elem=48))
    nisa.dma_copy(dst=out, src=kept)
    return out
"""
)


register(
    Rule(
        id="tensor-indirection",
        code="NKI108",
        family="operands",
        summary="an instruction picks columns by an index as far as its engine can",
        reason=(
            "Views made by `.indirect` name the columns that an operand has: each group of lanes "
            "reads them out of an index tile beside the data. Engines can do this from trn3 on, "
            "for some operands of some instructions; tiles that are placed by hand start at the "
            "partition of their index, which is a multiple of 32, and so do parts of tiles, as far "
            "as where a tile of its size starts decides it."
        ),
        facts=(
            "H87",
            "X31",
            "TI01",
            "TI04",
            "TI05",
            "TI06",
            "TI07",
            "TI08",
            "TI09",
            "TI10",
            "TI11",
            "TI12",
            "TI13",
        ),
        on=On.OPERATION,
        check=_tensor_indirection,
        sources=("NKI ISA reference, tensor indirection", "NKI tensor reference, indirect"),
        twins=twins.INDIRECTION,
        failing=_TENSOR_INDIRECTION.failing,
        passing=_TENSOR_INDIRECTION.passing,
    )
)
