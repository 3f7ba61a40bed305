"""0.2: numbers for enumerations, parameters that have another name or another place."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit  # set NEURON_PLATFORM_TARGET_OVERRIDE=trn2
def moved(x, y):
    assert x.shape == (96, 200) and x.dtype == nl.bfloat16
    assert y.shape == (96, 200) and y.dtype == nl.bfloat16
    out = nl.ndarray((96, 200), dtype=x.dtype, buffer=nl.shared_hbm)
    one = nl.ndarray((96, 200), dtype=x.dtype, buffer=nl.sbuf)
    two = nl.ndarray((96, 200), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(one, x, oob_mode=nisa.oob_mode.error)
    nisa.dma_copy(dst=two, src=y, dge_mode=nisa.dge_mode.unknown)
    nisa.dma_compute(out, [one, two], scales=[1.0, 1.0], reduce_op=nl.add)
    nisa.tensor_copy(dst=one, src=two)
    for i in range(0, 3, 1):
        nisa.tensor_tensor(dst=one, data1=one, data2=two, op=nl.add)
    return out
