"""Any Python file whatever may be given to ``check``: no crash, no hang, and nothing executed.

``TILELINT_EVERYTHING=1`` turns every file of the standard library and of the installed packages
into one that has to be parsed and followed, instead of a sample of them.
"""

from __future__ import annotations

import os
import random
import sysconfig
from pathlib import Path

import pytest

from .support import good, tilelint

EVERYTHING = os.environ.get("TILELINT_EVERYTHING", "") not in ("", "0")
SAMPLE = 30
#: seconds for a run over many files, on a loaded machine
PATIENCE = 7200 if EVERYTHING else 300

STDLIB = Path(sysconfig.get_paths()["stdlib"])
PACKAGES = Path(sysconfig.get_paths()["purelib"])


@pytest.mark.parametrize("folder", [STDLIB, PACKAGES], ids=["stdlib", "packages"])
def test_whole_folders(folder: Path) -> None:
    outcome = tilelint("check", folder, "--format", "json", "--timeout", 10, patience=PATIENCE)
    assert outcome.internal == []
    assert outcome.report["schema_version"] == 2


def installed() -> list[Path]:
    files = sorted({*STDLIB.rglob("*.py"), *PACKAGES.rglob("*.py")})
    if EVERYTHING:
        return files
    return sorted(random.Random(1).sample(files, min(SAMPLE, len(files))))


def test_parsed_and_followed(tmp_path: Path) -> None:
    """Files with a kernel at their end that calls the functions before it."""
    for number, source in enumerate(installed()):
        data = source.read_bytes()
        names = [
            line.split(b"(")[0][4:].strip().decode("ascii", "replace")
            for line in data.splitlines()
            if line.startswith(b"def ")
        ][:8]
        calls = "".join(f"    {name}(source, rows)\n" for name in names if name.isidentifier())
        kernel = good(f"kernel_{number}").replace("    out =", f"{calls}    out =", 1)
        target = tmp_path / f"file_{number:05}.py"
        target.write_bytes(data.rstrip(b"\\ \n") + b"\n\n\n" + kernel.encode())
    outcome = tilelint("check", tmp_path, "--format", "json", "--timeout", 5, patience=PATIENCE)
    assert outcome.internal == []
    assert outcome.report["kernels"]


TRACE = """\
from pathlib import Path

Path({marker!r}).write_text("executed", encoding="utf-8")
"""


def test_nothing_is_executed(tmp_path: Path) -> None:
    """Every place where importing, decorating or evaluating a file would leave a trace."""
    marker = tmp_path / "trace"
    plant = TRACE.format(marker=str(marker))
    folder = tmp_path / "project"
    (folder / "nki").mkdir(parents=True)
    (folder / "package").mkdir()
    for name in (
        "nki/__init__.py",
        "nki/isa.py",
        "nki/language.py",
        "package/__init__.py",
        "package/helper.py",
        "helper.py",
        "conftest.py",
        "setup.py",
        "sitecustomize.py",
        "numpy.py",
        "z3.py",
        "libcst.py",
    ):
        text = plant + "\n\ndef help(value):\n    return value\n\n\nSIZE = help(128)\n"
        (folder / name).write_text(text, encoding="utf-8")
    kernel = (
        plant
        + "import helper\nimport numpy\nfrom package import helper as other\nfrom helper import *\n"
        + "DEFAULT = eval(\"open(r'{m}', 'w')\")\n".replace("{m}", str(marker))
        + "exec(\"open(r'{m}', 'w')\")\n".replace("{m}", str(marker))
        + good().replace(
            "    out =",
            "    rows = other.help(rows)\n    print(open(f'{DEFAULT}', 'w'))\n    out =",
        )
    )
    (folder / "kernel.py").write_text(kernel, encoding="utf-8")
    (folder / "pyproject.toml").write_text("[tool.tilelint]\n", encoding="utf-8")
    for arguments in (["check", "."], ["check", "kernel.py", "--jobs", "1"], ["kernels", "."]):
        # Not started in the folder: Python itself would take the plants there for its libraries.
        outcome = tilelint(
            *[str(folder / a) if a in (".", "kernel.py") else a for a in arguments],
            "--format",
            "json",
            cwd=tmp_path,
        )
        assert outcome.internal == []
        assert not marker.exists()
        assert "pass_through" in outcome.out
