"""In which rounds of loops that are gone round by round an operation is, and by which calls."""

from __future__ import annotations

from pathlib import Path

from tests.okk import support

_TEXT = """\
def negated(to, source, shape):
    okk.bdc_neg(to, source, shape, None, None)


def parts(shape):
    for part in (0, 512):
        okk.bdc_relu(part, part, shape, None, None)
        yield part
        okk.bdc_reciprocal(part, part, shape, None, None)


@okk.kernel
def kernel(x: okk.SystemAddr):
    okk.initialize()
    shape = okk.dim4(1, 30, 3, 7)
    found = parts(shape)
    for place in (1024, 2048, 4096):
        taken = next(found, 0)
        negated(place, taken, shape)
    okk.poll()
"""


def test_rounds_and_calls(tmp_path: Path) -> None:
    """Behind a ``yield`` an operation is still in the round of the generator's own loop, within
    that of who asks for its next item."""
    run = support.interpret(tmp_path, _TEXT)
    rounds = {
        name: [[number for _, (number,) in op.rounds] for op in support.operations(run, name)]
        for name in ("bdc_relu", "bdc_reciprocal", "bdc_neg", "poll")
    }
    assert rounds == {
        "bdc_relu": [[0, 0], [1, 1]],
        "bdc_reciprocal": [[1, 0], [2, 1]],
        "bdc_neg": [[0], [1], [2]],
        "poll": [[]],
    }
    calls = {op.call for op in support.operations(run, "bdc_neg")}
    (poll,) = support.operations(run, "poll")
    # one line of the kernel has led to one line of the function, three times
    assert len(calls) == 1 and all(len(call) == 2 for call in calls)
    assert poll.call == (poll.span,)
