"""The modules that kernels import: ``nki``, ``nki.language``, ``neuronxcc.nki`` and the like.

They have no knowledge of their own: every name is looked up in the dialect, every call goes
through it. What is not a matter of the dialect (launching, registers, loops of the device) is here.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, Final

import numpy as np

from verifier.dialects.names import NKI
from verifier.dialects.nki import names
from verifier.dialects.nki.host import check_constant
from verifier.dialects.registry import DIALECTS, of_name
from verifier.executor import calls, operands, places
from verifier.executor.access import integer
from verifier.executor.conversion import constant, inward, outward
from verifier.executor.findings import MisuseError, UnsupportedError
from verifier.executor.flow import first_read
from verifier.executor.makers import made_kernel
from verifier.executor.names import Harmless, RegisterProxy, dtype_name
from verifier.executor.objects import NKIObject
from verifier.executor.regions import Geometry
from verifier.executor.semantics.casts import NUMPY
from verifier.executor.session import Kernel, active
from verifier.executor.tiles import Tensor, call_of
from verifier.symbolic.memory.deciding import USED
from verifier.symbolic.memory.events import Origin, UndefinedRead
from verifier.symbolic.values import ApiRef, DeviceLoop, Register

#: libraries that kernel files import for their tests; empty modules stand in where they are absent
_OPTIONAL: Final = frozenset(
    {"torch", "torch_xla", "torch_neuronx", "jax", "jax_neuronx", "neuronxcc", "libneuronxla"}
    | {"transformers", "neuron_dtypes", "neuronx_distributed", "pytest"}
    | {"scipy", "matplotlib", "pandas"}
)

_JIT: Final = frozenset(
    {"jit", "trace", "simulate", "baremetal", "benchmark", "profile", "cpu_simulate"}
)


class Api:
    """A name of the API: a function, a class or a namespace."""

    def __init__(self, ref: ApiRef) -> None:
        self.tilelint_api = ref
        self.__name__ = ref.name.rpartition(".")[2]
        self._special = _special(ref)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        frame = sys._getframe(1)
        session = active()
        machine = session.machine or session.current()
        if self._special is not None:
            return self._special(self.tilelint_api, args, keywords)
        planned = machine.device.plans and not machine.followed
        call = calls.call if planned else calls.anew
        return call(machine, self.tilelint_api, frame, args, keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return look_up(self.tilelint_api, name)

    def __getitem__(self, index: Any) -> Any:
        machine = active().current()
        span = places.here().span
        value = machine.dialect.api_subscript(
            machine, self.tilelint_api, inward(machine, index), span
        )
        return _api(value) if isinstance(value, ApiRef) else outward(machine, value)

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __repr__(self) -> str:
        return f"<{spoken(self.tilelint_api)}>"


class ValidationError(Exception):
    """What kernels may name as the error of wrong calls."""


def spoken(ref: ApiRef) -> str:
    """A name with the package that it is of."""
    package = of_name(ref).name
    return ref.name if ref.name == package else f"{package}.{ref.name}"


_apis: dict[ApiRef, Api] = {}


def _api(ref: ApiRef) -> Api:
    found = _apis.get(ref)
    if found is None:
        found = _apis[ref] = Api(ref)
    return found


def look_up(owner: ApiRef, name: str) -> Any:
    """``owner.name`` as kernels see it.

    Raises:
        AttributeError: there is no such name in any generation.
    """
    known = _CLASSES.get(of_name(owner).name, {}).get(name)
    if known is not None:
        return known
    machine = active().current()
    value = machine.dialect.attribute(machine, owner, name, places.here().span)
    if value is None:
        raise AttributeError(f"{spoken(owner)} has no `{name}`")
    if isinstance(value, ApiRef):
        return _api(value)
    key = (owner, name, machine.hardware.name)
    if key not in _values:
        _values[key] = outward(machine, value)
    return _values[key]


_values: dict[tuple[ApiRef, str, str], Any] = {}


# ------------------------------------------------------------------------ what is no instruction

Special = Callable[[ApiRef, tuple[Any, ...], dict[str, Any]], Any]


#: the parameters that take the function that becomes a kernel
_JITTED: Final = ("func", "fn", "kernel")


def _jit(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """``@nki.jit``, with arguments or without, ``nki.jit(f)``, ``nki.benchmark(...)(f)``."""
    function = next((keywords[name] for name in _JITTED if keywords.get(name)), None)
    if args and callable(args[0]):
        function = args[0]
    given = [name for name in keywords if name not in _JITTED]

    def made(of: Any) -> Kernel:
        return of if isinstance(of, Kernel) else Kernel(of, keywords=given)

    return made if function is None else made(function)


def _simulate_kernel(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return args[0](*args[1:], **keywords)


def _nc(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return int(args[0]) if args else int(next(iter(keywords.values())))


def _spmd_dim(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    total = 1
    for value in (*args, *keywords.values()):
        total *= int(value)
    return total


class Limits:
    """``nl.finfo(dtype)``."""

    def __init__(self, dtype: str) -> None:
        import ml_dtypes

        kind = NUMPY[dtype]
        of: Any = ml_dtypes.iinfo if kind.kind in "iu" else ml_dtypes.finfo
        info = of(kind)
        self.min = float(info.min) if kind.kind not in "iu" else int(info.min)
        self.max = float(info.max) if kind.kind not in "iu" else int(info.max)
        self.eps = float(getattr(info, "eps", 0))
        self.tiny = float(getattr(info, "tiny", 0))
        self.bits = int(info.bits)


def _finfo(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    value = args[0] if args else next(iter(keywords.values()))
    name = dtype_name(value)
    if name is None:
        raise MisuseError(f"`{value}` is no dtype", places.here("finfo").span)
    return Limits(name)


def _shared_constant(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """An array of the host, or of a ``.npy`` file, as a tensor (NKI-L11)."""
    machine = active().current()
    array = args[0] if args else keywords.get("constant")
    wanted = keywords.get("dtype", args[1] if len(args) > 1 else None)
    name = dtype_name(wanted) if wanted is not None else None
    if isinstance(array, (str, os.PathLike)):
        try:
            array = np.load(array, allow_pickle=False)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is no array of NumPy"
            text = f"shared_constant: cannot read {os.fspath(array)}: {reason}"
            raise MisuseError(text, places.here("shared_constant").span) from None
    if isinstance(array, (list, int, float)):
        _judged(ref, args, keywords)  # no array
    array = np.asarray(array)
    if name is not None:
        array = array.astype(NUMPY[name])
    else:
        place = places.here("shared_constant")
        check_constant(machine, array.dtype.name, "nl.shared_constant", place.span)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    elif array.dtype == np.int64:
        array = array.astype(np.int32)
    return constant(machine, array, places.here("shared_constant").target_name or "constant")


def _judged(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> object:
    """Check a call on registers by the rules; what it does to the numbers is told here."""
    machine = active().current()
    with machine.executing(operands.examine):
        call = call_of(machine, ref.name.rpartition(".")[2], args, keywords)
        return machine.dialect.call(machine, ref, call)


def _register_alloc(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    register = _judged(ref, args, keywords)
    held = register.held if isinstance(register, Register) else None
    value = args[0] if args else keywords.get("x")
    if value is not None:
        return RegisterProxy(_number(value), held=held)
    made, machine = places.here(), active().current()
    name = made.target_name or "register"

    def unset() -> None:
        used = places.here().span
        machine.meet(UndefinedRead(Origin(name, made.span, used, False), used, USED))

    return RegisterProxy(unset=unset, held=held)


def _number(value: Any) -> int:
    if isinstance(value, Tensor):
        found = value.bound()
        if value.machine.options.shapes_only:
            raise UnsupportedError("a number in memory decides, and there are no numbers here")
        if isinstance(found.place, Geometry):
            return int(found.memory.array(found.place).reshape(-1)[0])
        return int(found.memory.flat(found.place.dtype)[found.place.positions].reshape(-1)[0])
    return int(value)


def _operands(args: tuple[Any, ...], keywords: dict[str, Any], *wanted: str) -> tuple[Any, ...]:
    given = dict(zip(wanted, args, strict=False)) | keywords
    missing = [name for name in wanted if name not in given]
    if missing:
        raise MisuseError(f"`{missing[0]}` is missing", places.here().span)
    return tuple(given[name] for name in wanted)


def _register_move(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    _judged(ref, args, keywords)
    names_ = ("dst", "src") if "src" in keywords else ("dst", "imm")
    dst, value = _operands(args, keywords, *names_)
    if isinstance(dst, RegisterProxy):  # else it was judged to be none
        dst.number = _number(value)
    return Harmless("register_move")


def _register_load(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    _judged(ref, args, keywords)
    dst, src = _operands(args, keywords, "dst", "src")
    found = _number(src) if isinstance(dst, RegisterProxy) or isinstance(src, RegisterProxy) else 0
    if isinstance(dst, RegisterProxy):  # else it was judged to be none
        dst.number = found
    return Harmless("register_load")


def _register_store(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    machine = active().current()
    _, src = _operands(args, keywords, "dst", "src")
    if isinstance(src, RegisterProxy):
        machine.state["register", inward(machine, src)] = src.number
    call = call_of(machine, ref.name.rpartition(".")[2], args, keywords)
    machine.dialect.call(machine, ref, call)
    return Harmless("register_store")


def _loop(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Loops with bounds in registers: the numbers are known here."""
    machine = active().current()
    plain = tuple(_bound(value) for value in args)
    named = {name: _bound(value) for name, value in keywords.items()}
    call = call_of(machine, ref.name.rpartition(".")[2], plain, named)
    result = machine.dialect.call(machine, ref, call)
    if not isinstance(result, DeviceLoop):
        return outward(machine, result)
    body: Any = result.body
    if result.bounds is not None:
        bounds = result.bounds
        for i in range(integer(bounds.start), integer(bounds.stop), integer(bounds.step) or 1):
            result.returned(body(i))
        return None
    start = named.get("init", plain[0] if plain else None)
    register = start if isinstance(start, RegisterProxy) else RegisterProxy(int(start or 0))
    while int(register):
        following = body(register)
        given = isinstance(following, RegisterProxy)
        result.returned(following.inner if given else following)
        if not given:  # what says whether it goes on is not there
            return None
        register = following
    return None


