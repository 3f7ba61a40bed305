"""Stores that are opened in the same moment, in a folder that is new."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from verifier.cache.store import Store


def test_each_can_use_the_folder(tmp_path: Path) -> None:
    for number in range(25):
        barrier = Barrier(8)

        def use(name: int, folder: Path = tmp_path / str(number), gate: Barrier = barrier) -> str:
            gate.wait()
            store = Store(folder)
            with store.together():
                store.put(f"key {name}", b"value")
            found = store.get(f"key {name}")
            store.close()
            return store.trouble or ("" if found == b"value" else "it is lost")

        with ThreadPoolExecutor(8) as several:
            assert [*several.map(use, range(8))] == [""] * 8
