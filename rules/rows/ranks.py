"""What collectives receive of other ranks, and who they are: section (c.12)."""

from __future__ import annotations

from typing import Final

from rules.rows.frames import Row, made

_RESULT: Final = "float32[96, 40]"


def _between(
    rule: str,
    fact: str,
    call: str,
    received: str,
    groups: str = "[[0, 1], [2, 3]]",
    memory: str = "hbm",
    api: str = "0.6",
) -> Row:
    """A transfer between ranks, of which nothing but what is sent is stored."""
    body = (
        f"#bare\n{made('sent', '96, 40', memory=memory)}{made('got', received, memory=memory)}"
        f"nisa.dma_copy(dst=sent, src=a)\ngroup = ncc.ReplicaGroup({groups})\n{call}\n"
        "nisa.dma_copy(dst=out, src=sent)"
    )
    return Row(rule, fact, "a: float32[96, 40]", _RESULT, body, api)


_GATHER: Final = "ncc.all_gather([sent], [got], group, collective_dim={})"
_SCATTER: Final = "ncc.reduce_scatter([sent], [got], group, 0, nl.add)"
_EXCHANGE: Final = "ncc.all_to_all([sent], [got], group, 0)"
_REDUCE: Final = "ncc.all_reduce([sent], [got], group, nl.add)"
_RING: Final = "ncc.collective_permute_implicit([[sent]], {{[got]||[[got]]}}, group, [0])"


ROWS: Final = (
    _between("collective-operands", "K03", _GATHER.format(0), "{{96||192}}, 40"),
    _between(
        "collective-operands",
        "K03",
        _GATHER.format(0),
        "{{192||288}}, 40",
        "[[0, 1, 4], [2, 3, 5]]",
    ),
    _between("collective-operands", "K03", _GATHER.format(1), "96, {{40||80}}", memory="sbuf"),
    _between(
        "collective-operands",
        "K03",
        _GATHER.format(1).replace("sent", "sent{{.reshape((96, 40, 1))||}}"),
        "96, 80{{, 1||}}",
        memory="sbuf",
    ),
    _between("collective-operands", "K04", _SCATTER, "{{96||48}}, 40", api="0.4"),
    _between("collective-operands", "K04", _SCATTER, "{{19||32}}, 40", "[[0, 1, {{2, 3, 4||2}}]]"),
    _between("collective-operands", "K05", _EXCHANGE, "{{48||96}}, 40"),
    _between("collective-operands", "K05", _EXCHANGE, "96, 40", "[[0, 1, 2, 3{{, 4||}}]]"),
    _between("collective-operands", "K01", _REDUCE, "96, {{41||40}}"),
    _between("collective-operands", "K01", _REDUCE.replace("[got]", "[got{{, got||}}]"), "96, 40"),
    _between("collective-operands", "K13", _REDUCE, "96, 40", "[[0, {{-1||1}}]]"),
    _between("api-signature", "K13", _REDUCE, "96, 40", "{{[[], [0, 1]]||[[0, 1]]}}"),
    _between("api-signature", "K13", _REDUCE, "96, 40", "[[0, {{'1'||1}}]]"),
    _between("api-signature", "K15", _REDUCE.replace("[got]", "{{[[got]]||[got]}}"), "96, 40"),
    _between("api-signature", "K10", _RING, "96, 40"),
)
