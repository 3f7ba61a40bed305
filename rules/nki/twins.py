"""Rows of the catalogue at their limits, several generations and targets: twins of the rules.

Each is a kernel that breaks the row, and the same kernel mended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rules.nki.samples import kernel
from verifier.rulebase import Twin

_Inputs = Mapping[str, tuple[tuple[int, ...], str]]

_FRAME: Final = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gathered(x, i):
    assert x.shape == (400, 36) and x.dtype == nl.float32
    assert i.shape == ({rows}, {columns}) and i.dtype == nl.int32
    out = nl.ndarray((64, 36), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((64, 36), dtype=nl.float32, buffer=nl.sbuf)
    held = nl.ndarray((100, 36), dtype=nl.float32, buffer=nl.sbuf)
    index = nl.ndarray(({rows}, {columns}), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=i)
    nisa.dma_copy(dst=held, src=x[0:100, :])
    nisa.dma_copy(dst=tile, src={source}{more})
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
_PATTERN: Final = ".ap(pattern=[[36, 64], [1, 36]], offset=0, {}, indirect_dim=0)"
_ROWS: Final = "x" + _PATTERN.format("vector_offset=index")
_START: Final = "x" + _PATTERN.format("scalar_offset=index")
_SELECTED: Final = "x.vector_select(0, index)"
_OFFSET: Final = _PATTERN.format("vector_offset=index")


#: rows that the example gathers
_GATHERED: Final = 64


def _mode(name: str) -> str:
    return f", dge_mode=nisa.dge_mode.{name}"


def _gather(source: str = _ROWS, more: str = "", *, rows: int = _GATHERED, columns: int = 1) -> str:
    return _FRAME.format(source=source, more=more, rows=rows, columns=columns)


def _loaded(more: str) -> str:
    return kernel(
        "loaded",
        {"x": ((96, 40), "float32")},
        ((96, 40), "float32"),
        f"nisa.dma_copy(dst=result, src=x{more})",
    )


DGE_MODE: Final = (
    Twin("D06", _gather(more=_mode("hwdge")), _gather(more=_mode("swdge")), "0.5", "trn2"),
    Twin("D08", _gather(more=_mode("hwdge")), _gather(), "0.3", "trn3"),
    Twin("D07", _gather(more=_mode("none")), _gather(more=_mode("unknown")), "0.6", "trn2"),
    Twin(
        "D07",
        _gather(_START, _mode("none"), rows=1),
        _gather(_START, _mode("hwdge"), rows=1),
        "0.6",
        "trn2",
    ),
    Twin("DCP05", _gather(_ROWS.replace("x.ap", "held.ap")), _gather(), "0.5", "trn2"),
    Twin(
        "D09",
        _loaded(f", priority=1{_mode('none')}"),
        _loaded(f", priority=1{_mode('unknown')}"),
        "0.4",
        "trn3",
    ),
)

INDICES: Final = (
    Twin("DCP05", _gather(columns=2), _gather(), "0.5", "trn2"),
    Twin("X46", _gather(rows=63), _gather(rows=64), "0.4", "trn2"),
    Twin("DCP05", _gather(_ROWS.replace("=index", "=i")), _gather(), "0.5", "trn3"),
    Twin("X46", _gather(_ROWS.replace("_dim=0", "_dim=1")), _gather(), "0.6", "trn2"),
    Twin(
        "X47",
        _gather(_ROWS.replace("vector_offset", "scalar_offset=index, vector_offset")),
        _gather(),
        "0.5",
        "trn2",
    ),
    Twin("DCP06", _gather(_START, rows=64), _gather(_START, rows=1), "0.5", "trn2"),
    Twin("X29", _gather("x.vector_select(1, index)"), _gather(_SELECTED), "0.6", "trn2"),
    Twin("X29", _gather("held.vector_select(0, index)"), _gather(_SELECTED), "0.5", "trn2"),
    Twin("X29", _gather(f"{_SELECTED}.slice(0, 0, 64)"), _gather(_SELECTED), "0.6", "trn3"),
    Twin("X27", _gather(f"{_SELECTED}.slice(0, 0, 64)"), _gather(_SELECTED), "0.6", "trn2"),
    Twin("X48", _gather(f"{_SELECTED}[0:64]"), _gather(f"{_SELECTED}[:]"), "0.6", "trn2"),
    Twin("X48", _gather(f"{_SELECTED}{_OFFSET}"), _gather(_ROWS), "0.5", "trn2"),
    Twin("X43", _gather(_ROWS.replace("x.", "x[1:].")), _gather(), "0.4", "trn2"),
)

_VECTORS: Final[_Inputs] = {
    "x": ((96, 40), "float32"),
    "exact": ((96, 1), "float32"),
    "short": ((96, 1), "bfloat16"),
}


def _vector(body: str, name: str) -> str:
    text = f"sums = nl.ndarray((96, 1), dtype=nl.float32, buffer=nl.sbuf)\n{body}"
    return kernel("held", _VECTORS, ((96, 40), "float32"), text.format(f"{name}_tile"))


def _float32(fact: str, body: str, api: str, target: str) -> Twin:
    """A vector of bfloat16 where only one of float32 is taken."""
    return Twin(fact, _vector(body, "short"), _vector(body, "exact"), api, target)


_REDUCED: Final = "nisa.tensor_scalar_reduce(dst=result, data=x_tile, op0=nl.multiply, "
_LOADS: Final = "reduce_cmd=nisa.reduce_cmd.load_reduce"
_SCANNED: Final = "nisa.tensor_scalar_cumulative(dst=result, src=x_tile, op0=nl.add, op1=nl.add, "


def _dropped(dtype: str) -> str:
    return kernel(
        "dropped",
        {"x": ((96, 40), "int32"), "p": ((96, 1), dtype)},
        ((96, 40), "int32"),
        "nisa.dropout(dst=result, data=x_tile, prob=p_tile)",
    )


def _biased(dtype: str) -> str:
    return kernel(
        "biased",
        {"x": ((96, 40), "float32"), "b": ((96, 1), dtype)},
        ((96, 40), "float32"),
        "nisa.activation(dst=result, op=nl.exp, data=x_tile, bias=b_tile)",
    )


OPERAND_DTYPE: Final = (
    Twin("DRP02", _dropped("bfloat16"), _dropped("float32"), "0.5", "trn2"),
    Twin("ACT07", _biased("tfloat32"), _biased("float32"), "0.6", "trn2"),
    Twin("ACT07", _biased("int32"), _biased("float16"), "0.2", "trn1"),
    _float32(
        "TSR06",
        f"{_REDUCED}operand0=2.0, reduce_op=nl.add, reduce_res=sums, {_LOADS}, reduce_init={{}})",
        "0.4",
        "trn2",
    ),
    _float32(
        "TCU03",
        f"{_SCANNED}imm0={{}}, reduce_cmd=nisa.reduce_cmd.reset_reduce)",
        "0.6",
        "trn2",
    ),
    _float32("TCU03", f"{_SCANNED}imm0=1.0, imm1={{}}, {_LOADS})", "0.5", "trn3"),
    _float32("EXP05", "nisa.exponential(dst=result, src=x_tile, max_value={})", "0.6", "trn3"),
    _float32("RND02", "nisa.rand2(dst=result, min={}, max=9.0)", "0.6", "trn3"),
    _float32(
        "AC08",
        f"nisa.exponential(dst=result, src=x_tile, reduce_res=sums, {_LOADS}, reduce_init={{}})",
        "0.6",
        "trn3",
    ),
)


def _folded(operator: str) -> str:
    more = f"operand0=2.0, reduce_op=nl.{operator}, reduce_res=sums)"
    return _vector(_REDUCED + more, "exact")


OPERATOR_KIND: Final = (
    Twin("TSR03", _folded("subtract"), _folded("maximum"), "0.4", "trn2"),
    Twin("TSR03", _folded("divide"), _folded("subtract"), "0.3", "trn2"),
)


def _summed(sources: str) -> str:
    return kernel(
        "summed",
        {"a": ((96, 40), "float32"), "b": ((96, 40), "float32")},
        ((96, 40), "float32"),
        f"nisa.dma_compute(dst=result, srcs={sources}, reduce_op=nl.add)",
    )


def _filled(value: str) -> str:
    return kernel(
        "filled",
        {"x": ((96, 40), "float32")},
        ((96, 40), "float32"),
        f"nisa.memset(dst=result, value={value})",
    )


def _body(body: str) -> str:
    return kernel("filled", {"x": ((96, 40), "float32")}, ((96, 40), "float32"), body)


def _register(value: str) -> str:
    copy = "nisa.tensor_copy(dst=result, src=x_tile)"
    return _body(f"r = nisa.register_alloc({value})\n{copy}")


def _printed(arguments: str) -> str:
    sums = "sums = nl.zeros((96, 40), dtype=nl.float32, buffer=nl.psum)"
    copy = "nisa.tensor_copy(dst=result, src=x_tile)"
    return _body(f"{sums}\nnl.device_print({arguments})\n{copy}")


def _cut(part: str) -> str:
    register = "r = nisa.register_alloc(40)"
    return _body(f"{register}\nnisa.tensor_copy(dst=result[:, {part}], src=x_tile[:, {part}])")


def _chained(flag: str) -> str:
    sums = "sums = nl.zeros((40, 40), dtype=nl.float32, buffer=nl.psum)"
    product = f"nisa.nc_matmul(dst=sums, stationary=x_tile, moving=x_tile, accumulate={flag})"
    copy = "nisa.tensor_copy(dst=result, src=sums)"
    return kernel(
        "summed",
        {"x": ((96, 40), "float32")},
        ((40, 40), "float32"),
        f"r = nisa.register_alloc(1)\n{sums}\n{product}\n{copy}",
    )


def _counted(value: str) -> str:
    return kernel(
        "counted",
        {"x": ((16, 40), "float32")},
        ((1, 41), "int32"),
        "counts = nl.ndarray((16, 41), dtype=nl.int32, buffer=nl.sbuf)\n"
        f"nisa.nonzero_with_count(dst=counts, src=x_tile, padding_val={value})\n"
        "nisa.tensor_copy(dst=result, src=counts[0:1, :])",
    )


_RANKS: Final = """\
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


