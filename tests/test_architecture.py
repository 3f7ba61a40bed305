"""The layout's promises, read from the text: which folder may import which, and nothing else."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from verifier.dialects.names import NKI, OKK, PPL
from verifier.rulebase import all_rules

ROOT = Path(__file__).resolve().parent.parent

#: What a folder (or a module beside the folders) may import besides itself. Every arrow points
#: down: a folder only names folders that stand above it in this table.
ALLOWED: dict[str, frozenset[str]] = {
    "verifier": frozenset(),
    "verifier.source": frozenset(),
    "verifier.hardware": frozenset(),
    "verifier.report": frozenset(),
    "verifier.symbolic": frozenset({"verifier.source", "verifier.hardware"}),
    "verifier.layouts": frozenset({"verifier.symbolic", "verifier.hardware"}),
    "verifier.dialects": frozenset(
        {"verifier.symbolic", "verifier.hardware", "verifier.source", "verifier.layouts"}
    ),
    "verifier.solver": frozenset({"verifier.symbolic"}),
    "verifier.rulebase": frozenset(
        {"verifier.dialects", "verifier.symbolic", "verifier.hardware", "verifier.source"}
    ),
    "verifier.configuration": frozenset(
        {"verifier.hardware", "verifier.report", "verifier.rulebase"}
    ),
    "rules": frozenset(
        {
            "verifier.dialects",
            "verifier.rulebase",
            "verifier.symbolic",
            "verifier.hardware",
            "verifier.source",
            "verifier.layouts",
        }
    ),
    "verifier.executor": frozenset(
        {
            "verifier.rulebase",
            "verifier.dialects",
            "verifier.hardware",
            "verifier.layouts",
            "verifier.report",
            "verifier.source",
            "verifier.symbolic",
        }
    ),
    "verifier.engine": frozenset(
        {
            "verifier.rulebase",
            "verifier.configuration",
            "verifier.dialects",
            "verifier.hardware",
            "verifier.report",
            "verifier.solver",
            "verifier.source",
            "verifier.symbolic",
        }
    ),
    "verifier.service": frozenset(
        {
            "verifier.configuration",
            "verifier.engine",
            "verifier.report",
            "verifier.rulebase",
            "verifier.source",
        }
    ),
    "verifier.cache": frozenset(
        {"verifier", "verifier.engine", "verifier.report", "verifier.source"}
    ),
    "verifier.lsp": frozenset(
        {
            "verifier",
            "verifier.configuration",
            "verifier.engine",
            "verifier.executor",
            "verifier.hardware",
            "verifier.report",
            "verifier.rulebase",
            "verifier.service",
            "verifier.source",
        }
    ),
    "verifier.suites": frozenset(
        {
            "verifier.configuration",
            "verifier.dialects",
            "verifier.hardware",
            "verifier.source",
            "verifier.symbolic",
        }
    ),
    "verifier.cli": frozenset(
        {
            "verifier",
            "rules",
            "verifier.cache",
            "verifier.configuration",
            "verifier.dialects",
            "verifier.engine",
            "verifier.executor",
            "verifier.hardware",
            "verifier.layouts",
            "verifier.lsp",
            "verifier.report",
            "verifier.rulebase",
            "verifier.service",
            "verifier.source",
            "verifier.suites",
        }
    ),
    "verifier.__main__": frozenset({"verifier.cli"}),
}

#: The imports that go up: the registry loads rules when first asked for them.
REGISTRIES = {("verifier.rulebase", "rules")}

#: Libraries with one home.
HOMES = {
    "z3": "verifier.solver",
    "libcst": "verifier.source",
    "numpy": "verifier.executor",
    "ml_dtypes": "verifier.executor",
}

#: Who imports by a computed name, and from which table.
COMPUTED = {
    "rules": "the modules of this package",
    "verifier.cli.main": "COMMANDS",
    "verifier.report.formats": "FORMATS",
}

#: Who compiles text, and of what: integers, operators and positions, never names or strings.
COMPILERS = {"verifier.solver.search": "terms of the solver"}

#: The folder that runs kernels because it was told to, and what may ask it: the command `run`,
#: `check --replay`, and the editor's command.
EXECUTOR = "verifier.executor"
RUNNERS = {"verifier.cli.run", "verifier.cli.replay", "verifier.lsp.replaying"}

#: The last parts of the names of functions that evaluate text or import by name.
EVALUATING = frozenset(
    {"__import__", "compile", "eval", "exec", "import_module", "run_module", "run_path"}
)

#: What rules, whatever they import, take from reading source (places) and from dialects (their
#: names), and nothing else.
RULES_TAKE = {
    "verifier.source": "verifier.source.ir",
    "verifier.dialects": "verifier.dialects.names",
}


@cache
def sources() -> list[Path]:
    return [
        path
        for top in ("verifier", "rules")
        for path in sorted((ROOT / top).rglob("*.py"))
        if "__pycache__" not in path.parts
    ]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def walked(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file: a dozen tests look through them."""
    return tuple(ast.walk(parsed(path)))


