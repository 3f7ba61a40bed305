from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import examples
from verifier.configuration.contracts import (
    Absent,
    Alike,
    Anything,
    Binary,
    ChoiceSpec,
    Comparator,
    Comparison,
    Condition,
    Contract,
    DefaultSpec,
    Either,
    Expression,
    Extent,
    Extreme,
    Flag,
    FloatSpec,
    Int,
    IntSpec,
    ItemSize,
    Junction,
    LiteralSpec,
    Name,
    NamedSpec,
    Negate,
    Not,
    ObjectSpec,
    OfDType,
    Parameter,
    Programs,
    RangeSpec,
    SameDType,
    SequenceSpec,
    Spec,
    StringSpec,
    TensorSpec,
)
from verifier.configuration.grammar import ContractError, parse
from verifier.configuration.meanings import DTYPES
from verifier.configuration.showing import condition, text_of
from verifier.engine.contracts import inputs_of
from verifier.hardware import dtypes


def test_signature_with_names_ranges_and_conditions() -> None:
    contract = parse(
        "gemm(lhsT: bf16[K, M], rhs: bfloat16[K, 2*N], tiles: 1..16) where K % 96 == 0, M == 72"
    )
    assert contract == Contract(
        "gemm",
        (),
        (
            Parameter("lhsT", TensorSpec(("bfloat16",), (Name("K"), Name("M")))),
            Parameter(
                "rhs", TensorSpec(("bfloat16",), (Name("K"), Binary("*", Int(2), Name("N"))))
            ),
            Parameter("tiles", RangeSpec(Int(1), Int(16))),
        ),
        (
            Comparison((Binary("%", Name("K"), Int(96)), Int(0)), ("==",)),
            Comparison((Name("M"), Int(72)), ("==",)),
        ),
    )


def test_grid_values_and_trailing_comment() -> None:
    contract = parse(
        "pool[2, 3](x: fp32[C, *, _], size: 2, s: (3, 4), one: (5,), ws: [u8[P], i32], b: None,"
        ' flag: True, mode: "a#b", eps: 1e-5, neg: -7, free: *,) where 1 <= C < 128 and C != 3 # x'
    )
    assert contract.grid == (Int(2), Int(3))
    assert [p.spec for p in contract.parameters] == [
        TensorSpec(("float32",), (Name("C"), Anything(), Anything())),
        IntSpec(Int(2)),
        SequenceSpec("tuple", (IntSpec(Int(3)), IntSpec(Int(4)))),
        SequenceSpec("tuple", (IntSpec(Int(5)),)),
        SequenceSpec("list", (TensorSpec(("uint8",), (Name("P"),)), TensorSpec(("int32",), None))),
        LiteralSpec(None),
        LiteralSpec(True),
        StringSpec("a#b"),
        FloatSpec(1e-5),
        IntSpec(Int(-7)),
        Anything(),
    ]
    ops = [c.ops for c in contract.conditions if isinstance(c, Comparison)]
    assert ops == [("<=", "<"), ("!=",)]


def test_targets_stand_behind_the_inputs() -> None:
    contract = parse("on(on: bf16[on, where]) on TRN3, sg2260, trn3 where on < 9")
    assert contract.targets == ("trn3", "bm1690") and contract.kernel == "on"
    assert text_of(contract) == "on(on: bfloat16[on, where]) on trn3, bm1690 where on < 9"


def test_comment_form_has_no_name() -> None:
    assert parse("(q: fp16[...]) where 2 < 3", comment=True).kernel is None
    assert parse("[4](q: _[S])", comment=True).parameters[0].spec == TensorSpec((), (Name("S"),))
    with pytest.raises(ContractError, match="omit the name"):
        parse("add(q: fp16)", comment=True)


def test_parenthesised_expression_is_not_a_tuple() -> None:
    spec = parse("f(x: (A + 1) * 2)").parameters[0].spec
    assert spec == IntSpec(Binary("*", Binary("+", Name("A"), Int(1)), Int(2)))
    assert parse("f(x: (A))").parameters[0].spec == IntSpec(Name("A"))
    assert parse("f(x: ())").parameters[0].spec == SequenceSpec("tuple", ())


