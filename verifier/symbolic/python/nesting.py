"""How deep calls nest that are followed, and when what calls itself is not followed any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from verifier.source.ir import Span
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Opaque

#: nested calls before another one is given up
MAX_DEPTH: Final = 60
#: what is remembered of a run that has come so deep
_TOO_DEEP: Final = "calls nest too deep"


def too_deep(vm: VM, span: Span, again: Callable[[], bool]) -> Opaque | None:
    """What a call is that is not followed, because it nests too deep; None: it is followed.

    ``again``: whether it comes from a call of the same. Once a run has been too deep such calls are
    not followed at all: two of them in each would go on for ever.
    """
    if vm.depth < MAX_DEPTH and not (_TOO_DEEP in vm.memo and again()):
        return None
    vm.memo[_TOO_DEEP] = True
    return vm.unfollowed(f"calls nest deeper than {MAX_DEPTH}", span)


__all__ = ["MAX_DEPTH", "too_deep"]