def unit(module: str) -> str:
    """The row of :data:`ALLOWED` that a dotted name belongs to."""
    parts = module.split(".")
    if parts[0] != "verifier":
        return parts[0]
    return ".".join(parts[:2])


def module_name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> tuple[tuple[int, str], ...]:
    """``(line, dotted name)`` of every import in a file, inside functions as well."""
    return tuple(imported(path))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in walked(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                kept = package[: len(package) - node.level + 1]
                base = ".".join([*kept, *([base] if base else [])])
            if base == "verifier":
                # `from verifier import rulebase` names a folder; `__version__` does not.
                for alias in node.names:
                    child = ROOT / "verifier" / alias.name
                    inside = child.is_dir() or child.with_suffix(".py").is_file()
                    yield node.lineno, f"verifier.{alias.name}" if inside else base
            else:
                yield node.lineno, base


def edges() -> Iterator[tuple[str, str, str]]:
    """``(importer, imported, place)`` between our own units."""
    for path in sources():
        owner = unit(module_name(path))
        for line, name in imports(path):
            if name.partition(".")[0] in ("verifier", "rules"):
                yield owner, unit(name), f"{path.relative_to(ROOT)}:{line}"


def test_every_folder_has_its_place() -> None:
    assert {unit(module_name(path)) for path in sources()} <= set(ALLOWED)


def test_imports_point_one_way() -> None:
    wrong = [
        f"{place}: {owner} imports {other}"
        for owner, other, place in edges()
        if other not in {owner, *ALLOWED[owner]} and (owner, other) not in REGISTRIES
    ]
    assert wrong == []


def test_the_table_has_no_cycle() -> None:
    order = list(ALLOWED)
    for position, (owner, allowed) in enumerate(ALLOWED.items()):
        assert allowed <= set(order[:position]), owner


@pytest.mark.parametrize("library", sorted(HOMES))
def test_libraries_with_one_home(library: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources()
        for line, name in imports(path)
        if name.partition(".")[0] == library and unit(module_name(path)) != HOMES[library]
    ]
    assert wrong == []


def test_rules_know_places_and_names_only() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sources()
        if unit(module_name(path)) == "rules"
        for line, name in imports(path)
        if RULES_TAKE.get(unit(name), name) != name
    ]
    assert wrong == []


def test_dialects_are_named_by_their_constants() -> None:
    """Whoever has to tell dialects apart says so by an import."""
    wrong = []
    for path in sources():
        if unit(module_name(path)) == "verifier.dialects":
            continue
        exported = {
            id(item)
            for node in parsed(path).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            for item in ast.walk(node.value)
        }
        wrong += [
            f"{path.relative_to(ROOT)}:{node.lineno}"
            for node in walked(path)
            if isinstance(node, ast.Constant)
            and node.value in {NKI, OKK, PPL}
            and id(node) not in exported
        ]
    assert wrong == []


def test_nothing_imports_tests_or_fixtures() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources()
        for line, name in imports(path)
        if name.partition(".")[0] in ("tests", "fixtures", "pytest", "hypothesis")
    ]
    assert wrong == []


