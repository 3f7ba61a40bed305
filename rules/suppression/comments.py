"""What is wrong with comments that suppress findings.

``# tilelint: ignore[rule] -- reason`` speaks about its statement, ``ignore-file`` about its file.
These rules look at the comments, not at the kernels: they are applied once all verdicts are there.
"""

from __future__ import annotations

from verifier.rulebase import On, Rule, Whose, register

FAMILY = "suppression"

_ROWS = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_rows(src):
    p, f = src.shape
    assert p <= LIMIT and f <= 2000
    dst = nl.ndarray((p, f), dtype=src.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((p, f), dtype=src.dtype, buffer=nl.sbuf)COMMENT
    nisa.dma_copy(dst=tile, src=src)
    nisa.dma_copy(dst=dst, src=tile)
    return dst
"""


def _rows(limit: int, comment: str) -> str:
    """A kernel that copies rows: with more than 128 of them its tile is too tall."""
    return _ROWS.replace("LIMIT", str(limit)).replace("COMMENT", f"  # {comment}")


_USED = "tilelint: ignore[partition-extent] -- callers pass 96 rows"

register(
    Rule(
        id="unused-suppression",
        code="SUP001",
        family=FAMILY,
        summary="a suppression has a finding to suppress",
        reason=(
            "A suppression that suppresses nothing hides the next finding of its rule at this "
            "place. It counts as used when its rule is violated there. Where the rule came to no "
            "verdict (the rule was not selected, the kernel was not decided or its branch not "
            "reached), the suppression counts neither as used nor as unused."
        ),
        facts=(),
        on=On.HOST,
        severity="warning",
        whose=Whose.EVERYBODYS,
        failing=_rows(128, _USED),
        passing=_rows(256, _USED),
    )
)

register(
    Rule(
        id="unknown-suppression",
        code="SUP002",
        family=FAMILY,
        summary="a suppression names rules that exist",
        reason=(
            "A rule is named by its id or its code, as in `ignore[partition-extent]`. A name that "
            "is no rule suppresses nothing; the other rules of the comment are not affected."
        ),
        facts=(),
        on=On.HOST,
        severity="warning",
        whose=Whose.EVERYBODYS,
        failing=_rows(256, "tilelint: ignore[partition-extend] -- callers pass 96 rows"),
        passing=_rows(256, _USED),
    )
)

register(
    Rule(
        id="malformed-suppression",
        code="SUP003",
        family=FAMILY,
        summary="a directive of tilelint can be read",
        reason=(
            "The forms are `# tilelint: ignore[rule, ...] -- reason` and, for a whole file, "
            "`# tilelint: ignore-file[rule, ...] -- reason`. A comment that means to be one of "
            "them and is not would silently do nothing; and so would a contract that does not "
            "stand right above a function."
        ),
        facts=(),
        on=On.HOST,
        severity="warning",
        whose=Whose.EVERYBODYS,
        failing=_rows(256, "tilelint: ignore partition-extent -- callers pass 96 rows"),
        passing=_rows(256, _USED),
    )
)

register(
    Rule(
        id="blanket-suppression",
        code="SUP004",
        family=FAMILY,
        summary="a suppression names its rules",
        reason=(
            "A comment that suppressed whatever is found would also hide what nobody has seen "
            "yet. Without a rule a suppression does nothing."
        ),
        facts=(),
        on=On.HOST,
        severity="warning",
        whose=Whose.EVERYBODYS,
        failing=_rows(256, "tilelint: ignore -- callers pass 96 rows"),
        passing=_rows(256, _USED),
    )
)

register(
    Rule(
        id="suppression-without-reason",
        code="SUP005",
        family=FAMILY,
        summary="a suppression says why",
        reason=(
            "A finding is a proof that some input breaks the kernel. Who suppresses it knows "
            "something that the proof does not; the next reader needs to know it, too. Without a "
            "reason (` -- reason` behind the bracket) a suppression does nothing."
        ),
        facts=(),
        on=On.HOST,
        severity="warning",
        whose=Whose.EVERYBODYS,
        failing=_rows(256, "tilelint: ignore[partition-extent]"),
        passing=_rows(256, _USED),
    )
)
