from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from verifier.cli.main import main

FOUR = ["layout", "--chip", "bm1684", "--npus", "4"]
FIGURE = [*FOUR, "--shape", "2,3,4,5", "--dtype", "fp32"]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """As wide as what is written to a file."""
    monkeypatch.setenv("COLUMNS", "100")


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*FIGURE, "--layout", "aligned", "--start-npu", "2"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[0] == "aligned float32[2, 3, 4, 5] in 4 NPUs of bm1684, from NPU 2"
    assert "strides           64, 32, 5, 1" in out
    assert "channels per NPU  2" in out
    assert "bytes per NPU     512 of 524288" in out
    assert "1568 of 2048 bytes in 4 NPUs (76.6 %): 288 padding, 1280 unused" in out
    assert "0,2,0,0" in out
    assert len(out.splitlines()) < 70


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, *FIGURE, "--start-npu", "2")
    expected = {
        "layout": "aligned",
        "strides": [64, 32, 5, 1],
        "free_strides": [],
        "channels_per_npu": 2,
        "bytes_per_npu": 512,
        "start_npu": 2,
        "offset": 0,
        "npus": 4,
    }
    assert {key: found[key] for key in expected} == expected
    assert found["elements"][40] == {"index": [0, 2, 0, 0], "npu": 0, "byte": 128}
    assert found["waste"] == {
        "bytes": 1568,
        "allocated": 2048,
        "percent": 76.6,
        "padding": 288,
        "unused": 1280,
    }
    lines = found["picture"]["lines"]
    assert lines[0] == {"byte": 0, "blocks": ["unused", "unused", "0,0,0,0", "0,1,0,0"]}
    assert {"byte": 80, "bytes": 48, "kind": "padding"} in lines


@pytest.mark.parametrize(
    ("arguments", "strides", "free", "slots", "used"),
    [
        ("--shape 2,3,4,5 --layout compact", [20, 20, 5, 1], ["c"], 1, 160),
        ("--shape 2,3,4,5 --layout compact --start-npu 2", [40, 20, 5, 1], [], 2, 320),
        ("--shape 2,40 --layout matrix --width 15", [32, 32, 15, 1], ["c", "h"], 1, 256),
        ("--shape 2,1,1,40 --layout matrix --width 8", [64, 32, 8, 1], ["h"], 2, 512),
        ("--shape 40 --layout vector --width 10", [32, 32, 10, 1], ["n", "c", "h"], 1, 128),
        ("--shape 6,5,4,5 --layout 4N --dtype int8", [64, 32, 5, 1], [], 2, 512),
        ("--shape 3,5,4,5 --layout 2n --dtype uint16", [64, 32, 5, 1], [], 2, 512),
        ("--shape 3,2,1,1 --layout 2IC", [1, 1, 1, 1], ["c", "h", "w"], 1, 16),
        ("--shape 2,5,3,4 --strides 120,56,16,2", [120, 56, 16, 2], [], 2, 860),
        (
            "--shape 2,3,1,10 --layout free --strides 120,0,0,2 --start-npu 1",
            [120, 0, 0, 2],
            ["c", "h"],
            1,
            556,
        ),
        ("--shape 2,2,3,2 --layout continuous", [12, 6, 2, 1], [], None, 96),
    ],
)
def test_layouts(
    arguments: str,
    strides: list[int],
    free: list[str],
    slots: int | None,
    used: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(capsys, *FOUR, *arguments.split())
    assert found["strides"] == strides
    assert found["free_strides"] == free
    assert found["channels_per_npu"] == slots
    assert found["bytes_per_npu"] == used


@pytest.mark.parametrize(
    ("chip", "dtype", "layout", "strides", "used"),
    [
        ("bm1684x", "int8", "64ic", [1152, 1152, 192, 64], 1152),
        ("bm1684x", "bf16", "32ic", [864, 864, 96, 32], 1728),
        ("bm1688", "int8", "gic", [864, 864, 96, 32], 2 * 864),
        ("sg2262", "fp8_e4m3", "32ic", [864, 864, 96, 32], 4 * 864),
    ],
)
def test_groups_of_input_channels(
    chip: str,
    dtype: str,
    layout: str,
    strides: list[int],
    used: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["layout", "--chip", chip, "--shape", "65,64,3,3"]
    found = document(capsys, *arguments, "--dtype", dtype, "--layout", layout)
    assert found["strides"] == strides
    assert found["bytes_per_npu"] == used
    assert found["free_strides"][0] == "n"


def test_an_address_is_a_start_and_an_offset(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, *FIGURE, "--address", hex(2 * 524288 + 256))
    assert (found["start_npu"], found["offset"]) == (2, 256)
    assert found["elements"][0] == {"index": [0, 0, 0, 0], "npu": 2, "byte": 256}


def test_suggest(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*FOUR, "--shape", "2,40", "--layout", "matrix", "--suggest"]
    found = document(capsys, *arguments, "--width", "8", "--start-npu", "1")
    assert found["suggestion"] == {
        "width": 10,
        "start_npu": 0,
        "last_start_npu": 0,
        "bytes_per_npu": 256,
        "bytes_per_npu_as_asked": 512,
    }
    assert (found["width"], found["start_npu"], found["bytes_per_npu"]) == (10, 0, 256)
    assert main(arguments) == 0
    assert "suggested         width 10, start NPU 0: 256 bytes" in capsys.readouterr().out


def test_svg_to_a_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*FIGURE, "--format", "svg", "-o", "f.svg"]) == 0
    assert capsys.readouterr() == ("", "")
    root = ET.parse(project / "f.svg").getroot()
    labels = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert {"NPU 3", "0,0,0,0", "1,2,3,4"} <= labels


