"""How many tiles live at once where branches, first trips and carried tiles decide it.

A partition has 212,992 bytes; a tile of 20,000 columns takes 80,000 of them.
"""

from __future__ import annotations

import pytest

from verifier.engine import analyze_source

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


def big(columns):
    tile = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=1.0)
    return tile


def use(tile):
    out = nl.ndarray((128, tile.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def kernel(x, flag: bool):
    P, F = x.shape
{body}
    return use(big(8))
"""

#: a tile that each trip makes of the one before
LAST = """\
last = big({new})
for i in range(P):
    new = big({new})
    nisa.tensor_copy(dst=new, src=last)
    last = new
w = big({behind})
use(last)
use(w)"""

#: of the last two tiles, and the new one
TWO = """\
a, b = big({columns}), big({columns})
for i in range(P):
    new = big({columns})
    nisa.tensor_copy(dst=new, src=a)
    use(b)
    a, b = b, new
use(a)
use(b)"""

ANEW = """\
a = big(30000)
for i in range({trips}):
    nisa.memset(dst=a, value=0.0)
    use(a)
    use(big(30000))"""

ONE_OF_TWO = """\
a, b = big(20000), big(20000)
c = a if P > 3 else b
w = big({columns})
use(c)
use(w)"""


def verdicts(body: str) -> tuple[str, list[tuple[str, object]]]:
    text = KERNEL.format(body="\n".join(f"    {line}" for line in body.splitlines()))
    result = analyze_source(text)
    (kernel,) = result.kernels
    return kernel.status, [
        (d.verdict, (d.counterexample or {}).get("x.shape"))
        for d in result.diagnostics
        if d.rule == "sbuf-capacity" and d.verdict != "unknown"
    ]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("a = big(30000)\nif flag:\n    use(big(30000))\nuse(a)", [("sometimes", [1, 1])]),
        ("a = big(20000)\nif flag:\n    use(big(20000))\nuse(a)", []),
        (
            "for i in range(P):\n"
            "    if i == 200:\n"
            "        b, c = big(50000), big(5000)\n"
            "        use(b)\n"
            "        use(c)",
            [("sometimes", [201, 1])],
        ),
        (
            "a = None\n"
            "for i in range(P):\n"
            "    if a is None:\n"
            "        a = big(20000)\n"
            "    c = big(20000)\n"
            "    use(c)\n"
            "    use(a)",
            [],
        ),
        (
            "a = None\n"
            "for i in range(P):\n"
            "    if a is None:\n"
            "        a = big(20000)\n"
            "    c = big(35000)\n"
            "    use(c)\n"
            "    use(a)",
            [("sometimes", [1, 1])],
        ),
        (
            "assert P <= 2\n"
            "held = [big(10000 * (i + 1)) for i in range(P)]\n"
            "for tile in held:\n"
            "    use(tile)",
            [],
        ),
        # a tile carried from trip to trip: of the old and the new one is needed behind the loop
        (LAST.format(new=20000, behind=33000), []),
        (LAST.format(new=20000, behind=34000), [("always", [1, 1])]),
        (LAST.format(new=26000, behind=8), []),
        (LAST.format(new=27000, behind=8), [("always", [1, 1])]),
        ("t = big(27000)\nfor i in range(P):\n    use(t)\n    t = big(27000)\nuse(t)", []),
        (
            "t = None\n"
            "for i in range(P):\n"
            "    new = big(27000)\n"
            "    if i > 0:\n"
            "        use(t)\n"
            "    t = new",
            [("sometimes", [2, 1])],
        ),
        # two are carried
        (TWO.format(columns=13000), []),
        (TWO.format(columns=18000), [("always", [1, 1])]),
        # made outside, written anew in each trip: it has its place all the same
        (ANEW.format(trips="P"), [("sometimes", [2, 1])]),
        (ANEW.format(trips="1"), []),
        # only the first trip needs it; only later ones do
        (
            "a = big(40000)\n"
            "for i in range(P):\n"
            "    if i == 0:\n"
            "        use(a)\n"
            "    else:\n"
            "        use(big(40000))",
            [],
        ),
        (
            "a = big(20000)\n"
            "for i in range(P):\n"
            "    use(big(34000))\n"
            "    if i > 0:\n"
            "        use(a)",
            [("sometimes", [2, 1])],
        ),
        (
            "a = big(40000)\n"
            "for i in range(P):\n"
            "    if i == 3:\n"
            "        use(big(40000))\n"
            "    if i < 3:\n"
            "        use(a)",
            [],
        ),
        (
            "a = big(40000)\n"
            "for i in range(P):\n"
            "    if i == 3:\n"
            "        use(big(40000))\n"
            "    if i < 5:\n"
            "        use(a)",
            [("sometimes", [4, 1])],
        ),
        # what an inner loop needs again, where the loop around it has one trip
        (
            "assert F == 1\n"
            "a = big(40000)\n"
            "for i in range(F):\n"
            "    for j in range(P):\n"
            "        use(a)\n"
            "        use(big(40000))",
            [("sometimes", [2, 1])],
        ),
        # one of two
        (ONE_OF_TWO.format(columns=33000), []),
        (ONE_OF_TWO.format(columns=34000), [("always", [1, 1])]),
        ("a = big(30000)\nif P > 3:\n    use(big(30000))\nelse:\n    use(a)", []),
        (
            "a = big(30000)\nif P > 3:\n    use(big(30000))\nuse(a)",
            [("sometimes", [4, 1])],
        ),
        # what only a loop needs that does not run is not needed
        (
            "a, b = big(40000), big(30000)\nfor i in range(P - 1):\n    use(a)\n    use(b)",
            [("sometimes", [2, 1])],
        ),
        # beside a loop that does not run
        (
            "assert P == 1\n"
            "a, b = big(40000), big(30000)\n"
            "for i in range((P - 1) * P):\n"
            "    use(big(16))\n"
            "use(a)\n"
            "use(b)",
            [("always", [1, 1])],
        ),
        (
            "assert P <= 4\n"
            "for i in range(P * P // 17):\n"
            "    a, b = big(40000), big(30000)\n"
            "    use(a)\n"
            "    use(b)",
            [],
        ),
        # what a branch cannot reach hides nothing beside it
        (
            "assert P <= 4\n"
            "a, b = big(40000), big(30000)\n"
            "if P * P * P > 65:\n"
            "    use(big(16))\n"
            "use(a)\n"
            "use(b)",
            [("always", [1, 1])],
        ),
    ],
)
def test_what_is_certain(body: str, found: list[tuple[str, object]]) -> None:
    status, said = verdicts(body)
    assert said == found
    kinds = {verdict for verdict, _ in found}
    if "always" in kinds:
        assert status == "violated"
    elif kinds:  # right for other inputs, as far as it is decided
        assert status in ("conditional", "unknown")
    else:
        assert status == "verified"


@pytest.mark.parametrize(
    "body",
    [
        # no more than some live, whichever these are
        "held = []\n"
        "for i in range(P):\n"
        "    held.append(big(1000))\n"
        "    if len(held) > 50:\n"
        "        held.pop(0)\n"
        "    for tile in held:\n"
        "        use(tile)",
    ],
)
def test_what_is_not_is_no_finding(body: str) -> None:
    status, said = verdicts(body)
    assert (status, said) == ("unknown", [])


def test_what_is_shown_is_what_does_not_fit() -> None:
    """The fifth by size of five sets of tiles is the one that is too large."""
    body = "\n".join(f"    use(big({n} * F))" for n in (10, 11, 12, 13))
    body += "\n    assert F <= 2000 and P <= 57000\n    use(big(P))"
    result = analyze_source(KERNEL.format(body=body))
    (found,) = (d for d in result.diagnostics if d.rule == "sbuf-capacity")
    assert found.notes[0] == "live bytes per partition is 4*P = 212996"


LISTED = """\
tiles = [nl.ndarray((128, 20000), dtype=nl.float32, buffer=nl.sbuf) for _ in range({count})]
{first}
for i in range({count}):
    {then}use(tiles[i])"""
FILL = "nisa.memset(dst={0}, value=1.0)"
EACH = f"for i in {{numbers}}:\n    {FILL.format('tiles[i]')}"


@pytest.mark.parametrize(
    ("numbers", "between", "then", "status"),
    [
        ([0, 1, 2], "", "", "violated"),
        ([2, 0, 1], "", "", "violated"),
        ([0, 1], "", "", "verified"),
        ([0, 1], "use(big(15000))", "", "violated"),
        ([0, 1], "use(big(13000))", "", "verified"),
        ([0, 1, 2], "if flag:\n    nisa.memset(dst=tiles[2], value=2.0)", "", "violated"),
        # what was written before is not needed
        ([0, 1, 2], "", "nisa.memset(dst=tiles[i], value=2.0); ", "verified"),
        ([0, 1, 2], "", "nisa.memset(dst=tiles[i][:, 1:], value=2.0); ", "violated"),
    ],
)
def test_tiles_of_a_list_live_from_where_they_are_written_by_number(
    numbers: list[int], between: str, then: str, status: str
) -> None:
    """In a list that a loop goes through later on."""
    first = "\n".join(filter(None, (EACH.format(numbers=numbers), between)))
    body = LISTED.format(count=len(numbers), first=first, then=then)
    assert verdicts(body)[0] == status
