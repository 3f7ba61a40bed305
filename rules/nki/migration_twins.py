"""Rows of the catalogue about differences between generations, each in a text of the older one.

What breaks a row is reported with it when the text is to fit the later generation, what keeps it is
not; texts are not run.
"""

from __future__ import annotations

from typing import Final

from verifier.rulebase import Twin

_LATEST: Final = "0.6"
_TARGET: Final = "trn2"

_FRAME: Final = """\
import {old}nki as nki
import {old}nki.isa as nisa
import {old}nki.language as nl
{above}

{decorator}
def kernel({parameters}):
    assert x.shape == (96, 640) and x.dtype == nl.float32
    out = nl.ndarray((96, 640), dtype=nl.float32, buffer=nl.shared_hbm)
    t = {load}
    u = nl.ndarray((96, 640), dtype=nl.float32, buffer=nl.sbuf)
    v = nl.ndarray((96, 640), dtype=nl.float32, buffer=nl.sbuf)
{body}
    return out
{below}"""


def _text(
    body: str,
    api: str,
    *,
    above: str = "",
    below: str = "",
    decorator: str = "@nki.jit",
    parameters: str = "x",
) -> str:
    old = api == "beta1"
    lines = body.split("\n")
    load = "nl.load(x)" if old else "nl.ndarray((96, 640), dtype=nl.float32, buffer=nl.sbuf)"
    return _FRAME.format(
        old="neuronxcc." if old else "",
        above=above,
        below=below,
        decorator=decorator,
        parameters=parameters,
        load=load,
        body="\n".join(f"    {line}" for line in lines),
    )


def _body(fact: str, api: str, wrong: str, right: str, to: str = _LATEST, **frame: str) -> Twin:
    """Two kernels that differ in their statements."""
    failing, passing = (_text(body, api, **frame) for body in (wrong, right))
    return Twin(f"NKI-{fact}", failing, passing, api, _TARGET, to)


def _old(fact: str, wrong: str, right: str, to: str = _LATEST) -> Twin:
    return _body(fact, "beta1", wrong, right, to)


_UPTO: Final = "nl.ndarray((96, 640), dtype=nl.float32, buffer=nl.sbuf)"

NAMES: Final = (
    _body("M113", "0.4", "w = x.reshape(new_shape=(640, 96))", "w = x.reshape(shape=(640, 96))"),
    Twin(
        "NKI-M001",
        "import neuronxcc.nki.isa as nisa\n",
        "import nki.isa as nisa\n",
        "0.3",
        _TARGET,
        "0.4",
    ),
    Twin(
        "NKI-M091",
        "from neuronxcc import nki\n",
        "import nki\n",
        "0.3",
        _TARGET,
        "0.4",
    ),
    _old("M005", "i = nl.arange(96)[:, None]", "i = nl.ds(0, 96)"),
    _old("M005", "i, j = nl.mgrid[0:96, 0:640]", "i = nl.ds(0, 96)"),
    _old("M005", "w = nl.load(x[nl.arange(96)[:, None], 0:9])", "w = nl.load(x[0:96, 0:9])"),
    _old(
        "M006",
        "w = nl.ndarray((nl.par_dim(96), 640), dtype=nl.float32)",
        "w = nl.ndarray((96, 640), dtype=nl.float32)",
    ),
    _body(
        "M020",
        "beta1",
        "w = nisa.tensor_tensor(t, t, op=np.add)",
        "w = nisa.tensor_tensor(t, t, op=nl.add)",
        above="import numpy as np",
    ),
    _body(
        "M020",
        "beta1",
        "op = np.add\nw = nisa.tensor_tensor(t, t, op=op)",
        "op = nl.add\nw = nisa.tensor_tensor(t, t, op=op)",
        above="import numpy as np",
    ),
    _body(
        "M020",
        "beta1",
        "w = nl.ndarray((96, 640), dtype=np.float32)",
        "w = nl.ndarray((96, 640), dtype=nl.float32)",
        above="import numpy as np",
    ),
    _old("M021", "least = nl.fp32.min", "least = -3.4028235e38"),
    _old("M022", "run = nki.baremetal(kernel)", "run = nki.jit(kernel)"),
    _old("M023", "place = nki.compiler.sbuf.mod_alloc(base_addr=0)", "place = nl.sbuf"),
    _old("M024", "w = nl.static_cast(t, nl.bfloat16)", "w = nl.copy(t, dtype=nl.bfloat16)"),
    _old("M025", "n = nl.spmd_dim(2, nl.nc(2))", "n = 2"),
    Twin(
        "NKI-M042",
        "from torch_neuronx import nki_jit\n",
        "from torch_neuronx import something\n",
        "beta1",
        _TARGET,
        _LATEST,
    ),
    _body(
        "M083",
        "0.2",
        "for i in nl.affine_range(3):\n    pass",
        "for i in nl.static_range(3):\n    pass",
        "0.3",
    ),
    _body(
        "M093",
        "0.3",
        "most = nl.tile_size.psum_fmax",
        "most = nl.tile_size.psum_bank_fmax",
        "0.4",
    ),
    _body(
        "M093",
        "0.3",
        "most = nl.tile_size.total_available_sbuf_size",
        "most = nl.tile_size.sbuf_fmax_bytes",
        "0.4",
    ),
    _body(
        "M130",
        "0.5",
        "for i in nl.dynamic_range(3):\n    pass",
        "nl.fori_loop(0, 3, step)",
    ),
    _body(
        "M137",
        "0.5",
        "for i in nl.static_range(3):\n    pass",
        "for i in range(3):\n    pass",
    ),
)


