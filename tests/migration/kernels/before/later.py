"""0.2: numbers for enumerations, parameters that have another name or another place."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit(mode="auto", platform_target="trn2")
def moved(x, y):
    assert x.shape == (96, 200) and x.dtype == nl.bfloat16
    assert y.shape == (96, 200) and y.dtype == nl.bfloat16
    out = nl.ndarray((96, 200), dtype=x.dtype, buffer="shared_hbm")
    one = nl.ndarray((96, 200), dtype=x.dtype, buffer=nl.sbuf)
    two = nl.ndarray((96, 200), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(one, x, None, nisa.oob_mode.error)
    nisa.dma_copy(dst=two, src=y, dge_mode=0)
    nisa.dma_compute(out, [one, two], [1.0, 1.0], nl.add)
    nisa.tensor_copy(dst=one, src=two, dtype=nl.bfloat16)
    for i in nl.sequential_range(0, 3, 1):
        nisa.tensor_tensor(dst=one, data1=one, data2=two, op=nl.add)
    return out
