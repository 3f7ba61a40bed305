"""Copies, transpositions and constants, in local memory and between memories (e.5, e.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.dialects.ppl.isa.fates import backwards, counted, goes_on, permuted
from verifier.dialects.ppl.isa.shared import (
    LOCAL,
    NEW,
    OUTSIDE,
    Joined,
    Part,
    combined,
    filled,
    function,
    like,
    number,
    on_rows,
    repeated,
    source,
    target,
    vector,
)
from verifier.hardware.capabilities import Capability
from verifier.symbolic.effects import Call
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.roles import (
    Counted,
    FirstLane,
    In,
    Lies,
    Match,
    Permuted,
    Role,
    Spread,
    Takes,
)
from verifier.symbolic.values import Enumerator

_MOVES: Final = "dst*, src*"
_BY_PLACE: Final = f"{_MOVES}, /"
_TO_LOCAL: Final = In(LOCAL, ("TPU-F01",))
_OUTSIDE: Final = In(OUTSIDE, ("TPU-F01",))
_SDMA: Final = In(OUTSIDE, ("TPU-G01",))

Order = tuple[int, ...]
_NC: Final[Order] = (1, 0, 2, 3)
_CW: Final[Order] = (0, 3, 2, 1)


def _moved(
    fact: str,
    *,
    shape: Counted | None = None,
    lies: Lies | None = None,
    memories: In | None = None,
    first_lane: FirstLane | None = None,
) -> Part:
    """What is moved as it is: an instruction has one format, for both sides."""
    same = like("dst", fact, by=Match.WIDTH)
    return source(
        "src", None, same, shape=shape, lies=lies, memories=memories, first_lane=first_lane
    )


def _chosen(call: Call) -> Order:
    """As ``trans_mode`` says."""
    value = call.value("trans_mode")
    name = value.name if isinstance(value, Enumerator) else ""
    return _NC if name == "NC_TRANS" else _CW


def _always(order: Order) -> Callable[[Call], Order]:
    return lambda call: order


#: what the end of a name says of the order of the axes, and the row that describes it
_ORDERS: Final[dict[str, tuple[Callable[[Call], Order], str]]] = {
    "cw": (_always(_CW), "TPU-F07"),
    "nc": (_always(_NC), "TPU-F06"),
    "": (_chosen, "TPU-F07"),
}


def _transposed(
    name: str, ending: str, to: In | None, of: In | None, more: str = ""
) -> Instruction:
    order, fact = _ORDERS[ending]
    ending = f"_{ending}" if ending else ""
    mode = ", trans_mode=CW_TRANS" if not ending else ""
    engine = name.partition(".")[0]
    if engine == "sdma" and mode:
        mode = ", trans_mode=NC_TRANS"
    return function(
        f"{name}{ending}",
        "dst = src with two of its axes exchanged",
        f"{_MOVES}{mode}{more}",
        target(shape=Permuted("src", order, fact), memories=to),
        goes_on(_moved(fact, memories=of), permuted(order)),
        Part(Role(name="trans_mode", takes=Takes.PLAIN, about="NC_TRANS or CW_TRANS")),
        needs=(Capability.SDMA, "TPU-G01") if engine == "sdma" else None,
    )


def _in_lanes(name: str, summary: str, fact: str, lies: Lies, first: str) -> Instruction:
    """A transposition between the lanes; ``first``: the operand that starts in lane 0."""
    lane = FirstLane(fact)
    return function(
        f"tiu.{name}",
        summary,
        _MOVES,
        target(
            shape=Permuted("src", _always(_CW), "TPU-E04"),
            lies=lies,
            first_lane=lane if first == "dst" else None,
        ),
        goes_on(
            _moved(fact, lies=on_rows(fact), first_lane=lane if first == "src" else None),
            permuted(_always(_CW)),
        ),
        moves_out="TPU-E05",
        lanes=None,
    )


_TIU: Final = (
    function(
        "tiu.move",
        "dst = src",
        _MOVES,
        target(),
        goes_on(source("src", None, like("dst", "TPU-B09"), shape=repeated())),
    ),
    function(
        "tiu.move_cross_lane",
        "dst = src, in other lanes",
        _MOVES,
        target(lies=on_rows("TPU-E02")),
        goes_on(_moved("TPU-E02", lies=on_rows("TPU-E02")), counted),
        moves_out="TPU-E02",
        lanes=None,
    ),
    _in_lanes(
        "transpose_wc",
        "dst = src with c and w exchanged, where w is the larger",
        "TPU-E05",
        on_rows("TPU-E05"),
        "dst",
    ),
    _in_lanes(
        "transpose_cw",
        "dst = src with c and w exchanged, where c is the larger",
        "TPU-E04",
        Lies("row-aligned", "TPU-E04"),
        "src",
    ),
    function(
        "tiu.broadcast",
        "dst = the one channel of src in so many lanes",
        f"{_BY_PLACE}, |, npu_num=0",
        target(shape=Spread("src", "TPU-E01"), lies=Lies("aligned", "TPU-E01")),
        goes_on(_moved("TPU-E01", lies=Lies("aligned", "TPU-E01"))),
        number("npu_num", about="how many lanes; 0: all"),
        result=NEW,
        lanes=None,
    ),
    function("tiu.zero", "dst = 0", "input*", filled(0)),
    function("tiu.fill", "dst = value", "input*, value*", filled("value"), vector("value")),
    function(
        "tiu.arange_broadcast",
        "dst = start, start + step, ... in each lane",
        "output*, start*, step*, num*",
        target(),
        number("num"),
    ),
    *(
        function(
            f"tiu.{name}",
            f"dst = coefficients of the static memory, {how}",
            "dst*, coeff_mode*",
            target(),
            nowhere="TPU-E03",
        )
        for name, how in (("smem_bcast", "in each lane"), ("smem_dist", "one in each lane"))
    ),
)


def _counted(memories: In | None = None) -> Part:
    part = _moved("TPU-F01", shape=Counted("dst", "TPU-F01"), memories=memories)
    return goes_on(part, counted, moved=True)


_BETWEEN: Final = (
    function(
        "dma.load",
        "dst = src, from global to local memory",
        f"{_BY_PLACE}, |, align_mode=TPU_ALIGN",
        target(memories=_TO_LOCAL),
        _counted(_OUTSIDE),
        result=Joined(aligned="align_mode"),
    ),
    function(
        "dma.load_compact",
        "dst = src, from global to local memory, without gaps",
        _BY_PLACE,
        target(lies=Lies("compact", "TPU-F05"), memories=_TO_LOCAL),
        _counted(_OUTSIDE),
        result=Joined("compact"),
    ),
    function(
        "dma.store",
        "dst = src, from local to global memory",
        _MOVES,
        target(memories=_OUTSIDE),
        _counted(_TO_LOCAL),
    ),
    function("dma.move", "dst = src", _MOVES, target(), _counted()),
    function(
        "sdma.move",
        "dst = src, outside of local memory",
        f"{_MOVES}, port_id=-1",
        target(memories=_SDMA),
        _counted(_SDMA),
        needs=(Capability.SDMA, "TPU-G01"),
    ),
    function(
        "dma.load_broadcast",
        "dst = the one channel of src in so many lanes",
        f"{_MOVES}, npu_num=0",
        target(shape=Spread("src", "TPU-F08")),
        goes_on(_moved("TPU-F08")),
        number("npu_num", about="how many lanes; 0: all"),
    ),
    function(
        "dma.broadcast",
        "dst = the one channel of src in so many lanes",
        f"{_BY_PLACE}, |, npu_num=0",
        target(shape=Spread("src", "TPU-F08")),
        goes_on(_moved("TPU-F08")),
        number("npu_num", about="how many lanes; 0: all"),
    ),
    function(
        "dma.reverse",
        "dst = src, backwards along an axis",
        f"{_MOVES}, dim*",
        target(),
        goes_on(_moved("TPU-F11"), backwards("dim")),
        number("dim", about="0 to 3; of local tensors 1"),
    ),
    function("dma.zero", "dst = 0", "input*", filled(0)),
    function(
        "dma.fill",
        "dst = value",
        "input*, value*",
        filled("value"),
        vector("value"),
    ),
    function(
        "dma.reduce",
        "dst = src, or dst and src together, as opcode says",
        "output*, input*, psum*, opcode*",
        combined(memories=In(OUTSIDE, ("TPU-F12",))),
        _moved("TPU-F12", shape=Counted("dst", "TPU-F01")),
    ),
)

_TURNED: Final = (
    *(_transposed("dma.load_transpose", e, _TO_LOCAL, _OUTSIDE) for e in _ORDERS),
    *(_transposed("dma.store_transpose", e, _OUTSIDE, _TO_LOCAL) for e in _ORDERS),
    *(_transposed("dma.transpose", e, None, None) for e in _ORDERS),
    *(_transposed("sdma.transpose", e, _SDMA, _SDMA, ", port_id=-1") for e in ("nc", "")),
)


def _vectors(name: str, signature: str, *parts: Part) -> Instruction:
    """A move from or to vector registers, which none of the chips has."""
    return function(
        f"dma.{name}", "a move of vector registers", signature, *parts, nowhere="TPU-F13"
    )


_REGISTERS: Final = (
    *(_vectors(name, "dst*, v_idx*", target()) for name in ("move_distv", "move_tv", "vstore")),
    *(_vectors(name, "dst*, v_idx0*, v_idx1*", target()) for name in ("move_vv", "move_distvv")),
    *(_vectors(name, "dst_v_idx*, src*", source()) for name in ("vload", "move_vt", "move_vcoll")),
)

INSTRUCTIONS: Final = (*_TIU, *_BETWEEN, *_TURNED, *_REGISTERS)
