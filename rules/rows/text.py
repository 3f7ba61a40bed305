"""Rows about the text of kernels and of the file around them: Python, names, launches."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import Row

_X: Final = "x: float32[72, 90]"
_OUT: Final = "float32[72, 90]"
_COPY: Final = "nisa.tensor_copy(dst=r, src=x_t)"
_ENUM: Final = "\nfrom enum import IntEnum\n\n\nclass Part(IntEnum):\n    ROWS = 8\n    ALL = 9\n"
_GLOBAL: Final = """
{{ROUNDS||rounds}} = 2
ROUNDS_OF_HOST = 2


def more():
    global {{ROUNDS||ROUNDS_OF_HOST}}
    {{ROUNDS||ROUNDS_OF_HOST}} = 3
"""
_LAUNCH: Final = """

def launched(x):
    return kernel[{{GRID}}](x)
"""


def _text(fact: str, rule: str, body: str, api: str = "0.5", before: str = "", **more: str) -> Row:
    return Row(rule, fact, more.get("inputs", _X), _OUT, body, api, before=before)


def _launched(bad: str, good: str, target: str = "trn2", fact: str = "L61") -> Row:
    before = f"\ndef launched(x):\n    return kernel[{{{{{bad}||{good}}}}}](x)\n"
    return Row("launch-grid", fact, _X, _OUT, _COPY, "0.4", target, before)


_SCHEDULED: Final = """
def scheduled(x):
    return kernel.with_schedule([("late", {{["early", "ealry"]||["early"]}})])(x)
"""
_TWO: Final = """\
nisa.tensor_scalar(dst=r, data=x_t, op0=nl.add, operand0=1.5, name="early")
nisa.tensor_scalar(dst=x_t, data=x_t, op0=nl.multiply, operand0=1.5, name="late")
nisa.tensor_copy(dst=r, src=x_t)
"""
_LOOPED: Final = """\
count = nisa.register_alloc(3)
before = nisa.tensor_copy(dst=r, src=x_t)
made = []
for i in nl.dynamic_range(0, count, 1):
    inner = nisa.tensor_scalar(dst=r, data=r, op0=nl.add, operand0=1.5)
    inner.depends_on(before)
    made.append(inner)
after = nisa.tensor_scalar(dst=r, data=r, op0=nl.add, operand0=1.5)
after.depends_on({{made[0]||before}})
"""
_NUMPY: Final = "import numpy as np\n"
_CONSTANT: Final = """\
held = nl.ndarray((72, 90), dtype=nl.float32, buffer=nl.sbuf)
nisa.dma_copy(dst=held, src=nl.shared_constant({{BAD}}))
nisa.tensor_tensor(dst=r, data1=x_t, data2=held, op=nl.add)
"""


def _constant(bad: str, good: str, api: str) -> Row:
    body = _CONSTANT.replace("{{BAD}}", f"{{{{{bad}||{good}}}}}")
    return Row("api-signature", "L11", _X, _OUT, body, api, before=_NUMPY)


_PAIR: Final = "from collections import namedtuple\nPair = namedtuple('Pair', 'a b')\n"

ROWS: Final = (
    _text("G33", "python-subset", f"part = {{{{Pair(0, 72)||(0, 72)}}}}\n{_COPY}", before=_PAIR),
    _text(
        "G36", "python-subset", f"size = Part.ROWS {{{{<||!=}}}} Part.ALL\n{_COPY}", before=_ENUM
    ),
    _text(
        "G40",
        "python-subset",
        "for i in range({{ROUNDS||rounds}}):\n    nisa.tensor_copy(dst=r, src=x_t)",
        before=_GLOBAL,
    ),
    _launched("2, 2", "2"),
    _launched("3", "2"),
    _launched("2", "1", "trn1"),
    _launched("2", "1", "trn1", "H41"),
    Row("launch-grid", "L60", _X, _OUT, f"nl.program_id({{{{1||0}}}})\n{_COPY}", "0.6"),
    Row("launch-grid", "L70", _X, _OUT, _TWO, "0.2", before=_SCHEDULED),
    Row("device-loop", "N13", _X, _OUT, _LOOPED, "0.6"),
    _constant("np.zeros((72, 90))", "np.zeros((72, 90), dtype=np.float32)", "0.4"),
    _constant("[1.0, 2.0]", "np.ones((72, 90), dtype=np.float32)", "0.6"),
    _text(
        "T01",
        "api-signature",
        f"t = nl.ndarray((72, 9), dtype=np.{{{{float64||float32}}}}, buffer=nl.sbuf)\n{_COPY}",
        before=_NUMPY,
    ),
    *(
        _text(
            "G03",
            "no-attribute",
            f"t = nl.ndarray((72, 9), dtype={{{{{names}}}}}, buffer=nl.sbuf)\n{_COPY}",
            before=_NUMPY,
        )
        for names in ("np.bfloat16||np.half", "nl.half||nl.float16", "nl.bool||nl.bool_")
    ),
    _text(
        "TRN09",
        "api-signature",
        "#bare\n"
        "t = nl.ndarray((72, 90), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=t, src=x)\n"
        "sums = nl.ndarray((90, 72), dtype=nl.float32, buffer=nl.psum)\n"
        "nisa.nc_transpose(dst=sums, data=t{{, accumulate=True||}})\n"
        "held = nl.ndarray((90, 72), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.tensor_copy(dst=held, src=sums)\n"
        "back = nl.ndarray((72, 90), dtype=nl.float32, buffer=nl.psum)\n"
        "nisa.nc_transpose(dst=back, data=held)\n"
        "nisa.tensor_copy(dst=t, src=back)\n"
        "nisa.dma_copy(dst=out, src=t)",
    ),
    _text(
        "SHF06",
        "api-signature",
        "nisa.nc_stream_shuffle({{x_t, dst=r||r, x_t}}, shuffle_mask=list(range(32)))",
        inputs="x: float32[96, 90]",
    )._replace(result="float32[96, 90]"),
    _text(
        "G42",
        "api-removed",
        "{{old||nisa}}.tensor_copy(dst=r, src=x_t)",
        "0.3",
        "import {{neuronxcc.nki.isa||nki.isa}} as old\n",
    ),
    _text("DCP10", "api-signature", "nisa.dma_copy(dst=r, src=x{{, dst_rmw_op=nl.add||}})", "0.3"),
    _text(
        "L77",
        "python-subset",
        _COPY,
        inputs=f"{_X}; options={{{{{{'a': 1}}||('a', 1)}}}}",
    ),
)
