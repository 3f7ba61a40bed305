"""What the Tensor Instruction Unit computes element by element (catalogue, section e.2)."""

from __future__ import annotations

from typing import Final

from verifier.dialects.ppl.isa.fates import (
    CONDITION,
    absorbed,
    chosen,
    decides,
    goes_on,
    of_channel,
)
from verifier.dialects.ppl.isa.shared import (
    EVERY,
    FIXED,
    FLOATS,
    FP8,
    FP32,
    HALF,
    INT4,
    INT8,
    INT16,
    INTS,
    NEW,
    SIGNED,
    UNSIGNED,
    Joined,
    Part,
    elements,
    function,
    like,
    number,
    on_rows,
    option,
    repeated,
    source,
    target,
    types,
    updated,
    vector,
)
from verifier.hardware import dtypes as dt
from verifier.hardware.capabilities import Capability
from verifier.symbolic.instruction import Instruction, Trait
from verifier.symbolic.roles import (
    Crossed,
    Lies,
    Limit,
    Match,
    PerChannel,
    SameType,
    StartLanes,
    Types,
    Unit,
)

#: what a comparison chooses from
_CHOSEN: Final = Lies("aligned", "TPU-B13")
_BINARY: Final = "dst*, src0*, src1*, /"
_UNARY: Final = "dst*, src*, /"
_NAMED: Final = "dst*, src*"


def _two(dtypes: Types | None, same: SameType | None) -> tuple[Part, ...]:
    """Two sources of the destination's shape; they may repeat."""
    names = ("src0", "src1")
    return tuple(goes_on(vector(name, dtypes, same, shape=repeated())) for name in names)


def _factors(two: tuple[Part, ...]) -> tuple[Part, ...]:
    """Two sources of which a 0 makes 0 whatever the other one is."""
    first, second = two
    return absorbed(first, "src1"), absorbed(second, "src0")


def _floats(name: str, what: str) -> Instruction:
    taken = types(FLOATS, "TPU-B01", (Capability.FLOAT8, FP8))
    same = like("dst", "TPU-B01", free=((Capability.FLOAT8, FP8),))
    return function(
        f"tiu.{name}",
        f"dst = {what}, of floats",
        f"{_BINARY}, |, saturation=False",
        target(dtypes=taken),
        *_two(taken, same),
        option("saturation", "results that are too large become the largest number"),
        result=NEW,
    )


def _integers(name: str, what: str) -> Instruction:
    taken = types(FIXED, "TPU-B02")
    two = _two(taken, None)
    return function(
        f"tiu.{name}",
        f"dst = ({what}) << shift, of integers, rounded where it is shifted right",
        f"{_BINARY}, shift=-100, mode=RM_HALF_TO_EVEN, saturation=False",
        target(dtypes=taken),
        *(_factors(two) if name == "mul" else two),
        goes_on(vector("shift", taken, shape=repeated())),
        option("saturation", "results that are too large become the largest number"),
        result=NEW,
        traits=frozenset({Trait.INTEGERS}),
    )


def _divided(name: str, more: str, *parts: Part) -> Instruction:
    taken = types(FLOATS, "TPU-B06")
    return function(
        f"tiu.{name}",
        "dst = src0 / src1, by Newton's method",
        f"{_BINARY}{more}",
        target(dtypes=taken),
        *_two(taken, like("dst", "TPU-B06")),
        *parts,
        result=NEW,
    )


def _plain(name: str, what: str, fact: str, others: tuple[str, ...] = ()) -> Instruction:
    return function(
        f"tiu.{name}",
        f"dst = {what}",
        _BINARY,
        target(),
        *_two(None, like("dst", fact)),
        result=NEW,
        others=others,
    )


def _bitwise(name: str, what: str) -> Instruction:
    taken = types(FIXED, "TPU-B07")
    two = _two(taken, like("dst", "TPU-B07", by=Match.WIDTH))
    return function(
        f"tiu.{name}",
        f"dst = {what}, bit by bit",
        _BINARY,
        target(dtypes=taken),
        *(two if name.endswith("xor") else _factors(two)),
        result=NEW,
    )


