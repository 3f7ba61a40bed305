"""Invented findings that show every part of a report."""

from __future__ import annotations

from verifier.report.model import (
    CallCounts,
    Caller,
    Diagnostic,
    FileError,
    FileResult,
    Function,
    KernelReport,
    Label,
    ObligationCounts,
    Reason,
    RunReport,
    Span,
)

GEMM = "kernels/gemm.py"
GEMM_TEXT = """\
import neuronxcc.nki as nki

@nki.jit
def gemm(lhsT, rhs):
    rows, cols = rhs.shape
    out = nl.ndarray((96, cols), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    acc = nl.ndarray((96, cols), dtype=nl.float32, buffer=nl.psum)
    weights = nl.load(lhsT)
    moving = nl.load(rhs)
    for step in nl.affine_range(rows // 96):
        nisa.nc_matmul(acc, stationary=weights, moving=moving[step * 96 : step * 96 + 96, 0:cols])
    nl.store(out, acc)
    return out
"""

WIDE = "kernels/größe.py"
WIDE_TEXT = (
    "@nki.jit\n"
    "def pool(x):\n"
    "\ttile = nl.load(x)  # 入力\n"
    "\tresult = nl.ndarray((200, 3), dtype=x.dtype, buffer=nl.sbuf) ; 幅 = tile[0:200, 幅:3]\n"
    "\tnisa.tensor_tensor(\n"
    "\t\tresult,\n"
    "\t\ttile,\n"
    "\t\ttile,\n"
    "\t\top=nl.add,\n"
    "\t\tengine=nisa.vector_engine,\n"
    "\t\tname='addition',\n"
    "\t)\n"
    "\treturn result\n"
)

HELPERS = "kernels/helpers.py"
HELPERS_TEXT = """\
def copy_rows(source, target):
    nisa.tensor_copy(
        dst=target,
        src=source[:, 0:64],
    )
"""

SOURCES = {GEMM: GEMM_TEXT, WIDE: WIDE_TEXT, HELPERS: HELPERS_TEXT}


def span(path: str, line: int, piece: str, end_line: int = 0, end_piece: str = "") -> Span:
    lines = SOURCES[path].split("\n")
    start = lines[line - 1].index(piece)
    if not end_line:
        return Span(path, line, start, line, start + len(piece))
    end = lines[end_line - 1].rindex(end_piece) + len(end_piece)
    return Span(path, line, start, end_line, end)


DIAGNOSTICS = (
    Diagnostic(
        rule="matmul-moving-free",
        name="Moving operand of a matmul",
        severity="error",
        verdict="sometimes",
        message="the moving operand has up to 513 columns, the Tensor Engine takes at most 512",
        span=span(GEMM, 11, "moving[step * 96 : step * 96 + 96, 0:cols]"),
        kernel="gemm",
        facts=("MMU04", "MMU11"),
        predicate="moving free size <= 512, that is rhs.shape[1] <= 512",
        counterexample={"lhsT.shape": [96, 96], "rhs.shape": [96, 513], "step": 0},
        notes=(
            "the size comes from `rows, cols = rhs.shape` in line 5; nothing between there and "
            "here bounds it from above",
        ),
        labels=(
            Label(span(GEMM, 10, "nl.affine_range(rows // 96)"), "step runs over 0 .. 0"),
            Label(span(GEMM, 9, "nl.load(rhs)"), "loaded here with 513 columns"),
        ),
        help=("or tile the loop over columns of 512",),
        assertion="rhs.shape[1] <= 512",
    ),
    Diagnostic(
        rule="psum-bank-size",
        name="",
        severity="warning",
        verdict="sometimes",
        message="acc needs 2052 bytes per partition, a PSUM bank has 2048",
        span=span(GEMM, 7, "acc"),
        kernel="gemm",
        facts=("B07",),
        predicate="rhs.shape[1] * 4 <= 2048",
        counterexample={"rhs.shape": [1, 513]},
        replay="confirmed",
        labels=(
            Label(span(GEMM, 7, "cols"), "513"),
            Label(span(GEMM, 7, "nl.float32"), "4 bytes each"),
        ),
        assertion="rhs.shape[1] <= 512",
        targets=("trn1", "trn2"),
    ),
    Diagnostic(
        rule="partition-extent",
        name="Partition extent",
        severity="error",
        verdict="always",
        message="result has 200 partitions, the hardware has 128",
        span=span(WIDE, 4, "(200, 3)"),
        kernel="pool",
        facts=("P01",),
        predicate="200 <= 128",
        counterexample={},
        labels=(
            Label(span(WIDE, 4, "(200, 3)"), "200 partitions"),
            Label(span(WIDE, 4, "tile[0:200, 幅:3]"), "and read from here"),
        ),
    ),
    Diagnostic(
        rule="equal-shapes",
        name="Equal shapes",
        severity="note",
        verdict="unknown",
        message="cannot tell whether the operands have equal shapes",
        span=span(WIDE, 5, "nisa.tensor_tensor(", 12, ")"),
        kernel="pool",
        predicate="tile.shape == result.shape",
        notes=("the shape of tile depends on a call that is not modelled: nki.isa.mystery",),
    ),
    Diagnostic(
        rule="equal-elements",
        name="Equal element counts",
        severity="error",
        verdict="always",
        message="copies 64 columns into a tile of 48",
        span=span(HELPERS, 2, "nisa.tensor_copy(", 5, ")"),
        kernel="gemm",
        facts=("TCP02",),
        predicate="source elements == target elements",
        counterexample={"mode": "a", "flag": True, "scale": 0.5, "bias": None, "n": 1},
        replay="diverged",
        labels=(
            Label(span(HELPERS, 2, "nisa.tensor_copy(", 5, ")"), "64 != 48"),
            Label(span(GEMM, 8, "nl.load(lhsT)"), "the tile comes from here"),
        ),
    ),
)