def _returned(fact: str, call: str, first: str = "dst") -> Twin:
    """A call that returned its result, and the same call with its destination."""
    name, _, arguments = call.partition("(")
    return _old(fact, f"w = nisa.{call}", f"nisa.{name}({first}=u, {arguments}")


CALLS: Final = (
    # one argument with another name in the same place is no change
    _old("M004", "w = nl.load(x, mask=i < 90)", "w = nl.expand_dims(nl.zeros_like(t), 1)"),
    _returned("M002", "reciprocal(data=t)"),
    _body(
        "M003",
        "0.2",
        "nisa.tensor_copy(dst=u, src=t, dtype=nl.float32)",
        "nisa.tensor_copy(dst=u, src=t)",
    ),
    _old(
        "M003",
        "w = nisa.tensor_copy(t, dtype=nl.bfloat16)",
        "nisa.tensor_copy(dst=u, src=t)",
    ),
    _old("M004", "w = nl.load(x, mask=i < 90)", "w = nl.load(x[0:90])"),
    _old(
        "M007",
        "w = nisa.memset((96, 640), 0.0, nl.float32)",
        "nisa.memset(dst=u, value=0.0)",
    ),
    _old(
        "M008",
        "w = nisa.iota(t, dtype=nl.int32)",
        "nisa.iota(dst=u, pattern=[[1, 640]], offset=0)",
    ),
    _old(
        "M009",
        "w = nisa.affine_select(pred=t > 0, on_true_tile=t, on_false_value=0.0)",
        "nisa.affine_select(dst=u, pattern=[[1, 640]], channel_multiplier=0, on_true_tile=t, "
        "on_false_value=0.0)",
    ),
    _returned("M011", "activation(op=nl.exp, data=t)"),
    _old(
        "M012",
        "w = nisa.activation_reduce(op=nl.exp, data=t, reduce_op=nl.add, reduce_res=v)",
        "nisa.activation_reduce(dst=u, op=nl.exp, data=t, reduce_op=nl.add, reduce_res=v)",
    ),
    _returned("M013", "tensor_tensor(data1=t, data2=t, op=nl.add)"),
    _returned("M014", "tensor_scalar(data=t, op0=nl.add, operand0=1.0)"),
    _returned("M015", "tensor_reduce(op=nl.add, data=t, axis=1)"),
    _returned("M015", "tensor_partition_reduce(op=nl.add, data=t)"),
    _returned("M016", "nc_matmul(stationary=t, moving=t)"),
    _returned("M017", "dropout(data=t, prob=0.5)"),
    _returned("M017", "bn_stats(data=t)"),
    _returned("M019", "dma_transpose(src=t)"),
    Twin(
        "NKI-M028",
        _text("helper(t)", "beta1", above='@nki.jit(mode="trace")\ndef helper(t):\n    pass'),
        _text("helper(t)", "beta1", above="def helper(t):\n    pass"),
        "beta1",
        _TARGET,
        _LATEST,
    ),
    _body(
        "M036",
        "beta1",
        "nl.device_print(prefix='t', x=t)",
        "nl.device_print(print_prefix='t', tensor=t)",
    ),
    _body(
        "M052",
        "0.2",
        "nisa.dma_copy(dst=u, src=x, dst_rmw_op=nl.add)",
        "nisa.dma_copy(dst=u, src=x)",
    ),
    _body(
        "M053",
        "0.2",
        "nisa.dma_compute(out, [t, u], [1.0, 1.0], nl.add)",
        "nisa.dma_compute(out, [t, u], scales=[1.0, 1.0], reduce_op=nl.add)",
    ),
    _body(
        "M056",
        "0.2",
        "nisa.sendrecv(t, u, 1, 1, 0, use_gpsimd_dma=True)",
        "nisa.sendrecv(t, u, 1, 1, 0)",
    ),
    _body(
        "M057",
        "0.2",
        "nisa.affine_select(u, [[1, 640]], 5, 0, t, 0.0)",
        "nisa.affine_select(u, [[1, 640]], offset=5, channel_multiplier=0, on_true_tile=t, "
        "on_false_value=0.0)",
        "0.3",
    ),
    _body(
        "M037",
        "0.2",
        "nisa.nc_matmul(dst=u, stationary=t, moving=t, is_moving_zero=True)",
        "nisa.nc_matmul(dst=u, stationary=t, moving=t, is_moving_onezero=True)",
    ),
    _body(
        "M059",
        "0.2",
        "r = nki.collectives.collective_permute_implicit_current_processing_rank_id(0, t, "
        "num_channels=2)",
        "r = nki.collectives.collective_permute_implicit_current_processing_rank_id(0, t)",
    ),
    _body("M058", "0.2", "nisa.register_move(r, imm=3)", "nisa.register_move(r, 3)"),
    _body(
        "M061",
        "0.2",
        "nisa.dma_copy(dst=u, src=x, dge_mode=1)",
        "nisa.dma_copy(dst=u, src=x, dge_mode=nisa.dge_mode.swdge)",
    ),
    _body(
        "M062",
        "0.2",
        "w = nl.ndarray((96, 640), dtype=nl.float32, buffer='sbuf')",
        f"w = {_UPTO}",
    ),
    Twin(
        "NKI-M067",
        _text("pass", "0.2", decorator='@nki.jit(platform_target="trn2")'),
        _text("pass", "0.2"),
        "0.2",
        _TARGET,
        _LATEST,
    ),
    Twin(
        "NKI-M068",
        _text("pass", "0.3", decorator='@nki.jit(mode="jax")'),
        _text("pass", "0.3"),
        "0.3",
        _TARGET,
        _LATEST,
    ),
    Twin(
        "NKI-M068",
        _text("pass", "0.3", decorator='@nki.jit(mode="trace")'),
        _text("pass", "0.3"),
        "0.3",
        _TARGET,
        _LATEST,
    ),
    Twin(
        "NKI-M101",
        _text("pass", "0.3", decorator='@nki.jit(mode="auto")'),
        _text("pass", "0.3"),
        "0.3",
        _TARGET,
        _LATEST,
    ),
    _body(
        "M072",
        "0.2",
        "nisa.nc_matmul(u, t, t, False, False, False, (0, 0))",
        "nisa.nc_matmul(u, t, t, tile_position=(0, 0))",
    ),
    _body(
        "M074",
        "0.2",
        "nisa.dma_copy(u, x, None, nisa.oob_mode.skip)",
        "nisa.dma_copy(u, x, oob_mode=nisa.oob_mode.skip)",
        "0.3",
    ),
    _body(
        "M076",
        "0.2",
        "c = nl.shared_constant(t, dtype=nl.float32)",
        "c = nl.shared_constant(t)",
    ),
    _body(
        "M094",
        "0.3",
        "nisa.dma_copy(u, x, nisa.oob_mode.skip)",
        "nisa.dma_copy(u, x, oob_mode=nisa.oob_mode.skip)",
    ),
    # what only a later generation can have meant is no change
    _body(
        "M094",
        "0.3",
        "nisa.dma_copy(u, x, nisa.oob_mode.skip, nisa.dge_mode.none)",
        "nisa.dma_copy(u, x, 1, nisa.oob_mode.skip)",
    ),
    _body(
        "M094",
        "0.3",
        "nisa.dma_transpose(u, x, (1, 0), nisa.dge_mode.none)",
        "nisa.dma_transpose(u, x, (1, 0), dge_mode=nisa.dge_mode.none)",
    ),
)


