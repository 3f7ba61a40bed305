"""Results in local memory that are overwritten before anything has read them.

A result that nobody reads is no fault by itself: a loop may make one more than it needs, and what
is made in every round may be wanted in the last one only. It is one where the place is taken for
something else by the schedule, whenever there is a next step: in the same iteration by what is done
under no other condition, or in a later one of the loop by what is done in all of its iterations
from some on, or up to some. What reads the place then finds what was not meant for it.

Where only some results of an operation are lost, that may be meant in many ways. It is a fault if
of the parts that a pipeline takes from an input to an output one goes another way than the others
(:mod:`rules.tpu.rounds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rules.tpu import flow, rounds
from rules.tpu.examples import pair
from rules.tpu.results import Results
from rules.tpu.unused import unused
from verifier.dialects.names import OKK
from verifier.hardware.chips import Chip
from verifier.rulebase import Monitor, On, Rule, register
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.events import Stretch
from verifier.symbolic.trace import Trace


def lost_results(trace: Trace, chip: Chip) -> Iterable[Check]:
    """One check per place that makes a result, if all that it makes is lost."""
    if trace.unmodelled:  # it may read any of them
        return
    results = Results(trace, chip)
    by_place: dict[object, list[Check | None]] = {}
    # what would have been read after an error is open
    for_nothing = list(unused(trace, results)) if trace.completes and not trace.dies else []
    never = {check.span for check in for_nothing if check.predicate is E.FALSE}
    for write in results.made:
        again = not write.loops
        by_place.setdefault(write.span, []).append(next(results.lost(write, again=again), None))
    for found in by_place.values():
        # where one of several rounds or calls makes something that is used, the others may be
        # idle; not those that the next one fills again, up to the last
        lost = [check for check in found if check is not None]
        if len(lost) == len(found) or (found[:-1] == lost and all(map(_by_itself, lost))):
            # (not when the next round overwrites what is for nothing in each)
            yield from (c for c in lost if c.predicate is E.FALSE or c.span not in never)
    yield from for_nothing
    yield from rounds.astray(trace, chip)


def _by_itself(check: Check) -> bool:
    """Whether the very call overwrites what it has made."""
    return check.notes[0].span == check.span


def lost_in_run(event: Stretch, chip: Chip) -> Iterator[Check]:
    """As :func:`lost_results`, of each result of a run that is overwritten shortly after."""
    trace = event.trace
    if event.cut:
        trace = replace(trace, operations=flow.from_whole_sections(trace))
    results = Results(trace, chip)
    for write in results.made:
        for check in results.lost(write, again=True):
            if check.order is not None and check.order >= event.since:
                yield check
    if event.ended and not event.cut:
        yield from unused(event.trace, results, run=True)
        yield from rounds.astray_in_run(event.trace, chip)


_PAIR = pair(
    "rectified",
    "blocks: int, x: okk.SystemAddr, y: okk.SystemAddr",
    """\
assert 1 <= blocks <= 50
okk.initialize()
shape = okk.dim4(1, 40, 3, 70)
size = 40 * 3 * 70 * 4
for step in range(blocks + 1):
    if step < blocks:
        okk.gdma_32bit_cpy_S2L(step % 2 * 4096, x + step * size, shape, None, None)
    if step > 0:
        okk.gdma_32bit_cpy_L2S(y + (step - 1) * size, (step - 1) % 2 * 4096, shape, None, None)
    if step < blocks:
        okk.bdc_relu(step % 2 * 4096, step % 2 * 4096, shape, None, None)
        @@
okk.poll()
""",
    "okk.gdma_32bit_cpy_S2L(step % 2 * 4096, x + step * size, shape, None, None)",
    "okk.bdc_mul_C(step % 2 * 4096, step % 2 * 4096, 0.5, shape, None, None)",
)

register(
    Rule(
        id="okk-lost-result",
        code="OKK303",
        family=OKK,
        summary="a result is read before its place is filled again",
        silent=True,
        reason=(
            "In a pipeline each buffer is filled anew every few steps. Where that comes before the "
            "result of the last step was stored or used, the step was for nothing, and what reads "
            "the place next finds other data than it was written for: a load that overwrites what "
            "was computed sends what was never computed. A sum that a round clears before anything "
            "has read it is lost, too, and so is what was loaded and nothing uses that is stored. "
            "Repeating the very same operation, constants, and results that only some iterations "
            "need are fine."
        ),
        facts=("OKK-X07", "ADR-11"),
        on=On.TRACE,
        check=lost_results,
        monitors=(Monitor(Stretch, lost_in_run, meant=True),),
        dialects=(OKK,),
        sources=("OKKernel manual, programming_device",),
        failing=_PAIR[0],
        passing=_PAIR[1],
    )
)
