"""Values that only Python itself has: functions, classes, methods, built-ins.

Integers are always :class:`~verifier.symbolic.expr.Expr` (constants too), truth values ``bool`` or
:class:`~verifier.symbolic.expr.Bool`; ``None``, ``str``, ``bytes``, ``float``, ``complex``,
``tuple``, ``Ellipsis`` and ``NotImplemented`` are themselves. What is mutable is a box in the heap
(:mod:`.heap`) and its value a :class:`~verifier.symbolic.values.Ref`. Values of kernel APIs are in
:mod:`verifier.symbolic.values`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from verifier.source import ir
from verifier.symbolic.tensors import View
from verifier.symbolic.values import Ref

if TYPE_CHECKING:
    from verifier.source.project import Module


class HostType(Struct, frozen=True):
    """A built-in type of CPython's, or one of its standard library's: ``int``, ``ValueError``."""

    type: type

    @property
    def name(self) -> str:
        return self.type.__name__


class Class(Struct, frozen=True, eq=False):
    """A class of the project. ``namespace`` is a scope in the heap: classes can be changed.

    ``mro`` starts with the class itself and ends with ``object``; ``traits`` are what decorators
    and bases with a model of their own make of it (``dataclass``, ``enum``, ``namedtuple``,
    ``device``), by name, with whatever the model keeps there.
    """

    name: str
    module: Module
    namespace: Ref
    bases: tuple[object, ...]
    definition: ir.ClassDef | None = None
    ancestors: tuple[object, ...] = ()
    traits: dict[str, object] = field(default_factory=dict)
    metaclass: object = None

    @property
    def mro(self) -> tuple[object, ...]:
        return (self, *self.ancestors)


class Function(Struct, frozen=True, eq=False):
    """A Python function of the project. ``closure`` is the scope it was made in, None: a module's.

    ``owner`` is the class whose body it was made in (what ``super()`` and ``__class__`` mean).
    ``defaults`` were evaluated when it was made.
    """

    definition: ir.FunctionDef | ir.LambdaExpr
    module: Module
    closure: Ref | None = None
    defaults: tuple[tuple[str, object], ...] = ()
    qualname: str = ""
    owner: Class | None = None
    #: decorated as a kernel: called from a module's body, it is launched, not traced
    device: bool = False

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]


class Method(Struct, frozen=True):
    """A function that was found on an instance or a class: its first argument is given."""

    function: object
    self: object


class Builtin(Struct, frozen=True, eq=False):
    """A function of Python's own that has a model.

    ``handler`` takes the machine and the place of the call, then what the function itself takes:
    its signature is the function's.
    """

    name: str
    handler: Callable[..., object]
    signature: inspect.Signature

    @staticmethod
    def of(name: str, handler: Callable[..., object]) -> Builtin:
        return Builtin(name, handler, inspect.signature(handler))


class Checked(Struct, frozen=True):
    """``list.append`` as a function: its first argument must be a list.

    In a class it binds like a function.
    """

    host: type
    builtin: Builtin


class BoundBuiltin(Struct, frozen=True):
    """A method of a built-in type, found on one of its values: ``items.append``."""

    type: str
    name: str
    self: object


class TensorMethod(Struct, frozen=True):
    """A method of a tensor, found on one: the dialect gives it meaning when it is called."""

    view: View
    name: str


class Property(Struct, frozen=True, eq=False):
    """``property(get, set, delete)``."""

    fget: object
    fset: object = None
    fdel: object = None
    doc: object = None
    #: whether the text is that of the getter
    getters_doc: bool = False


class EnumProperty(Property, frozen=True, eq=False):
    """``enum.property``: instances have it, and the class has ``member`` in its place."""

    member: object = None
    name: str = ""


class StaticMethod(Struct, frozen=True):
    function: object


class ClassMethod(Struct, frozen=True):
    function: object


class AttributeDict(Struct, frozen=True):
    """``instance.__dict__``: the attributes of an instance as a dictionary."""

    instance: Ref


class Super(Struct, frozen=True):
    """``super(cls, self)``: attributes from behind ``cls`` in the order of ``self``'s class."""

    cls: object
    self: object


class Partial(Struct, frozen=True, eq=False):
    """``functools.partial``."""

    function: object
    args: tuple[object, ...]
    keywords: tuple[tuple[str, object], ...]


class DictView(Struct, frozen=True):
    """``d.keys()``, ``d.values()`` or ``d.items()`` of the dictionary ``ref``.

    ``number`` tells one such object from another.
    """

    ref: Ref
    which: str
    number: int


class GeneratorExpression(Struct, frozen=True, eq=False):
    """A generator expression that nobody has begun to run through.

    ``first`` is its first iterable, which is evaluated at once; ``scope`` is the scope around it.
    """

    node: ir.Comprehension
    first: object
    module: Module
    scope: Ref
    function: Function | None
