from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verifier.source import footprint, ir
from verifier.source.project import Module, Project
from verifier.source.text import SourceError

from .conftest import Plant


def found(result: tuple[Module, str | None] | None, root: Path) -> tuple[str, str | None] | None:
    if result is None:
        return None
    return result[0].path.relative_to(root).as_posix(), result[1]


LAYOUT = {
    "lib/pkg/__init__.py": "from .shapes import ceil_div as cd\nfrom . import deep\n",
    "lib/pkg/shapes.py": "def ceil_div(a, b):\n    return -(-a // b)\n_hidden = 1\n",
    "lib/pkg/deep/__init__.py": "",
    "lib/pkg/deep/kern.py": """\
        from ..shapes import ceil_div
        from .. import shapes, cd
        from ..deep import leaf
        from pkg.shapes import ceil_div as absolute
        import pkg.shapes as sh
        import torch
        from torch import nn
        from . import nothing
        """,
    "lib/pkg/deep/leaf.py": "LEAF = 7\n",
    "flat/main.py": "from helper import *\nfrom helper import pad\nimport ns.inner.mod as m\n",
    "flat/helper.py": "from more import *\n__all__ = ['pad', 'wide']\npad = 1\nother = 2\n",
    "flat/more.py": "wide = 3\n_private = 4\n",
    "flat/ns/inner/mod.py": "value = 5\n",
    "src/installed/core.py": "thing = 6\n",
    "tests/user.py": "from installed.core import thing\n",
}


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("lib/pkg/deep/kern.py", "ceil_div", ("lib/pkg/shapes.py", "ceil_div")),
        ("lib/pkg/deep/kern.py", "shapes", ("lib/pkg/shapes.py", None)),
        ("lib/pkg/deep/kern.py", "cd", ("lib/pkg/shapes.py", "ceil_div")),
        ("lib/pkg/deep/kern.py", "leaf", ("lib/pkg/deep/leaf.py", None)),
        ("lib/pkg/deep/kern.py", "absolute", ("lib/pkg/shapes.py", "ceil_div")),
        ("lib/pkg/deep/kern.py", "sh", ("lib/pkg/shapes.py", None)),
        ("lib/pkg/deep/kern.py", "torch", ("lib/pkg/deep/kern.py", "torch")),
        ("lib/pkg/deep/kern.py", "nn", ("lib/pkg/deep/kern.py", "nn")),
        ("lib/pkg/deep/kern.py", "unbound", None),
        ("lib/pkg/__init__.py", "deep", ("lib/pkg/deep/__init__.py", None)),
        ("flat/main.py", "pad", ("flat/helper.py", "pad")),
        ("flat/main.py", "wide", ("flat/more.py", "wide")),
        ("flat/main.py", "other", None),
        ("flat/main.py", "m", ("flat/ns/inner/mod.py", None)),
        ("tests/user.py", "thing", ("src/installed/core.py", "thing")),
    ],
)
def test_names_resolve_on_disk(
    plant: Plant,
    tmp_path: Path,
    module: str,
    name: str,
    expected: tuple[str, str | None] | None,
) -> None:
    project = plant(LAYOUT)
    result = project.resolve_name(project.module(tmp_path / module), name)
    assert found(result, tmp_path) == expected


def test_resolve_import_and_from(plant: Plant, tmp_path: Path) -> None:
    project = plant(LAYOUT)
    kern = project.module(tmp_path / "lib/pkg/deep/kern.py")
    shapes = project.resolve_import(kern, "shapes", 2)
    assert shapes is project.module(tmp_path / "lib/pkg/shapes.py")
    assert project.resolve_import(kern, "pkg.shapes") is shapes
    assert project.resolve_import(kern, "torch") is None
    assert project.resolve_import(kern, "", 9) is None
    assert project.resolve_import(kern, "a\0b") is None
    assert project.resolve_from(kern, "shapes", 2, "missing") is None
    assert project.resolve_from(kern, "", 1, "leaf") == (
        project.module(tmp_path / "lib/pkg/deep/leaf.py"),
        None,
    )