def _turned(memory: str, engine: str, turn: str = "nisa.nc_transpose") -> str:
    """A block that an engine is asked to transpose into a memory."""
    return (
        f"w = nl.ndarray((32, 32), dtype=nl.float32, buffer=nl.{memory})\n"
        f"{turn}(dst=w, data=t[0:32, 0:32], engine=nisa.engine.{engine})"
    )


MEANINGS: Final = (
    _old(
        "M010",
        "nisa.nc_stream_shuffle(t, u, [0])",
        "nisa.nc_stream_shuffle(src=t, dst=u, shuffle_mask=[0])",
    ),
    # whatever the function is called, and wherever its arguments come from
    *(
        _old("M010", f"{before}{wrong}", f"{before}{right}")
        for before, wrong, right in (
            ("f = nisa.nc_stream_shuffle\n", "f(t, u, [0])", "f(src=t, dst=u, shuffle_mask=[0])"),
            (
                "both = (t, u)\n",
                "nisa.nc_stream_shuffle(*both, [0])",
                "nisa.memset(*((9, 8), 0.0))",
            ),
            (
                "def moved(f, *given):\n    f(*given)\n",
                "moved(nisa.nc_stream_shuffle, t, u, [0])",
                "moved(nisa.dma_copy)",
            ),
            (
                "by_name = {'move': nisa.nc_stream_shuffle}\n",
                "by_name['move'](t, u, [0])",
                "by_name['move'](dst=u, src=t, shuffle_mask=[0])",
            ),
        )
    ),
    _body(
        "M010",
        "beta1",
        "partial(nisa.nc_stream_shuffle, t)(u, [0])",
        "partial(nisa.nc_stream_shuffle, src=t)(dst=u, shuffle_mask=[0])",
        above="from functools import partial",
    ),
    _old(
        "M031",
        "nisa.dma_copy(dst=u, src=x, dge_mode=3)",
        "nisa.dma_copy(dst=u, src=x, dge_mode=1)",
        "0.2",
    ),
    _old(
        "M031",
        "options = {'dge_mode': 3}\nnisa.dma_copy(dst=u, src=x, **options)",
        "options = {'dge_mode': 1}\nnisa.dma_copy(dst=u, src=x, **options)",
        "0.2",
    ),
    _body(
        "M055",
        "0.2",
        "w = nl.ndarray((96, 8, 80), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=w, src=x.reshape((96, 8, 80)))\n"
        "s = nl.ndarray((96, 8), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.tensor_reduce(dst=s, op=nl.add, data=w, axis=1)",
        "w = nl.ndarray((96, 640), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(dst=w, src=x)\n"
        "s = nl.ndarray((96, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
        "nisa.tensor_reduce(dst=s, op=nl.add, data=w, axis=1)",
        "0.3",
    ),
    _body(
        "M055",
        "0.2",
        "w = t.reshape((96, 8, 80))\nfold, axis = nisa.tensor_reduce, 1\n"
        "s = nl.ndarray((96, 8), dtype=nl.float32, buffer=nl.sbuf)\nfold(s, nl.add, w, axis)",
        "w = t.reshape((96, 8, 80))\nfold, axis = nisa.tensor_reduce, 2\n"
        "s = nl.ndarray((96, 8), dtype=nl.float32, buffer=nl.sbuf)\nfold(s, nl.add, w, axis)",
        "0.3",
    ),
    _old(
        "M033",
        "w = nisa.range_select(on_true_tile=t, comp_op0=nl.less, comp_op1=nl.less, bound0=u, "
        "bound1=u)",
        "nisa.range_select(dst=v, on_true_tile=t, comp_op0=nl.less, comp_op1=nl.less, bound0=u, "
        "bound1=u, reduce_cmd=nisa.reduce_cmd.idle)",
    ),
    _body("M071", "0.2", "n = nl.num_programs()", "n = nl.num_programs(axes=0)"),
    _body(
        "M075",
        "0.2",
        "w = nl.equal(t, u)",
        "w = nl.equal(t, u, dtype=nl.bool_)",
    ),
    # the engine that is asked for runs it anyhow, if the memories say so
    *(
        _body("M098", api, _turned("psum", engine), _turned("sbuf", "vector"), to)
        for api, engine, to in (("0.2", "vector", "0.4"), ("0.3", "vector", _LATEST))
    ),
    _body("M098", "0.3", _turned("sbuf", "tensor"), _turned("psum", "tensor")),
    _body(
        "M098",
        "0.3",
        "turn = nisa.nc_transpose\n" + _turned("psum", "vector", "turn"),
        "turn = nisa.nc_transpose\n" + _turned("sbuf", "vector", "turn"),
    ),
)