@pytest.mark.parametrize(("spelling", "name"), DTYPES.items())
def test_every_dtype_spelling(spelling: str, name: str) -> None:
    assert name in dtypes.NAMES
    tensor = parse(f"f(x: {spelling}[3])").parameters[0].spec
    assert tensor == TensorSpec((name,), (Int(3),))


def test_values_of_python() -> None:
    contract = parse(
        "f(cfg: lib.Config(128, tile=(1, 2), w=bf16[4, K]), mode: Mode.FAST,"
        " few: {64, None, Mode.A}, x: {fp16, bf16}[K, *], eps=default, scale=2.5, ...)"
    )
    assert contract.defaults
    config, mode, few, x, eps, scale = (p.spec for p in contract.parameters)
    assert config == ObjectSpec(
        ("lib", "Config"),
        (IntSpec(Int(128)),),
        (
            Parameter("tile", SequenceSpec("tuple", (IntSpec(Int(1)), IntSpec(Int(2))))),
            Parameter("w", TensorSpec(("bfloat16",), (Int(4), Name("K")))),
        ),
    )
    assert mode == NamedSpec(("Mode", "FAST"))
    options = (IntSpec(Int(64)), LiteralSpec(None), NamedSpec(("Mode", "A")))
    assert few == ChoiceSpec(options)
    assert x == TensorSpec(("float16", "bfloat16"), (Name("K"), Anything()))
    assert eps == DefaultSpec() and scale == FloatSpec(2.5)
    paths = tuple(path for path, _ in inputs_of(contract))
    assert paths[:5] == ("cfg", "cfg.0", "cfg.tile", "cfg.tile[0]", "cfg.tile[1]")


def test_two_conditions_are_compared() -> None:
    text = "f(x: _[K], w: _[K]) where (x.dtype in (float32, tfloat32)) == (w.dtype == float32)"
    (said,) = parse(text).conditions
    assert said == Alike(OfDType("x", ("float32", "tfloat32")), OfDType("w", ("float32",)))
    assert text_of(parse(text)) == text
    (other,) = parse("f(x: _[K, N]) where (K < 3) != (not N >= 5)").conditions
    assert isinstance(other, Alike) and other.negated
    (sizes,) = parse("f(x: _[K, N]) where (K) == (N)").conditions
    assert isinstance(sizes, Comparison)
    for each in (said, other):
        for whole in (Not(each), Junction("or", (each, other)), Junction("and", (said, each))):
            again = parse(f"f(x: _[K, N], w: _[K]) where ({condition(whole)})").conditions
            assert again in ((whole,), getattr(whole, "parts", ()))


