"""Names that are values."""

from __future__ import annotations

import pytest

from tests.dialects.fake import SPAN, FakeMachine, dialect, name_of
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import TARGETS
from verifier.symbolic import expr as E
from verifier.symbolic.tensors import DType
from verifier.symbolic.values import ApiRef, BufferValue, Enumerator


@pytest.mark.parametrize(
    ("dotted", "value"),
    [
        ("language.sbuf", BufferValue(Buffer.SBUF)),
        ("language.hbm", BufferValue(Buffer.HBM)),
        ("isa.vector_engine", Enumerator("engine", "vector")),
        ("isa.engine.gpsimd", Enumerator("engine", "gpsimd")),
        ("isa.reduce_cmd.reset_reduce", Enumerator("reduce_cmd", "reset_reduce")),
        ("isa.oob_mode.skip", Enumerator("oob_mode", "skip")),
        ("language.add", ApiRef("language.add")),
        ("isa.nothing_of_the_kind", None),
        ("language.nothing_of_the_kind", None),
    ],
)
def test_attributes(dotted: str, value: object) -> None:
    assert name_of(FakeMachine(), dotted) == value


def test_dtypes() -> None:
    found = name_of(FakeMachine(), "language.bfloat16")
    assert isinstance(found, DType) and found.name == "bfloat16"
    external = dialect.external("numpy.float32")
    assert isinstance(external, DType) and external.name == "float32"
    assert dialect.external("numpy.add") == Enumerator("op", "add")
    assert dialect.external("numpy.max") == Enumerator("op", "maximum")
    assert dialect.external("torch.nn") is None


def test_imported_names() -> None:
    assert dialect.root("neuronxcc.nki.language") == ApiRef("language", "beta1")
    assert dialect.root("nki.isa.constants") == ApiRef("isa")
    assert dialect.root("nki.isa.constants.oob_mode") == ApiRef("isa.oob_mode")
    assert dialect.root("neuronxcc.nki.typing.tensor") == ApiRef("typing.tensor", "beta1")
    assert dialect.root("nki.jit") == ApiRef("jit")
    assert dialect.root("numpy") is None
    neuron = dialect.root("neuronxcc")
    assert isinstance(neuron, ApiRef)
    assert dialect.attribute(FakeMachine(), neuron, "nki", SPAN) == ApiRef("nki", "beta1")


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_sizes_come_from_the_target(target: str) -> None:
    machine = FakeMachine(target=TARGETS[target])
    assert name_of(machine, "language.tile_size.pmax") is E.const(128)
    assert name_of(machine, "language.tile_size.gemm_moving_fmax") is E.const(512)
    usable = name_of(machine, "language.tile_size.sbuf_fmax_bytes")
    assert usable is E.const(TARGETS[target].sbuf_usable_bytes)


def test_versions_are_ordered() -> None:
    assert name_of(FakeMachine(), "isa.nc_version.gen3") is E.const(3)
