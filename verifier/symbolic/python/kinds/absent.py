"""What stands for a name that is not there: it has been reported, and the run goes on."""

from __future__ import annotations

from typing import Any, Final

from verifier.symbolic import absent
from verifier.symbolic.machine import Call
from verifier.symbolic.python.kind import Kind
from verifier.symbolic.python.kinds.external import OpaqueKind, given_away
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import ApiRef, Missing


class MissingKind(OpaqueKind):
    """What is done with it gives the same, and is held against nobody."""

    name = "missing"

    def call(self, vm: VM, value: Any, call: Call) -> object:
        absent.writes(vm, call, all_of_them=not value.api)
        if not value.api:
            given = [argument.value for argument in (*call.args, *call.keywords.values())]
            changed = given_away(vm, [item for item in given if not isinstance(item, ApiRef)])[1]
            if changed:
                text = f"what {value.reason} does with {changed} is not followed"
                vm.unfollowed(text, call.span)
        return Missing(f"the result of {value.reason}", api=value.api)


KINDS: Final[dict[type, Kind[VM]]] = {Missing: MissingKind()}

__all__ = ["KINDS"]
