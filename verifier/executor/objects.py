"""Classes of configuration objects: NKI's rules for them, which are not CPython's.

Every field of a class that derives from ``NKIObject`` is an optional constructor parameter in the
order of declaration, annotated or not and with or without ``@dataclass``; what is not given has its
default, or None. ``__post_init__`` always runs, and attributes may be added later. A class with its
own ``__init__`` uses that. What data classes do besides is documented of none of these: a run ends
where it would decide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from types import FunctionType
from typing import Any, NoReturn

from verifier.executor import places
from verifier.executor.findings import UnsupportedError
from verifier.symbolic.python.peculiar import MARKERS, Peculiar


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
        peculiar: dict[str, Peculiar] = {}
        for base in bases:
            peculiar.update(getattr(base, "tilelint_peculiar", {}))
        for field in order:
            fields[field] = body.get(field)
            what = _peculiar(body["__annotations__"].get(field), fields[field])
            if what is not None:
                peculiar[field] = what
        body["tilelint_fields"] = fields
        body["tilelint_peculiar"] = peculiar
        for field, value in list(body.items()):
            if isinstance(value, dataclasses.Field):
                body[field] = _default(value)
        return super().__new__(cls, name, bases, body)

    @property
    def __dataclass_fields__(cls) -> NoReturn:
        """What functions of ``dataclasses`` ask for to tell whether they take it."""
        _open(cls, "whether functions of `dataclasses` take it")


def _peculiar(note: Any, value: Any) -> Peculiar | None:
    """What a field asks for that is documented of data classes only."""
    text = note if isinstance(note, str) else getattr(note, "__name__", None) or repr(note)
    marker = text.partition("[")[0].strip().rpartition(".")[2]
    marker = type(note).__name__ if isinstance(note, dataclasses.InitVar) else marker
    if marker in MARKERS:
        return MARKERS[marker]
    if not isinstance(value, dataclasses.Field):
        return None
    if not value.init:
        return Peculiar.NO_PARAMETER
    if value.kw_only not in (dataclasses.MISSING, False):
        return Peculiar.KEYWORD
    return None if value.compare else Peculiar.LEFT_OUT


def _open(cls: type, what: str) -> NoReturn:
    """A run ends where it hangs on what is documented nowhere."""
    text = f"`{cls.__name__}` is an `NKIObject`, of which is not documented {what}"
    raise UnsupportedError(text, places.here().span)


def _default(value: Any) -> Any:
    if not isinstance(value, dataclasses.Field):
        return value
    if value.default_factory is not dataclasses.MISSING:
        return value.default_factory()
    return None if value.default is dataclasses.MISSING else value.default


class NKIObject(metaclass=NKIObjectMeta):
    """The base class of configuration objects in kernels."""

    tilelint_fields: Mapping[str, Any]
    tilelint_peculiar: Mapping[str, Peculiar]
    #: what ``@dataclass`` was told, if the class has it
    tilelint_told: Mapping[str, Any] | None = None

    def __init__(self, *args: Any, **keywords: Any) -> None:
        fields = type(self).tilelint_fields
        if len(args) > len(fields):
            raise TypeError(
                f"{type(self).__name__} has {len(fields)} fields, {len(args)} values are given"
            )
        self._check_peculiar(tuple(fields)[: len(args)], keywords)
        for name, value in fields.items():
            object.__setattr__(self, name, _default(value))
        for name, value in zip(fields, args, strict=False):
            object.__setattr__(self, name, value)
        for name, value in keywords.items():
            object.__setattr__(self, name, value)
        post = getattr(self, "__post_init__", None)
        if post is not None:
            post()

    @classmethod
    def _check_peculiar(cls, positional: tuple[str, ...], keywords: Collection[str]) -> None:
        if (cls.tilelint_told or {}).get("kw_only") and positional:
            _open(cls, "whether `kw_only=True` is heeded")
        for name, what in cls.tilelint_peculiar.items():
            if what.decides(name, positional, keywords):
                _open(cls, f"whether the field `{name}` {what.value}")

    def __eq__(self, other: object) -> Any:
        cls = type(self)
        if self is other or type(other) is not cls:
            return True if self is other else NotImplemented
        names = cls.tilelint_fields
        left, right = (tuple(getattr(value, name) for name in names) for value in (self, other))
        same = left == right
        if same if cls.tilelint_told is None else cls.tilelint_peculiar:
            _open(cls, "whether two are equal whose fields are")
        return same

    __hash__ = object.__hash__

    @property
    def __dataclass_fields__(self) -> NoReturn:
        _open(type(self), "whether functions of `dataclasses` take it")


def _decorated(cls: Any, options: Mapping[str, Any]) -> Any:
    """Options change nothing that is documented, and are open where they would decide."""

    def frozen(self: Any, name: str, value: Any) -> None:
        _open(cls, "whether `frozen=True` is heeded")

    def ordered(self: Any, other: Any) -> bool:
        _open(cls, "whether `order=True` is heeded")

    if options.get("eq", True):
        cls.tilelint_told = dict(options)
    if options.get("frozen"):
        cls.__setattr__ = frozen
    if options.get("order"):
        for name in ("__lt__", "__le__", "__gt__", "__ge__"):
            setattr(cls, name, ordered)
    return cls


def dataclass(original: Callable[..., Any]) -> Callable[..., Any]:
    """``dataclasses.dataclass`` that makes no methods for NKI's own classes."""

    def decorate(cls: Any = None, /, **options: Any) -> Any:
        if cls is None:
            return lambda later: decorate(later, **options)
        if isinstance(cls, NKIObjectMeta):
            return _decorated(cls, options)
        return original(cls, **options)

    return decorate