def test_conditions_of_python() -> None:
    contract = parse(
        "f(x: _[K], y: _[...]) where x.dtype in (bf16, nl.float32) and y.dtype == x.dtype,"
        " not (K < 3 or flag), 2*K*x.dtype.itemsize <= (4 if y is None else max(K, 7)),"
        " y.shape[1] == num_programs(0), y.dtype != fp16"
    )
    among, same, neither, sized, programs, other = contract.conditions
    assert among == OfDType("x", ("bfloat16", "float32"))
    assert same == SameDType("y", "x")
    small = Comparison((Name("K"), Int(3)), ("<",))
    assert neither == Not(Junction("or", (small, Flag("flag"))))
    size = Binary("*", Binary("*", Int(2), Name("K")), ItemSize("x"))
    chosen = Either(Absent("y"), Int(4), Extreme("max", (Name("K"), Int(7))))
    assert sized == Comparison((size, chosen), ("<=",))
    assert programs == Comparison((Extent("y", 1), Programs(0)), ("==",))
    assert other == OfDType("y", ("float16",), negated=True)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 0, "expected '(' or a name"),
        ("(x: 3)", 0, "name of a kernel"),
        ("gemm", 4, "expected '(', found the end"),
        ("gemm(x: bf17[K])", 8, "'bf17' is not a dtype; did you mean 'bf16'"),
        ("gemm(x: bf16[K)", 14, "expected ']'"),
        ("gemm(x bf16[K])", 7, "expected ':'"),
        ("gemm(x: bf16[K], x: 2)", 17, "given twice"),
        ("gemm(x: 3) where", 16, "expected a value, found the end"),
        ("gemm(x: 3) where x + 1", 17, "expected a comparison"),
        ("gemm(x: 3) where x = 4", 19, "compare with '=='"),
        ("gemm(x: 3) where x / 4 == 1", 19, "integer division"),
        ("gemm(x: 3) where x == 4 || x == 5", 24, "join conditions with 'or'"),
        ("gemm(x: 3) where x.shape == 4", 17, "as 'x.shape"),
        ("gemm(x: 3) where x.dtype < bf16", 17, "not ordered"),
        ("gemm(x: 3) where f(x) == 2", 17, "no integer that a contract knows"),
        ("gemm(x: {1..4, 7})", 9, "single values"),
        ("gemm(..., x: 3)", 5, "after the last parameter"),
        ("gemm(x: Config(a=1, 2))", 20, "without a name"),
        ("gemm(x: 3) where True == 4", 17, "an integer or a name"),
        ("gemm(x: 16..1)", 8, "is empty"),
        ("gemm(x: 'abc)", 8, "not closed"),
        ("gemm(x: 3) extra", 11, "expected 'where' or 'on' or the end"),
        ("gemm(x: 3) on trn4", 14, "unknown target 'trn4'; did you mean 'trn"),
        ("gemm(x: 3) on where x < 4", 20, "expected ',' or 'where' or the end"),
        ("gemm(x: 1__0)", 8, "not an integer"),
        ("gemm(x: " + "(" * 500 + "1" + ")" * 500 + ")", 105, "nested too deeply"),
        ("gemm(x: 1" + " + 1" * 500 + ")", 8, "too many terms"),
    ],
)
def test_errors_point_at_the_place(text: str, column: int, message: str) -> None:
    with pytest.raises(ContractError, match=message.replace("(", r"\(")) as caught:
        parse(text)
    assert caught.value.column == column
    assert "\n" not in str(caught.value)
    assert caught.value.frame().splitlines()[-1].index("^") == column + 2


_NAMES = st.sampled_from(["K", "M", "rows", "n_tiles", "größe", "wherever"])
_PATHS = st.sampled_from(["x", "cfg.w", "xs[1]"])
_COMPARATORS: list[Comparator] = ["==", "!=", "<", "<=", ">", ">="]


def _extended(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    tests = _conditions(inner)
    return (
        st.builds(Binary, st.sampled_from(["+", "-", "*", "//", "%"]), inner, inner)
        | st.builds(Negate, inner.filter(lambda e: not (isinstance(e, Int) and e.value > 0)))
        | st.builds(Extreme, st.sampled_from(["min", "max"]), st.tuples(inner, inner))
        | st.builds(Either, tests, inner, inner)
    )


def _conditions(numbers: st.SearchStrategy[Expression]) -> st.SearchStrategy[Condition]:
    tails = st.lists(st.tuples(st.sampled_from(_COMPARATORS), numbers), min_size=1, max_size=3)
    compared = st.builds(
        lambda head, tail: Comparison(
            (head, *(operand for _, operand in tail)), tuple(op for op, _ in tail)
        ),
        numbers,
        tails,
    )
    names = st.lists(st.sampled_from(sorted(dtypes.NAMES)), min_size=1, max_size=3, unique=True)
    single = (
        compared
        | st.builds(OfDType, _PATHS, names.map(tuple), st.booleans())
        | st.builds(SameDType, _PATHS, _PATHS, st.booleans())
        | st.builds(Absent, _NAMES, st.booleans())
        | st.builds(Flag, _NAMES)
    )
    return st.recursive(single, _joined, max_leaves=4)


def _joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    def junction(kind: Literal["and", "or"]) -> st.SearchStrategy[Condition]:
        parts = st.lists(
            inner.filter(lambda c: not (isinstance(c, Junction) and c.kind == kind)),
            min_size=2,
            max_size=3,
        )
        return st.builds(Junction, st.just(kind), parts.map(tuple))

    return st.builds(Not, inner) | junction("and") | junction("or")


_EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    st.builds(Int, st.integers(-(10**12), 10**12))
    | st.builds(Name, _NAMES)
    | st.builds(Extent, _PATHS, st.integers(0, 7))
    | st.builds(ItemSize, _PATHS)
    | st.builds(Programs, st.integers(0, 2)),
    _extended,
    max_leaves=8,
)
_SIZES = _EXPRESSIONS | st.builds(Anything)
_NAMED = st.builds(NamedSpec, st.sampled_from([("Mode", "FAST"), ("nl", "tile_size", "pmax")]))
_SINGLE = (
    st.builds(StringSpec, st.text(max_size=8))
    | st.builds(LiteralSpec, st.sampled_from([True, False, None]))
    | _NAMED
)
_KEYWORDS = ["tile", "bias"]