_BELOW: Final = "\n\ndef run(x):\n    return {}\n"

_SUM: Final = """\
w = nl.{}((96, 320), dtype=nl.float32, buffer=nl.psum)
for i in nl.affine_range(2):
    w += nisa.nc_matmul(t[:, 0:96], t[:, 0:320])"""

PYTHON: Final = (
    _old(
        "M023",
        "for i in nl.sequential_range(3, directives=nki.compiler.no_reorder()):\n    pass",
        "for i in nl.sequential_range(3):\n    pass",
    ),
    _old("M039", "w = t.astype(nl.bfloat16)", "w = nl.copy(t, dtype=nl.bfloat16)"),
    _body(
        "M027",
        "beta1",
        "assert k.shape == (96, 1) and k.dtype == nl.int32\ni = nl.load(k)\n"
        "w = nl.load(x[i[:, 0], 0:640])",
        "w = nl.load(x[0:96, 0:640])",
        parameters="x, k",
    ),
    _old(
        "M029",
        "w = nl.load(x[0:96, 0:64][0:90, :])",
        "w = nl.load(x[0:90, 0:64])",
        "0.3",
    ),
    _old("M136", _SUM.format("zeros"), _SUM.format("ndarray")),
    _body(
        "M054",
        "0.2",
        "w = nl.ndarray((96, 8), dtype=nl.int32, buffer=nl.sbuf)\nnisa.memset(w, 3.0)",
        "w = nl.ndarray((96, 8), dtype=nl.int32, buffer=nl.sbuf)\nnisa.memset(w, 3)",
    ),
    _body(
        "M054",
        "0.2",
        "w = nl.ndarray((96, 8), dtype=nl.int32, buffer=nl.sbuf)\nfill, n = nisa.memset, 3.0\n"
        "fill(w, n)",
        "w = nl.ndarray((96, 8), dtype=nl.int32, buffer=nl.sbuf)\nfill, n = nisa.memset, 3\n"
        "fill(w, n)",
    ),
    _body(
        "M060",
        "0.2",
        "def made(where):\n    return nl.ndarray((96, 640), nl.float32, where)\n"
        "w = made(nl.hbm)\nnisa.dma_copy(dst=w, src=x)\nreturn w",
        "def made(where):\n    return nl.ndarray((96, 640), nl.float32, where)\n"
        "w = made(nl.shared_hbm)\nv = made(nl.hbm)\nnisa.dma_copy(dst=w, src=x)\nreturn w",
    ),
    _body(
        "M060",
        "0.2",
        "w = nl.ndarray((96, 640), dtype=nl.float32, buffer=nl.hbm)\n"
        "nisa.dma_copy(dst=w, src=x)\nreturn w",
        "w = nl.ndarray((96, 640), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "nisa.dma_copy(dst=w, src=x)\nreturn w",
    ),
    _old(
        "M050",
        "w = nisa.nc_transpose(t[0:96, 0:64])\nnl.store(out[0:64, 0:96], w)",
        "w = nisa.nc_transpose(t[0:96, 0:64])\nnl.store(out[0:64, 0:96], nl.copy(w))",
    ),
    _old("M039", "w = t.broadcast_to((96, 640))", "w = nl.broadcast_to(t, (96, 640))"),
    _old("L55", "w = t + t", "w = nl.add(t, t)"),
    _old("X33", "u[...] = t", "nisa.tensor_copy(dst=u, src=t)"),
    _body("M030", "0.2", "sizes = {0: 96}", "sizes = {'rows': nl.tile_size.pmax}"),
    Twin(
        "NKI-M040",
        _text(
            "pass",
            "beta1",
            above="import neuronxcc.nki.typing as nt",
            parameters="x: nt.mutable_tensor",
        ),
        _text(
            "pass", "beta1", above="import neuronxcc.nki.typing as nt", parameters="x: nt.tensor"
        ),
        "beta1",
        _TARGET,
        _LATEST,
    ),
    Twin(
        "NKI-M041",
        _text("pass", "beta1", below=_BELOW.format("kernel[2, 3](x)")),
        _text("pass", "beta1", below=_BELOW.format("kernel(x)")),
        "beta1",
        _TARGET,
        _LATEST,
    ),
    Twin(
        "NKI-M120",
        _text("pass", "0.4", below=_BELOW.format("kernel[2](x)")),
        _text("pass", "0.4", below=_BELOW.format("kernel(x)")),
        "0.4",
        _TARGET,
        _LATEST,
    ),
    Twin(
        "NKI-M064",
        _text("pass", "0.2", parameters="x, *, n"),
        _text("pass", "0.2", parameters="x, n"),
        "0.2",
        _TARGET,
        _LATEST,
    ),
    _body("M065", "0.2", "nl.ds(0, 3) is x", "nl.ds(0, 3) == x"),
    Twin(
        "NKI-M066",
        _text("pass", "0.2", below=_BELOW.format("kernel([x, 3])")),
        _text("pass", "0.2", below=_BELOW.format("kernel((x, 3))")),
        "0.2",
        _TARGET,
        _LATEST,
    ),
    _body(
        "M097",
        "0.3",
        "for i in nl.dynamic_range(3):\n    i = 2",
        "for i in nl.dynamic_range(3):\n    j = 2",
    ),
    _body(
        "M131",
        "0.5",
        "r = nisa.register_alloc(3)\nwhile r:\n    pass",
        "r = nisa.register_alloc(3)\nwhile False:\n    pass",
    ),
    _body(
        "M131",
        "0.5",
        "def counted(n):\n    while n:\n        nisa.register_move(n, 0)\n"
        "make = nisa.register_alloc\ncounted(make(3))",
        "def counted(n):\n    while n:\n        n -= 1\ncounted(3)",
    ),
    _body(
        "M131",
        "0.5",
        "rs = [nisa.register_alloc(3)]\nwhile rs[0]:\n    nisa.register_move(rs[0], 0)",
        "rs = [nisa.register_alloc(3)]\nwhile len(rs) > 1:\n    rs.pop()",
    ),
)