def test_projects_beside_each_other_find_each_other(plant: Plant, tmp_path: Path) -> None:
    plant(
        {
            "pyproject.toml": "",
            "tests/unit/test_it.py": "from lib.core import A\nfrom tool import B\nimport plain\n",
            "lib/pyproject.toml": "",
            "lib/src/lib/__init__.py": "",
            "lib/src/lib/core.py": "A = 1\n",
            "tool/setup.py": "",
            "tool/tool.py": "B = 2\n",
            "other/plain.py": "",
        }
    )
    project = Project([tmp_path])
    module = project.module(tmp_path / "tests/unit/test_it.py")
    found = project.resolve_import(module, "lib.core"), project.resolve_import(module, "tool")
    assert [m and m.path.name for m in found] == ["core.py", "tool.py"]
    assert project.resolve_import(module, "plain") is None


def test_parts_of_a_package_hide_no_standard_library(plant: Plant, tmp_path: Path) -> None:
    project = plant(
        {
            "pkg/__init__.py": "",
            "pkg/typing.py": "SHAPE = 3",
            "pkg/sizes.py": "SIZE = 4",
            "pkg/k.py": "from typing import List\nfrom .typing import SHAPE\nimport sizes",
            "scripts/typing.py": "List = 5",
            "scripts/s.py": "from typing import List",
        }
    )
    for root in (tmp_path, tmp_path / "pkg"):
        project = Project([root])
        module = project.module(tmp_path / "pkg/k.py")
        assert project.resolve_import(module, "typing") is None
        found = project.resolve_import(module, "typing", 1)
        assert found is not None and found.path.name == "typing.py"
        # what no library has may be beside a script
        assert project.resolve_import(module, "sizes") is not None
    assert project.resolve_import(project.module(tmp_path / "scripts/s.py"), "typing") is not None


def test_import_cycles_end(plant: Plant, tmp_path: Path) -> None:
    project = plant(
        {
            "p/__init__.py": "from .a import *\nfrom . import b, ghost\n",
            "p/a.py": "from .b import *\nfrom .b import x\nfrom . import y\n",
            "p/b.py": "from .a import *\nfrom .a import x\nfrom . import y\n",
        }
    )
    a = project.module(tmp_path / "p/a.py")
    for name in ("x", "y", "z", "ghost"):
        project.resolve_name(a, name)
    package = project.module(tmp_path / "p/__init__.py")
    assert project.resolve_name(package, "ghost") is None
    assert found(project.resolve_name(package, "b"), tmp_path) == ("p/b.py", None)


def test_star_imports_bring_the_submodules_that_all_lists(plant: Plant, tmp_path: Path) -> None:
    project = plant(
        {
            "main.py": "from ops import *\n",
            "ops/__init__.py": "__all__ = ['tiles', 'lost']\n",
            "ops/tiles.py": "ROWS = 96\n",
            "ops/other.py": "",
        }
    )
    main = project.module(tmp_path / "main.py")
    with footprint.recording() as seen:
        assert found(project.resolve_name(main, "tiles"), tmp_path) == ("ops/tiles.py", None)
    assert (str(tmp_path / "ops"), "tiles", -1) in seen.lookups
    assert project.resolve_name(main, "other") is None  # on disk, but not listed
    assert project.resolve_name(main, "lost") is None


def test_unreadable_imports_are_opaque_and_listed(plant: Plant, tmp_path: Path) -> None:
    project = plant({"main.py": "from bad import f\n"})
    (tmp_path / "bad.py").write_bytes(b"x = 1\ny = '\xff'\n")
    main = project.module(tmp_path / "main.py")
    assert project.resolve_import(main, "bad") is None
    assert [(Path(e.path).name, e.line) for e in project.errors] == [("bad.py", 2)]
    with pytest.raises(SourceError):
        project.module(tmp_path / "bad.py")


def test_imports_from_a_broken_module_still_resolve(plant: Plant, tmp_path: Path) -> None:
    project = plant(
        {
            "main.py": "from half import good, bad\n",
            "half.py": "def bad(a):\n    return (a\n\ndef good(a):\n    return a\n",
        }
    )
    main = project.module(tmp_path / "main.py")
    result = project.resolve_name(main, "good")
    assert result is not None
    half, name = result
    assert isinstance(half.definition("good"), ir.FunctionDef)
    assert half.definition("bad") is None
    assert half.broken["bad"].error.line == 2
    assert [e.line for e in half.errors] == [2]
    assert name == "good"