def _structured(inner: st.SearchStrategy[Spec]) -> st.SearchStrategy[Spec]:
    keywords = st.lists(
        st.builds(Parameter, st.sampled_from(_KEYWORDS), inner),
        max_size=2,
        unique_by=lambda p: p.name,
    )
    paths = st.sampled_from([("Config",), ("lib", "Config")])
    items = st.lists(inner, max_size=3).map(tuple)
    return st.builds(SequenceSpec, st.sampled_from(["tuple", "list"]), items) | st.builds(
        ObjectSpec, paths, items, keywords.map(tuple)
    )


_SPECS: st.SearchStrategy[Spec] = st.recursive(
    st.builds(
        TensorSpec,
        st.lists(st.sampled_from(sorted(dtypes.NAMES)), max_size=3, unique=True).map(tuple),
        st.none() | st.lists(_SIZES, max_size=4).map(tuple),
    )
    | st.builds(RangeSpec, _EXPRESSIONS, _EXPRESSIONS).filter(
        lambda r: (
            not (
                isinstance(r.lower, Int)
                and isinstance(r.upper, Int)
                and r.lower.value > r.upper.value
            )
        )
    )
    | st.builds(IntSpec, _EXPRESSIONS)
    | st.builds(FloatSpec, st.floats(allow_nan=False, allow_infinity=False))
    | _SINGLE
    | st.builds(ChoiceSpec, st.lists(_SINGLE, min_size=1, max_size=3).map(tuple))
    | st.builds(DefaultSpec)
    | st.builds(Anything),
    _structured,
    max_leaves=4,
)
_CONTRACTS = st.builds(
    Contract,
    st.sampled_from(["gemm", "mod.scan", "_pool"]),
    st.lists(_EXPRESSIONS, max_size=3).map(tuple),
    st.lists(st.builds(Parameter, _NAMES, _SPECS), max_size=4, unique_by=lambda p: p.name).map(
        tuple
    ),
    st.lists(
        _conditions(_EXPRESSIONS).filter(
            lambda c: not (isinstance(c, Junction) and c.kind == "and")
        ),
        max_size=3,
    ).map(tuple),
    st.booleans(),
    st.lists(st.sampled_from(["trn1", "trn3", "bm1684x"]), max_size=2, unique=True).map(tuple),
)


@settings(max_examples=examples(100), deadline=None)
@given(_CONTRACTS)
def test_printing_and_reading_are_inverse(contract: Contract) -> None:
    assert parse(text_of(contract)) == contract


@settings(max_examples=examples(100), deadline=None)
@given(st.text(alphabet="fKx:[](),.*_-+%/=<>0129 \"'#é", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        contract = parse("f" + text)
    except ContractError as error:
        assert 0 <= error.column <= len(text) + 1
    else:
        assert parse(text_of(contract)) == contract
