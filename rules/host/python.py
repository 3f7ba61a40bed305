"""Python that runs while a kernel is traced: what would stop the trace or is not meant."""

from __future__ import annotations

from rules.beta1 import TWINS
from verifier.rulebase import On, Replayed, Rule, Shown, Twin, Whose, register

_PASSING_SCALE = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def strips(x, strip):
    rows, cols = x.shape
    assert rows <= 128 and cols <= 1000
    assert strip >= 1
    assert cols % strip == 0
    out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    for s in nl.affine_range(cols // strip):
        tile = nl.ndarray((rows, strip), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[0:rows, s * strip:(s + 1) * strip])
        nisa.dma_copy(dst=out[0:rows, s * strip:(s + 1) * strip], src=tile)
    return out
"""

_COPY = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_rows(src):
    p, f = src.shape
    assert p <= 128 and f <= 2000
    dst = nl.ndarray((p, f), dtype=src.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((p, f), dtype=src.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=src)
    nisa.dma_copy(dst=dst, src=tile)
    return dst
"""

#: with the default of `strip` for `$`
_STRIPS = (
    _PASSING_SCALE.replace("x, strip)", "x, strip=$)")
    .replace("cols <= 1000", "cols == 1000")
    .replace("strip >= 1", "1 <= strip")
)

#: with the default of `made` for `$`
_TYPED = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def cast_rows(src, made=nl.$):
    assert src.shape == (96, 40) and src.dtype == nl.bfloat16
    assert made in (nl.float32, nl.bfloat16)
    dst = nl.ndarray((96, 40), dtype=made, buffer=nl.shared_hbm)
    tile = nl.ndarray((96, 40), dtype=made, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=src)
    nisa.dma_copy(dst=dst, src=tile)
    return dst
"""

register(
    Rule(
        id="division-by-zero",
        code="HOST001",
        family="host",
        summary="a divisor computed while tracing is never zero",
        reason=(
            "`//`, `%`, `/` and the step of a range are computed by Python while the kernel is "
            "traced. For an input that makes the divisor zero the trace ends in "
            "ZeroDivisionError instead of a kernel."
        ),
        facts=("NKI-G11",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        replayed=Replayed(raises=("ZeroDivisionError",), by=("BINARY_OP",)),
        sources=("Python language reference",),
        failing=_PASSING_SCALE.replace("    assert strip >= 1\n", ""),
        passing=_PASSING_SCALE,
    )
)

register(
    Rule(
        id="unbound-name",
        code="HOST002",
        family="host",
        summary="every name that is read was bound before, on every path",
        reason=(
            "A name that no statement has bound on the path raises NameError while tracing. "
            "Typical causes: an index renamed in one place only, a name bound in a branch or in "
            "a loop that may run no iteration, a helper's local used by its caller."
        ),
        facts=("NKI-G03",),
        on=On.HOST,
        unreached=True,
        once=True,
        whose=Whose.EVERYBODYS,
        replayed=Replayed(raises=("UnboundLocalError", "NameError"), by=("LOAD_",)),
        sources=("Python language reference",),
        failing=_COPY.replace(
            "nisa.dma_copy(dst=dst, src=tile)", "nisa.dma_copy(dst=dst, src=tail)"
        ),
        passing=_COPY,
    )
)

register(
    Rule(
        id="unpack-mismatch",
        code="HOST003",
        family="host",
        summary="an unpacking has as many names as there are values",
        reason="Unpacking a sequence into another number of names raises ValueError while tracing.",
        facts=("NKI-G01",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        replayed=Replayed(raises=("ValueError", "TypeError"), by=("UNPACK_",)),
        of_rank=True,
        sources=("Python language reference",),
        failing=_COPY.replace("    tile = nl", "    rows, cols, depth = dst.shape\n    tile = nl"),
        passing=_COPY.replace("    tile = nl", "    rows, cols = dst.shape\n    tile = nl"),
    )
)

register(
    Rule(
        id="call-signature",
        code="HOST004",
        family="host",
        summary="arguments of a project function fit its parameters",
        reason="A call whose arguments do not fit raises TypeError while tracing.",
        facts=("NKI-G13",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        replayed=Replayed(raises=("TypeError",)),
        sources=("Python language reference",),
        failing=_COPY.replace(
            "@nki.jit", "def place(dst, src):\n    nisa.dma_copy(dst=dst, src=src)\n\n\n@nki.jit"
        ).replace("    nisa.dma_copy(dst=tile, src=src)", "    place(tile, src, p)"),
        passing=_COPY.replace(
            "@nki.jit", "def place(dst, src):\n    nisa.dma_copy(dst=dst, src=src)\n\n\n@nki.jit"
        ).replace("    nisa.dma_copy(dst=tile, src=src)", "    place(tile, src)"),
    )
)

_TILES = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def row_blocks(a):
    n, f = a.shape
    assert n % 64 == 0 and n <= 4096
    assert f == 96
    out = nl.ndarray((n, f), dtype=a.dtype, buffer=nl.shared_hbm)
    tiles = []
    for r in range(n // 64):
        tile = nl.ndarray((64, f), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a[r * 64:(r + 1) * 64, 0:f])
        tiles.append(tile)
    for r in range(n // 64):
        nisa.dma_copy(dst=out[r * 64:(r + 1) * 64, 0:f], src=tiles[r])
    return out
"""

register(
    Rule(
        id="list-index",
        code="HOST005",
        family="host",
        summary="a list index lies inside the list",
        reason=(
            "Lists of tiles stand for multi-dimensional buffers; an index outside raises "
            "IndexError while tracing, and a negative one silently takes another tile."
        ),
        facts=("NKI-G03",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        replayed=Replayed(raises=("IndexError",), by=("BINARY_SUBSCR",)),
        of_rank=True,
        sources=("Python language reference",),
        failing=_TILES.replace("src=tiles[r]", "src=tiles[r + 1]"),
        passing=_TILES,
    )
)

register(
    Rule(
        id="missing-key",
        code="HOST006",
        family="host",
        summary="a dictionary has the key that is read",
        reason="Reading a key that is not there raises KeyError while tracing.",
        facts=("NKI-G03",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        replayed=Replayed(raises=("KeyError",), by=("BINARY_SUBSCR",)),
        sources=("Python language reference",),
        failing=_COPY.replace(
            "    tile = nl",
            '    limits = {"rows": 128}\n    assert p <= limits["cols"]\n    tile = nl',
        ),
        passing=_COPY.replace(
            "    tile = nl",
            '    limits = {"rows": 128}\n    assert p <= limits["rows"]\n    tile = nl',
        ),
    )
)

register(
    Rule(
        id="no-admitted-input",
        code="HOST007",
        family="host",
        summary="some input satisfies all that the kernel demands",
        reason=(
            "When assertions contradict each other no input ever passes: every other property "
            "then holds vacuously and the kernel can never run. The finding is at the demand that "
            "closed the door."
        ),
        facts=("NKI-G09",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        replayed=Replayed(Shown.NEVER, why="there is no input to run it with"),
        sources=("the kernel's own assertions",),
        failing=_COPY.replace("    dst = nl", "    assert p % 96 == 0 and p > 96\n    dst = nl"),
        passing=_COPY.replace("    dst = nl", "    assert p % 32 == 0 and p > 96\n    dst = nl"),
    )
)

register(
    Rule(
        id="rejected-default",
        code="HOST015",
        family="host",
        summary="a kernel can be called with its defaults",
        reason=(
            "A default that the kernel's own assertions exclude cannot be used: every call that "
            "leaves the parameter out fails, whatever else it gives. A default of None, of no "
            "elements or below one may say that nothing is given, and is left alone, as flags are."
        ),
        facts=("NKI-G09",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        replayed=Replayed(
            Shown.NEVER, why="it is about calls that leave a parameter out: others are right"
        ),
        sources=("the kernel's own assertions",),
        failing=_STRIPS.replace("$", "300"),
        passing=_STRIPS.replace("$", "250"),
        twins=(
            Twin(
                "G09", _TYPED.replace("$", "int32"), _TYPED.replace("$", "float32"), "0.5", "trn2"
            ),
        ),
    )
)

register(
    Rule(
        id="bit-test-divisibility",
        code="HOST008",
        family="host",
        summary="a bit test is not mistaken for a test of divisibility",
        reason=(
            "`n & 128 == 0` asks whether one bit of n is clear; `n % 128 == 0` asks whether n is "
            "a multiple. The bit test admits sizes that are no multiple and rejects every second "
            "multiple."
        ),
        facts=("NKI-G11",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        replayed=Replayed(
            Shown.NEVER, why="it is about what the text means: a run computes what it says"
        ),
        sources=("Python language reference",),
        failing=_COPY.replace("    dst = nl", "    assert f & 64 == 0\n    dst = nl"),
        passing=_COPY.replace("    dst = nl", "    assert f % 64 == 0\n    dst = nl"),
    )
)

register(
    Rule(
        id="wrong-type",
        code="HOST010",
        family="host",
        summary="an operation is one that its operands have",
        reason=(
            "Adding a number to a tuple, calling what is no function, or iterating over a number "
            "raises TypeError while tracing."
        ),
        facts=("NKI-G03",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        sources=("Python language reference",),
        failing=_COPY.replace("    tile = nl", "    margin = (1, 2) + 3\n    tile = nl"),
        passing=_COPY.replace("    tile = nl", "    margin = (1, 2) + (3,)\n    tile = nl"),
    )
)

register(
    Rule(
        id="no-attribute",
        code="HOST011",
        family="host",
        summary="an attribute that is read is there",
        reason=(
            "Reading an attribute that an object, a module, a tensor or a namespace of the API "
            "does not have raises AttributeError while tracing. Most are spelled wrongly; an "
            "attribute of an object may also be set on another path only."
        ),
        facts=("NKI-G03",),
        on=On.HOST,
        unreached=True,
        once=True,
        whose=Whose.EVERYBODYS,
        sources=("Python language reference",),
        failing=_COPY.replace("p, f = src.shape", "p, f = src.shpae"),
        passing=_COPY,
    )
)

register(
    Rule(
        id="wrong-value",
        code="HOST012",
        family="host",
        summary="a function is given a value that it can work with",
        reason=(
            '`tiles.index(x)` of what is not in the list, `int("x")`, `range(0, n, 0)` or the '
            "largest of no numbers raise ValueError while tracing."
        ),
        facts=("NKI-G03",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        sources=("Python language reference",),
        failing=_COPY.replace("    tile = nl", "    step = (32, 64).index(16)\n    tile = nl"),
        passing=_COPY.replace("    tile = nl", "    step = (16, 32).index(16)\n    tile = nl"),
    )
)

_TAKE_TWO = """\
    sizes = iter((p, f))
    rows = next(sizes)
    cols = next(sizes)
"""

register(
    Rule(
        id="uncaught-exception",
        code="HOST013",
        family="host",
        summary="no other error of Python's ends the trace",
        reason=(
            "Errors without a rule of their own: `next()` at the end of an iterator, a number too "
            "large for a float, a dictionary that changes while it is iterated, recursion without "
            "end. Nothing catches them, so that no kernel comes of the trace."
        ),
        facts=("NKI-G03",),
        on=On.HOST,
        whose=Whose.EVERYBODYS,
        sources=("Python language reference",),
        failing=_COPY.replace("    tile = nl", _TAKE_TWO.replace("p, f", "p,") + "    tile = nl"),
        passing=_COPY.replace("    tile = nl", _TAKE_TWO + "    tile = nl"),
    )
)

_DECLARES = _COPY.replace("(src)", "(src: nl.tensor[96, 40])")
_DECLARED = Twin(
    "L73",
    _DECLARES.replace("p <= 128", "p == 97"),
    _DECLARES.replace("p <= 128", "p == 96"),
    "0.6",
    "trn2",
)

register(
    Rule(
        id="annotation-mismatch",
        code="HOST014",
        family="host",
        summary="a tile has the shape that its annotation says",
        reason=(
            "Nobody evaluates `tile: nt.tensor[n, m]` in a function: what it says of the shape is "
            "for readers, whom it misleads where the value has another shape for every input. NKI "
            "Beta 1 compares the two, and rejects a kernel in which they differ. An input's "
            "annotation declares the shape that it has (NKI 0.3): neither the kernel nor its "
            "contract may say otherwise."
        ),
        facts=("NKI-L73", "NKI-E06"),
        on=On.HOST,
        remark=True,
        replayed=Replayed(Shown.NEVER, why="annotations of shapes are not evaluated"),
        twins=(*TWINS["annotation-mismatch"], _DECLARED),
        failing=_COPY.replace("    tile = nl", "    tile: nl.tensor[p, f + 1] = nl"),
        passing=_COPY.replace("    tile = nl", "    tile: nl.tensor[p, f] = nl"),
    )
)
