"""What the front end of PPL makes of a kernel's text, and the shapes of its tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.tpu.ppl_kit import declare, elementwise, example
from verifier.hardware.chips import Chip
from verifier.rulebase import AT_ONCE, COMPILED, REFUSED, Monitor, On, Replayed, Shown
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.memory.events import Declared

_DOUBLED: Final = elementwise("pl.tiu.fmul(b, a, 2.0)")

_BANDS: Final = example(
    """
source = pl.gtensor([1, 1, 1, total], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, 1, 1, total], pl.GLOBAL, out_ptr)
for start in range(0, total, block):
    size = min(block, total - start)
    a = pl.make_tensor([1, 1, 1, block], pl.float16, [1, 1, 1, size])
    pl.dma.load(a, source.sub_view([1, 1, 1, size], [0, 0, 0, start]))
    b = pl.make_tensor([1, 1, 1, block], pl.float16, [1, 1, 1, size])
    pl.tiu.fadd(b, a, 1.0)
    pl.dma.store(target.sub_view([1, 1, 1, size], [0, 0, 0, start]), b)
""",
    "out_ptr, src_ptr, total, block: pl.constexpr",
    "total: 1..9000, block: 1..2048, out_ptr: fp16[1, 1, 1, total], src_ptr: fp16[1, 1, 1, total]",
)

_CORES: Final = example(
    """
cores = pl.get_core_num()
share = pl.cdiv(rows, cores)
first = pl.get_core_index() * share
mine = min(share, rows - first)
source = pl.gtensor([1, rows, 1, 80], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, rows, 1, 80], pl.GLOBAL, out_ptr)
if mine > 0:
    a = pl.make_tensor([1, 64, 1, 80], pl.float16, [1, mine, 1, 80])
    pl.dma.load(a, source.sub_view([1, mine, 1, 80], [0, first, 0, 0]))
    b = pl.make_tensor([1, 64, 1, 80], pl.float16, [1, mine, 1, 80])
    pl.tiu.fmul(b, a, 0.5)
    pl.dma.store(target.sub_view([1, mine, 1, 80], [0, first, 0, 0]), b)
""",
    "out_ptr, src_ptr, rows: pl.constexpr",
    "rows: 1..64, out_ptr: fp16[1, rows, 1, 80], src_ptr: fp16[1, rows, 1, 80]",
    "bm1690",
)

_HELPER: Final = """\
# target: bm1684x
import ppl
import ppl.language as pl


@ppl.jit
def shifted(target, tile):
    pl.tiu.fadd(target, tile, 3.0)


# tilelint: contract (out_ptr: fp16[1, 24, 2, 30], src_ptr: fp16[1, 24, 2, 30])
@ppl.jit
def sample(out_ptr, src_ptr):
    tile = pl.make_tensor([1, 24, 2, 30], pl.float16)
    pl.dma.load(tile, pl.gtensor([1, 24, 2, 30], pl.GLOBAL, src_ptr).view())
    moved = pl.make_tensor([1, 24, 2, 30], pl.float16)
    shifted(moved, tile)
    pl.dma.store(pl.gtensor([1, 24, 2, 30], pl.GLOBAL, out_ptr).view(), moved)
"""

_CHOICE: Final = example(
    """
wide = total > 512
size = total if total < 512 else 512
source = pl.gtensor([1, 1, 1, total], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, 1, 1, 512], pl.GLOBAL, out_ptr)
a = pl.make_tensor([1, 1, 1, 512], pl.float16)
pl.tiu.zero(a)
part = a.sub_view([1, 1, 1, size], [0, 0, 0, 0])
pl.dma.load(part, source.sub_view([1, 1, 1, size], [0, 0, 0, 0]))
pl.dma.store(target, a)
""",
    "out_ptr, src_ptr, total",
    "total: 1..4000, out_ptr: fp16[1, 1, 1, 512], src_ptr: fp16[1, 1, 1, total]",
)

_TOTALS: Final = example(
    """