def _squared(name: str, what: str) -> Instruction:
    taken = types(FLOATS, "TPU-B16", (Capability.FLOAT8_SCALES, FP8))
    return function(
        f"tiu.{name}",
        f"dst = ({what}) ** 2",
        _BINARY,
        target("dst", taken, like("src0", "TPU-B16", (EVERY, FP32))),
        *_two(taken, None),
        result=NEW,
    )


def _compared(name: str, sign: str) -> Instruction:
    taken = types(EVERY - INT4, "TPU-B12")
    return function(
        f"tiu.{name}",
        f"dst = true_val where src0 {sign} src1, else 0",
        f"{_BINARY}, |, true_val=1",
        target("dst", taken, like("src0", "TPU-B12", by=Match.NO_WIDER)),
        goes_on(vector("src0", taken, like("src1", "TPU-B12"), shape=repeated())),
        goes_on(vector("src1", taken, shape=repeated())),
        result=NEW,
    )


def _selected(name: str, sign: str) -> Instruction:
    taken = types(EVERY - INT4, "TPU-B13")
    return function(
        f"tiu.{name}",
        f"dst = src2 where src0 {sign} src1, else src3",
        "dst*, src0*, src1*, src2*, src3*, /",
        target("dst", taken, like("src2", "TPU-B13"), lies=on_rows("TPU-B13")),
        decides(vector("src0", taken, like("src1", "TPU-B13"), shape=elements()), CONDITION),
        decides(vector("src1", taken, shape=elements()), CONDITION),
        chosen(vector("src2", taken, like("src3", "TPU-B13"), shape=elements(), lies=_CHOSEN)),
        chosen(vector("src3", taken, shape=elements(), lies=_CHOSEN)),
        result=NEW,
    )


def _extreme(name: str, what: str, sign: str) -> Instruction:
    paired = repeated("TPU-B13", "out0")
    return function(
        f"tiu.{name}",
        f"out0 = {what}(src0, src1), out1 = src2 where src0 {sign} src1, else src3",
        "out0*, out1*, src0*, src1*, src2*, src3*",
        target("out0", lies=on_rows("TPU-B13")),
        target("out1", lies=on_rows("TPU-B13")),
        *(decides(vector(f"src{k}", shape=paired), CONDITION) for k in (0, 1)),
        *(chosen(vector(f"src{k}", shape=paired, lies=_CHOSEN), "out1") for k in (2, 3)),
    )


def _correlated(name: str, what: str) -> Instruction:
    vectors = on_rows("TPU-B24")
    return function(
        f"tiu.{name}",
        f"dst = {what} of each element of src0 with each of src1",
        _BINARY,
        target(shape=Crossed(("src0", "src1"), "TPU-B24"), lies=vectors),
        *(vector(role, same=like("dst", "TPU-B24"), lies=vectors) for role in ("src0", "src1")),
        result=NEW,
        lanes=StartLanes(("TPU-B24",), ("dst", "src1")),
    )


def _one(
    name: str,
    summary: str,
    codes: frozenset[int],
    fact: str,
    by: Match = Match.TYPE,
    more: str = "",
    parts: tuple[Part, ...] = (),
) -> Instruction:
    """One source of the destination's shape and type."""
    taken = types(codes, fact)
    return function(
        f"tiu.{name}",
        summary,
        _UNARY + more,
        target(dtypes=taken),
        goes_on(source("src", taken, like("dst", fact, by=by), shape=elements())),
        *parts,
        result=NEW,
    )


def _root(name: str, what: str) -> Instruction:
    taken = types(FP32, "TPU-B18", (Capability.HALF_ROOTS, HALF))
    return function(
        f"tiu.{name}",
        f"dst = {what}, by Newton's method",
        f"{_UNARY}, |, num_iter=3",
        target(dtypes=taken),
        goes_on(source("src", taken, like("dst", "TPU-B18"), shape=elements())),
        number("num_iter", Limit(fact="TPU-B18", least=1, most=4), "the number of steps"),
        result=NEW,
    )