def _bound(value: Any) -> Any:
    if isinstance(value, RegisterProxy):
        return value.number
    if not isinstance(value, Tensor):
        return value
    found, used = value.bound(), places.here().span
    if bool(found.memory.undefined(found.place).any()):
        origin = first_read(found.memory, used)
        value.machine.meet(UndefinedRead(origin, used, "it is the bound of a loop"))
    return _number(value)


def _program_ndim(ref: ApiRef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return len(active().current().program.grid)


SPECIAL: Final[dict[str, Special]] = {
    **dict.fromkeys(_JIT, _jit),
    "simulate_kernel": _simulate_kernel,
    "language.nc": _nc,
    "language.spmd_dim": _spmd_dim,
    "language.finfo": _finfo,
    "language.iinfo": _finfo,
    "language.shared_constant": _shared_constant,
    "isa.register_alloc": _register_alloc,
    "isa.register_move": _register_move,
    "isa.register_load": _register_load,
    "isa.register_store": _register_store,
    "language.affine_range": _loop,
    "language.sequential_range": _loop,
    "language.static_range": _loop,
    "language.dynamic_range": _loop,
    "language.fori_loop": _loop,
    "language.while_loop": _loop,
    "language.program_ndim": _program_ndim,
}


#: what names stand for that are no instructions, by dialect; kernels are made by the rest
_SPECIAL: Final[Mapping[str, Mapping[str, Special]]] = {NKI: SPECIAL}
_CLASSES: Final[Mapping[str, Mapping[str, type]]] = {
    NKI: {"NKIObject": NKIObject, "NkiValidationError": ValidationError}
}


def _special(ref: ApiRef) -> Special | None:
    """What a call of a name does, if that is not what the dialect says: it may make a kernel."""
    dialect = of_name(ref)
    known = _SPECIAL.get(dialect.name, {}).get(ref.name)
    if known is not None or ref.name not in dialect.api.makers:
        return known
    return partial(made_kernel, typed=dialect.api.typed)


# ------------------------------------------------------------------------ modules


class ApiModule(ModuleType):
    """A module of the API; names are looked up when they are used."""

    def __init__(self, name: str, ref: ApiRef) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.tilelint_api = ref

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return sorted(of_name(self.tilelint_api).exported(self.tilelint_api))
        if name.startswith("__"):
            raise AttributeError(name)
        value = look_up(self.tilelint_api, name)
        # sizes are those of a target, and what only some generations have is judged at each use
        full = f"{self.tilelint_api.name}.{name}"
        if self.tilelint_api.name != "language.tile_size" and full not in names.VALUES:
            self.__dict__[name] = value
        return value


class Absent(ModuleType):
    """Stands for a library that is not installed, and for anything in it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.__name__ in ("torch_neuronx", "jax_neuronx") and name in ("nki_jit", "nki_call"):
            return Api(ApiRef("jit", "beta1"))
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if len(args) == 1 and not keywords and callable(args[0]):
            return args[0]
        return Absent(f"{self.__name__}()")

    def __getitem__(self, index: Any) -> Any:
        return Absent(f"{self.__name__}[]")

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()

    def __enter__(self) -> Absent:
        return self

    def __exit__(self, *_: object) -> None:
        return None


#: the packages whose modules are looked up in a dialect, and which
_MODULES: Final = {root: dialect.name for dialect in DIALECTS.values() for root in dialect.packages}


def value_of(dotted: str) -> object | None:
    """What an imported name means in the dialect that it is of."""
    return DIALECTS[_MODULES[dotted.partition(".")[0]]].make().root(dotted)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the API; as ``last``, stand-ins for absent libraries.

    ``absent``: libraries that turned out to be absent, besides those that often are.
    """

    def __init__(self, *, last: bool) -> None:
        self.last = last
        self.absent: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root = fullname.partition(".")[0]
        if self.last:
            wanted = root in _OPTIONAL or root in self.absent
        else:
            wanted = root in _MODULES and value_of(fullname) is not None
            wanted = wanted or fullname == "neuronxcc"
        if not wanted:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if self.last:
            return Absent(spec.name)
        value = value_of(spec.name)
        if isinstance(value, ApiRef):
            return ApiModule(spec.name, value)
        return Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        return None