@nki.jit
def reduced(x):
    assert x.shape == (64, 30)
    out = nl.ndarray((64, 30), dtype=x.dtype, buffer=nl.shared_hbm)
    staged = nl.ndarray((64, 30), dtype=x.dtype, buffer=nl.hbm)
    nisa.dma_copy(dst=staged, src=x)
    group = ncc.ReplicaGroup([{groups}])
    ncc.all_reduce(srcs={sources}, dsts=[out], replica_group=group, op=nl.add)
    return out
"""


def _reduced(sources: str, groups: str = "[0, 1], [2, 3]") -> str:
    return _RANKS.format(sources=sources, groups=groups)


def _copied_twice(into: str) -> str:
    """``h``: a tile, until the result of an instruction takes the name."""
    tile = "h = nl.ndarray((96, 40), dtype=nl.float32, buffer=nl.sbuf)"
    copy = f"{into}nisa.tensor_copy(dst=h, src=x_tile)"
    return _body(f"{tile}\n{copy}\nnisa.tensor_copy(dst=result, src=h)")


_FROM_NUMPY: Final = "import numpy as np\n"
_SUMMED_BY: Final = (
    "ops = {{'sum': {}}}\nnisa.tensor_tensor(dst=result, data1=x_tile, data2=x_tile, op={})"
)


def _by(op: str, used: str = "ops['sum']") -> str:
    """A sum by an operator that a dictionary holds."""
    return _FROM_NUMPY + _body(_SUMMED_BY.format(op, used))


SIGNATURE: Final = (
    Twin("DCM10", _summed("a"), _summed("[a, b]"), "0.5", "trn2"),
    Twin("DCM10", _summed("(a, b)"), _summed("list((a, b))"), "0.6", "trn2"),
    Twin("MST01", _filled("x_tile"), _filled("2.5"), "0.4", "trn2"),
    Twin("MST01", _filled("nl.add"), _filled("0"), "0.2", "trn2"),
    Twin("M020", _by("nl.add", "np.add"), _by("nl.add", "nl.add"), "0.6", "trn2"),
    Twin("M020", _by("np.maximum"), _by("nl.maximum"), "0.2", "trn2"),
    Twin("M031", _loaded(", dge_mode=0"), _loaded(_mode("unknown")), "0.2", "trn2"),
    Twin("M031", _loaded(", dge_mode=3"), _loaded(", dge_mode=2"), "0.2", "trn2"),
    Twin("N05", _loaded(", dge_mode=2"), _loaded(_mode("hwdge")), "0.3", "trn2"),
    Twin("REG01", _register("2.5"), _register("25"), "0.3", "trn2"),
    Twin("REG01", _register("x_tile[0:1, 0:1]"), _register("None"), "0.5", "trn2"),
    Twin("L35", _printed("3, x_tile"), _printed("'x', x_tile"), "0.5", "trn2"),
    Twin("L35", _printed("'x', sums"), _printed("'x', x"), "0.6", "trn3"),
    Twin("L67", _cut("nl.ds(0, r)"), _cut("nl.ds(0, 40)"), "0.5", "trn2"),
    Twin(
        "K13",
        _reduced("[staged]").replace("group,", "[[0, 1], [2, 3]],"),
        _reduced("[staged]"),
        "0.5",
        "trn2",
    ),
    Twin("K15", _reduced("staged"), _reduced("[staged]"), "0.5", "trn2"),
    Twin("K15", _reduced("(staged,)"), _reduced("[staged]"), "0.5", "trn2"),
    Twin("MMU23", _chained("r"), _chained("0 > 1"), "0.5", "trn2"),
    Twin("NZC05", _counted("nl.int32"), _counted("-2"), "0.5", "trn2"),
    Twin("NZC05", _counted("1.5"), _counted("7"), "0.6", "trn3"),
    Twin("M002", _copied_twice("h = "), _copied_twice(""), "0.3", "trn2"),
    Twin("M002", _copied_twice("h = "), _copied_twice("unused = "), "0.6", "trn3"),
)


_COPIED: Final = """\
import nki
import nki.isa as nisa
import nki.language as nl
{before}

