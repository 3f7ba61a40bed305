"""Calls that the OKK API does not have, or does not have in this form.

The dialect raises the rule when it binds a call: its predicate is false, so it fails wherever the
call is reached.
"""

from __future__ import annotations

from verifier.dialects.names import OKK
from verifier.rulebase import On, Rule, register

_SCALED = """\
import okk


@okk.kernel
def doubled(n: int, output: okk.SystemAddr, source: okk.SystemAddr):
    assert 1 <= n <= 64
    shape = okk.dim4(n, 48, 3, 10)
    stride = okk.aligned_stride_32bit(0, shape)
    size = n * stride.n * 4
    assert 2 * size <= okk.local_mem_size_per_npu()
    okk.initialize()
    okk.gdma_32bit_cpy_S2L(size, source, shape, None, None)
    okk.bdc_mul_C(0, size, 2.0, shape, None, None)
    okk.gdma_32bit_cpy_L2S(output, 0, shape, None, None)
    okk.poll()
"""

register(
    Rule(
        id="okk-signature",
        code="HOST009",
        family="host",
        summary="a call of the OKK API names a function of it and fits its parameters",
        reason=(
            "The functions take their operands by position, addresses first. A missing stride "
            "pointer, two operands the other way round or a local address in the place of a "
            "system address is another call in C, and no call at all in Python."
        ),
        facts=("OKK-D01", "OKK-D02"),
        on=On.HOST,
        unreached=True,
        dialects=(OKK,),
        sources=("OKKernel header okk.h",),
        failing=_SCALED.replace("2.0, shape, None, None", "2.0, shape, None"),
        passing=_SCALED,
    )
)
