"""What looks like an import, and which files depend on which."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from verifier.source.imports import Changes, dependents, imports
from verifier.source.project import Project
from verifier.source.readings import Import


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import a, b.c as d; import e", ["a", "b.c", "e"]),
        ("from . import (x, # one ) two\n   y as z,\n)\nimport w", [".:x", ".:y", "w"]),
        ("from .q import(w)\nfrom..r.s import *", [".q:w", "..r.s:*"]),
        ("def f():\n\tfrom a.b import c \\\n  , d\n", ["a.b:c", "a.b:d"]),
        ("if 1: from k import l", ["k:l"]),
        ("try:\r\n    import u\r\nexcept ImportError:\r\n    import v\r\n", ["u", "v"]),
        ("from a \\\n  import b", ["a:b"]),
        ("thinking = important(\n)\nx = import_x\nimported = 1\nfrom_import = 2", []),
        ("# import a\nx = 1 # from b import c", []),
        ("from a import b # , c", ["a:b"]),
        ("from a import (b,\n  import_c, d)\nimport last", ["a:b", "a:import_c", "a:d", "last"]),
        ("from a import (", []),
        ("import", []),
    ],
)
def test_imports(text: str, found: list[str]) -> None:
    assert [show(i) for i in imports(text.encode())] == found


def show(found: Import) -> str:
    return "." * found.level + found.module + (f":{found.name}" if found.name else "")


def test_no_import_of_the_standard_library_is_missed() -> None:
    folder = Path(os.__file__).parent
    for file in sorted(folder.glob("*.py")):
        raw = file.read_bytes()
        found = set(imports(raw))
        for node in ast.walk(ast.parse(raw)):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    assert Import(alias.name, 0, None) in found, (file, node.lineno)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    wanted = Import(node.module or "", node.level, alias.name)
                    assert wanted in found, (file, node.lineno)


def users(folder: Path, files: dict[str, str], *changed: str, gone: tuple[str, ...] = ()) -> str:
    """The letters of the kernel files (``k*.py``) that depend on what changed."""
    (folder / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    kernels = [str(path) for path in sorted(folder.rglob("k*.py"))]
    changes = Changes(
        {str(folder / name) for name in changed}, {str(folder / name) for name in gone}
    )
    found = dependents(Project([folder]), kernels, changes)
    return " ".join(sorted(os.path.relpath(path, folder) for path in found))


def test_imports_are_followed_any_number_of_files(tmp_path: Path) -> None:
    files = {
        "k1.py": "from pkg.a import f",
        "k2.py": "import pkg.b",
        "k3.py": "def f():\n    from pkg import c\n",
        "k4.py": "import torch",
        "pkg/__init__.py": "",
        "pkg/a.py": "from .b import g\ndef f(): g()\n",
        "pkg/b.py": "from . import c\ng = c\n",
        "pkg/c.py": "from .a import f\n",  # a cycle
    }
    assert users(tmp_path, files, "pkg/c.py") == "k1.py k2.py k3.py"
    assert users(tmp_path, files, "pkg/b.py") == "k1.py k2.py k3.py"
    assert users(tmp_path, files, "k4.py") == "k4.py"
    assert users(tmp_path, files, "elsewhere.py") == ""


def test_to_import_a_name_is_to_run_all_that_its_module_imports(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "from .one import f\nfrom .two import g\nfrom .stars import *\n",
        "pkg/one.py": "def f(): pass\n",
        "pkg/two.py": "def g(): pass\n",
        "pkg/stars.py": "h = 1\n",
        "pkg/apart.py": "i = 1\n",
        "k1.py": "from pkg import f\n",
        "k2.py": "from pkg.one import f as other\n",
        "k3.py": "import pkg.one\n",
        "k4.py": "from pkg import *\n",
        "k5.py": "from pkg import apart\n",
        "k6.py": "import package\n",
    }
    importers = "k1.py k2.py k3.py k4.py k5.py"
    for part in ("__init__", "one", "two", "stars"):
        assert users(tmp_path, files, f"pkg/{part}.py") == importers
    assert users(tmp_path, files, "pkg/apart.py") == "k5.py"


def test_what_is_gone_or_shadows_another_counts(tmp_path: Path) -> None:
    files = {
        "src/pkg/k1.py": "from .helper import f\n",
        "src/pkg/k2.py": "from pkg.helper import f\n",
        "src/pkg/k3.py": "from . import helper\n",
        "src/pkg/k4.py": "import pkg.other, os\n",
        "src/pkg/between.py": "import pkg.helper\ng = pkg.helper\n",
        "src/pkg/k5.py": "from .between import g\n",
        "src/pkg/__init__.py": "",
    }
    found = users(tmp_path, files, gone=("src/pkg/helper.py",))
    assert found == "src/pkg/k1.py src/pkg/k2.py src/pkg/k3.py src/pkg/k5.py"
    found = users(tmp_path, files, gone=("src/pkg/helper/__init__.py",))
    assert found == "src/pkg/k1.py src/pkg/k2.py src/pkg/k3.py src/pkg/k5.py"
    files["src/os.py"] = ""
    assert users(tmp_path, files, "src/os.py") == "src/pkg/k4.py"


def test_links_are_the_files_that_they_lead_to(tmp_path: Path) -> None:
    files = {"shared/helper.py": "x = 1\n", "app/k1.py": "from helper import x\n"}
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "helper.py").symlink_to("../shared/helper.py")
    assert users(tmp_path, files, "shared/helper.py") == "app/k1.py"


def test_files_that_nobody_can_read(tmp_path: Path) -> None:
    (tmp_path / "k1.py").write_bytes(b"# \xff\xfe\nimport helper\nimport caf\xe9\n")
    (tmp_path / "k2.py").symlink_to("nowhere.py")
    (tmp_path / "k3.py").mkdir()
    assert users(tmp_path, {"helper.py": "", "k4.py": "imp\0ort helper"}, "helper.py") == "k1.py"
