"""Kernels that the TPU rules show as examples, put together from a head and a body."""

from __future__ import annotations

from textwrap import indent

_HEAD = """\
import okk


@okk.kernel
def {name}({parameters}):
"""


def kernel(name: str, parameters: str, body: str) -> str:
    """A complete module with one kernel."""
    return _HEAD.format(name=name, parameters=parameters) + indent(body, "    ")


def pair(name: str, parameters: str, body: str, wrong: str, right: str) -> tuple[str, str]:
    """Two modules that differ in what stands at ``@@``: the failing and the passing one."""
    return (
        kernel(name, parameters, body.replace("@@", wrong)),
        kernel(name, parameters, body.replace("@@", right)),
    )
