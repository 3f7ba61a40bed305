"""``tilelint config``, and ``check`` under a configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from verifier.cli.main import main
from verifier.configuration import documentation

from .support import tree

ROOT = Path(__file__).resolve().parent.parent.parent

#: `rows` is free: the matmul takes at most 128 of them
KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def {name}(x):
    assert x.shape[1] == 48 and x.dtype == nl.bfloat16
    rows, columns = x.shape
    y = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=y, src=tile)
    return y
"""


def tilelint(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, list[str]]:
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err.splitlines()


def kernel(root: Path, path: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(KERNEL.format(name=file.stem), encoding="utf-8")


# ------------------------------------------------------------------------------- config


def test_show(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("k/a.py", "old/a.py"):
        kernel(root, name)
    tree(
        root,
        pyproject="""\
[tool.tilelint]
targets = ["trn1", "trn3"]
exclude = ["old/"]
severity.views = "note"
[[tool.tilelint.overrides]]
paths = ["k/"]
timeout = 2.5
[tool.tilelint.presets.decode]
gemm = "(a: bf16[4096, 1])"
""",
    )
    status, out, err = tilelint(capsys, "config", "show", "k/a.py", "--jobs", "3")
    assert (status, err) == (0, [])
    assert out.startswith("k/a.py: pyproject.toml\n\n")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for line in (
        'targets ["trn1", "trn3"] (pyproject.toml:2)',
        "api-version inferred for each file (default)",
        "severity views = note (pyproject.toml:4)",
        "presets decode.gemm = (a: bf16[4096, 1]) (pyproject.toml:9)",
        "timeout 2.5 (pyproject.toml:7)",
        "jobs 3 (command line (--jobs))",
        "strict false (default)",
        "exclude old/ (pyproject.toml:3)",
    ):
        assert line in lines
    assert "left out: pyproject.toml:3" in tilelint(capsys, "config", "show", "old/a.py")[1]
    isolated = tilelint(capsys, "config", "show", "--isolated", "k/a.py")[1]
    assert isolated.startswith("k/a.py: no configuration file\n")
    assert "pyproject" not in isolated


def test_show_as_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel(root, "k/a.py")
    tree(root, tilelint='ignore = ["views"]\n[contracts]\n"k/::gemm" = "(a: bf16)"\n')
    status, out, _ = tilelint(
        capsys, "config", "show", "--format", "json", "--ignore", "matmul", "k/a.py"
    )
    document = json.loads(out)
    assert (status, document["schema_version"], document["configuration"]) == (
        0,
        1,
        "tilelint.toml",
    )
    settings = {setting["key"]: setting for setting in document["settings"]}
    assert [(e["source"], e["line"], e["value"]) for e in settings["ignore"]["entries"]] == [
        ("file", 1, ["views"]),
        ("command line", None, ["matmul"]),
    ]
    assert settings["contracts"]["value"] == [
        {"kernel": "gemm", "contract": "gemm(a: bf16)", "files": "k/", "preset": None}
    ]
    assert settings["timeout"] == {
        "key": "timeout",
        "value": 60.0,
        "entries": [
            {"key": None, "value": 60.0, "source": "default", "path": None, "line": None,
             "option": None}
        ],
    }  # fmt: skip


def test_show_tells_mistakes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel(root, "a.py")
    tree(root, tilelint="jobs = 0\n", pyproject="[tool.tilelint]\n")
    status, out, err = tilelint(capsys, "config", "show", "a.py")
    assert (status, out) == (2, "")
    assert err == ["tilelint: error: tilelint.toml:1: 'jobs' must be at least 1, not 0"]
    tree(root, tilelint="jobs = 1\n")
    assert tilelint(capsys, "config", "show", ".")[2] == [
        "tilelint: note: pyproject.toml:1: [tool.tilelint] is not used: tilelint.toml in the same "
        "folder wins"
    ]


def test_without_a_subcommand_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = tilelint(capsys, "config")
    assert (status, err) == (0, [])
    assert {"show", "settings"} <= set(out.split())
    assert tilelint(capsys, "config", "shwo")[0] == 2


def test_settings_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert tilelint(capsys, "config", "settings", "--format", "markdown") == (
        0, documentation.markdown(), []
    )  # fmt: skip
    listed = json.loads(tilelint(capsys, "config", "settings", "--format", "json")[1])
    text = tilelint(capsys, "config", "settings")[1]
    for setting in listed["settings"]:
        assert f"{setting['key']} = {setting['example']}\n" in text


# -------------------------------------------------------------------------------- check


def checked(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, tuple[str, str, str]], list[str]]:
    """Status, file -> (status, target, preset) of its kernel, lines on stderr."""
    status, out, err = tilelint(capsys, "check", "--format", "json", *arguments)
    kernels = json.loads(out)["kernels"] if out else []
    return (
        status,
        {
            f"{k['path']} {k['preset'] or ''}".strip(): (k["status"], k["target"], k["contract"])
            for k in kernels
        },
        err,
    )


def test_each_file_has_its_own_settings(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("a.py", "new/b.py", "own/c.py", "vendor/d.py"):
        kernel(root, path)
    tree(
        root,
        pyproject="""\
[tool.tilelint]
targets = ["trn1"]
exclude = ["vendor/"]
contracts.a = "(x: bf16[128, 48])"
[[tool.tilelint.overrides]]
paths = ["new/"]
targets = ["trn3"]
contracts.b = "(x: bf16[N, 48]) where N <= 128"
""",
        own__tilelint='contracts.c = "(x: bf16[64, 48])"',
    )
    status, found, err = checked(capsys, ".")
    assert (status, err) == (0, [])
    assert {path: answer[:2] for path, answer in found.items()} == {
        "a.py": ("verified", "trn1"),
        "new/b.py": ("verified", "trn3"),
        "own/c.py": ("verified", "trn2"),
    }
    assert found["a.py"][2] == "a(x: bfloat16[128, 48])"
    status, found, err = checked(capsys, "vendor/d.py", "a.py", "--target", "trn2")
    assert (status, found["a.py"][1], len(found)) == (0, "trn2", 1)
    assert err == ["tilelint: note: vendor/d.py is left out: pyproject.toml:3"]
    status, found, _ = checked(capsys, "--isolated", ".")
    assert {answer[0] for answer in found.values()} == {"conditional"}
    assert len(found) == 4


def test_presets(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel(root, "copy.py")
    tree(
        root,
        tilelint="""\
[presets.small]
copy = "(x: bf16[128, 48])"
[presets.large]
copy = "(x: bf16[129, 48])"
[presets.huge]
copy = ["(x: bf16[130, 48])", "(x: bf16[96, 48])"]
""",
    )
    status, out, err = tilelint(capsys, "check", "--format", "json")
    document = json.loads(out)
    assert (status, err) == (1, [])
    assert [(k["preset"], k["status"]) for k in document["kernels"]] == [
        ("small", "verified"),
        ("large", "violated"),
        ("huge", "violated"),
        ("huge", "verified"),
    ] or sorted((k["preset"], k["status"]) for k in document["kernels"]) == [
        ("huge", "verified"),
        ("huge", "violated"),
        ("large", "violated"),
        ("small", "verified"),
    ]
    assert {tuple(d["presets"]) for d in document["diagnostics"]} == {("huge", "large")}
    assert "(preset huge, large)" in tilelint(capsys, "check", "--format", "concise")[1]
    text = tilelint(capsys, "check")[1]
    assert "with preset huge, large" in text
    assert "in copy with preset huge, large::" in tilelint(capsys, "check", "--format", "github")[
        1
    ].replace("%2C", ",")
    assert "preset small: copy(x: bfloat16[128, 48])" in text
    # a contract that is asked for stands alone
    status, found, _ = checked(capsys, "--contract", "copy(x: bf16[100, 48])")
    assert {answer[2] for answer in found.values()} == {"copy(x: bfloat16[100, 48])"}
    assert status == 0


def test_severities(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel(root, "copy.py")

    def outcome(severity: str, *arguments: str) -> tuple[int, set[str], set[str]]:
        tree(root, tilelint=f'severity.all = "{severity}"\n')
        status, out, _ = tilelint(capsys, "check", "--format", "json", *arguments)
        document = json.loads(out)
        return (
            status,
            {d["severity"] for d in document["diagnostics"]},
            {k["status"] for k in document["kernels"]},
        )

    assert outcome("error") == (1, {"error"}, {"conditional"})
    assert outcome("warning") == (0, {"warning"}, {"conditional"})
    assert outcome("warning", "--strict") == (1, {"warning"}, {"conditional"})
    assert outcome("note", "--strict") == (0, {"note"}, {"conditional"})


def test_strict_and_jobs_are_those_of_the_whole_run(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel(root, "src/copy.py")
    tree(root, tilelint='strict = true\njobs = 1\nseverity.all = "warning"\n')
    assert checked(capsys, ".")[0] == 1
    assert checked(capsys, "--no-strict", ".")[0] == 0
    tree(root, src__tilelint='severity.all = "warning"\n')
    assert checked(capsys, ".")[0] == 1
    assert checked(capsys, "src")[0] == 0


def test_a_broken_configuration_stops_the_run(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("a.py", "one/b.py", "two/c.py"):
        kernel(root, path)
    tree(root, one__tilelint="job = 1\n", two__pyproject='[tool.tilelint]\nselect = ["nah"]\n')
    assert checked(capsys, ".") == (
        2,
        {},
        [
            "tilelint: error: one/tilelint.toml:1: unknown key 'job'; did you mean 'jobs'?",
            "tilelint: error: two/pyproject.toml:2: unknown rule 'nah' in 'select'",
        ],
    )
    assert checked(capsys, "--isolated", "--contract", "a(x: bf16[1, 48])", "a.py")[0] == 0
    status, _, err = checked(capsys, "--isolated", "--config", "x.toml")
    assert (status, err) == (2, ["tilelint: error: --config and --isolated exclude each other"])


def test_contracts_without_a_kernel(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel(root, "src/copy.py")
    kernel(root, "other/move.py")
    tree(
        root,
        tilelint="""\
[contracts]
copy = "(x: bf16[64, 48])"
move = "(x: bf16[64, 48])"
copyy = "(x: bf16[64, 48])"
[presets.decode]
move = "(z: bf16[64, 48])"
"*/move.py::move" = "(x: bf16[32, 48])"
"old/::move" = [
    "(x: bf16[32, 48])",
    "(x: bf16[16, 48])",
]
[[overrides]]
paths = ["src/"]
contracts.move = "(x: bf16[16, 48])"
""",
    )
    status, found, err = checked(capsys, ".")
    assert status == 2
    assert found["src/copy.py"][0] == "verified"  # nothing else is lost
    assert sorted(err) == [
        "tilelint: error: tilelint.toml:14: contract for 'move': no such kernel in the files that "
        "it is for",
        "tilelint: error: tilelint.toml:4: contract for 'copyy': no such kernel in the files that "
        "it is for; did you mean 'copy'?",
        "tilelint: error: tilelint.toml:6: contract `move(z: bfloat16[64, 48])`: `move` has no "
        "parameter `z`",
        "tilelint: error: tilelint.toml:8: contract for 'move': no such kernel in the files that "
        "match 'old/'",
    ]
    # a part of the files cannot show that a kernel does not exist
    assert checked(capsys, "src")[0] == 0
    assert checked(capsys, "src/copy.py")[0] == 0
    assert checked(capsys, "src", "--contract", "move(x: bf16)")[2] == [
        "tilelint: error: contract for 'move': no such kernel in the files checked"
    ]


def test_a_file_that_nobody_knows(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree(root, tilelint="")
    missing = ["tilelint: error: nowhere.py: no such file or directory"]
    assert tilelint(capsys, "config", "show", "nowhere.py") == (2, "", missing)
    kernel(root, "there.py")
    assert tilelint(capsys, "config", "show", "there.py")[0] == 0


def test_contracts_of_nested_configurations(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A contract is for no file that a nearer configuration holds for."""
    for name in ("src/bands.py", "src/inner/bands.py", "src/inner/rows.py"):
        kernel(root, name)
    outer = """\
contracts."src/*.py::bands" = "(x: bf16[64, 48])"
presets.decode."src/**/*.py::bands" = "(x: bf16[32, 48])"
"""
    inner = 'presets.prefill."*.py::rows" = "(x: bf16[16, 48])"\n'
    tree(root, tilelint=outer, src__inner__tilelint=inner)
    status, found, err = checked(capsys, ".")
    assert (status, err) == (0, [])
    rows, bands = "src/inner/rows.py prefill", "src/inner/bands.py"
    assert set(found) == {"src/bands.py", "src/bands.py decode", bands, rows}
    # `bands` is still there, but under the other configuration
    tree(root, tilelint=outer, src__tilelint="", src__inner__tilelint=inner)
    status, found, err = checked(capsys, ".")
    assert status == 2 and set(found) == {"src/bands.py", bands, rows}
    assert sorted(err) == [
        "tilelint: error: tilelint.toml:1: contract for 'bands': no such kernel in the files that "
        "match 'src/*.py'",
        "tilelint: error: tilelint.toml:2: contract for 'bands': no such kernel in the files that "
        "match 'src/**/*.py'",
    ]


def test_comments_add_to_the_configuration(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comment = "# tilelint: contract (x: bf16[32, 48])\n@nki.jit"
    (root / "copy.py").write_text(KERNEL.format(name="copy").replace("@nki.jit", comment))
    tree(root, tilelint='contracts.copy = "(x: bf16[64, 48])"\n')
    out = tilelint(capsys, "check", "--format", "json")[1]
    assert {k["contract"] for k in json.loads(out)["kernels"]} == {
        "(x: bfloat16[32, 48])",
        "copy(x: bfloat16[64, 48])",
    }


def test_without_configuration_no_toml_is_read(root: Path) -> None:
    (root / "pyproject.toml").write_text("[project]\nname = 'broken\n")
    program = (
        "import sys; from verifier.cli.main import main; status = main(['check', '.']);"
        "print(status, sorted({'tomllib', 'tomli', 'pathspec', 'verifier.rulebase',"
        " 'verifier.configuration.table'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        env={"PYTHONPATH": str(ROOT), "TILELINT_CACHE_DIR": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 []"
