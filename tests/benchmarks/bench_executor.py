"""How fast the executor is: a tiled matrix product against plain NumPy doing the same products.

Run as a script; it prints the medians and their ratio, and that of the best rounds:
the products use all cores, so what else runs on the machine shows in both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

TK, TM, TN = 128, 128, 512


@nki.jit
def tiled(a_t, b):
    K, M = a_t.shape
    _, N = b.shape
    c = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(M // TM):
        for n in range(N // TN):
            acc = nl.ndarray((TM, TN), dtype=nl.float32, buffer=nl.psum)
            for k in range(K // TK):
                x = nl.ndarray((TK, TM), dtype=nl.float32, buffer=nl.sbuf)
                y = nl.ndarray((TK, TN), dtype=nl.float32, buffer=nl.sbuf)
                nisa.dma_copy(dst=x, src=a_t[k * TK : (k + 1) * TK, m * TM : (m + 1) * TM])
                nisa.dma_copy(dst=y, src=b[k * TK : (k + 1) * TK, n * TN : (n + 1) * TN])
                nisa.nc_matmul(dst=acc, stationary=x, moving=y)
            out = nl.ndarray((TM, TN), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=out, src=acc)
            nisa.dma_copy(dst=c[m * TM : (m + 1) * TM, n * TN : (n + 1) * TN], src=out)
    return c
"""


def plain(a_t: Any, b: Any) -> Any:
    """The same tile products in the same order."""
    (k_size, m_size), n_size = a_t.shape, b.shape[1]
    c = np.empty((m_size, n_size), np.float32)
    for m in range(0, m_size, 128):
        for n in range(0, n_size, 512):
            total = np.zeros((128, 512), np.float32)
            for k in range(0, k_size, 128):
                total += a_t[k : k + 128, m : m + 128].T @ b[k : k + 128, n : n + 512]
            c[m : m + 128, n : n + 512] = total
    return c


def measure(size: int, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of the executor and of plain NumPy, measured in turns."""
    from verifier.executor import simulate

    rng = np.random.default_rng(0)
    a_t = rng.standard_normal((size, size), np.float32)
    b = rng.standard_normal((size, size), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "product.py")
        path.write_text(KERNEL, encoding="utf-8")
        kernel = simulate(f"{path}::tiled")
        np.testing.assert_allclose(kernel(a_t, b), plain(a_t, b), rtol=1e-3, atol=1e-3)
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(rounds):
            ours.append(timed(lambda: kernel(a_t, b)))
            theirs.append(timed(lambda: plain(a_t, b)))
    return ours, theirs


def timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    ours, theirs = measure(options.size, options.rounds)
    size = options.size
    rounds, load = options.rounds, os.getloadavg()[0]
    middle, other = statistics.median(ours), statistics.median(theirs)
    print(f"tiled matmul {size} x {size} x {size} float32, median of {rounds}")
    print(f"  cores       {os.cpu_count()} (load {load:.1f})")
    print(f"  executor    {middle:.3f} s")
    print(f"  plain NumPy {other:.3f} s")
    print(f"  ratio       {middle / other:.2f} (of the best rounds {min(ours) / min(theirs):.2f})")


if __name__ == "__main__":
    main()