KERNELS = (
    KernelReport(
        GEMM,
        "gemm",
        4,
        "nki",
        "0.6",
        "trn2",
        "violated",
        ObligationCounts(31, 28, 2, 1),
        CallCounts(6, 6),
        ("lhsT.shape[0] % 96 == 0",),
        time_ms=12.25,
    ),
    KernelReport(
        GEMM,
        "gemm_small",
        24,
        "nki",
        "0.6",
        "trn2",
        "verified",
        ObligationCounts(31, 31),
        CallCounts(6, 6),
        ("K % 96 == 0", "M == 72"),
        time_ms=3.5,
        contract="gemm_small(lhsT: bfloat16[K, M]) where K % 96 == 0, M == 72",
    ),
    KernelReport(
        WIDE,
        "pool",
        2,
        "nki",
        "beta1",
        "trn2",
        "unknown",
        ObligationCounts(12, 10, 0, 2),
        CallCounts(4, 3, ("nki.isa.mystery",)),
        (),
        (
            Reason(WIDE, 5, "the shape of tile depends on a call that is not modelled"),
            Reason(
                HELPERS,
                2,
                "the number of rows is read from a list of unknown length, and the "
                "index into it is not bounded by any assertion that the kernel makes",
            ),
            Reason(WIDE, 7, "third"),
            Reason(WIDE, 8, "fourth"),
            Reason(WIDE, 9, "fifth"),
        ),
    ),
    KernelReport(WIDE, "pool_crash", 40, "nki", "beta1", "trn2", "error"),
)

ERRORS = (
    FileError("kernels/broken.py", 3, "invalid syntax: expected ':'", "syntax"),
    FileError(WIDE, 40, "internal error while checking pool_crash: IndexError", "internal"),
)

STATISTICS = {
    "files": 14,
    "kernel_files": 3,
    "tiers": {"folding": 812, "ranges": 240, "solver": 48},
    "rules": {"partition-extent": {"proved": 30, "violated": 1}, "equal-shapes": 4},
    "queries": 3,
    "query_ms": [4.0, 1.5, 20.25],
    "times_ms": {"parse": 120.0, "interpret": 2300.0},
    "loops": 7,
}

REPORT = RunReport.merge(
    [
        FileResult(WIDE, KERNELS[2:], DIAGNOSTICS[2:4], ERRORS[1:], {"files": 4}),
        FileResult(
            GEMM,
            KERNELS[:2],
            (*DIAGNOSTICS[:2], DIAGNOSTICS[4]),
            ERRORS[:1],
            {**STATISTICS, "files": 10},
            (Function(HELPERS, "load_rows", 7, (Caller(GEMM, "gemm"), Caller(WIDE, "pool"))),),
            (Function(HELPERS, "unused", 31),),
        ),
    ]
)
EMPTY = RunReport(statistics={"files": 214})
CLEAN = RunReport(kernels=KERNELS[1:2], statistics={"files": 1})
