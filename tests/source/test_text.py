from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.source.files import MissingPathError
from verifier.source.text import MAX_BYTES, SourceError, decode, may_hold_kernels, read_bytes

PATH = Path("k.py")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", ""),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        (b"x = 1\r\ny = 2\rz = 3\n", "x = 1\ny = 2\nz = 3\n"),
        (b"# -*- coding: latin-1 -*-\ns = '\xe9'\n", "# -*- coding: latin-1 -*-\ns = 'é'\n"),
        ("s = 'é'\n".encode(), "s = 'é'\n"),
    ],
)
def test_decode(raw: bytes, text: str) -> None:
    assert decode(PATH, raw).text == text


@pytest.mark.parametrize(
    ("raw", "line", "words"),
    [
        (b"a = 1\nb = 2\nc = '\xff'\n", 3, "UTF-8"),
        (b"a = '\xff'\n", 1, "UTF-8"),
        (b"# coding: no-such-code\n", 1, "cannot decode"),
        (b"# coding: ascii\nx = 1\ny = '\xe9'\n", 3, "ASCII"),
        (b"# coding: hex\nx = 1\n", 1, "cannot decode"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1, "cannot decode"),
        (b"#" * (MAX_BYTES + 1), 1, "larger than"),
    ],
)
def test_undecodable(raw: bytes, line: int, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        decode(PATH, raw)
    assert caught.value.line == line
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.py", tmp_path, Path("nul\0.py")):
        with pytest.raises(SourceError) as caught:
            read_bytes(path)
        assert caught.value.line == 1


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs file permissions")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret.py"
    path.write_text("x = 1\n")
    path.chmod(0)
    with pytest.raises(SourceError, match="cannot read file"):
        read_bytes(path)


@pytest.mark.parametrize(
    "raw",
    [
        b"import neuronxcc.nki as q\n",
        b"from nki import jit as j\n",
        b"@ppl.jit\ndef f(): pass\n",
        b"import okk\n",
        b"from torch_neuronx import nki_jit\n",
        b"from .compat import jit\n",
        b"import nkilib.core\n",
    ],
)
def test_prefilter_lets_kernels_through(raw: bytes) -> None:
    assert may_hold_kernels(raw)


@pytest.mark.parametrize(
    "raw", [b"", b"def apply(thinking): return linking + jitter\n", b"x = 'tokken'\n"]
)
def test_prefilter_drops_the_rest(raw: bytes) -> None:
    assert not may_hold_kernels(raw)


@given(st.binary(max_size=300))
def test_any_bytes_decode_or_give_an_error_at_a_line(raw: bytes) -> None:
    try:
        text = decode(PATH, raw).text
    except SourceError as error:
        assert 1 <= error.line <= raw.count(b"\n") + raw.count(b"\r") + 1
    else:
        assert "\r" not in text


def test_errors_travel_between_processes() -> None:
    error = SourceError(PATH, 3, 4, "no good")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "k.py:3: no good"
    assert (copy.line, copy.column, copy.message) == (3, 4, "no good")
    missing = pickle.loads(pickle.dumps(MissingPathError(PATH, "no such file")))
    assert isinstance(missing, MissingPathError)
    assert str(missing) == "k.py: no such file"