@pytest.mark.parametrize("form", ["text", "json"])
def test_other_forms_to_a_file(
    form: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FIGURE, "--format", form]) == 0
    printed = capsys.readouterr().out
    assert main([*FIGURE, "--format", form, "--output", "f"]) == 0
    assert (project / "f").read_text(encoding="utf-8") == printed


@pytest.mark.parametrize("columns", [40, 60, 100, 200])
def test_large_tensors_are_no_wall_of_text(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["layout", "--chip", "bm1684", "--shape", "4,512,28,28", "--start-npu", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 70
    assert max(map(len, lines)) <= columns
    assert any("…" in line and "more blocks" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--shape 2,3,4,5 --start-npu 4", "start NPU 4 is beyond the 4 NPUs (0 to 3)"),
        ("--shape 2,3,4,5 --start-npu -1", "start NPU -1 is beyond the 4 NPUs (0 to 3)"),
        ("--shape 2,3,4", "the layout aligned takes 4 sizes (n,c,h,w), not 3: 2,3,4"),
        ("--shape 2,3,4,0", "sizes are at least 1, not 2,3,4,0"),
        ("--shape 2,3,x,5", "--shape is numbers with commas between them, not '2,3,x,5'"),
        (
            "--shape 2000,3,400,5",
            "the tensor exceeds local memory: it takes 16127936 bytes of each NPU, and bm1684 has "
            "524288",
        ),
        (
            "--shape 1,1,1,9 --address 524284 --layout compact",
            "the tensor exceeds local memory: it takes 36 bytes from byte 524284 on of each NPU, "
            "and bm1684 has 524288",
        ),
        (
            "--shape 2,40 --layout matrix --width 41",
            "width 41 is not in 1 to 40, the columns of the matrix",
        ),
        (
            "--shape 2,40 --layout matrix",
            "the layout matrix needs the width of a channel, 1 to 40",
        ),
        (
            "--shape 2,3,4,5 --layout matrix --width 2",
            "as four sizes a matrix is n,1,1,m, not 2,3,4,5",
        ),
        (
            "--shape 2,3,4,5 --width 2",
            "a width is given for a matrix or a vector, not for aligned",
        ),
        (
            "--shape 2,3,4,5 --dtype bf16",
            "no bfloat16: bm1684 has float16, float32, int16, int32, int8, uint16, uint32, uint8",
        ),
        (
            "--shape 2,3,4,5 --dtype fp31",
            "unknown dtype 'fp31': bm1684 has float16, float32, int16, int32, int8, uint16, "
            "uint32, uint8",
        ),
        ("--shape 2,3,4,5 --layout alined", "unknown layout 'alined'; did you mean 'aligned'?"),
        (
            "--shape 2,3,4,5 --layout compact --strides 1,2,3,4",
            "strides are given for the layout free, not for compact",
        ),
        ("--shape 2,3,4,5 --strides 1,2,3", "there are 4 strides, not 3 (1,2,3)"),
        ("--shape 2,3,4,5 --strides=1,2,3,-1", "strides are not negative: 1,2,3,-1"),
        ("--shape 2,3,4,5 --layout free", "the layout free needs strides"),
        (
            "--shape 2,3,4,5 --address 340",
            "address 340 is not a multiple of 128, as aligned demands",
        ),
        ("--shape 2,3,4,5 --address 2097152", "address 2097152 is not in 0 to 2097151"),
        (
            "--shape 2,3,4,5 --address 0 --start-npu 1",
            "address 0 is in NPU 0, not in NPU 1",
        ),
        ("--shape 2,3,4,5 --address here", "--address is a number, not 'here'"),
        ("--shape 2,3,4,5 --layout 4n", "4n is a mode of int8 and uint8, not of float32"),
        (
            "--shape 2,3,4,5 --layout 64ic --dtype int8",
            "bm1684 has no groups for int8 weights: 2ic float32",
        ),
        (
            "--shape 2,3,4,5 --layout continuous --start-npu 0",
            "the layout continuous is in system memory, which has no NPUs",
        ),
        (
            "--shape 2,3,4,5 --layout continuous --suggest",
            "there is nothing to suggest for system memory",
        ),
        ("--shape 2,3,4,5 --npus 65", "--npus 65 is not in 1 to 64, the NPUs of bm1684"),
        ("--shape 2,3,4,5 --output none/f", "cannot write none/f: no such file or directory"),
        ("--shape 2,3,4,5 --chip bm1685", "unknown chip 'bm1685'; did you mean 'bm1688'?"),
        (
            "--shape 2,3,4,5 --chip trn2",
            "trn2 is no TPU: the chips are bm1684, bm1684x, bm1684xe, bm1688, bm1690, sg2260e, "
            "sg2262",
        ),
        (
            "--shape 8,3,4,5 --chip bm1684x --layout 32ic --dtype int8",
            "int8 weights of bm1684x are in groups of 64: 64ic",
        ),
        (
            "--shape 8,3,4,5 --chip bm1684x --dtype int4",
            "elements of int4 are no whole bytes: give the layout of the bytes",
        ),
    ],
)
def test_refusals(
    arguments: str, message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FOUR, *arguments.split()]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"tilelint: error: {message}\n")


def test_chip_and_shape_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "--shape", "1,1,1,1"]) == 2
    assert main(["layout", "--chip", "bm1684"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_starting_loads_nothing_heavy() -> None:
    """Neither LibCST nor Z3 nor NumPy; rich on a terminal only."""
    program = (
        "import sys; from verifier.cli.main import main; "
        "main(['layout', '--chip', 'bm1684', '--shape', '2,3,4,5']); "
        "sys.exit(any(n in sys.modules for n in ('libcst', 'z3', 'numpy', 'rich')))"
    )
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
