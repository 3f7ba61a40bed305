"""Rests of earlier rounds: what a round computes on beyond what it has loaded.

A loop brings a part of an input to one place in each round, and the last part is smaller than the
others. Behind it lies what the round before has left. What is made of it element by element, and
not stored, is no fault; what folds it into a number together with the part is. Where something
else fills the place in the loop, such as zeros for the rest, that is meant. The largest and the
smallest of numbers are the same if some of them come twice: nothing is said of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rules.tpu import flow, kit, ppl_kit
from rules.tpu.examples import pair
from rules.tpu.kit import words
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Replayed, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check, Note
from verifier.symbolic.effects import Carried, Folded
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.instruction import Trait
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.memory.events import Followed
from verifier.symbolic.tensors import Loop, View
from verifier.symbolic.trace import Operation, Trace


class Region(Struct, frozen=True):
    """What an operand takes: where it begins, how much of each dimension, and how far apart.

    ``place``: the tensor that it is part of, or the place. ``loops``: those that it is made in.
    """

    role: str
    place: int
    begin: tuple[Expr, ...]
    sizes: tuple[Expr, ...]
    pitch: tuple[Expr, ...] = ()
    loops: tuple[Loop, ...] = ()


class Step(Struct, frozen=True):
    """An operation: what it reads and writes on chip, and the inputs that it loads from."""

    operation: Operation
    reads: tuple[Region, ...]
    writes: tuple[Region, ...]
    inputs: tuple[int, ...]
    #: what says which part of an input is loaded
    part: tuple[Expr, ...] = ()

    @property
    def order(self) -> int:
        return self.operation.order

    @property
    def loads(self) -> bool:
        return bool(self.inputs) and not self.reads and len(self.writes) == 1

    def fills(self, place: int) -> bool:
        """Whether it writes somewhere and reads nothing of that."""
        written = any(region.place == place for region in self.writes)
        return written and not any(region.place == place for region in self.reads)


class Stale(Struct, frozen=True):
    """An operation folds a rest of an earlier round, unless ``fine``."""

    step: Step
    read: Region
    load: Step
    axis: int
    size: Expr
    fine: Bool


def stale(steps: Sequence[Step]) -> Iterator[Stale]:
    """One for each operand that may take a rest, as any round of its loop has it."""
    for load in (step for step in steps if step.loads):
        (region,) = load.writes
        for loop in load.operation.loops:
            symbol = loop.symbol
            tails = [k for k, size in enumerate(region.sizes) if symbol in size.free()]
            fixed = (*region.begin, *region.pitch)
            if not tails or loop in region.loops or any(symbol in t.free() for t in fixed):
                continue
            body = [step for step in steps if loop in step.operation.loops]
            again = (step for step in body if step is not load and step.fills(region.place))
            if any(symbol in term.free() for term in load.part) and not any(again):
                behind = [step for step in body if step.order > load.order]
                first = E.lt(loop.index, 1)
                for found in _folded(behind, load, tails):
                    yield replace(found, fine=E.or_(found.fine, first))


def stale_in_order(steps: Sequence[Step]) -> Iterator[Stale]:
    """As :func:`stale`, of the operations of a run one after the other."""
    before: dict[int, tuple[Step, tuple[Expr, ...]]] = {}
    for position, step in enumerate(steps):
        for region in step.writes:
            last = before.get(region.place)
            again = last is not None and step.loads and _same(last[0], step)
            if not again and step.fills(region.place):
                before.pop(region.place, None)
            if not step.loads:
                continue
            most = last[1] if last is not None and again else region.sizes
            tails = [
                k for k, (a, b) in enumerate(zip(region.sizes, most, strict=True)) if a is not b
            ]
            most = tuple(map(E.maximum, region.sizes, most))
            before[region.place] = step, most
            smaller = [k for k in tails if E.lt(region.sizes[k], most[k]) is E.TRUE]
            if smaller:
                yield from _folded(steps[position + 1 :], step, smaller)


def _same(one: Step, other: Step) -> bool:
    return one.operation.span == other.operation.span and one.inputs == other.inputs


def _folded(steps: Iterable[Step], load: Step, tails: Sequence[int]) -> Iterator[Stale]:
    """What is folded of the place that a load has filled in part, or of what is made of that."""
    valid: dict[int, Region] = {load.writes[0].place: load.writes[0]}
    for step in steps:
        made: dict[int, Region] = {}
        for read in step.reads:
            known = valid.get(read.place)
            if known is None or not _alike(read, known):
                continue
            for entry in kit.described(step.operation).footprint.reads_of(read.role):
                fate = entry.fate
                target = next((w for w in step.writes if w.role == getattr(fate, "to", "")), None)
                if isinstance(fate, Carried) and target is not None:
                    if _by_element(fate, step.operation) and _alike(target, read):
                        sizes = tuple(map(E.minimum, target.sizes, known.sizes))
                        made[target.place] = replace(target, sizes=sizes)
                elif isinstance(fate, Folded) and target is not None:
                    for axis in _lines(fate, step.operation, target, tails):
                        fine = E.le(read.sizes[axis], known.sizes[axis])
                        if fine is not E.TRUE:
                            yield Stale(step, read, load, axis, known.sizes[axis], fine)
        for region in step.writes:
            if region.place not in made:
                valid.pop(region.place, None)
        valid.update(made)


def _alike(one: Region, other: Region) -> bool:
    """Whether both begin at one element, and lie alike."""
    return (
        len(one.sizes) == len(other.sizes) > 0
        and all(a is b for a, b in zip(one.begin, other.begin, strict=False))
        and len(one.pitch) == len(other.pitch)
    )


def _by_element(fate: Carried, op: Operation) -> bool:
    here = kit.any_element()
    return fate.source(op, here) == here


def _lines(fate: Folded, op: Operation, target: Region, tails: Sequence[int]) -> Iterator[int]:
    """The axes of which all goes into each number."""
    if Trait.PICKS in kit.traits(op):
        return
    line = fate.line(op, kit.any_element())
    for axis in tails if line is not None else ():
        whole = fate.among is None or target.sizes[axis : axis + 1] == (E.const(1),)
        if line is not None and line[axis] is None and whole:
            yield axis


def _check(found: Stale, name: Callable[[Operation], str], run: bool) -> Check:
    op, role = found.step.operation, words(found.read.role)
    what, load = name(op), name(found.load.operation)
    return Check(
        predicate=found.fine,
        span=op.span_of(found.read.role),
        text=f"{role} of `{what}` is all that `{load}` has brought in its round",
        message=f"{role} of `{what}` reaches beyond what `{load}` brings in this round: the rest "
        "is what an earlier round has left",
        facts=("ADR-11", "BUG-03"),
        given=() if run else flow.within(op.loops),
        values=(
            (f"extent of {role}", found.read.sizes[found.axis]),
            ("of it brought in this round", found.size),
        ),
        notes=(Note(found.load.operation.span, "a part of it is loaded here"),),
        help=("compute on what was loaded alone, or fill the rest in each round",),
        path=op.path,
        order=op.order,
    )


# ----------------------------------------------------------------------------- places in lanes


def _steps(trace: Trace) -> list[Step]:
    out: list[Step] = []
    for op in flow.in_order(trace):
        reads: list[Region] = []
        writes: list[Region] = []
        inputs: list[int] = []
        part: tuple[Expr, ...] = ()
        for touch in op.touches:
            if isinstance(touch.tensor, SystemTensor):
                if touch.reads:
                    inputs.append(id(touch.tensor.address.storage))
                    part = (*part, touch.tensor.address.offset)
            elif not touch.destroys:
                region = _of_lanes(touch.role, flow.Use(op, touch, touch.tensor).taken)
                if touch.reads:
                    reads.append(region)
                if touch.writes:
                    writes.append(region)
        out.append(Step(op, tuple(reads), tuple(writes), tuple(inputs), part))
    return out


def _of_lanes(role: str, tensor: LocalTensor) -> Region:
    return Region(role, id(tensor.address), (tensor.address,), tensor.shape, tensor.strides[3:])


def stale_rests(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check for each operand that is folded."""
    if not trace.unmodelled:
        yield from (_check(found, kit.function, run=False) for found in stale(_steps(trace)))


