"""A kernel under CPython, with a stand-in for NKI that knows one rule: 128 partitions."""

from __future__ import annotations

import builtins
import dis
import signal
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

Inputs: TypeAlias = Mapping[str, int]
#: seconds for all inputs of one program, which take milliseconds
PATIENCE = 2.0
_FILE = "<generated program>"


class _TooTallError(BaseException):
    """A tile with more than 128 partitions; no handler of the program is to see it."""


class _EndlessError(BaseException):
    """The program does not end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to.

    ``done``: ``value`` is ``r``. ``fault``: it died, or made a tile too tall. ``rejected``: an
    ``assert`` or ``raise`` of the program itself ended it, so the input is not admitted.
    """

    kind: str
    value: object = None
    why: str = ""


class _Tile:
    """A tensor of which only the shape counts."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.dtype = "float32"

    def __getitem__(self, index: object) -> _Tile:
        return self


def _ndarray(shape: tuple[int, ...], dtype: object, buffer: str) -> _Tile:
    if buffer == "sbuf" and shape[0] > 128:
        raise _TooTallError
    return _Tile(shape)


def _modules() -> dict[str, types.ModuleType]:
    nki, isa, language = (types.ModuleType(n) for n in ("nki", "nki.isa", "nki.language"))
    contents: dict[types.ModuleType, dict[str, Any]] = {
        nki: {"isa": isa, "language": language, "jit": lambda function: function},
        isa: {"dma_copy": lambda dst, src: None},
        language: {
            "ndarray": _ndarray,
            "float32": "float32",
            "sbuf": "sbuf",
            "shared_hbm": "shared_hbm",
        },
    }
    for module, names in contents.items():
        vars(module).update(names)
    return {module.__name__: module for module in contents}


_STAND_INS = _modules()


def _import(name: str, *rest: Any) -> Any:
    if name.split(".")[0] == "nki":
        fromlist = rest[2] if len(rest) > 2 else ()
        return _STAND_INS[name if fromlist else "nki"]
    return builtins.__import__(name, *rest)


_BUILTINS = {**vars(builtins), "__import__": _import}


@contextmanager
def _patience() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise _EndlessError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def compiled(text: str) -> types.CodeType:
    """The code of a program; it may well say what CPython warns of.

    Raises:
        SyntaxError: it is no program.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return compile(text, _FILE, "exec")


def run(text: str, inputs: Sequence[Inputs]) -> list[tuple[Inputs, Outcome]]:
    """What the kernel comes to for each input, each time in a module of its own."""
    code = compiled(text)
    out: list[tuple[Inputs, Outcome]] = []
    try:
        with _patience():
            for chosen in inputs:
                out.append((chosen, _once(code, chosen)))
    except _EndlessError:
        out.append((inputs[len(out)], Outcome("endless")))
    return out


def _once(code: types.CodeType, inputs: Inputs) -> Outcome:
    namespace: dict[str, Any] = {"__builtins__": _BUILTINS, "__name__": __name__}
    arguments = {n: bool(v) if n == "flag" else v for n, v in inputs.items() if n != "m"}
    x = _Tile((inputs.get("m", 128), 8))
    try:
        exec(code, namespace)
        value = namespace["kernel"](x, **arguments)
    except _TooTallError:
        return Outcome("fault", why="more than 128 partitions")
    except Exception as error:
        return Outcome("rejected" if _raised_by_program(error) else "fault", why=repr(error))
    return Outcome("done", value)


def _raised_by_program(error: BaseException) -> bool:
    """Whether a ``raise`` or ``assert`` of the program began it, not an operation that failed."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or place.tb_frame.f_code.co_filename != _FILE:
        return False
    return place.tb_frame.f_code.co_code[place.tb_lasti] == dis.opmap["RAISE_VARARGS"]
