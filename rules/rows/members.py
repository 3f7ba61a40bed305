"""Names, members of tensors and operators that not all generations, or targets, have."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import COPIED, INPUT, RESULT, Row


def _removed(fact: str, code: str, api: str, target: str = "trn2") -> Row:
    return Row("api-removed", fact, INPUT, RESULT, f"{code}\n{COPIED}", api, target)


def _copied(fact: str, source: str, api: str) -> Row:
    return Row("api-removed", fact, INPUT, RESULT, f"nisa.tensor_copy(dst=r, src={source})", api)


ROWS: Final = (
    _copied("M039", "a_t{{.assert_shape((96, 40))||}}", "0.6"),
    _copied("M039", "a_t{{.broadcast_to((96, 40))||}}", "0.4"),
    _removed("M039", "more = a_t.{{expand_dims(2)||reshape((96, 40, 1))}}", "0.6"),
    _removed("M039", "size = a_t.{{itemsize||shape}}", "0.2"),
    _copied("M113", "a_t.reshape({{new_shape||shape}}=(96, 40))", "0.5"),
    _copied("M113", "a_t.reshape({{new_shape||shape}}=(96, 40))", "0.6"),
    _copied("M113", "a_t.reshape({{shape||new_shape}}=(96, 40))", "0.4"),
    _copied("M113", "a_t.reshape({{shape=||}}(96, 40))", "0.2"),
    _copied("G12", "a_t.{{permute((0, 1))||reshape((96, 40))}}", "0.3"),
    _copied("G12", "a_t{{.slice(1, 0, 40)||[:, 0:40]}}", "0.4"),
    _removed("G12", "more = a_t.{{expand_dim(2)||reshape((96, 40, 1))}}", "0.4"),
    _removed("G12", "more = a_t.{{reinterpret_cast||view}}(nl.int32)", "0.4"),
    _removed("M114", "same = a_t.{{is_contiguous()||get_pattern()}}", "0.4"),
    _removed("M104", "op = nl.{{abs_max||maximum}}", "0.3", "trn3"),
    Row(
        "target-feature",
        "H86",
        INPUT,
        RESULT,
        "nisa.tensor_tensor(dst=r, data1=a_t, data2=a_t, op=nl.{{abs_max||maximum}})",
        "0.6",
        "trn2",
    ),
)
