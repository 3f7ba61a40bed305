"""Records of an API, and the device's side of the machine."""

from __future__ import annotations

from tests.python.support import SPAN, machine
from verifier.hardware.memories import Buffer
from verifier.symbolic import expr as E
from verifier.symbolic.python.records import ORIGIN
from verifier.symbolic.python.terms import join
from verifier.symbolic.tensors import DType, Loop, LoopKind
from verifier.symbolic.values import Guarded, RecordType

DIM = RecordType("dim", ("h", "w"))


def flag(name: str) -> E.Bool:
    return E.eq(E.symbol(name, 0, 1), 1)


def test_the_fields_of_a_record() -> None:
    vm = machine()
    ref = vm.record(DIM, ("a", "b"), "how")
    found = vm.contents(ref)
    assert found is not None
    assert found.kind is DIM and found.fields == ("a", "b") and found.origin == "how"
    assert vm.contents(found) is found
    assert vm.contents("no record") is None


def test_a_record_by_path_is_one_with_fields_by_path() -> None:
    vm = machine()
    one, other = vm.record(DIM, (E.const(1), "b"), "how"), vm.record(DIM, (E.const(2), "b"))
    found = vm.contents(join(flag("p"), one, other))
    assert found is not None and found.origin is None and found.fields[1] == "b"
    assert isinstance(found.fields[0], E.Expr)
    for p in (0, 1):
        assert E.evaluate(found.fields[0], {"p": p}) == 2 - p
    assert vm.contents(join(flag("p"), one, "text")) is None
    another = vm.record(RecordType("stride", ("h", "w")), (1, 2))
    assert vm.contents(join(flag("p"), one, another)) is None


def test_all_fields_are_assigned() -> None:
    vm = machine()
    ref = vm.record(DIM, ("a", "b"), "how")
    before = vm.heap.fork()
    assert vm.fill(ref, ("c", "d"))
    found = vm.contents(ref)
    assert found is not None and found.fields == ("c", "d") and found.origin is None
    vm.heap = before
    kept = vm.contents(ref)
    assert kept is not None and kept.fields == ("a", "b") and kept.origin == "how"
    assert not vm.fill("no record", ("c", "d"))


def test_the_record_that_the_path_chooses_is_assigned() -> None:
    vm = machine()
    one, other = (vm.record(DIM, (E.const(k), E.const(k))) for k in (1, 2))
    value = join(flag("p"), one, other)
    assert isinstance(value, Guarded)
    merged = vm.merged(value)
    assert vm.fill(merged, (E.const(7), E.const(8)))
    for ref, old in ((one, 1), (other, 2)):
        found = vm.contents(ref)
        assert found is not None and isinstance(found.fields[0], E.Expr)
        for p in (0, 1):
            mine = p == (ref is one)
            assert E.evaluate(found.fields[0], {"p": p}) == (7 if mine else old)
    assert vm.merged(Guarded(((flag("p"), "a"), (E.not_(flag("p")), "b")))) is not None


def test_what_is_no_record_stays_apart() -> None:
    vm = machine()
    one, other = vm.record(DIM, (1, 2)), vm.record(DIM, (3, 4))
    value = join(flag("p"), join(flag("q"), one, other), None)
    assert isinstance(value, Guarded)
    merged = vm.merged(value)
    assert isinstance(merged, Guarded)
    assert sorted(type(item).__name__ for _, item in merged.cases) == ["NoneType", "RecordValue"]
    assert ORIGIN not in DIM.fields


# ------------------------------------------------------------------------ the device

FP32 = DType(E.const(0))


def test_a_tensor_is_of_its_trip() -> None:
    vm = machine()
    n = E.symbol("n", 1)
    loop = Loop(E.from_atom(vm.loop_symbol("i")), n, LoopKind.RANGE, "i", SPAN)
    with vm.inside(loop), vm.guarded(flag("p")):
        view = vm.allocate("tile", (n, E.const(4)), FP32, Buffer.SBUF, SPAN)
    storage = view.storage
    assert storage.loops == (loop,) and storage.path == (flag("p"),)
    assert view.instance == (loop.index,) and [a.size for a in view.axes] == [n, E.const(4)]
    assert storage.partition_axis == 0
    assert vm.allocate("x", (n,), FP32, Buffer.HBM, SPAN).storage.partition_axis is None
    assert vm.trace.storages[0] is storage


def test_a_body_that_runs_again_makes_the_same_tensors_again() -> None:
    vm = machine()
    mark = vm.mark()
    first = vm.allocate("tile", (E.const(2),), FP32, Buffer.SBUF, SPAN).storage
    vm.back_to(mark)
    again = vm.allocate("tile", (E.const(3),), FP32, Buffer.SBUF, SPAN).storage
    assert again is first and first.shape == (E.const(3),)
    other = vm.allocate("tile", (E.const(2),), FP32, Buffer.SBUF, SPAN).storage
    assert other is not first and vm.trace.storages == [first, other]


def test_quotients_that_the_facts_make_zero() -> None:
    vm = machine()
    n, m = E.symbol("n", 0), E.symbol("m", 1)
    value = n // m + n
    assert vm.without_quotients(value) is value
    vm.narrow(E.lt(n, m))
    assert vm.without_quotients(value) is n
