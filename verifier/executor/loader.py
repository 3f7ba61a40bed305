"""Loading a user's file under CPython: shims in place, our own packages out of sight."""

from __future__ import annotations
import __future__

import ast
import builtins
import dataclasses
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from verifier.dialects.registry import DIALECTS, of_generation, of_packages
from verifier.executor import places
from verifier.executor.compiled import compiled, helpers
from verifier.executor.findings import MisuseError
from verifier.executor.nested import nested
from verifier.executor.objects import dataclass as nki_dataclass
from verifier.executor.session import Kernel, LoadingError
from verifier.executor.shims import Absent, Finder
from verifier.hardware import catalogue
from verifier.hardware.catalogue import Hardware
from verifier.source.discovery import scan
from verifier.source.fragments import implied
from verifier.source.ir import Span
from verifier.source.nodes import walk
from verifier.source.outline import outline
from verifier.source.project import Project
from verifier.source.stars import spelled_out
from verifier.source.text import decode, read_bytes

_PACKAGES = ("verifier", "rules")
_HOME = Path(__file__).resolve().parent.parent.parent
_OUR_FILES = tuple(f"{_HOME / package}/" for package in _PACKAGES)
_SHIMS = frozenset().union(*(dialect.packages for dialect in DIALECTS.values()))


def _ours(name: str) -> bool:
    return name.partition(".")[0] in _PACKAGES


def _is_our_file(path: str | None) -> bool:
    return path is not None and path.startswith(_OUR_FILES)


def _is_users(module: ModuleType) -> bool:
    """Whether a module is a file that is not of an installed library."""
    path = getattr(module, "__file__", None)
    return isinstance(path, str) and places.is_user(path) and "site-packages" not in path


def complete() -> None:
    """Import what would be imported late now: then it would be looked for in vain, or in the
    user's folder, where any name may be taken."""
    import numpy.random  # noqa: F401 - NumPy imports it when it is first used

    from verifier import rulebase
    from verifier.executor import semantics

    assert semantics.SEMANTICS
    rulebase.all_rules()


@contextmanager
def isolated(*, forever: bool = False) -> Iterator[None]:
    """Let users' modules be named ``rules`` or ``verifier``; put the shims in place.

    Our own modules leave ``sys.modules``; imports in our own files still find them. Everything is
    put back at the end unless ``forever``.
    """
    complete()
    stash, shadowed = {}, {}
    for name, module in sys.modules.items():
        package = name.partition(".")[0]
        if package in _SHIMS:
            shadowed[name] = module
        elif package in _PACKAGES and _is_our_file(getattr(module, "__file__", None)):
            stash[name] = module
    for name in (*stash, *shadowed):
        del sys.modules[name]
    known = set(sys.modules)
    real = builtins.__import__
    first, last = Finder(last=False), Finder(last=True)
    plain = dataclasses.dataclass
    builtins.__import__ = _guarded(real, stash)
    sys.meta_path.insert(0, first)
    sys.meta_path.append(last)
    dataclasses.dataclass = nki_dataclass(plain)
    try:
        yield
    finally:
        if not forever:
            builtins.__import__ = real
            sys.meta_path.remove(first)
            sys.meta_path.remove(last)
            dataclasses.dataclass = plain
            _forget(known)
            sys.modules.update(stash)
            sys.modules.update(shadowed)


