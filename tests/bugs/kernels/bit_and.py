"""A test of one bit where a test of divisibility is meant."""

from neuronxcc import nki
import neuronxcc.nki.language as nl


@nki.jit
def strips(hidden):
    tokens, features = hidden.shape
    assert tokens <= 128 and features <= 2048
    assert features & 64 == 0
    y = nl.ndarray((tokens, features), dtype=hidden.dtype, buffer=nl.shared_hbm)
    for f in nl.affine_range(features // 64):
        t = nl.load(hidden[:, f * 64 : (f + 1) * 64])
        nl.store(y[:, f * 64 : (f + 1) * 64], value=nl.square(t))
    return y
