"""What a kernel demands of its inputs without saying so.

The rule looks at no operation: it sums up what the others have found, once all verdicts are there.
"""

from __future__ import annotations

from verifier.rulebase import On, Replayed, Rule, Shown, Whose, register

_ROWS = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_rows(src):
    p, f = src.shape
    assert SAID
    dst = nl.ndarray((p, f), dtype=src.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((p, f), dtype=src.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=src)
    nisa.dma_copy(dst=dst, src=tile)
    return dst
"""

register(
    Rule(
        id="precondition",
        code="PRE001",
        family="precondition",
        summary="a kernel says for which inputs it is right",
        reason=(
            "The kernel is right for some of the inputs that it admits and not for the others. "
            "This is the weakest condition on its inputs under which every other rule holds, in "
            "the kernel's own names: `exactly when` where every other input is proved to break a "
            "rule, `at least when` where it is only proved that these do not, `as far as decided` "
            "where something is not known. Each condition comes with the place that needs it and "
            "an input that meets all others and breaks this one. It is an error if a breach goes "
            "wrong silently: nothing is rejected, and the result is not what it should be. An "
            "assertion that bounds a number, says what divides it or lists its values (`p <= 256`, "
            "`p in (64, 256)`) says what the kernel takes: one of these that breaks a rule is no "
            "precondition but a fault, told as an error at its place; a bound from above promises "
            "nothing of elements that are left out or overwritten. The "
            "findings that it stands for are listed with `--verbose`; each of them can be "
            "suppressed at its place, and then says nothing here. Without this rule they are "
            "reported one by one. To mend it, assert the condition, or let the kernel take other "
            "inputs, too."
        ),
        facts=(),
        on=On.HOST,
        replayed=Replayed(Shown.NEVER, why="it stands for several findings: they are run"),
        whose=Whose.EVERYBODYS,
        failing=_ROWS.replace("SAID", "f <= 2000"),
        passing=_ROWS.replace("SAID", "p <= 128 and f <= 2000"),
    )
)

_LAUNCHED = """
import numpy as np

x = np.zeros((128, COLUMNS), dtype=np.float32)

if __name__ == "__main__":
    copy_rows(x)
"""

register(
    Rule(
        id="launch-precondition",
        code="PRE002",
        family="precondition",
        summary="a kernel is launched with what it is right for",
        reason=(
            "A call in a file that is checked starts a kernel with arguments whose shapes and "
            "types the text shows, or on a grid, or without one, and the kernel's precondition, or "
            "what it asserts itself, does not hold for these. Arguments are followed to where "
            "NumPy, JAX or PyTorch makes "
            "them, through imports, as long as names are bound once; loops over what is listed, "
            "rows of `pytest.mark.parametrize` and helpers that are called are read for each of "
            "what they are given. What cannot be read is not judged, nor is a launch that is "
            "expected to fail. Nothing is run. To mend it, launch the kernel with other arguments, "
            "or let it take these."
        ),
        facts=(),
        on=On.HOST,
        replayed=Replayed(Shown.NEVER, why="it is about a call that the replay does not make"),
        whose=Whose.EVERYBODYS,
        failing=_ROWS.replace("SAID", "f % 2 == 0") + _LAUNCHED.replace("COLUMNS", "65536"),
        passing=_ROWS.replace("SAID", "f % 2 == 0") + _LAUNCHED.replace("COLUMNS", "512"),
    )
)