source = pl.gtensor([1, 32, 1, 64], pl.GLOBAL, src_ptr)
target = pl.gtensor([1, 32, 1, 64], pl.GLOBAL, out_ptr)
b = pl.make_tensor([1, 32, 1, 64], pl.float16)
pl.tiu.zero(b)
for step in range(steps):
    a = pl.make_tensor([1, 32, 1, 64], pl.float16)
    pl.dma.load(a, source)
    pl.tiu.fadd(b, b, a)
pl.dma.store(target, b)
""",
    "out_ptr, src_ptr, steps",
    "steps: 1..20, out_ptr: fp16[1, 32, 1, 64], src_ptr: fp16[1, 32, 1, 64]",
)


def _host(
    id: str,
    code: str,
    summary: str,
    reason: str,
    facts: tuple[str, ...],
    failing: str,
    passing: str,
    severity: str = "error",
    learns: bool = True,
    silent: bool = False,
    remark: bool = False,
    monitors: tuple[Monitor, ...] = (),
    replayed: Replayed = AT_ONCE,
) -> None:
    declare(
        id,
        code,
        On.HOST,
        summary,
        reason,
        facts,
        None,
        failing,
        passing,
        severity=severity,
        learns=learns,
        silent=silent,
        remark=remark,
        monitors=monitors,
        replayed=replayed,
    )


def too_large(event: Declared, chip: Chip) -> Iterator[Check]:
    """A shape that a run declares for a pointer to fewer elements."""
    yield Check(
        predicate=E.truth(event.wanted <= event.there),
        span=event.span,
        text=f"{event.wanted} <= {event.there}",
        message=f"the tensor declared for `{event.name}` is larger than what it points at",
        facts=("PPL-B05",),
    )


_host(
    "ppl-signature",
    "PPL001",
    "the arguments of a device function fit its parameters",
    "A function of `pl.tiu` or `pl.dma` takes its operands by position, the destination first; "
    "options are named.",
    ("PPL-A06",),
    elementwise("pl.tiu.fmul(b, a, 2.0, scale=3)"),
    _DOUBLED,
)
_host(
    "ppl-unknown-name",
    "PPL018",
    "the names of the language that a kernel uses exist",
    "A name that is misspelt ends the compilation, or is taken for something else.",
    ("PPL-A06",),
    _DOUBLED.replace("pl.tiu.fmul(", "pl.tiu.fmull("),
    _DOUBLED,
)
_host(
    "ppl-four-dimensions",
    "PPL002",
    "shapes, offsets and strides have four entries",
    "Tensors of PPL are n, c, h, w. The front end asserts it of most lists; the memory shape of "
    "`make_tensor` it does not look at.",
    ("PPL-B02",),
    _DOUBLED.replace("a = pl.make_tensor([1, rows, 1, 96]", "a = pl.make_tensor([1, rows, 96]"),
    _DOUBLED,
)
_host(
    "ppl-real-shape",
    "PPL003",
    "the real shape of a tensor lies within the memory that is reserved for it",
    "`make_tensor` reserves local memory for the memory shape; operations use the real shape. "
    "What is larger is written over the next tensor, and nothing checks it.",
    ("PPL-B01",),
    _BANDS.replace("size = min(block, total - start)", "size = total - start", 1),
    _BANDS,
    silent=True,
)
_host(
    "ppl-sub-view",
    "PPL004",
    "a part of a tensor lies inside of it",
    "Offsets and sizes of `sub_view` are not compared with the tensor, neither when compiling "
    "nor on the device: the part reads or writes what lies behind it, or, in global memory, "
    "another row.",
    ("PPL-B03", "PPL-B04"),
    _BANDS.replace("[0, 0, 0, start]))", "[0, 0, 0, start + 1]))", 1),
    _BANDS,
    silent=True,
)
_host(
    "ppl-empty-part",
    "PPL005",
    "a part of a tensor has at least one element",
    "With `cdiv(total, cores)` rows per core the last cores may have none left, or fewer than "
    "none. Shapes of zero or negative size are not caught: the device hangs or moves 65535 rows.",
    ("PPL-B09", "PPL-B03"),
    _CORES.replace("if mine > 0:", "if rows > 0:"),
    _CORES,
    silent=True,
)
_host(
    "ppl-slice",
    "PPL006",
    "slices of a tensor give both bounds, or none, of all four dimensions",
    "The front end drops a slice with one bound and does not fill up missing dimensions: the "
    "sub-view is malformed.",
    ("PPL-C06",),
    _BANDS.replace(
        "source.sub_view([1, 1, 1, size], [0, 0, 0, start])",
        "source[0:1, 0:1, 0:1, start:]",
    ),
    _BANDS.replace(
        "source.sub_view([1, 1, 1, size], [0, 0, 0, start])",
        "source[0:1, :, :, start:start + size]",
    ),
)
_host(
    "ppl-view-size",
    "PPL007",
    "a view is not larger than the tensor that it is of",
    "`view` gives the same memory another shape; nothing checks that the shape fits.",
    ("PPL-A05",),
    elementwise("pl.tiu.fmul(b.view(shape=[1, rows, 12, 9]), a.view(shape=[1, rows, 12, 9]), 2.0)"),
    elementwise("pl.tiu.fmul(b.view(shape=[1, rows, 12, 8]), a.view(shape=[1, rows, 12, 8]), 2.0)"),
    silent=True,
)
_host(
    "ppl-tensor-storage",
    "PPL008",
    "a declared global tensor is not larger than the tensor that is passed",
    "`gtensor` believes the shape that it is given: the kernel reads and writes memory of other "
    "tensors if it is too large.",
    ("PPL-B05", "PPL-A03"),
    _DOUBLED.replace("out_ptr: fp16[1, rows, 1, 96]", "out_ptr: fp16[1, rows, 1, 95]"),
    _DOUBLED,
    monitors=(Monitor(Declared, too_large),),
    silent=True,
)
_host(
    "ppl-conditional-expression",
    "PPL009",
    "a conditional expression depends on nothing that is known at run time only",
    "The front end looks at the test when it compiles; a value of the run is an object then, and "
    "objects are true. `x if n < m else y` is always `x`.",
    ("PPL-C01",),
    _CHOICE,
    _CHOICE.replace("total if total < 512 else 512", "min(total, 512)"),
    learns=False,
    replayed=REFUSED,
)
_host(
    "ppl-division",
    "PPL081",
    "what is divided when a kernel runs is not negative",
    "`//` and `%` of what only a run knows are divisions of the device, which round towards zero: "
    "`-n // 4` of 5 is -1 there and -2 in Python, `-1 % 8` is -1 and 7. What the front end knows "
    "it computes as Python does.",
    ("PPL-C01",),
    _BANDS.replace("range(0, total, block)", "range(0, -(-total // block) * block, block)"),
    _BANDS.replace(
        "range(0, total, block)", "range(0, (total + block - 1) // block * block, block)"
    ),
    silent=True,
    replayed=REFUSED,
)
_host(
    "ppl-dropped-assert",
    "PPL010",
    "assertions in a kernel are checked nowhere",
    "`assert` is dropped when the kernel is compiled, unless `debug` is on: inputs that it speaks "
    "against get through. What the caller sees to can be said in a contract.",
    ("PPL-C02",),
    _DOUBLED.replace(
        "    source = pl.gtensor", "    assert rows % 2 == 0\n    source = pl.gtensor", 1
    ),
    _DOUBLED,
    severity="note",
    replayed=COMPILED,
)
_host(
    "ppl-statement",
    "PPL011",
    "a kernel uses only what the front end can compile",
    "It compiles a part of Python: `if`, `while`, `for` over `range` or `static_range`, "
    "assignments to names, comparisons of two and `and`/`or` of two.",
    ("PPL-C04", "PPL-C05"),
    _TOTALS.replace("    pl.tiu.fadd(b, b, a)", "    pl.tiu.fadd(b, b, a)\n        break"),
    _TOTALS,
    replayed=REFUSED,
)
_host(
    "ppl-loop-side-effect",
    "PPL012",
    "the body of a loop changes no Python objects",
    "The body is visited twice when the kernel is compiled and never after: a list that it "
    "appends to has two new entries, whatever the trip count.",
    ("PPL-C03",),
    _TOTALS.replace(
        "    for step in range(steps):", "    done = []\n    for step in range(steps):"
    ).replace("    pl.tiu.fadd(b, b, a)", "    pl.tiu.fadd(b, b, a)\n        done.append(step)"),
    _TOTALS,
    severity="warning",
    replayed=COMPILED,
)
_host(
    "ppl-plain-function",
    "PPL013",
    "functions that a kernel calls are jit functions",
    "The front end compiles calls of other jit functions; a plain function would run once, while "
    "compiling, on objects of the compiler.",
    ("PPL-A01",),
    _HELPER.replace("@ppl.jit\ndef shifted", "def shifted"),
    _HELPER,
    replayed=REFUSED,
)
_host(
    "ppl-inline-gtensor",
    "PPL014",
    "a global tensor is named, or viewed, before a transfer takes it",
    "`dma.load` tests its argument for a tensor of the compiler. A `gtensor(...)` written into the "
    "call is none yet: the call returns None and moves nothing.",
    ("PPL-C07",),
    _HELPER.replace("src_ptr).view())", "src_ptr))"),
    _HELPER,
)
_host(
    "ppl-empty-guard",
    "PPL015",
    "an `if` that singles out a case does something about it",
    "`if size <= 0: pass` reads like a way out for cores without work and is none: the kernel goes "
    "on with the size. Where a transfer uses it, the transfer is reported as well.",
    ("PPL-B09",),
    _CORES.replace("if mine > 0:", "if mine <= 0:\n        pass\n    if mine > 0:"),
    _CORES,
    severity="warning",
    remark=True,
    learns=False,
    replayed=COMPILED,
)
_host(
    "ppl-core-count",
    "PPL016",
    "a launch asks for no more cores than the chip has",
    "`kernel[groups, cores](...)` starts that many instances; there is one per core.",
    ("PPL-A01",),
    _CORES.replace("contract (", "contract [1, 9]("),
    _CORES.replace("contract (", "contract [1, 8]("),
    replayed=Replayed(Shown.NEVER, why="the chip has no such cores that it could run on"),
)
_host(
    "ppl-weight-groups",
    "PPL017",
    "`get_nic` knows the chip that the kernel runs on",
    "The library lists the chip under its other name: on BM1690 every dtype takes the fallback, "
    "lanes divided by bytes, which is wrong for float32 and divides by zero for four bits.",
    ("PPL-C13",),
    elementwise("pl.tiu.fmul(b, a, 2.0)\ngroup = pl.get_nic(pl.float32)", target="bm1690"),
    elementwise("pl.tiu.fmul(b, a, 2.0)\ngroup = pl.get_nic(pl.float16)", target="bm1690"),
    severity="warning",
)
_host(
    "ppl-unused-tensor",
    "PPL079",
    "tensors that are declared for a pointer are used",
    "A tensor that a kernel gives a shape to and then neither reads nor writes was meant for "
    "something: as a rule another one is read for it, or its result is stored to another one. One "
    "that a kernel is given and does not speak of may be left over: that is a warning.",
    ("PPL-A03",),
    _TOTALS.replace("pl.dma.store(target, b)", "pl.dma.store(source, b)"),
    _TOTALS,
    severity="warning",
    remark=True,
    learns=False,
    replayed=COMPILED,
)