def _last_part(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def test_what_is_read_is_never_executed() -> None:
    """Nothing evaluates text, and computed imports take their names from tables of ours."""
    wrong = []
    for path in sources():
        for node in walked(path):
            if not isinstance(node, ast.Call) or module_name(path) in COMPILERS:
                continue
            if unit(module_name(path)) == EXECUTOR:
                continue
            if _last_part(node.func) not in EVALUATING:  # writing out each call takes long
                continue
            called = ast.unparse(node.func)
            place = f"{path.relative_to(ROOT)}:{node.lineno}: {called}"
            if called in ("eval", "exec", "__import__", "runpy.run_path", "runpy.run_module"):
                wrong.append(place)
            if called == "compile" and "ast.PyCF_ONLY_AST" not in ast.unparse(node):
                wrong.append(place)
            if called.endswith("import_module") and module_name(path) not in COMPUTED:
                wrong.append(place)
    assert wrong == []


def test_only_those_asked_to_execute_do() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources()
        for line, name in imports(path)
        if unit(name) == EXECUTOR
        and unit(module_name(path)) != EXECUTOR
        and module_name(path) not in RUNNERS
    ]
    assert wrong == []


def test_the_executor_names_no_rule() -> None:
    """What running or replaying a kernel must know about a rule is part of the rule."""
    ids = {rule.id for rule in all_rules()}
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in sources()
        if unit(module_name(path)) == EXECUTOR
        for node in walked(path)
        if isinstance(node, ast.Constant) and node.value in ids
    ]
    assert wrong == []


#: Who asks what an instruction is called.
_NAMING = re.compile(
    r"(\b(op|operation|other|barrier|instruction|\w*op)\.(name|short)$)|\bfunction\("
)


def _named(node: ast.expr) -> bool:
    """Whether an expression is the name of an instruction, or a part of it."""
    text = ast.unparse(node)
    return bool(_NAMING.search(text)) and "role" not in text


def _texts(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(node))


def test_no_rule_goes_by_the_name_of_an_instruction() -> None:
    """What a rule wants to know of an instruction its description says."""
    wrong = []
    for path in sources():
        if unit(module_name(path)) != "rules":
            continue
        for node in walked(path):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                found = any(map(_named, sides)) and any(map(_texts, sides))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                asks = node.func.attr in ("startswith", "endswith")
                found = asks and _named(node.func.value)
            else:
                continue
            if found:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert wrong == []


def _names_a_generation(node: ast.Compare) -> bool:
    sides = [node.left, *node.comparators]
    asked = any(re.search(r"\.(api|dialect|generation\.name)$", ast.unparse(s)) for s in sides)
    return asked or any(isinstance(s, ast.Name) and s.id in {"NKI", "OKK", "PPL"} for s in sides)


def test_no_rule_goes_by_the_name_of_a_dialect_or_of_a_generation() -> None:
    """What they have otherwise than others are properties, which stand beside their sources."""
    wrong = []
    for path in sources():
        # what finds rules, and the frames of examples, deal with names
        if unit(module_name(path)) != "rules" or path.parent.name == "rows":
            continue
        for node in walked(path):
            if isinstance(node, ast.Compare):
                found = _names_a_generation(node)
            elif isinstance(node, ast.Call):
                asks = ast.unparse(node.func).endswith("at_least")
                found = asks and any(map(_texts, node.args))
            else:
                continue
            if found:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert wrong == []


def tracked() -> list[Path]:
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listing.stdout.split("\0") if name]


def test_no_file_names_one_machine() -> None:
    """Paths of somebody's machine and hosts of package mirrors do not belong in a repository."""
    words = [
        "/".join(("", "work", "")),
        "/".join(("", "root", "")),
        "/".join(("", "home", "")),
        "index" + "-url",
        "artifact" + "ory",
    ]
    wrong = []
    for path in tracked():
        if not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        wrong += [f"{path.relative_to(ROOT)}: {word}" for word in words if word in text]
    assert wrong == []


def test_the_top_level_is_fixed() -> None:
    tops = {path.relative_to(ROOT).parts[0] for path in tracked()}
    expected = {"pyproject.toml", "verifier", "rules", "tests", "fixtures", "README.md", "LICENSE"}
    assert {top for top in tops if not top.startswith(".")} <= expected


def test_the_map_of_the_python_machine_names_every_file() -> None:
    folder = ROOT / "verifier/symbolic/python"
    words = set(re.findall(r"\w+\.py", (folder / "README.md").read_text(encoding="utf-8")))
    assert {path.name for path in folder.glob("*.py")} - words == {"__init__.py"}


