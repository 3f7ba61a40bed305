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
    assert status == ("violated" if found else "verified")


@pytest.mark.parametrize(
    "body",
    [
        # a tile carried from trip to trip: of the old and the new one is needed behind the loop
        "last = big(20000)\n"
        "for i in range(P):\n"
        "    new = big(20000)\n"
        "    nisa.tensor_copy(dst=new, src=last)\n"
        "    last = new\n"
        "w = big(25000)\n"
        "use(last)\n"
        "use(w)",
        # only the first trip needs it
        "a = big(40000)\n"
        "for i in range(P):\n"
        "    if i == 0:\n"
        "        use(a)\n"
        "    else:\n"
        "        use(big(40000))",
        # one of two
        "a, b = big(20000), big(20000)\nc = a if P > 3 else b\nw = big(30000)\nuse(c)\nuse(w)",
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