def stale_in_run(event: Followed, chip: Chip) -> Iterator[Check]:
    """As :func:`stale_rests`, of a run."""
    for found in stale_in_order(_steps(event.trace)):
        yield _check(found, kit.function, run=True)


_PAIR = pair(
    "row_means",
    "x: okk.SystemAddr, y: okk.SystemAddr",
    """\
okk.initialize()
shape = okk.dim4(1, 20, 1, 300)
for i in range(3):
    part = min(128, 300 - i * 128)
    okk.gdma_32bit_cpy_S2L(0, x + i * 512, okk.dim4(1, 20, 1, part), None,
                           okk.dim4(6000, 300, 300, 1))
    okk.bdc_avg_pool2d(4096, 0, okk.dim4(1, 20, 1, @@), 1, @@, None, None)
    okk.gdma_32bit_cpy_L2S(y + i * 4, 4096, okk.dim4(1, 20, 1, 1), okk.dim4(60, 3, 3, 1), None)
okk.poll()
""",
    "128",
    "part",
)
_REASON: Final = (
    "The last part of a loop is often smaller than the others. Behind it, in its place, lies what "
    "the round before has left. Computing on it does no harm where nothing comes of it; a sum, a "
    "mean or a product that takes it in is wrong."
)

register(
    Rule(
        id="okk-stale-rest",
        code="OKK304",
        family=OKK,
        summary="what a round folds was loaded in that round",
        silent=True,
        reason=_REASON,
        facts=("ADR-11", "BUG-03"),
        on=On.TRACE,
        check=stale_rests,
        monitors=(Monitor(Followed, stale_in_run, meant=True),),
        dialects=(OKK,),
        sources=("OKKernel manual, gdma",),
        failing=_PAIR[0],
        passing=_PAIR[1],
    )
)

