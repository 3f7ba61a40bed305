"""``types.MappingProxyType``: a dictionary that can only be read."""

from __future__ import annotations

import types
from typing import Any, Final

from verifier.source.ir import Span
from verifier.symbolic.expr import Bool, Expr
from verifier.symbolic.python.builtin import Table
from verifier.symbolic.python.heap import ListBox, StateBox
from verifier.symbolic.python.kinds.dict_methods import DICT
from verifier.symbolic.python.kinds.entries import dict_ref
from verifier.symbolic.python.kinds.segments import raises
from verifier.symbolic.python.library.wrapped import WrappedDict, contents
from verifier.symbolic.python.lifting import unfollowed_operand
from verifier.symbolic.python.model import Builtin, HostType
from verifier.symbolic.python.vm import VM
from verifier.symbolic.values import Ref

_HOST: Final = types.MappingProxyType

_NO_MAPPINGS: Final = (type(None), Expr, Bool, bool, float, complex, tuple)

PROXY: Final = Table(_HOST.__name__)


class Proxy(WrappedDict):
    """What is changed in the dictionary itself is seen here."""

    host = _HOST
    table = PROXY
    shared = DICT

    def set_item(self, vm: VM, value: Any, index: object, new: object, span: Span) -> None:
        raises(vm, TypeError, "'mappingproxy' object does not support item assignment", span)

    def binary(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        return vm.binary(op, contents(vm, left), right, span) if op == "|" else NotImplemented

    def reflected(self, vm: VM, op: str, right: Any, left: object, span: Span) -> object:
        return vm.binary(op, left, contents(vm, right), span) if op == "|" else NotImplemented

    def inplace(self, vm: VM, op: str, left: Any, right: object, span: Span) -> object:
        if op == "|":
            raises(vm, TypeError, "'|=' is not supported by mappingproxy; use '|' instead", span)
        return NotImplemented


PROXY_KIND: Final = Proxy()


def _proxy(vm: VM, span: Span, mapping: object, /) -> object:
    def one(value: object) -> object:
        known = unfollowed_operand(vm, (value,), span)
        if known is not None:
            return known
        entries = dict_ref(vm, value)
        if entries is not None and isinstance(value, Ref) and entries == value:
            return vm.heap.new(StateBox(PROXY_KIND, {"entries": entries}))
        if isinstance(value, _NO_MAPPINGS) or isinstance(vm.box(value), ListBox):
            raises(vm, TypeError, "mappingproxy() argument must be a mapping", span)
        return vm.unfollowed("a read-only view of this is not followed", span)

    return vm.each(mapping, one)


CONSTRUCTORS: Final[dict[type, Builtin]] = {_HOST: Builtin.of("mappingproxy", _proxy)}
METHODS: Final = {PROXY.owner: PROXY}
MODULES: Final[dict[str, dict[str, object]]] = {"types": {"MappingProxyType": HostType(_HOST)}}
