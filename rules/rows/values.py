"""Values of Python that no parameter, and no operator beside a tile, takes: sections (c.0), (d)."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import INPUT, RESULT, Row

_SHIFTED: Final = "nisa.tensor_scalar(dst=r, data=a_t, op0=nl.add, operand0={{BAD||1.5}})"


def _called(fact: str, bad: str, call: str, api: str = "0.6") -> Row:
    return Row("api-signature", fact, INPUT, RESULT, call.replace("BAD", bad), api)


def _added(bad: str) -> Row:
    return Row(
        "api-signature", "N09", INPUT, RESULT, f"nl.store(out, a_t + {{{{{bad}||1.5}}}})", "beta1"
    )


ROWS: Final = (
    _called("TSC02", "1j", _SHIFTED),
    _called("TSC02", "f'{a_t}'", _SHIFTED, "0.4"),
    _called("TSC02", "float", _SHIFTED, "0.3"),
    _called("N09", "[a_t]", "nisa.tensor_copy(dst=r, src={{BAD||a_t}})"),
    _called("MST01", "None", "nisa.memset(dst=r, value={{BAD||1.5}})"),
    _called(
        "N09", "None", "nisa.tensor_copy(dst=r, src=nl.full((96, 40), {{BAD||1.5}}, nl.float32))"
    ),
    _added("1j"),
    _added("[1.5]"),
)
