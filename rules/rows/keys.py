"""What subscripts and methods of tensors take, and what they do not: section (e)."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import COPIED, INPUT, RESULT, Row, made

_INDEX: Final = f"{made('index', '96, 1', 'int32')}nisa.memset(dst=index, value=0)\n"


def _whole(rule: str, fact: str, bad: str, good: str, api: str = "0.6") -> Row:
    """All of the tile is copied."""
    body = f"nisa.tensor_copy(dst=r, src=a_t.{{{{{bad}||{good}}}}})"
    return Row(rule, fact, INPUT, RESULT, body, api)


def _column(rule: str, fact: str, bad: str, good: str, api: str = "0.6") -> Row:
    """A column of the tile is copied once more."""
    body = f"{_INDEX}{COPIED}nisa.tensor_copy(dst=r[:, 0:1], src=a_t{{{{{bad}||{good}}}}})"
    return Row(rule, fact, INPUT, RESULT, body, api)


def _key(bad: str, good: str, api: str = "0.6", fact: str = "X01") -> Row:
    return _column("subscript-key", fact, f"[{bad}]", f"[{good}]", api)


ROWS: Final = (
    _key(":, None, 0", ":, 0"),
    _key("..., 0:1, ...", "..., 0:1", "0.3"),
    _key(":, False", ":, 0"),
    _key(":, [0]", ":, 0", "0.5"),
    _key(":, '0'", ":, 0", "0.4"),
    _key(":, range(1)", ":, nl.ds(0, 1)", "0.2"),
    _key(":, 0:'1'", ":, 0:1"),
    _key(":, nl.float32", ":, 0", "0.2"),
    _key(":, index[0:1, 0:1]", ":, 0", "0.3", "M027"),
    _column("api-signature", "N02", ".select(1, [0])", ".select(1, 0)"),
    _column("api-signature", "L67", "[:, nl.ds(None, 1)]", "[:, nl.ds(0, 1)]"),
    _column("api-signature", "M027", "[:, nl.ds(index, 1)]", "[:, nl.ds(0, 1)]", "0.4"),
    _column("view-precondition", "X28", ".select(1, index)", ".select(1, index[0:1, 0:1])"),
    _column("access-bounds", "A02", ".ap([[40, 96], [1, 0]])", ".ap([[40, 96], [1, 1]])"),
    _column("view-precondition", "X40", ".ap([[40, 96], [1]])", ".ap([[40, 96], [1, 1]])"),
    _whole("api-signature", "N02", "slice(1, 0)", "slice(1, 0, 40)"),
    _whole("api-signature", "N02", "slice(1, 0, '40')", "slice(1, 0, 40)"),
    _whole("api-signature", "N02", "permute((0, 1), 2)", "permute((0, 1))", "0.5"),
    _whole("api-signature", "N02", "permute((0, '1'))", "permute((0, 1))"),
    _whole("api-signature", "T01", "view(3)", "view(nl.float32)"),
    _whole(
        "reshape-count", "X25", "reshape_dim(1, (-2, -20))[:, 0]", "reshape_dim(1, (1, -1))[:, 0]"
    ),
)
