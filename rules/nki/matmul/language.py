"""Products by `nki.language`."""

from __future__ import annotations

from collections.abc import Iterator

from rules.nki import kinds, kit
from rules.nki.kit import check, register
from rules.nki.operands.memories import SBUF
from rules.nki.samples import variants
from verifier.hardware.targets import Target
from verifier.rulebase import On, Rule
from verifier.symbolic import expr as E
from verifier.symbolic.checks import Check
from verifier.symbolic.expr import Bool
from verifier.symbolic.instruction import Trait
from verifier.symbolic.tensors import View
from verifier.symbolic.trace import Operation


def _language_matmul(op: Operation, target: Target) -> Iterator[Check]:
    x, y = op.view("x"), op.view("y")
    transposed = kit.flag(op, "transpose_x")
    fits = op.generation.fits_language
    if transposed is not E.TRUE and not fits:
        yield check(
            op,
            "transpose_x",
            transposed,
            "transpose_x is True",
            "nl.matmul works with transpose_x=True only",
            "L27",
            about=(),
            help=("pass the left operand as [K, M] and transpose_x=True",),
        )
        if transposed is E.FALSE:
            return
    if x is None or y is None:
        return
    if not fits:
        for role, view in (("x", x), ("y", y)):
            found = kit.buffer_check(
                op, role, view, SBUF, f"{role} of nl.matmul has to be in SBUF", "L26"
            )
            if found is not None:
                yield found
    for turned in (True, False) if fits else (True,):
        here = transposed if turned else E.not_(transposed)
        if here is not E.FALSE:
            yield from _sizes(op, x, y, turned, here, target)


def _sizes(
    op: Operation, x: View, y: View, transposed: bool, here: Bool, target: Target
) -> Iterator[Check]:
    """They contract over one size, and each fits into one matmul; ``here``: where x is so."""
    depth, columns = (x.partitions, x.free) if transposed else (x.free, x.partitions)
    fact = "L26" if transposed else "L28"
    side = "partitions of x" if transposed else "x free size"
    yield check(
        op,
        "y",
        E.eq(depth, y.partitions),
        f"{side} == partitions of y",
        "the two inputs of nl.matmul contract over different sizes",
        fact,
        values=((side, depth), ("partitions of y", y.partitions)),
        about=("x", "y"),
        given=(here,),
    )
    yield check(
        op,
        "x",
        E.and_(E.le(depth, target.contraction_max), E.le(columns, target.stationary_free_max)),
        f"contraction <= {target.contraction_max} and rows of the result <= "
        f"{target.stationary_free_max}",
        "x is too large for one matmul",
        fact,
        values=(("contraction", depth), ("rows of the result", columns)),
        given=(here,),
    )
    limit = target.psum_bank_singles
    yield check(
        op,
        "y",
        E.le(y.free, limit),
        f"y free size <= {limit}",
        "y has too many columns for one matmul",
        fact,
        values=(("y free size", y.free),),
        help=(f"split y into tiles of at most {limit} columns",),
        given=(here,),
    )


_LANGUAGE_MATMUL = variants(
    """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def similarity(keys, queries):
-    assert keys.shape == (100, 60) and queries.shape == (90, 300)
+    assert keys.shape == (100, 60) and queries.shape == (100, 300)
    scores = nl.ndarray((60, 300), dtype=nl.float32, buffer=nl.shared_hbm)
    k = nl.load(keys)
    q = nl.load(queries)
    nl.store(scores, nl.matmul(k, q, transpose_x=True))
    return scores
"""
)


register(
    Rule(
        id="language-matmul",
        code="NKI213",
        family="matmul",
        summary="operands of nl.matmul fit into one matmul instruction",
        reason=(
            "nl.matmul stands for one matmul instruction (and, in Beta 1, a transposition of x "
            "before it): the contraction is at most 128 long, the result has at most 128 rows and "
            "512 columns. From NKI 0.3 on only the transposed form is supported."
        ),
        facts=("L26", "L27", "L28"),
        on=On.OPERATION,
        concerns=kinds.with_traits(Trait.SUMS, Trait.LANGUAGE),
        check=_language_matmul,
        sources=("NKI language matmul", "NKI 0.4 known issues"),
        failing=_LANGUAGE_MATMUL.failing,
        passing=_LANGUAGE_MATMUL.passing,
    )
)
