"""Beta 1: results of instructions within expressions, on shared lines, in branches never taken."""

import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl

FIRST = np.exp


def both(a, op=nl.tanh):
    activation_out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.activation(dst=activation_out, op=nl.exp, data=a)
    tensor_copy_out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=tensor_copy_out, src=a)
    activation_out2 = nl.ndarray(tensor_copy_out.shape, dtype=tensor_copy_out.dtype, buffer=nl.sbuf)
    nisa.activation(dst=activation_out2, op=op, data=tensor_copy_out)
    return activation_out, activation_out2


@nki.jit
def chained(x, fast=True):
    assert x.shape == (96, 200) and x.dtype == nl.float32
    out = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x)
    tensor_scalar_out = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(  # half of it
            dst=tensor_scalar_out, data=t,
            op0=nl.multiply,
            operand0=0.5,
        )
    memset_out = nl.ndarray((96, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=memset_out, value=0.25)
    r = nl.ndarray(tensor_scalar_out.shape, dtype=tensor_scalar_out.dtype, buffer=nl.sbuf)
    nisa.activation(
        dst=r, op=nl.exp,
        data=tensor_scalar_out,
        bias=memset_out,
    )
    def function(a):
        tensor_scalar_out2 = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=tensor_scalar_out2, data=a, op0=nl.multiply, operand0=0.5)
        return tensor_scalar_out2
    half = function
    one, other = both(half(r))
    if fast:
        other_new = nl.ndarray(other.shape, dtype=other.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=other_new, src=other)
        other = other_new
    a = nl.ndarray(one.shape, dtype=one.dtype, buffer=nl.sbuf)
    nisa.reciprocal(dst=a, data=one)
    tensor_tensor_out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=tensor_tensor_out, data1=a, data2=other, op=nl.add)
    b = nl.negative(tensor_tensor_out)
    if x.shape[0] > 96:
        nc_transpose_out = nl.ndarray((t[:, 0:96].shape[1], t[:, 0:96].shape[0]), dtype=t.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=nc_transpose_out, data=t[:, 0:96])
        b = nl.ndarray(nc_transpose_out.shape, dtype=nc_transpose_out.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=b, src=nc_transpose_out)
    made = []
    for part in (a, b):
        tensor_scalar_out3 = nl.ndarray(part.shape, dtype=part.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=tensor_scalar_out3, data=part, op0=nl.add, operand0=1.0)
        made.append(tensor_scalar_out3)
    parts = made
    if fast:
        tensor_tensor_out2 = nl.ndarray(parts[0].shape, dtype=parts[0].dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=tensor_tensor_out2, data1=parts[0], data2=parts[1], op=nl.add)
        chosen = tensor_tensor_out2
    else:
        reciprocal_out = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.sbuf)
        nisa.reciprocal(dst=reciprocal_out, data=t)
        chosen = reciprocal_out
    nisa.tensor_tensor(dst=r, data1=r, data2=chosen, op=nl.add)
    value_out = nl.multiply(r, 0.5)
    activation_out3 = nl.ndarray(value_out.shape, dtype=value_out.dtype, buffer=nl.sbuf)
    nisa.activation(dst=activation_out3, op=nl.tanh, data=value_out)
    nl.store(out, nl.copy(activation_out3, dtype=nl.float32))
    return out


@nki.jit
def moved(x):
    assert x.shape == (96, 200) and x.dtype == nl.float32
    out = nl.ndarray((96, 200), dtype=nl.float32, buffer=nl.shared_hbm)
    ops = {"first": nl.tanh, "second": nl.exp}
    load_out = nl.load(x[0:96, 0:200])
    activation_out4 = nl.ndarray(load_out.shape, dtype=load_out.dtype, buffer=nl.sbuf)
    nisa.activation(dst=activation_out4, op=ops["first"], data=load_out)
    nl.store(out[0:96, 0:200], activation_out4)
    return out
