"""Classes of configuration objects: NKI's rules for them, which are not CPython's.

Every field of a class that derives from ``NKIObject`` is an optional constructor parameter in the
order of declaration, annotated or not and with or without ``@dataclass``; what is not given has its
default, or None. ``__post_init__`` always runs, and attributes may be added later. A class with its
own ``__init__`` uses that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any


class _Annotations(dict[str, Any]):
    """Annotations of a class body that note the order in which names are declared."""

    def __init__(self, order: dict[str, None]) -> None:
        super().__init__()
        self._order = order

    def __setitem__(self, name: str, value: Any) -> None:
        if not name.startswith("tilelint_"):
            self._order.setdefault(name)
        super().__setitem__(name, value)


class _Namespace(dict[str, Any]):
    """The body of a class, with the order in which names are declared."""

    def __init__(self) -> None:
        super().__init__()
        self.order: dict[str, None] = {}
        super().__setitem__("__annotations__", _Annotations(self.order))

    def __setitem__(self, name: str, value: Any) -> None:
        method = isinstance(value, (FunctionType, staticmethod, classmethod, property, type))
        if not name.startswith(("__", "tilelint_")) and not method:
            self.order.setdefault(name)
        super().__setitem__(name, value)


class NKIObjectMeta(type):
    """Collects the fields of a class in the order of declaration."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **_: Any) -> _Namespace:
        return _Namespace()

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **_: Any
    ) -> NKIObjectMeta:
        body = dict(namespace)
        order = namespace.order if isinstance(namespace, _Namespace) else {}
        body["__annotations__"] = dict(body.get("__annotations__", {}))
        fields: dict[str, Any] = {}
        for base in bases:
            fields.update(getattr(base, "tilelint_fields", {}))
        for field in order:
            fields[field] = body.get(field)
        body["tilelint_fields"] = fields
        for field, value in list(body.items()):
            if isinstance(value, dataclasses.Field):
                body[field] = _default(value)
        return super().__new__(cls, name, bases, body)


def _default(value: Any) -> Any:
    if not isinstance(value, dataclasses.Field):
        return value
    if value.default_factory is not dataclasses.MISSING:
        return value.default_factory()
    return None if value.default is dataclasses.MISSING else value.default


class NKIObject(metaclass=NKIObjectMeta):
    """The base class of configuration objects in kernels."""

    tilelint_fields: Mapping[str, Any]

    def __init__(self, *args: Any, **keywords: Any) -> None:
        fields = type(self).tilelint_fields
        if len(args) > len(fields):
            raise TypeError(
                f"{type(self).__name__} has {len(fields)} fields, {len(args)} values are given"
            )
        for name, value in fields.items():
            setattr(self, name, _default(value))
        for name, value in zip(fields, args, strict=False):
            setattr(self, name, value)
        for name, value in keywords.items():
            setattr(self, name, value)
        post = getattr(self, "__post_init__", None)
        if post is not None:
            post()


def dataclass(original: Callable[..., Any]) -> Callable[..., Any]:
    """``dataclasses.dataclass`` that leaves NKI's own classes alone."""

    def decorate(cls: Any = None, /, **options: Any) -> Any:
        if cls is None:
            return lambda later: decorate(later, **options)
        if isinstance(cls, NKIObjectMeta):
            return cls
        return original(cls, **options)

    return decorate
