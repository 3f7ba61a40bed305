"""The table of functions, and what a call of each of them touches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.okk.support import EU, LANES, LOCAL, aligned, ceildiv, interpret, operations, tensor_of
from verifier.dialects.okk import isa
from verifier.hardware.engines import Engine
from verifier.symbolic.instruction import Instruction
from verifier.symbolic.lanes import LocalTensor, SystemTensor
from verifier.symbolic.roles import Role, Takes

ALL = sorted(isa.INSTRUCTIONS.values(), key=lambda i: i.facts)

#: an argument for each kind of parameter
ARGUMENTS = {
    Takes.LOCAL_ADDRESS: "256",
    Takes.SYSTEM_ADDRESS: "buffer",
    Takes.QUAD: "shape",
    Takes.PAIR: "None",
    Takes.PADDING: "None",
    Takes.INTEGER: "1",
    Takes.NUMBER: "0.5",
    Takes.FLAG: "True",
    Takes.WORD: "okk.x32.u32(7)",
    Takes.HALF_WORD: "okk.x16.u16(7)",
    Takes.BYTE: "okk.x8.u8(7)",
    Takes.CHOICE: "okk.x32_or_addr(addr=512)",
}
#: arguments that are not like others of their kind
SPECIAL = {"op_type": "okk.S8_OP_S8_TO_S16", "mul_type": "okk.S16_MUL_S8_TO_S16"}


def argument(role: Role) -> str:
    if role.takes is Takes.QUAD and role.optional and role.name != "kernel_stride":
        return "None"
    return SPECIAL.get(role.name, ARGUMENTS[role.takes])


def call(function: Instruction) -> str:
    return f"okk.{function.short}({', '.join(map(argument, function.roles))})"


def parameters(function: Instruction) -> list[str]:
    return list(isa.signature(function).names)


def kernel(*statements: str) -> str:
    body = ["shape = okk.dim4(5, 70, 4, 6)", *statements]
    lines = "".join(f"    {line}\n" for line in body)
    return f"@okk.kernel\ndef kernel(n: int, buffer: okk.SystemAddr):\n{lines}"


def test_every_row_of_the_catalogue_is_described() -> None:
    facts = {fact for i in (*ALL, *isa.ANSWERS.values()) for fact in i.facts}
    assert {f"OKK-{number:03}" for number in range(1, 122)} <= facts
    operations_facts = [i.facts for i in ALL]
    assert len(operations_facts) == len(set(operations_facts))


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.short)
def test_a_description_is_consistent(function: Instruction) -> None:
    names = parameters(function)
    assert len(names) == len(set(names)) == len(function.roles)
    tensors = [role for role in function.roles if role.placed]
    footprint = function.footprint
    for role in tensors:
        assert role.parameter in names
        assert footprint.reads_of(role.name) or footprint.writes_of(role.name)
    strides = {n for n in names if n.endswith("_stride") and n != "row_stride"}
    assert {r.placed.strides for r in tensors if r.placed and r.placed.strides} == strides
    assert function.engines.default in (Engine.GDMA, Engine.BDC, Engine.CONTROL)
    assert bool(tensors) == (function.engines.default is not Engine.CONTROL)


def test_every_function_is_modelled(tmp_path: Path) -> None:
    run = interpret(tmp_path, kernel(*map(call, ALL)))
    assert run.ended is None
    assert not run.trace.unmodelled
    assert not [c.check.message for c in run.checks if c.rule == "okk-signature"]
    assert [op.name for op in run.trace.operations] == [f.name for f in ALL]
    for function, op in zip(ALL, run.trace.operations, strict=True):
        assert op.engine == function.engines.default and op.instruction is function
        assert list(op.operands) == parameters(function)
        assert [t.role for t in op.touches] == [r.name for r in function.roles if r.placed]


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.short)
def test_an_argument_less_or_more_is_found(tmp_path: Path, function: Instruction) -> None:
    text = call(function)
    more = text[:-1] + (", 1)" if function.roles else "1)")
    run = interpret(tmp_path, kernel(more))
    (found,) = [c.check.message for c in run.checks if c.rule == "okk-signature"]
    assert "are given" in found or "is given" in found
    assert not run.trace.operations
    if function.roles:
        less = text.rpartition(", ")[0] + ")" if ", " in text else f"okk.{function.short}()"
        run = interpret(tmp_path, kernel(less))
        (found,) = [c.check.message for c in run.checks if c.rule == "okk-signature"]
        assert f"without `{parameters(function)[-1]}`" in found


def test_keywords_are_the_names_of_c(tmp_path: Path) -> None:
    by_name = "okk.bdc_add(src1_addr=512, dst_addr=0, src0_addr=256, shape=shape, dst_stride=None, "
    by_name += "src0_stride=None, src1_stride=shape)"
    run = interpret(tmp_path, kernel(by_name))
    (op,) = run.trace.operations
    places = {t.role: t.tensor.address for t in op.touches}
    assert {role: getattr(place, "const", None) for role, place in places.items()} == {
        "dst": 0,
        "src0": 256,
        "src1": 512,
    }


# ------------------------------------------------------------------------ shapes and strides


def constants(tensor: LocalTensor | SystemTensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(x.const for x in tensor.shape), tuple(x.const for x in tensor.strides)


@pytest.mark.parametrize("lane", [0, 2, 62])
@pytest.mark.parametrize(("bits", "itemsize"), [(32, 4), (16, 2), (8, 1)])
def test_a_copy_without_strides(tmp_path: Path, bits: int, itemsize: int, lane: int) -> None:
    address = lane * LOCAL + 128
    text = f"okk.gdma_{bits}bit_cpy_S2L({address}, buffer + 24, shape, None, None)"
    (op,) = operations(interpret(tmp_path, kernel(text)))
    shape = (5, 70, 4, 6)
    assert constants(tensor_of(op, "dst")) == (shape, aligned(lane, shape, itemsize))
    source = tensor_of(op, "src")
    assert isinstance(source, SystemTensor)
    assert constants(source) == (shape, (70 * 24, 24, 6, 1))
    assert source.address.offset.const == 24
    assert source.dtype.itemsize.const == itemsize


def test_strides_that_are_given_are_used(tmp_path: Path) -> None:
    text = "okk.bdc_neg(0, 640, shape, okk.dim4(900, 300, 6, 1), None)"
    (op,) = operations(interpret(tmp_path, kernel(text)))
    dst, src = tensor_of(op, "dst"), tensor_of(op, "src")
    assert isinstance(dst, LocalTensor) and isinstance(src, LocalTensor)
    assert constants(dst)[1] == (900, 300, 6, 1)
    assert (dst.given, dst.layout) == (True, "free")
    assert (src.given, src.layout) == (False, "aligned")


@pytest.mark.parametrize("name", ["conv2d", "depthwise2d", "avg_pool2d"])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 3)])
def test_windows(tmp_path: Path, name: str, dilation: tuple[int, int]) -> None:
    """OKK-P02, OKK-P31 against counting the places of the window."""
    (n, c, h, w), (kh, kw), (sh, sw) = (3, 5, 17, 11), (3, 2), (2, 3)
    pads = (1, 2, 0, 3)
    record = f"okk.dim4({n}, {c}, {h}, {w}), "
    common = f"okk.Padding{pads}, okk.dim2({sh}, {sw})"
    dh, dw = dilation if name != "avg_pool2d" else (1, 1)
    window = f"{kh}, {kw}, "
    if name == "conv2d":
        stride = "okk.compact_stride(0, okk.dim4(3, 7, 3, 2))"
        text = f"okk.bdc_conv2d(0, 1280, 2560, 0, {record}7, {window}None, {stride}, False, True, "
        text += f"{common}, okk.dim2({dh}, {dw}))"
    elif name == "depthwise2d":
        text = f"okk.bdc_depthwise2d(0, 1280, 2560, 4, {record}{window}True, {common}, "
        text += f"okk.dim2({dh}, {dw}))"
    else:
        text = f"okk.bdc_avg_pool2d(0, 1280, {record}{window}{common})"
    (op,) = operations(interpret(tmp_path, kernel(text)))

    def places(size: int, extent: int, step: int) -> int:
        return len([at for at in range(0, size, step) if at + extent <= size])

    rows = places(h + pads[0] + pads[1], (kh - 1) * dh + 1, sh)
    columns = places(w + pads[2] + pads[3], (kw - 1) * dw + 1, sw)
    output = (n, 7 if name == "conv2d" else c, rows, columns)
    assert constants(tensor_of(op, "output")) == (output, aligned(0, output, 4))
    accesses = {t.role: (t.reads, t.writes) for t in op.touches}
    assert accesses["output"] == (name == "conv2d", True)
    assert ("bias" in accesses) == (name == "depthwise2d")
    if name == "conv2d":
        weight = tensor_of(op, "weight")
        assert constants(weight) == ((3, 7, 3, 2), (6, 6, 2, 1))
        assert weight.dtype.itemsize.const == 8
    if name == "depthwise2d":
        assert constants(tensor_of(op, "weight")) == ((1, c, kh, kw), (6, 6, 2, 1))
        assert constants(tensor_of(op, "bias")) == ((1, c, 1, 1), (1, 1, 1, 1))


def test_matrices(tmp_path: Path) -> None:
    text = "okk.bdc_matmul(0, 1024, 65536, 131072, 30, 100, 50, 7, 3, True, False)"
    (op,) = operations(interpret(tmp_path, kernel(text)))
    wanted = {
        "output": (30, 50, 3),
        "left": (30, 100, 7),
        "right": (100, 50, 3),
        "bias": (1, 50, 3),
    }
    for role, (rows, columns, width) in wanted.items():
        shape = (rows, ceildiv(columns, width), 1, width)
        assert constants(tensor_of(op, role)) == (shape, aligned(0, shape, 4))
    text = "okk.gdma_32bit_matrix_S2L(0, buffer, 9, 40, 15, 43)"
    (op,) = operations(interpret(tmp_path, kernel(text)))
    assert constants(tensor_of(op, "src")) == ((9, 1, 1, 40), (43, 43, 43, 1))
    assert constants(tensor_of(op, "dst"))[0] == (9, 3, 1, 15)


@pytest.mark.parametrize(
    ("op_type", "source", "result"),
    [("U8_OP_S8_TO_S16", 4, 2), ("S16_OP_U16_TO_S8", 2, 4), ("U8_OP_U8_TO_U8", 4, 4)],
)
def test_packed_operands_are_words(tmp_path: Path, op_type: str, source: int, result: int) -> None:
    text = f"okk.bdc_fixed_point_packed_add(0, 128, 256, shape, None, None, None, okk.{op_type}, 1)"
    (op,) = operations(interpret(tmp_path, kernel(text)))
    for role, group in (("dst", result), ("src0", source), ("src1", source)):
        words = (ceildiv(5, group), 70, 4, 6)
        assert constants(tensor_of(op, role)) == (words, aligned(0, words, 4))


@pytest.mark.parametrize("flag", [False, True])
def test_bytes_become_floats(tmp_path: Path, flag: bool) -> None:
    text = f"okk.bdc_int8_to_fp32(0, 128, 256, okk.dim4(2, 70, 3, 3), True, {flag})"
    (op,) = operations(interpret(tmp_path, kernel(text)))
    shape = (2, 70, 3, 3)
    wide = (aligned(0, shape, 4), aligned(0, shape, 1))
    narrow = ((2 * 9, 9, 3, 1), (2 * 12, 12, 3, 1))
    dst, src = wide if flag else narrow
    assert constants(tensor_of(op, "dst"))[1] == dst
    assert constants(tensor_of(op, "src"))[1] == src


def test_a_flag_of_the_inputs_is_two_operations(tmp_path: Path) -> None:
    text = """\
