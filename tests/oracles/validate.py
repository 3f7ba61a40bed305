"""CPython's own answer: a kernel is run with tiles that only know their shape.

This is a process of its own (``python -m tests.oracles.validate``): texts as a JSON list on the
standard input, whether each probe holds as a list on the standard output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from collections.abc import Sequence
from pathlib import Path

from tests.oracles.isolated import Isolated
from tests.oracles.kernels import GOOD

#: seconds for one kernel
_SECONDS = 2.0


class _Tile:
    """A tensor without elements."""

    def __init__(self, shape: tuple[int, ...], dtype: object) -> None:
        self.shape = shape
        self.dtype = dtype

    def __getitem__(self, _key: object) -> _Tile:
        return self


def _stubs() -> tuple[dict[str, types.ModuleType], list[int]]:
    """The modules that the kernels import, and the partitions of their tiles in SBUF."""
    nki, isa, language = (types.ModuleType(name) for name in ("nki", "nki.isa", "nki.language"))
    partitions: list[int] = []

    def ndarray(shape: tuple[int, ...], dtype: object, buffer: str) -> _Tile:
        if buffer == "sbuf":
            partitions.append(shape[0])
        return _Tile(shape, dtype)

    vars(nki).update(jit=lambda function: function, isa=isa, language=language)
    vars(isa).update(dma_copy=lambda dst, src: None)
    vars(language).update(ndarray=ndarray, float32="float32", sbuf="sbuf", shared_hbm="shared_hbm")
    return {"nki": nki, "nki.isa": isa, "nki.language": language}, partitions


def holds(text: str) -> bool:
    """Whether the probe is reached and holds when CPython runs the kernel."""
    stubs, partitions = _stubs()
    sys.modules.update(stubs)
    module = types.ModuleType("kernel")
    module.__file__ = "kernel.py"
    sys.modules["kernel"] = module
    try:
        exec(compile(text, "kernel.py", "exec"), vars(module))
        vars(module)["kernel"](_Tile((128, 8), "float32"))
    except BaseException:
        return False
    return partitions == [GOOD]


def all_hold(texts: Sequence[str], jobs: int = 1) -> list[bool]:
    """Whether each probe holds, asked in a fresh interpreter; what hangs or crashes does not."""
    command = [sys.executable, "-m", "tests.oracles.validate", str(jobs)]
    root = Path(__file__).resolve().parent.parent.parent
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(root)}
    answer = subprocess.run(
        command,
        input=json.dumps(list(texts)),
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
        env=environment,
    )
    return [bool(value) for value in json.loads(answer.stdout)]


def main() -> None:
    """Read texts, run each in a child process, write what came of them."""
    texts: list[str] = json.load(sys.stdin)
    runner = Isolated(holds, int(sys.argv[1]), _SECONDS)
    results = runner.run([[text] for text in texts])
    json.dump([result == [True] for result in results], sys.stdout)


if __name__ == "__main__":
    main()