def test_the_page_of_the_program_names_every_folder_and_type() -> None:
    text = (ROOT / "verifier/README.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (ROOT / "verifier").glob("*/*.py")}
    assert set(re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)) == folders
    listed = text[text.index("What goes from one") : text.index("Imports between")]
    types = re.findall(r"^\d\. `([\w.]+)\.(\w+)`", listed, re.MULTILINE)
    assert len(types) == 7
    for module, name in types:
        assert hasattr(importlib.import_module(f"verifier.{module}"), name), name


#: The longest function and the longest file there may be.
FUNCTION, FILE = 60, 700


def our_imports() -> dict[str, set[str]]:
    """The files that each file imports: inside functions and for types only, too."""
    files = {module_name(path): path for path in sources()}
    # a package and the modules in it are one place here: `import a.b` runs `a` first
    modules = {name for name, path in files.items() if path.name != "__init__.py"}
    graph: dict[str, set[str]] = {}
    for name in modules:
        found: set[str] = set()
        for node in walked(files[name]):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
        graph[name] = (found & modules) - {name}
    return graph


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """What a file imports, and what that imports, and so on."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_no_file_imports_itself_through_others() -> None:
    """Also inside functions, and for types only."""
    graph = our_imports()
    everything = {name: reached(graph, name) for name in graph}
    circles = {
        frozenset(other for other in found if name in everything[other])
        for name, found in everything.items()
        if name in found
    }
    assert circles == set()


@cache
def our_files() -> list[Path]:
    """The program and its tests, without the kernels that they are tried on."""
    kernels = (ROOT / "tests/bugs/kernels", ROOT / "tests/migration/kernels")
    tests = sorted((ROOT / "tests").rglob("*.py"))
    return [*sources(), *(path for path in tests if not {*path.parents} & {*kernels})]


def test_functions_are_short() -> None:
    long: dict[str, int] = {}
    for path in our_files():
        for node in walked(path):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > FUNCTION:
                    long[f"{path.relative_to(ROOT).as_posix()}:{node.name}"] = length
    assert long == {}


def test_files_are_short() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in our_files()
    }
    assert {name: n for name, n in lengths.items() if n > FILE} == {}


#: Numbers in rules that are our own, not the hardware's: what is worth trying, and what is shown.
OWN_NUMBERS = {
    "rules/memory/accumulation.py:_MOST_WAYS",
    "rules/memory/blocks.py:_MOST",
    "rules/memory/capacity.py:_TYPICAL",
    "rules/memory/counted.py:_RUNS",
    "rules/memory/counted.py:_STEPS",
    "rules/memory/counted.py:_UNITS",
    "rules/memory/counted.py:_VALUES",
    "rules/memory/defined.py:_LARGEST",
    "rules/memory/formulas.py:_NUMBERS",
    "rules/memory/numbers.py:_DEPTH",
    "rules/memory/passes.py:MOST",
    "rules/memory/relief.py:_MOST",
    "rules/memory/results.py:_MOST",
    "rules/memory/samples.py:_FEW",
    "rules/memory/samples.py:_SIZES",
    "rules/memory/wholes.py:_LOOKED_AT",
    "rules/memory/wholes.py:_TILES",
    "rules/nki/operators/computed.py:_LISTED",
    "rules/nki/twins.py:_GATHERED",
    "rules/nki/twins.py:_VECTORS",
    "rules/tpu/spoilt.py:LARGEST",
    "rules/tpu/unwritten.py:_WITNESSES",
}
#: Calls that hold a rule's documentation and its examples.
DOCUMENTATION = {"Rule", "advise", "Twin", "kernel", "variants", "format"}


def literals(node: ast.AST, least: int) -> Iterator[ast.Constant]:
    """The integers from ``least`` on in what is computed, without documentation and examples."""
    if isinstance(node, ast.Call):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)
        if name in DOCUMENTATION:
            return
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= least:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from literals(child, least)


def test_rules_take_numbers_of_the_hardware_from_targets_and_descriptions() -> None:
    wrong = []
    for folder in ("nki", "memory", "host", "tpu"):
        for path in sorted((ROOT / "rules" / folder).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            for statement in parsed(path).body:
                target = getattr(statement, "target", None) or next(
                    iter(getattr(statement, "targets", [])), None
                )
                if target is not None and f"{place}:{ast.unparse(target)}" in OWN_NUMBERS:
                    continue
                wrong += [f"{place}:{n.lineno}: {n.value!r}" for n in literals(statement, 5)]
    assert wrong == []