@nki.jit
def copied({parameters}):
    assert x.shape == (72, 90)
    out = nl.ndarray((72, 90), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((72, 90), dtype=x.dtype, buffer=nl.sbuf)
    {body}
    nisa.dma_copy(dst=rows, src=x)
    nisa.dma_copy(dst=out, src=rows)
    return out
"""


def _copying(body: str = "pass", *, parameters: str = "x", before: str = "") -> str:
    return _COPIED.format(body=body, parameters=parameters, before=before)


def _of_class(bases: str) -> str:
    before = f"from enum import Enum\n\n\nclass Part{bases}:\n    rows = 8\n"
    return _copying("part = Part()", before=before)


def _member(bases: str) -> str:
    before = f"from enum import Enum\n\n\nclass Part{bases}:\n    ROWS = 8\n"
    return _copying("part = Part(8)", before=before)


def _cleared(decorator: str) -> str:
    function = "def cleared(rows):\n    nisa.memset(dst=rows, value=0.0)\n"
    return _copying("cleared(rows)", before=f"\n{decorator}{function}")


_MADE: Final = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def made({parameters}):
    out = nl.ndarray((72, 90), dtype=nl.float32, buffer=nl.shared_hbm)
    rows = nl.ndarray((72, 90), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=rows, value=1.0)
    nisa.dma_copy(dst=out, src=rows)
    return out
"""

_LAUNCHED: Final = _MADE.format(parameters="x=None, sizes=()") + "\n\ndef started(x):\n    "

_OTHERWISE: Final = (
    _MADE.replace(
        "import nki\n", "from functools import partial\n\nfrom nki import jit as compiled\n"
    )
    .replace("@nki.jit", "@compiled")
    .format(parameters="x=None, sizes=()")
    + """

def plain(x=None, sizes=()):
    return made(x, sizes)


def factory(rounds):
    @compiled()
    def inner(x=None, sizes=()):
        return made(x, sizes)

    return inner


renamed = made
wrapped = compiled(plain)


def started(x):
    """
)


def _started_as(how: str, given: str) -> str:
    return _OTHERWISE + how.replace("{}", given)


_NUMPY: Final = "import numpy as np\n"
_HELD: Final = "held = nl.ndarray((8, 9), dtype=nl.float32, buffer=nl.sbuf)"
_ELSEWHERE: Final = f"{_HELD}\nnisa.memset(dst=held, value=0.0)\n"
_INSIDE: Final = f"{_HELD}\n    nisa.memset(dst=held, value=0.0)"

_PUTTING: Final = "\ndef put(key):\n    made = {}\n    made.setdefault(key, 90)\n    return made\n"
_STORED: Final = "{{}}\n    for i in range(3):\n        sizes[{}] = 90"


def _keyed(wrong: str, right: str, api: str, target: str, before: str = "") -> Twin:
    failing, passing = (_copying(f"sizes = {how}", before=before) for how in (wrong, right))
    return Twin("G34", failing, passing, api, target)


PYTHON_SUBSET: Final = (
    Twin(
        "G30",
        _copying(parameters="x, *, rounds=2"),
        _copying(parameters="x, rounds=2"),
        "0.3",
        "trn2",
    ),
    Twin(
        "G30",
        _copying(parameters="x, *, rounds=2"),
        _copying(parameters="x, rounds=2"),
        "0.6",
        "trn3",
    ),
    Twin(
        "G31",
        _copying("assert rounds is not 3", parameters="x, rounds=2"),
        _copying("assert rounds is not None", parameters="x, rounds=2"),
        "0.4",
        "trn2",
    ),
    Twin(
        "G32",
        _copying(parameters="x, axes=[1, 0]"),
        _copying(parameters="x, axes=(1, 0)"),
        "0.3",
        "trn2",
    ),
    Twin("G33", _of_class(""), _of_class("(nl.NKIObject)"), "0.2", "trn2"),
    Twin("G33", _of_class("(nl.NKIObject, object)"), _of_class("(nl.NKIObject)"), "0.6", "trn2"),
    Twin("G33", _of_class(""), _member("(Enum)"), "0.5", "trn3"),
    _keyed("{2: 90}", "{'2': 90}", "0.2", "trn1"),
    _keyed(_STORED.format("i"), _STORED.format("str(i)"), "0.3", "trn2"),
    _keyed("{(1, 2): 90}", "{'1, 2': 90}", "0.6", "trn3"),
    _keyed("{i: 90 for i in range(2)}", "{f'{i}': 90 for i in range(2)}", "0.4", "trn2"),
    _keyed("dict.fromkeys((0, 1), 90)", "dict.fromkeys(('0', '1'), 90)", "0.6", "trn2"),
    _keyed("dict(zip((4, 5), (72, 90)))", "dict(zip(('4', '5'), (72, 90)))", "0.6", "trn2"),
    _keyed("HELD[3]", "OTHERS['3']", "0.6", "trn2", "HELD, OTHERS = {3: 90}, {'3': 90}"),
    _keyed("put(3)", "put('3')", "0.5", "trn3", _PUTTING),
    Twin("G35", _cleared("@nki.jit\n"), _cleared(""), "0.2", "trn2"),
    Twin(
        "G41",
        _copying("nisa.memset(dst=rows[0:40][:, 0:30], value=0.0)"),
        _copying("nisa.memset(dst=rows[0:40, 0:30], value=0.0)"),
        "0.2",
        "trn2",
    ),
    Twin(
        "G44",
        _copying("scale = np.max(rows)", before=_NUMPY),
        _copying("count = np.prod([3, 4])", before=_NUMPY),
        "0.4",
        "trn2",
    ),
    Twin("G46", _copying(before=f"\n{_ELSEWHERE}"), _copying(_INSIDE), "0.3", "trn2"),
    Twin("N12", _copying(before=f"\n{_ELSEWHERE}"), _copying(_INSIDE), "0.6", "trn3"),
    Twin("G48", _copying().replace("@nki.jit", "@nki.benchmark"), _copying(), "0.2", "trn2"),
    Twin("G47", _MADE.format(parameters=""), _MADE.format(parameters="rounds=2"), "0.2", "trn2"),
    Twin("G47", f"{_LAUNCHED}made()", f"{_LAUNCHED}made(x)", "0.2", "trn2"),
    Twin("G32", f"{_LAUNCHED}made(x, [2])", f"{_LAUNCHED}made(x, (2,))", "0.4", "trn2"),
    *(
        Twin("G32", _started_as(how, "[2]"), _started_as(how, "(2,)"), "0.6", target)
        for how, target in (
            ("renamed(x, sizes={})", "trn3"),
            ("partial(made, sizes={})(x)", "trn2"),
            ("factory(3)(x, {})", "trn2"),
        )
    ),
    Twin("G47", _started_as("wrapped()", ""), _started_as("wrapped(x)", ""), "0.2", "trn1"),
    Twin(
        "L77",
        _started_as("renamed(x, {})", "{2}"),
        _started_as("renamed(x, {})", "2"),
        "0.4",
        "trn2",
    ),
    Twin("L77", f"{_LAUNCHED}made[2](x, {{}})", f"{_LAUNCHED}made[2](x, ())", "0.6", "trn3"),
)


_COLLECTIVE: Final = """\
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


@nki.jit
def between_ranks(x, counts):
    assert x.shape == (64, 30) and x.dtype == nl.float32
    assert counts.shape == (3, {columns}) and counts.dtype == nl.uint32
    out = nl.ndarray((256, 30), dtype=x.dtype, buffer=nl.shared_hbm)
    sent = nl.ndarray((64, 30), dtype=x.dtype, buffer=nl.hbm)
    got = nl.ndarray((256, 30), dtype=x.dtype, buffer=nl.hbm)
    nisa.dma_copy(dst=sent, src=x)
    group = ncc.ReplicaGroup({group})
    ncc.{call}
    nisa.dma_copy(dst=out, src=got)
    return out
"""
_GATHER_V: Final = (
    "all_gather_v(srcs=[sent], dsts=[got], replica_group=group, metadata_tensor=counts)"
)
_GATHER: Final = "all_gather(srcs=[sent], dsts=[got], replica_group=group, collective_dim=0)"


def _between(group: str, columns: int = 4, call: str = _GATHER_V) -> str:
    return _COLLECTIVE.format(group=group, columns=columns, call=call)


def _sized(metadata: str, columns: int) -> str:
    """The sizes are every other column: as they lie, or copied."""
    ordered = "ordered = nl.ndarray((3, 4), dtype=nl.uint32, buffer=nl.hbm)\n    "
    ordered += "nisa.dma_copy(dst=ordered, src=counts[:, 0:8:2])\n    ncc."
    call = _GATHER_V.replace("=counts", f"={metadata}")
    return _between("[[0, 1, 2, 3]]", columns, call).replace("ncc.all", f"{ordered}all")


COLLECTIVES: Final = (
    Twin("K06", _between("[[0, 1, 2, 3]]", 5), _between("[[0, 1, 2, 3]]"), "0.6", "trn2"),
    Twin("K06", _sized("counts[:, 0:8:2]", 8), _sized("ordered", 8), "0.6", "trn2"),
    Twin("K07", _between("[[0, 1]]", 2), _between("[[0, 1, 2, 3]]"), "0.6", "trn3"),
    Twin(
        "K07",
        _between("[list(range(8))]", 8),
        _between("[list(range(4)), list(range(4, 8))]"),
        "0.6",
        "trn2",
    ),
    Twin(
        "K13",
        _between("[[0, 1, 2, 3], [3, 4, 5, 6]]", call=_GATHER),
        _between("[[0, 1, 2, 3], [7, 4, 5, 6]]", call=_GATHER),
        "0.4",
        "trn2",
    ),
)


_MX_SCALES: Final = """\
# target: trn3
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def scaled(left_t, right, left_scale, right_scale):
    assert left_t.dtype == nl.float8_e4m3fn_x4 and right.dtype == nl.float8_e4m3fn_x4
    assert left_t.shape == ({rows}, 64) and right.shape == ({rows}, 96)
    assert left_scale.shape == ({left}, 64) and right_scale.shape == ({right}, 96)
    assert left_scale.dtype == nl.uint8 and right_scale.dtype == nl.uint8
    out = nl.ndarray((64, 96), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray(({rows}, 64), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
    b = nl.ndarray(({rows}, 96), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
    sa = nl.ndarray(({left}, 64), dtype=nl.uint8, buffer=nl.sbuf)
    sb = nl.ndarray(({right}, 96), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=left_t)
    nisa.dma_copy(dst=b, src=right)
    nisa.dma_copy(dst=sa, src=left_scale)
    nisa.dma_copy(dst=sb, src=right_scale)
    acc = nl.ndarray((64, 96), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul_mx(dst=acc, stationary=a, moving=b, stationary_scale=sa, moving_scale=sb)
    held = nl.ndarray((64, 96), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=held, src=acc)
    nisa.dma_copy(dst=out, src=held)
    return out
"""


def _scales(rows: int, left: int, right: int) -> str:
    return _MX_SCALES.format(rows=rows, left=left, right=right)


MX_SCALES: Final = (
    Twin("MMX10", _scales(32, 5, 4), _scales(32, 4, 32), "0.5", "trn3"),
    Twin("MMX10", _scales(96, 96, 72), _scales(96, 96, 68), "0.6", "trn3"),
)


_BETA1: Final = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def moved(x, i):
    assert x.shape == (72, 90) and x.dtype == nl.float32
    assert i.shape == (72, 1) and i.dtype == nl.int32
    out = nl.ndarray((72, 90), dtype=nl.float32, buffer=nl.shared_hbm)
    row = nl.arange(72)[:, None]
    column = nl.arange(90)[None, :]
    index = nl.load(i)
    tile = nl.load(x)
    {body}
    nl.store(out, tile)
    return out
"""


def _beta1(body: str, passing: str, fact: str, target: str = "trn1") -> Twin:
    return Twin(fact, _BETA1.format(body=body), _BETA1.format(body=passing), "beta1", target)


STATISTICS: Final = (
    _beta1(
        "found = nisa.bn_stats(tile[row, column], mask=column < 40)",
        "found = nisa.bn_stats(tile[row, column], mask=row < 72)",
        "BNS03",
    ),
)

PREDICATES: Final = (
    _beta1(
        "tile = nisa.affine_select((row >= column) & (row < 40), tile, 0.0)",
        "tile = nisa.affine_select(row >= column, tile, 0.0)",
        "AFS07",
        "trn2",
    ),
)


def _of_three(axis: int, dst: str) -> str:
    return kernel(
        "folded",
        {"x": ((96, 40), "float32")},
        ((96, 8), "float32"),
        "planes = x_tile.reshape((96, 8, 5))\n"
        "sums = nl.ndarray((96, 5), dtype=nl.float32, buffer=nl.sbuf)\n"
        f"nisa.tensor_reduce(dst={dst}, op=nl.add, data=planes, axis={axis})\n"
        "nisa.memset(dst=result, value=0.0)",
    )


AXES: Final = (Twin("RED02", _of_three(1, "sums"), _of_three(2, "result"), "0.3", "trn2"),)


def _chosen(dtype: str) -> str:
    return f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def chosen(x):
    assert x.shape == (72, 90) and x.dtype == nl.{dtype}
    out = nl.ndarray((72, 90), dtype=nl.{dtype}, buffer=nl.shared_hbm)
    row = nl.arange(72)[:, None]
    column = nl.arange(90)[None, :]
    tile = nl.load(x)
    kept = nisa.affine_select(row >= column, tile, 0)
    nl.store(out, kept)
    return out
"""


SELECTED: Final = (Twin("AFS06", _chosen("int32"), _chosen("int16"), "beta1", "trn2"),)