@okk.kernel
def kernel(biased: bool, added: bool, buffer: okk.SystemAddr):
    okk.bdc_matmul(0, 1024, 2048, 4096, 3, 4, 5, 4, 5, biased, added)
"""
    run = interpret(tmp_path, text)
    accesses = []
    for op in run.trace.operations:
        assert len(op.path) == 1
        accesses.append({t.role: t.reads for t in op.touches})
    found = sorted(("bias" in a, a["output"]) for a in accesses)
    assert found == [(False, False), (False, True), (True, False), (True, True)]


def test_constants_in_the_place_of_tensors(tmp_path: Path) -> None:
    text = "okk.bdc_greater_select(0, okk.fp32_or_addr(addr=128), okk.fp32_or_addr(value=0.0), "
    text += "okk.x32_or_addr(value=okk.x32.fp32(1.0)), okk.x32_or_addr(addr=256), shape)"
    (op,) = operations(interpret(tmp_path, kernel(text)))
    assert [t.role for t in op.touches] == ["dst", "src0", "select1"]


def test_the_chip_answers(tmp_path: Path) -> None:
    text = kernel(
        "shape.n = okk.npu_num()",
        "shape.c = okk.local_mem_size_per_npu() // okk.local_mem_bank_per_npu()",
        "shape.h = okk.okk_eu_num()",
        f"shape.w = okk.start_npu_index({3 * LOCAL - 1}) + okk.channle_num_per_npu(10, 64)",
        "okk.bdc_neg(0, 0, shape, None, None)",
    )
    (op,) = operations(interpret(tmp_path, text))
    assert constants(tensor_of(op, "dst"))[0] == (LANES, 65536, EU // 4, 2 + 2)