def _guarded(real: Callable[..., Any], stash: dict[str, ModuleType]) -> Callable[..., Any]:
    """``__import__`` for which our own modules are there in our own files only."""

    def guarded(
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        if not globals or not (level or _ours(name)):
            return real(name, globals, locals, fromlist, level)
        if not _is_our_file(globals.get("__file__")):
            return real(name, globals, locals, fromlist, level)
        loaded = stash.get(name) if fromlist and not level else None
        if loaded is not None and all(hasattr(loaded, wanted) for wanted in fromlist):
            return loaded
        users = {n: sys.modules.pop(n) for n in list(sys.modules) if _ours(n)}
        sys.modules.update(stash)
        place = str(_HOME)
        added = place not in sys.path
        if added:
            sys.path.append(place)
        try:
            return real(name, globals, locals, fromlist, level)
        finally:
            if added:
                sys.path.remove(place)
            for module in [n for n in sys.modules if _ours(n)]:
                stash[module] = sys.modules.pop(module)
            sys.modules.update(users)

    return guarded


def _forget(known: set[str]) -> None:
    """The modules of a user are gone, apart from those that were there before."""
    for name in [n for n in sys.modules if _ours(n) or n.partition(".")[0] in _SHIMS]:
        del sys.modules[name]
    for name in set(sys.modules) - known:
        # the next file may have helpers of the same names, or this one may have changed
        if isinstance(sys.modules[name], Absent) or _is_users(sys.modules[name]):
            del sys.modules[name]


@dataclasses.dataclass
class Loaded:
    """A file that was run. ``problems`` are top-level statements that raised, with their errors."""

    module: ModuleType
    problems: list[tuple[Span, BaseException]]


def generation_of(path: Path, kernel: str = "") -> str:
    """The API generation that a kernel, or a file, is written for, as ``check`` infers it:
    ``beta1``, ``0.2`` ... ``0.6``, ``okk``, ``ppl``.

    Raises:
        MisuseError: it cannot be read or does not parse.
    """
    tree, project = _parse(path), Project([path])
    tree.body[:0] = spelled_out(project, project.module(path))
    imported = {*_imported(tree), *(name.partition(".")[0] for name in _implied(path).values())}
    return of_packages(imported).infer(tree)(kernel)


def _imported(tree: ast.Module) -> Iterator[str]:
    """The packages that a file imports from."""
    for node in walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _implied(path: Path) -> Mapping[str, str]:
    """What a fragment uses as if it were imported."""
    found = outline(decode(path, read_bytes(path)))
    return implied(found.bindings, found.star_imports, found.syntax)


def hardware_of(
    name: str | None, api: str, path: Path, kernel: str, grid: Sequence[int] = ()
) -> Hardware:
    """The target of that name, or the first that ``check`` would find for a kernel of that file.

    Raises:
        MisuseError: there is none of that name, or kernels of that API do not run on it.
    """
    dialect = of_generation(api)
    if name is None:
        project = Project([path])
        module = project.module(path)
        entries = (entry for entry in scan(project, module).kernels if entry.name == kernel)
        keywords = next((entry.keywords for entry in entries), {})
        return dialect.targets((), kernel, module.syntax, keywords, grid)[0]
    found = catalogue.find(name)
    if found is None:
        raise MisuseError(f"unknown target '{name}'")
    if not dialect.runs(found):
        raise MisuseError(f"{found.name} does not run {dialect.name.upper()} kernels")
    return found


def _parse(path: Path) -> ast.Module:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise MisuseError(f"cannot read {path}: {reason}") from None
    try:
        return ast.parse(text, str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", 1) or 1
        reason = getattr(error, "msg", None) or str(error) or "too deeply nested"
        raise MisuseError(
            f"the file does not parse: {reason}", Span(str(path), line, 0, line, 1)
        ) from None


def load(path: Path, *, stand_ins: bool = False) -> Loaded:
    """Run a file statement by statement; what raises is noted and passed over.

    A file in a package is loaded as part of it, so that its relative imports work. With
    ``stand_ins``, libraries that a statement needs and that are not installed are made up: what
    the kernel does not use of them does no harm.
    """
    tree = _parse(path)
    name, root = _dotted(path)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    if str(path.parent) not in sys.path:
        sys.path.insert(1, str(path.parent))
    parent = name.rpartition(".")[0]
    problems: list[tuple[Span, BaseException]] = []
    if parent:
        try:
            importlib.import_module(parent)
        except Exception as error:  # a package that needs what is not there
            problems.append((Span(str(path), 1, 0, 1, 1), error))
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) == str(path):
        return Loaded(sys.modules[name], problems)
    module = _made(name, path)
    file = places.source(str(path))
    flags, called = 0, helpers(tree.body)
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= getattr(__future__, alias.name).compiler_flag
        postponed = bool(flags & __future__.annotations.compiler_flag)
        made = compiled(statement, module.__dict__, called, postponed=postponed)
        part = ast.Module([made], [])
        code = compile(part, str(path), "exec", flags, dont_inherit=True)
        try:
            while True:
                try:
                    exec(code, module.__dict__)
                    break
                except ModuleNotFoundError as error:
                    if not stand_ins or not _stand_in(error.name):
                        raise
        except LoadingError:
            continue
        except MisuseError as error:
            problems.append((file.span(statement), error))
        except (Exception, SystemExit) as error:  # of the user's file: said if the kernel needs it
            problems.append((file.span(statement), error))
    return Loaded(module, problems)


def _made(name: str, path: Path) -> ModuleType:
    """The module of a file that is to be run, with what a fragment takes for imported."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    for short, dotted in _implied(path).items():
        owner, _, last = dotted.rpartition(".")
        found = getattr(importlib.import_module(owner), last) if owner else None
        module.__dict__[short] = found or importlib.import_module(dotted)
    return module


def _stand_in(name: str | None) -> bool:
    """Make up a library from now on; False if it is made up already."""
    root = (name or "").partition(".")[0]
    finder = next((f for f in sys.meta_path if isinstance(f, Finder) and f.last), None)
    if finder is None or not root or root in finder.absent:
        return False
    finder.absent.add(root)
    return True


def _dotted(path: Path) -> tuple[str, Path]:
    """The dotted name of a file in its package, and the folder that holds the package."""
    parts = [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), folder


def kernel(loaded: Loaded, name: str, path: Path) -> Kernel:
    """The kernel of that name.

    Raises:
        MisuseError: there is none, or it is no function.
    """
    found: Any = loaded.module
    parts = name.split(".")
    for position, part in enumerate(parts):
        around = found
        found = getattr(found, part, None)
        if found is None:
            outer = around.function if isinstance(around, Kernel) else around
            if position and position == len(parts) - 1 and callable(outer):
                found = nested(outer, part, name, path)
            break
    if found is None:
        reason = ""
        for span, error in loaded.problems:
            reason = f" (line {span.line}: {type(error).__name__}: {error})"
            break
        have = [n for n, v in vars(loaded.module).items() if isinstance(v, Kernel)]
        listed = f"; it has {', '.join(have)}" if have else ""
        raise MisuseError(f"{path} has no kernel `{name}`{listed}{reason}")
    if isinstance(found, Kernel):
        return found
    if callable(found) and not isinstance(found, type):
        return Kernel(found)
    raise MisuseError(f"`{name}` in {path} is no function")
