"""Classes of data: ``dataclasses.dataclass`` at a fraction of what it takes to import them.

The standard library writes, compiles and runs a text for each method of each class as the class is
made, which was about a quarter of the time in which the command starts. Here comparison and the
like are shared, and ``__init__`` is made when the first object is. What is ``frozen`` is so for
mypy, which is what checks this program: at run time nothing is in the way of an attribute.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass as plain
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """As the standard library's, of the options ``frozen``, ``eq``, ``order``, ``slots`` and
        ``kw_only``.
        """
        return _made(cls, **options) if cls is not None else lambda cls: _made(cls, **options)


def _made(
    cls: Any,
    frozen: bool = False,
    eq: bool = True,
    order: bool = False,
    slots: bool = False,
    kw_only: bool = False,
) -> Any:
    own = vars(cls)
    cls.__doc__ = cls.__doc__ or cls.__name__  # else it is made of the signature, with much ado
    cls = plain(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    added: dict[str, Any] = {"__init__": _first(cls), "__repr__": _repr}
    compared = _values(f.name for f in fields(cls) if f.compare)
    if eq:
        added["__eq__"] = _comparison(operator.eq, compared)
        hashed = (f.name for f in fields(cls) if (f.compare if f.hash is None else f.hash))
        if own.get("__hash__") is None:
            cls.__hash__ = _hash(_values(hashed)) if frozen else None
    if order:
        for compare in (operator.lt, operator.le, operator.gt, operator.ge):
            added[f"__{compare.__name__}__"] = _comparison(compare, compared)
    for name, method in added.items():
        if name not in own:
            setattr(cls, name, method)
    return cls


def _first(cls: Any) -> Callable[..., None]:
    """A constructor that makes the one of a class, for itself and all that come after it."""

    def __init__(self: object, *args: object, **given: object) -> None:  # noqa: N807
        namespace: dict[str, Any] = {f.name: copy(f) for f in fields(cls)}
        namespace["__annotations__"] = dict.fromkeys(namespace, object)
        if hasattr(cls, "__post_init__"):
            namespace["__post_init__"] = cls.__post_init__
        namespace["__doc__"] = cls.__name__
        alike: Any = plain(repr=False, eq=False)(type(cls.__name__, (), namespace))
        cls.__init__ = init = alike.__init__
        init(self, *args, **given)

    return __init__


def _values(names: Iterable[str]) -> Callable[[Any], tuple[object, ...]]:
    found = tuple(names)
    if len(found) > 1:
        return operator.attrgetter(*found)
    return lambda obj: tuple(getattr(obj, name) for name in found)


def _comparison(
    compare: Callable[[Any, Any], Any], values: Callable[[Any], tuple[object, ...]]
) -> Callable[[object, object], Any]:
    def compared(self: object, other: object) -> Any:
        if other.__class__ is self.__class__:
            return compare(values(self), values(other))
        return NotImplemented

    return compared


def _hash(values: Callable[[Any], tuple[object, ...]]) -> Callable[[object], int]:
    return lambda self: hash(values(self))


def _repr(self: Any) -> str:
    shown = (f.name for f in fields(self) if f.repr)
    parts = (f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{type(self).__qualname__}({', '.join(parts)})"


__all__ = ["dataclass", "field", "fields", "replace"]