def _shifted(name: str, summary: str, codes: frozenset[int], same: SameType | None) -> Instruction:
    taken = types(codes, "TPU-B11")
    return function(
        f"tiu.{name}",
        summary,
        f"{_UNARY}, |, shift*, r_mode=RM_HALF_TO_EVEN",
        target(dtypes=taken),
        goes_on(vector("src", taken, same, shape=repeated())),
        goes_on(
            vector(
                "shift",
                types(INTS, "TPU-B11"),
                like("src", "TPU-B11", by=Match.NO_WIDER),
                shape=repeated(),
            )
        ),
        result=NEW,
    )


def _scaled(name: str, what: str, signature: str, *roles: str) -> Instruction:
    taken = types(FLOATS, "TPU-B15", (Capability.FLOAT8_SCALES, FP8))
    return function(
        f"tiu.{name}",
        f"dst = {what}, with a number for each channel",
        signature,
        target("dst", taken, like("src", "TPU-B15", (EVERY, FP32)), lies=on_rows("TPU-B15")),
        goes_on(source("src", taken, lies=on_rows("TPU-B15"))),
        *(
            goes_on(
                vector(
                    role,
                    taken,
                    shape=PerChannel("dst", "TPU-B15"),
                    lies=Lies("compact", "TPU-B15", Unit.ELEMENT),
                ),
                of_channel,
            )
            for role in roles
        ),
        result=NEW,
    )


def _leading(name: str, what: str) -> Instruction:
    return function(
        f"tiu.{name}",
        f"dst = how many {what} bits src begins with",
        _NAMED,
        target(),
        goes_on(source(shape=elements())),
        nowhere="TPU-B14",
    )


_ABS: Final = function(
    "tiu.abs",
    "dst = |src|",
    _UNARY,
    target(),
    goes_on(source("src", None, like("dst", "TPU-B09"), shape=repeated("TPU-A09"))),
    result=NEW,
)
_DIFFERENCE: Final = function(
    "tiu.sub_abs",
    "dst = |src0 - src1|",
    _BINARY,
    target(dtypes=types(FLOATS | INTS, "TPU-B17")),
    *_two(types(FLOATS | INTS, "TPU-B17"), like("dst", "TPU-B17", (INTS, INTS))),
    result=NEW,
)
_EXPONENTS: Final = function(
    "tiu.fexp_part",
    "dst = the exponents of src",
    _UNARY,
    target(
        "dst",
        None,
        like(
            "src",
            "TPU-B20",
            (FP32, dt.codes("int32") | FP32),
            (dt.codes("float16"), SIGNED & INT16),
            (dt.codes("bfloat16"), SIGNED & INT16),
            # of what is no float nothing is known
            (EVERY - FLOATS, EVERY),
        ),
    ),
    goes_on(source(shape=elements())),
    result=NEW,
)
_NORM: Final = function(
    "tiu.norm",
    "dst = src, normalised",
    _NAMED,
    target(),
    source(shape=elements()),
    nowhere="PPL-C14",
)
_CAST: Final = function(
    "tiu.cast",
    "dst = src, converted to its type",
    f"{_UNARY}, type=void, mode=RM_HALF_TO_EVEN",
    target("dst", None, like("src", "TPU-B10", by=Match.NO_WIDER_IN_PLACE)),
    goes_on(vector("src", shape=elements())),
    result=Joined(typed="type", alone="src"),
)
_MAC: Final = function(
    "tiu.mac",
    "dst = ((dst << lshift) + src0 * src1) >> rshift, of integers",
    f"{_BINARY}, |, lshift=0, rshift=0, r_mode=RM_HALF_TO_EVEN",
    goes_on(updated("dst", types(INT16 | INT8, "TPU-B03"))),
    *_two(types(INT8 | INT4, "TPU-B03"), None),
)
_SUMS: Final = types(FP32, "TPU-B04", (Capability.HALF_SUMS, HALF))
_FMAC: Final = function(
    "tiu.fmac",
    "dst = dst + src0 * src1, of floats",
    _BINARY,
    goes_on(updated("dst", _SUMS)),
    *_two(_SUMS, None),
)
_FMUL_ADD: Final = function(
    "tiu.fmul_add",
    "dst = src0 * src1 + src2",
    "dst*, src0*, src1*, src2*, /",
    target(),
    *(goes_on(vector(f"src{k}", shape=repeated())) for k in range(3)),
    result=NEW,
    nowhere="TPU-B23",
    others=("tiu.fma",),
)

INSTRUCTIONS: Final = (
    *(_floats(n, w) for n, w in (("fadd", "src0 + src1"), ("fsub", "src0 - src1"))),
    _floats("fmul", "src0 * src1"),
    *(_integers(n, w) for n, w in (("add", "src0 + src1"), ("sub", "src0 - src1"))),
    _integers("mul", "src0 * src1"),
    _divided("truediv", ""),
    _divided(
        "fdiv",
        ", num_iter=-100",
        number("num_iter", Limit(fact="TPU-B06", least=0, most=4), "the number of steps"),
    ),
    _plain("minimum", "the smaller of src0 and src1", "TPU-B05", ("tiu.min",)),
    _plain("maximum", "the greater of src0 and src1", "TPU-B05", ("tiu.max",)),
    _DIFFERENCE,
    *(_bitwise(f"bitwise_{w}", f"src0 {w} src1") for w in ("and", "or", "xor")),
    _one("bitwise_not", "dst = src with all bits turned", INTS, "TPU-B08", Match.WIDTH),
    _squared("fadd_sqr", "src0 + src1"),
    _squared("fsub_sqr", "src0 - src1"),
    *(_compared(n, sign) for n, sign in (("gt", ">"), ("lt", "<"), ("eq", "=="))),
    *(_selected(f"{n}_select", sign) for n, sign in (("gt", ">"), ("lt", "<"), ("eq", "=="))),
    _extreme("max_gt_select", "max", ">"),
    _extreme("min_lt_select", "min", "<"),
    _correlated("vc_min", "the minimum"),
    _correlated("vc_max", "the maximum"),
    _ABS,
    _one("fexp", "dst = e ** src", FLOATS, "TPU-B19"),
    _one("fsin_base", "dst = sin(src), for small src", FLOATS, "TPU-B19"),
    _one("fcos_base", "dst = cos(src), for small src", FLOATS, "TPU-B19"),
    _one("flog_base", "dst = log(src), for src near 1", FLOATS, "TPU-B19"),
    _one("ftan_base", "dst = tan(src), for small src", FP32, "TPU-B19"),
    _one("farcsin_base", "dst = arcsin(src), for small src", FP32, "TPU-B19"),
    _one("farccos_base", "dst = arccos(src), for small src", FP32, "TPU-B19"),
    _one("floor", "dst = src, rounded down", FLOATS, "TPU-B21"),
    _one("ceiling", "dst = src, rounded up", FLOATS, "TPU-B21"),
    _one("round", "dst = src, rounded as r_mode says", FLOATS, "TPU-B21", more=", |, r_mode*"),
    _root("frsqrt", "1 / sqrt(src)"),
    _root("fsqrt", "sqrt(src)"),
    _EXPONENTS,
    _NORM,
    _leading("clz", "zero"),
    _leading("clo", "one"),
    _shifted("shift", "dst = src << shift, saturated", INTS, None),
    _shifted(
        "logical_shift", "dst = src << shift; zeros come in from the left", INTS & UNSIGNED, None
    ),
    _shifted(
        "circular_shift",
        "dst = src, turned by shift bits to the left",
        INTS,
        like("dst", "TPU-B11", by=Match.WIDTH),
    ),
    _CAST,
    _MAC,
    _FMAC,
    _FMUL_ADD,
    _scaled("fscale", "src * scale + bias", f"{_UNARY}, |, scale*, bias*", "scale", "bias"),
    _scaled("fbias", "src + bias", f"{_UNARY}, |, bias*", "bias"),
)