# ----------------------------------------------------------------------------- tensors


def _steps_of_tensors(trace: Trace) -> list[Step]:
    out: list[Step] = []
    for op in sorted(trace.operations, key=lambda op: op.order):
        if not ppl_kit.is_device(op):
            continue
        reads = [_of_view(role, view) for role, view in op.reads if view.storage.buffer.on_chip]
        writes = [_of_view(role, view) for role, view in op.writes if view.storage.buffer.on_chip]
        inputs = [view for _, view in op.reads if not view.storage.buffer.on_chip]
        part = tuple(coord for view in inputs for coord in view.coords)
        own = tuple(id(view.storage) for view in inputs)
        out.append(Step(op, tuple(reads), tuple(writes), own, part))
    return out


def _of_view(role: str, view: View) -> Region:
    box = view.box
    if box is None:
        return Region(role, id(view.storage), (), ())
    begin = tuple(start for start, _ in box)
    sizes = tuple(size for _, size in box)
    return Region(role, id(view.storage), begin, sizes, (), view.storage.loops)


def stale_tensors(trace: Trace, chip: Chip) -> Iterable[Check]:
    """As :func:`stale_rests`, of tensors."""
    if not trace.unmodelled:
        found = stale(_steps_of_tensors(trace))
        yield from (_check(each, ppl_kit.function, run=False) for each in found)


def stale_tensors_in_run(event: Followed, chip: Chip) -> Iterator[Check]:
    """As :func:`stale_tensors`, of a run."""
    for found in stale_in_order(_steps_of_tensors(event.trace)):
        yield _check(found, ppl_kit.function, run=True)


_TENSORS = """\
import ppl
import ppl.language as pl


@ppl.jit
def kernel(y_ptr, x_ptr):
    x_all = pl.gtensor([1, 12, 1, 700], pl.GLOBAL, x_ptr)
    y_all = pl.gtensor([1, 12, 1, 1], pl.GLOBAL, y_ptr)
    t = pl.make_tensor([1, 12, 1, 512], pl.float32)
    total = pl.make_tensor([1, 12, 1, 1], pl.float32)
    mean = pl.make_tensor([1, 12, 1, 1], pl.float32)
    pl.tiu.zero(total)
    for c in range(0, 700, 512):
        part = [1, 12, 1, min(512, 700 - c)]
        {clear}
        pl.dma.load(t.sub_view(part, [0, 0, 0, 0]), x_all.sub_view(part, [0, 0, 0, c]))
        pl.tiu.pool_avg(mean, t, [1, 512], [0, 0, 0, 0], [1, 1], [1, 1], 1.0)
        pl.tiu.fadd(total, total, mean)
    pl.dma.store(y_all, total)
"""

ppl_kit.declare(
    "ppl-stale-rest",
    "PPL082",
    On.TRACE,
    "what a round folds was loaded in that round",
    _REASON,
    ("ADR-11",),
    stale_tensors,
    _TENSORS.format(clear="pass"),
    _TENSORS.format(clear="pl.tiu.zero(t)"),
    silent=True,
    monitors=(Monitor(Followed, stale_tensors_in_run, meant=True),),
    replayed=Replayed(whole=True),
)
