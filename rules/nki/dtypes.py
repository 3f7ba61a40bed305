"""Element types of operands: what each instruction takes, and which operands share one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rules.nki import kit
from rules.nki.kit import at_least, check, register
from rules.nki.samples import kernel
from verifier.hardware import dtypes as dt
from verifier.hardware.targets import Target
from verifier.rulebase import Check, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.trace import Operation

_NOT_TF32: Final = kit.EVERY - dt.codes("tfloat32")
_FLOATS: Final = kit.FLOAT
_INT_OR_FLOAT32: Final = dt.codes("float32", "int32")
_EXP_IN: Final = kit.F8_LEGACY | kit.HALF | kit.FP32 | kit.INT
_EXP_OUT: Final = (_EXP_IN | dt.codes("tfloat32")) - dt.codes("uint32")
_NARROW: Final = (
    kit.HALF
    | kit.FP32
    | kit.F8_LEGACY
    | kit.F8_OCP
    | dt.codes("uint8", "uint16", "int8", "int16", "bool_")
)
_MX_OUT: Final = dt.codes("float8_e5m2_x4", "float8_e4m3fn_x4")

#: (operation, operand, admitted dtypes, in words, catalogue row, first API generation)
_ADMITTED: Final[tuple[tuple[str, str, frozenset[int], str, str, str], ...]] = (
    ("isa.activation", "scale", kit.FP32, "float32", "E03", "beta1"),
    ("isa.activation_reduce", "scale", kit.FP32, "float32", "E03", "beta1"),
    ("isa.activation", "bias", _NOT_TF32, "anything but tfloat32", "ACT07", "0.3"),
    ("isa.activation_reduce", "bias", _NOT_TF32, "anything but tfloat32", "ACT07", "0.3"),
    (
        "isa.tensor_copy_predicated",
        "predicate",
        dt.codes("uint8", "uint16", "uint32"),
        "an unsigned integer",
        "CPP02",
        "0.3",
    ),
    (
        "isa.select_reduce",
        "predicate",
        dt.codes("int8", "uint8", "int16", "uint16", "bool_"),
        "an 8- or 16-bit integer",
        "SLR05",
        "beta1",
    ),
    (
        "isa.select_reduce",
        "on_true",
        kit.EVERY - dt.codes("tfloat32", "int32", "uint32"),
        "neither tfloat32 nor a 32-bit integer",
        "SLR03",
        "beta1",
    ),
    ("isa.select_reduce", "reduce_res", _FLOATS, "a float", "SLR06", "beta1"),
    ("isa.tensor_scalar_cumulative", "src", _NARROW, "a float or a short integer", "TCU02", "0.2"),
    ("isa.tensor_scalar_cumulative", "dst", _NARROW, "a float or a short integer", "TCU02", "0.2"),
    ("isa.exponential", "src", _EXP_IN, "a float (not tfloat32) or an integer", "EXP03", "0.2"),
    ("isa.exponential", "dst", _EXP_OUT, "a float or an integer (not uint32)", "EXP04", "0.2"),
    ("isa.exponential", "reduce_res", _FLOATS, "a float", "EXP06", "0.2"),
    ("isa.quantize_mx", "src", kit.HALF, "float16 or bfloat16", "QMX02", "0.2"),
    ("isa.quantize_mx", "dst", _MX_OUT, "a packed fp8 type", "QMX02", "0.2"),
    ("isa.quantize_mx", "dst_scale", kit.SCALES, "float8_e8m0fnu or uint8", "QMX02", "0.2"),
    ("isa.range_select", "on_true_tile", _FLOATS, "a float", "RSL04", "beta1"),
    ("isa.range_select", "bound0", kit.FP32, "float32", "RSL03", "beta1"),
    ("isa.range_select", "bound1", kit.FP32, "float32", "RSL03", "beta1"),
    (
        "isa.nc_find_index8",
        "dst",
        dt.codes("uint16", "uint32"),
        "uint16 or uint32",
        "TOP04",
        "beta1",
    ),
    ("isa.local_gather", "index", dt.codes("uint16"), "uint16", "LGA03", "beta1"),
    ("isa.nc_n_gather", "indices", dt.codes("uint32"), "uint32", "NGA03", "0.2"),
    ("language.gather_flattened", "indices", dt.codes("uint32"), "uint32", "L32", "beta1"),
    ("isa.sequence_bounds", "segment_ids", _INT_OR_FLOAT32, "float32 or int32", "SQB02", "beta1"),
    ("isa.sequence_bounds", "dst", _INT_OR_FLOAT32, "float32 or int32", "SQB02", "0.2"),
    ("isa.nonzero_with_count", "src", _INT_OR_FLOAT32, "float32 or int32", "NZC02", "0.2"),
    ("isa.nonzero_with_count", "dst", dt.codes("int32"), "int32", "NZC02", "0.2"),
    ("isa.topk", "src", kit.BF16, "bfloat16", "TPK01", "0.6"),
    ("isa.topk", "val_dst", kit.BF16, "bfloat16", "TPK01", "0.6"),
    ("isa.topk", "idx_dst", dt.codes("uint32"), "uint32", "TPK01", "0.6"),
    ("isa.rng", "dst", kit.INT, "an integer", "RNG01", "0.2"),
    (
        "isa.rand2",
        "dst",
        kit.F8_LEGACY | kit.HALF | kit.F32 | kit.INT,
        "a float or an integer",
        "RND01",
        "0.2",
    ),
    ("isa.rand_set_state", "src_seeds", dt.codes("uint32"), "uint32", "RSS01", "0.2"),
    ("isa.rand_get_state", "dst", dt.codes("uint32"), "uint32", "RGT01", "0.2"),
)

#: (operation, two operands of one dtype, catalogue row, first API generation)
_SAME: Final[tuple[tuple[str, str, str, str, str], ...]] = (
    ("isa.tensor_copy_predicated", "src", "dst", "CPP03", "0.2"),
    ("isa.dropout", "data", "dst", "DRP03", "0.2"),
    ("isa.nc_stream_shuffle", "src", "dst", "SHF01", "beta1"),
    ("isa.local_gather", "src_buffer", "dst", "LGA03", "0.2"),
    ("isa.nc_n_gather", "data", "dst", "NGA03", "0.2"),
    ("isa.sendrecv", "src", "dst", "SRV02", "0.2"),
    ("isa.activate2", "imm0", "imm1", "ATW04", "0.4"),
)


def _operand_dtype(op: Operation, target: Target) -> Iterator[Check]:
    for name, role, admitted, words, fact, since in _ADMITTED:
        view = op.view(role) if name == op.name and at_least(op.api, since) else None
        if view is None:
            continue
        operand = op.operands[role]
        if not operand.given:
            continue  # the result of a value-returning call has the dtype it comes with
        have = kit.dtype_words(view.dtype)
        yield check(
            op,
            role,
            view.dtype.among(admitted),
            f"dtype of {role} is {words} (it is {have})",
            f"{op.name.partition('.')[2]} cannot take {role} as {have}",
            fact,
            help=("cast the tile with nisa.tensor_copy first",) if role != "dst" else (),
        )
    for name, first, second, fact, since in _SAME:
        if name != op.name or not at_least(op.api, since):
            continue
        a, b = op.view(first), op.view(second)
        if a is None or b is None:
            continue
        yield check(
            op,
            second,
            a.dtype.same(b.dtype),
            f"dtype of {first} == dtype of {second} (they are {kit.dtype_words(a.dtype)} and "
            f"{kit.dtype_words(b.dtype)})",
            f"{op.name.partition('.')[2]} does not convert: {first} and {second} have "
            "different dtypes",
            fact,
            about=(first, second),
        )


register(
    Rule(
        id="operand-dtype",
        code="NKI601",
        family="dtypes",
        summary="operands have element types that the instruction takes",
        reason=(
            "Most instructions convert what they read to float32 and back. Some move or test bits "
            "instead, or run in a mode that exists for a few types only: predicates are unsigned "
            "integers, index tensors have the width the unit decodes, scales are float32."
        ),
        facts=tuple(
            dict.fromkeys(
                [*(row[4] for row in _ADMITTED), *(row[3] for row in _SAME), "T11", "E02"]
            )
        ),
        on="operation",
        operations=tuple(dict.fromkeys([*(r[0] for r in _ADMITTED), *(r[0] for r in _SAME)])),
        check=_operand_dtype,
        sources=("NKI ISA, data types of each instruction",),
        failing=kernel(
            "keep_where",
            {"values": ((64, 90), "float32"), "keep": ((64, 90), "int32")},
            ((64, 90), "float32"),
            """
            nisa.memset(dst=result, value=0.0)
            nisa.tensor_copy_predicated(dst=result, src=values_tile, predicate=keep_tile)
            """,
        ),
        passing=kernel(
            "keep_where",
            {"values": ((64, 90), "float32"), "keep": ((64, 90), "uint32")},
            ((64, 90), "float32"),
            """
            nisa.memset(dst=result, value=0.0)
            nisa.tensor_copy_predicated(dst=result, src=values_tile, predicate=keep_tile)
            """,
        ),
    )
)

# ----------------------------------------------------------------------------- vector operands


def _scalar_operand_dtype(op: Operation, target: Target) -> Iterator[Check]:
    if not at_least(op.api, "0.2"):
        return
    for index in ("0", "1"):
        view = op.view(f"operand{index}")
        operator = kit.operator_name(op.value(f"op{index}"))
        if view is None or operator is None or operator in BITWISE:
            continue
        role = f"operand{index}"
        yield check(
            op,
            role,
            view.dtype.among(kit.FP32),
            f"dtype of {role} is float32 (it is {kit.dtype_words(view.dtype)})",
            f"an arithmetic {role} has to be float32",
            "TSC06",
            severity="warning",
            help=("keep the per-partition operand in a float32 tile",),
        )


BITWISE: Final = frozenset(
    {"invert", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"}
)

register(
    Rule(
        id="scalar-operand-dtype",
        code="NKI602",
        family="dtypes",
        summary="per-partition operands of arithmetic are float32",
        reason=(
            "The lanes hold the per-partition operand of an arithmetic operator as a float32. The "
            "documentation demands that the tile is float32 as well; other types may be read as "
            "bits."
        ),
        facts=("TSC06",),
        on="operation",
        operations=("isa.tensor_scalar",),
        severity="warning",
        check=_scalar_operand_dtype,
        sources=("NKI ISA tensor_scalar",),
        failing=kernel(
            "scale_rows",
            {"x": ((128, 300), "bfloat16"), "s": ((128, 1), "bfloat16")},
            ((128, 300), "bfloat16"),
            "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.multiply, operand0=s_tile)",
        ),
        passing=kernel(
            "scale_rows",
            {"x": ((128, 300), "bfloat16"), "s": ((128, 1), "float32")},
            ((128, 300), "bfloat16"),
            "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.multiply, operand0=s_tile)",
        ),
    )
)

# ----------------------------------------------------------------------------- bit operators

_BIT_ROLES: Final[dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    "isa.tensor_tensor": ("TTN05", ("op",), ("data1", "data2", "dst")),
    "isa.tensor_scalar": ("TSC05", ("op0", "op1"), ("data", "operand0", "operand1", "dst")),
    "isa.tensor_reduce": ("RED05", ("op",), ("data", "dst")),
    "isa.tensor_partition_reduce": ("T02", ("op",), ("data", "dst")),
    **{f"language.{name}": ("L47", (), ("x", "y")) for name in sorted(BITWISE)},
}


def _bitwise_dtype(op: Operation, target: Target) -> Iterator[Check]:
    fact, operators, roles = _BIT_ROLES[op.name]
    names = [kit.operator_name(op.value(role)) for role in operators]
    used = [name for name in names if name in BITWISE]
    if operators and not used:
        return
    operator = used[0] if used else op.name.partition(".")[2]
    for role in roles:
        view = op.view(role)
        if view is None or not op.operands[role].given:
            continue
        yield check(
            op,
            role,
            view.dtype.among(kit.INT),
            f"dtype of {role} is an integer (it is {kit.dtype_words(view.dtype)})",
            f"{operator} works on integers, and {role} is {kit.dtype_words(view.dtype)}",
            fact,
            "T02",
            help=("view the bits with an integer dtype: tile.view(nl.uint32)",),
        )


register(
    Rule(
        id="bitwise-dtype",
        code="NKI603",
        family="dtypes",
        summary="bit operators work on integers",
        reason=(
            "Bit operators bypass the conversion to float32 and see the stored bits. On a float "
            "they would mix sign, exponent and fraction; the compiler rejects it."
        ),
        facts=("T02", "TTN05", "TSC05", "RED05", "L47"),
        on="operation",
        operations=tuple(_BIT_ROLES),
        check=_bitwise_dtype,
        sources=("NKI supported operators", "NKI ISA tensor_tensor"),
        failing=kernel(
            "low_bits",
            {"x": ((32, 60), "float32")},
            ((32, 60), "int32"),
            "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.bitwise_and, operand0=7)",
        ),
        passing=kernel(
            "low_bits",
            {"x": ((32, 60), "int32")},
            ((32, 60), "int32"),
            "nisa.tensor_scalar(dst=result, data=x_tile, op0=nl.bitwise_and, operand0=7)",
        ),
    )
)

# ----------------------------------------------------------------------------- memset


def _memset_value(op: Operation, target: Target) -> Iterator[Check]:
    dst = op.view("dst")
    value = op.value("value")
    number = kit.constant(value)
    if dst is None or not op.operands["dst"].given or not kit.is_settled(dst.dtype):
        return
    if isinstance(value, float) and at_least(op.api, "0.3"):
        yield check(
            op,
            "value",
            E.not_(dst.dtype.among(kit.INT)),
            f"dst is no integer tile (its dtype is {kit.dtype_words(dst.dtype)})",
            "a float value is written into an integer tile",
            "MST02",
            about=("dst",),
            help=("write the value as an integer literal",),
        )
    if number is not None and number != 0:
        yield check(
            op,
            "value",
            E.not_(dst.dtype.among(kit.PACKED)),
            f"dst is not packed, or the value is 0 (it is {number})",
            "a packed tile can be set to 0 only",
            "MST03",
            about=("dst",),
        )
    name = dst.dtype.name
    if isinstance(number, int) and name is not None and dt.DTYPES[name][1] == "int":
        bits = dt.DTYPES[name][0] * 8
        signed = not name.startswith("u") and name != "bool_"
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        yield check(
            op,
            "value",
            E.truth(low <= number <= high),
            f"{low} <= value <= {high}",
            f"the value does not fit into {name}",
            "MST05",
            values=(("value", E.const(number)),),
            severity="warning",
        )


register(
    Rule(
        id="memset-value",
        code="NKI604",
        family="dtypes",
        summary="memset writes a value of the tile's type",
        reason=(
            "The value is stored as it is, in the tile's type. From NKI 0.3 on a float for an "
            "integer tile is rejected instead of being cut off, and packed tiles take zero only."
        ),
        facts=("MST02", "MST03", "MST05"),
        on="operation",
        operations=("isa.memset",),
        check=_memset_value,
        sources=("NKI ISA memset", "NKI migration guide 0.3, strict type matching"),
        failing=kernel(
            "counters",
            {"x": ((16, 33), "int32")},
            ((16, 33), "int32"),
            """
            ones = nl.ndarray((16, 33), dtype=nl.int32, buffer=nl.sbuf)
            nisa.memset(dst=ones, value=1.0)
            nisa.tensor_tensor(dst=result, data1=x_tile, data2=ones, op=nl.add)
            """,
        ),
        passing=kernel(
            "counters",
            {"x": ((16, 33), "int32")},
            ((16, 33), "int32"),
            """
            ones = nl.ndarray((16, 33), dtype=nl.int32, buffer=nl.sbuf)
            nisa.memset(dst=ones, value=1)
            nisa.tensor_tensor(dst=result, data1=x_tile, data2=ones, op=nl.add)
            """,
        ),
    )
)