def test_paths_look_as_the_user_wrote_them(
    plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant({"k/main.py": "from helper import f\n", "k/helper.py": "def f(): pass\n"})
    monkeypatch.chdir(tmp_path)
    project = Project([Path("k")])
    main = project.module(Path("k/main.py"))
    helper = project.resolve_import(main, "helper")
    assert helper is not None
    assert helper.path == Path("k/helper.py")
    assert project.module(tmp_path / "k" / "helper.py") is helper


def test_candidate_skips_files_without_kernels(plant: Plant, tmp_path: Path) -> None:
    project = plant({"host.py": "def apply(x):\n    return (x\n", "dev.py": "import nki\n"})
    assert project.candidate(tmp_path / "host.py") is None
    device = project.candidate(tmp_path / "dev.py")
    assert device is not None
    assert device is project.module(tmp_path / "dev.py")
    with pytest.raises(SourceError):
        project.candidate(tmp_path / "absent.py")


def test_definitions_in_ir(open_module: Callable[[str], Module]) -> None:
    module = open_module(
        """\
        try:
            from fast import width
        except ImportError:
            width = 4
        a, b = 1, 2
        total = a; total += 5
        if width:
            def pick(): return 1
        else:
            def pick(): return 2

        class Config:
            size: int = 3
        """
    )
    assert isinstance(module.definition("width"), ir.ImportFrom)
    assert isinstance(module.definition("b"), ir.Assign)
    pick = module.definition("pick")
    assert isinstance(pick, ir.FunctionDef)
    assert pick.span.line == 8
    assert isinstance(module.definition("Config"), ir.ClassDef)
    assert module.definition("nothing") is None
    assert [type(s) for s in module.statements_binding("total")] == [ir.Assign, ir.AugAssign]
    assert [type(s) for s in module.statements_binding("width")] == [ir.Try]
    assert [type(s) for s in module.statements_binding("pick")] == [ir.If]
    assert [b.line for b in module.all_bindings("pick")] == [8, 10]
    assert len(module.statements()) == 6


def test_definitions_inside_match(open_module: Callable[[str], Module]) -> None:
    module = open_module(
        """\
        match target:
            case [first, *rest] if (size := 1):
                def pick(): return 1
            case {"k": value, **others}:
                def pick(): return 2
        """
    )
    for name in ("first", "rest", "size", "value", "others"):
        assert isinstance(module.definition(name), ir.Match), name
    assert isinstance(module.definition("pick"), ir.FunctionDef)
    assert [type(s) for s in module.statements_binding("pick")] == [ir.Match]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_spans_do_not_depend_on_line_ends(tmp_path: Path, newline: str, mark: bytes) -> None:
    text = "import nki\n\n@nki.jit\ndef k(é):\n\treturn é\n"
    path = tmp_path / "k.py"
    path.write_bytes(mark + text.replace("\n", newline).encode())
    definition = Project([path]).module(path).definition("k")
    assert isinstance(definition, ir.FunctionDef)
    span = definition.span
    assert (span.line, span.column, span.end_line, span.end_column) == (3, 0, 5, 9)


def test_nothing_is_imported_or_executed(plant: Plant, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    leave = f"open({str(trace)!r}, 'a').write('ran')\n"
    project = plant(
        {
            "sitecustomize.py": leave,
            "nki/__init__.py": leave,
            "helper.py": leave + "SIZE = [" + leave.strip() + "]\n",
            "kern.py": "import nki, helper\nfrom helper import *\n"
            + f"@nki.jit(mode={leave.strip()})\ndef k(a={leave.strip()}):\n    {leave}"
            + f"if {leave.strip()}:\n    {leave}",
        }
    )
    from verifier.source.commented import contract_comments
    from verifier.source.discovery import kernel_definition, kernels

    module = project.module(tmp_path / "kern.py")
    entries = kernels(project, module)
    assert [e.name for e in entries] == ["k"]
    assert kernel_definition(project, entries[0]) is not None
    contract_comments(module)
    module.statements()
    project.resolve_name(module, "SIZE")
    helper = project.resolve_import(module, "helper")
    assert helper is not None
    helper.statements()
    assert not trace.exists()
    assert not list(tmp_path.rglob("__pycache__"))
    assert "helper" not in sys.modules


def test_finding_kernels_does_not_load_the_slow_parser() -> None:
    code = (
        "import sys, verifier.source.discovery, verifier.source.files, verifier.source.project\n"
        "print(sorted({'libcst', 'pathspec', 'numpy', 'z3', 'rich'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr
