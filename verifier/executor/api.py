"""Running kernels from Python: ``simulate(kernel, target="trn2")(a, b)`` on NumPy arrays."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from verifier.executor.findings import MisuseError
from verifier.executor.loader import generation_of, hardware_of, isolated, kernel, load
from verifier.executor.machine import Options
from verifier.executor.programs import Plans
from verifier.executor.running import Outcome, run
from verifier.executor.session import Kernel, Session, sizes_of, using
from verifier.hardware.catalogue import Hardware
from verifier.report import model as report
from verifier.source.ir import Span

Array: TypeAlias = NDArray[Any]


class KernelViolation(Exception):  # noqa: N818 - named for what it says
    """A run broke rules of the hardware. ``diagnostics``: what and where, the first one first."""

    def __init__(self, diagnostics: list[report.Diagnostic]) -> None:
        self.diagnostics = diagnostics
        first = diagnostics[0]
        super().__init__(f"{first.span.path}:{first.span.line}: {first.rule}: {first.message}")


class KernelError(Exception):
    """A kernel cannot be run, or ended early; the message names the line of the kernel."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        self.span = span
        super().__init__(f"{span.path}:{span.line}: {message}" if span is not None else message)


@dataclass(frozen=True, slots=True)
class Simulation:
    """A kernel that runs on NumPy arrays when called; ``simulation[2, 2](a, b)`` on a grid."""

    kernel: Kernel
    target: Hardware
    api_version: str
    options: Options
    grid: tuple[int, ...] = ()
    plans: Plans = field(default_factory=Plans, repr=False, compare=False)

    def __getitem__(self, grid: Any) -> Simulation:
        """The same kernel on a grid of one to three sizes.

        Raises:
            KernelError: it is none.
        """
        try:
            sizes = sizes_of(grid)
        except MisuseError as error:
            raise KernelError(str(error)) from None
        return Simulation(self.kernel, self.target, self.api_version, self.options, sizes)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the kernel.

        Arrays become tensors in HBM; other arguments are passed on. Returns the arrays that the
        kernel returns: one, or a tuple.

        Raises:
            KernelViolation: the run breaks a rule.
            KernelError: the kernel raises, or does something that has no meaning here.
        """
        outcome = self.outcome(*args, **keywords)
        if outcome.violations:
            raise KernelViolation(outcome.violations)
        if outcome.ended is not None:
            _, message, span = outcome.ended
            raise KernelError(message, span)
        found = outcome.outputs
        return found[0] if len(found) == 1 else tuple(found)

    def outcome(self, *args: Any, **keywords: Any) -> Outcome:
        """Run the kernel; everything that the run came to."""
        function = self.kernel.function
        try:
            bound = self.kernel.signature().bind(*args, **keywords)
        except TypeError as error:
            raise KernelError(f"{function.__name__}: {error}") from None
        session = Session(self.target, self.api_version, self.options, plans=self.plans)
        with using(session):
            return run(session, self.kernel, bound.arguments, self.grid)


def simulate(
    kernel: Callable[..., Any] | str,
    target: str | None = None,
    api_version: str | None = None,
    *,
    seed: int = 0,
    keep_going: bool = False,
    loop_order: str = "forward",
) -> Simulation:
    """A kernel as a function of NumPy arrays.

    ``kernel``: ``"path/file.py::name"``, or a function of a file that imports ``nki`` (the file is
    loaded again, with the executor's own ``nki``). ``target``: ``trn1``, ``trn2``, ``trn3``, or a
    TPU (``bm1684``, ``bm1684x`` ...) for files that import ``okk`` or ``ppl``.
    ``api_version``: ``beta1``, ``0.2`` ... ``0.6``; by default what the file is written for.

    What one input cannot show is not judged here: whether a part of an input that a run leaves
    unread was meant to be read. ``tilelint run`` asks a check of all inputs for it.

    Raises:
        KernelError: there is no such file, kernel or target.
    """
    from verifier.dialects.nki.versions import GENERATIONS

    if api_version is not None and api_version not in GENERATIONS:
        raise KernelError(f"unknown API version '{api_version}'")
    if loop_order not in ("forward", "reversed", "shuffled"):
        raise KernelError(f"unknown loop order '{loop_order}'")
    path, name, ready = _source_of(kernel)
    options = Options(keep_going=keep_going, loop_order=loop_order, seed=seed)
    try:
        api = api_version or generation_of(path, name)
        hardware = hardware_of(target, api, path, name)
        if ready is not None:
            return Simulation(ready, hardware, api, options)
        found = load_kernel(path, name, hardware, api)
    except MisuseError as error:
        raise KernelError(str(error), error.span) from None
    return Simulation(found, hardware, api, options)


def load_kernel(path: Path, name: str, target: Hardware, api: str) -> Kernel:
    """Load a file with the shims in place and take a kernel of it.

    Raises:
        MisuseError: there is no such kernel, or the file cannot be read.
    """
    before = list(sys.path)
    with using(Session(target, api)), isolated():
        try:
            return kernel_of(path, name)
        finally:
            sys.path[:] = before


def kernel_of(path: Path, name: str) -> Kernel:
    return kernel(load(path), name, path)


def _source_of(value: Callable[..., Any] | str) -> tuple[Path, str, Kernel | None]:
    if isinstance(value, str):
        path, separator, name = value.rpartition("::")
        if not separator or not name:
            raise KernelError(f"a kernel is named 'path/file.py::name', not '{value}'")
        return Path(path).absolute(), name, None
    if isinstance(value, Kernel):
        own: Any = value.function
        return Path(own.__code__.co_filename), own.__name__, value
    function = inspect.unwrap(getattr(value, "func", value))
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", "")
    if code is None or "<locals>" in name:
        raise KernelError("a kernel is a function at the top level of a file, or 'file.py::name'")
    return Path(code.co_filename).absolute(), name, None
