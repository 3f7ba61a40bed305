from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier.configuration.contracts import (
    Anything,
    Binary,
    Comparator,
    Comparison,
    Contract,
    FloatSpec,
    Int,
    IntSpec,
    LiteralSpec,
    Name,
    Negate,
    Parameter,
    RangeSpec,
    SequenceSpec,
    StringSpec,
    TensorSpec,
    evaluate,
)
from verifier.configuration.grammar import DTYPE_ALIASES, ContractError, parse


def test_signature_with_names_ranges_and_conditions() -> None:
    contract = parse(
        "gemm(lhsT: bf16[K, M], rhs: bfloat16[K, 2*N], tiles: 1..16) where K % 96 == 0, M == 72"
    )
    assert contract == Contract(
        "gemm",
        (),
        (
            Parameter("lhsT", TensorSpec("bfloat16", (Name("K"), Name("M")))),
            Parameter("rhs", TensorSpec("bfloat16", (Name("K"), Binary("*", Int(2), Name("N"))))),
            Parameter("tiles", RangeSpec(Int(1), Int(16))),
        ),
        (
            Comparison((Binary("%", Name("K"), Int(96)), Int(0)), ("==",)),
            Comparison((Name("M"), Int(72)), ("==",)),
        ),
    )
    assert contract.size_names() == ("K", "M")
    assert [(name.id, name.column) for name in contract.free_names()] == [("N", 42)]


def test_grid_values_and_trailing_comment() -> None:
    contract = parse(
        "pool[2, 3](x: fp32[C, *, _], size: 2, s: (3, 4), one: (5,), ws: [u8[P], i32], b: None,"
        ' flag: True, mode: "a#b", eps: 1e-5, neg: -7, free: *,) where 1 <= C < 128 and C != 3 # x'
    )
    assert contract.grid == (Int(2), Int(3))
    assert [p.spec for p in contract.parameters] == [
        TensorSpec("float32", (Name("C"), Anything(), Anything())),
        IntSpec(Int(2)),
        SequenceSpec("tuple", (IntSpec(Int(3)), IntSpec(Int(4)))),
        SequenceSpec("tuple", (IntSpec(Int(5)),)),
        SequenceSpec("list", (TensorSpec("uint8", (Name("P"),)), TensorSpec("int32", None))),
        LiteralSpec(None),
        LiteralSpec(True),
        StringSpec("a#b"),
        FloatSpec(1e-5),
        IntSpec(Int(-7)),
        Anything(),
    ]
    assert [c.ops for c in contract.conditions] == [("<=", "<"), ("!=",)]


def test_comment_form_has_no_name() -> None:
    assert parse("(q: fp16[...]) where 2 < 3", comment=True).kernel is None
    assert parse("[4](q: _[S])", comment=True).parameters[0].spec == TensorSpec(None, (Name("S"),))
    with pytest.raises(ContractError, match="omit the name"):
        parse("add(q: fp16)", comment=True)


def test_parenthesised_expression_is_not_a_tuple() -> None:
    spec = parse("f(x: (A + 1) * 2)").parameters[0].spec
    assert spec == IntSpec(Binary("*", Binary("+", Name("A"), Int(1)), Int(2)))
    assert parse("f(x: (A))").parameters[0].spec == IntSpec(Name("A"))
    assert parse("f(x: ())").parameters[0].spec == SequenceSpec("tuple", ())


@pytest.mark.parametrize(("canonical", "aliases"), DTYPE_ALIASES.items())
def test_every_dtype_spelling(canonical: str, aliases: tuple[str, ...]) -> None:
    for spelling in (canonical, *aliases):
        assert parse(f"f(x: {spelling}[3])").parameters[0].spec == TensorSpec(canonical, (Int(3),))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 0, "name of a kernel"),
        ("gemm", 4, "expected '('"),
        ("gemm(x: bf17[K])", 8, "'bf17' is not a dtype; did you mean 'bf16'"),
        ("gemm(x: bf16[K)", 14, "expected ']'"),
        ("gemm(x bf16[K])", 7, "expected ':'"),
        ("gemm(x: bf16[K], x: 2)", 17, "given twice"),
        ("gemm(x: 3) where", 16, "an integer or a name, found the end"),
        ("gemm(x: 3) where x", 18, "expected a comparison"),
        ("gemm(x: 3) where x = 4", 19, "compare with '=='"),
        ("gemm(x: 3) where x / 4 == 1", 19, "integer division"),
        ("gemm(x: 3) where x == 4 or x == 5", 24, "one contract for each case"),
        ("gemm(x: 3) where x.shape[0] == 4", 18, "name the size instead"),
        ("gemm(x: 3) where True == 4", 17, "an integer or a name"),
        ("gemm(x: 16..1)", 8, "is empty"),
        ("gemm(x: 'abc)", 8, "not closed"),
        ("gemm(x: 3) extra", 11, "expected 'where' or the end"),
        ("gemm(x: 1__0)", 8, "not an integer"),
        ("gemm(x: " + "(" * 500, 107, "nested too deeply"),
        ("gemm(x: 1" + " + 1" * 500 + ")", 8, "too many terms"),
    ],
)
def test_errors_point_at_the_place(text: str, column: int, message: str) -> None:
    with pytest.raises(ContractError, match=message.replace("(", r"\(")) as caught:
        parse(text)
    assert caught.value.column == column
    assert "\n" not in str(caught.value)
    assert caught.value.frame().splitlines()[-1].index("^") == column + 2


def test_evaluate_follows_python() -> None:
    spec = parse("f(x: -(A // 3) % B - -2)").parameters[0].spec
    assert isinstance(spec, IntSpec)
    assert evaluate(spec.value, {"A": 7, "B": 5}) == -(7 // 3) % 5 - -2


_NAMES = st.sampled_from(["K", "M", "rows", "n_tiles", "größe", "wherever"])
_EXPRESSIONS = st.recursive(
    st.builds(Int, st.integers(-(10**12), 10**12)) | st.builds(Name, _NAMES),
    lambda inner: (
        st.builds(Binary, st.sampled_from(["+", "-", "*", "//", "%"]), inner, inner)
        | st.builds(Negate, inner.filter(lambda e: not (isinstance(e, Int) and e.value > 0)))
    ),
    max_leaves=8,
)
_SIZES = _EXPRESSIONS | st.builds(Anything)
_SPECS = st.recursive(
    st.builds(
        TensorSpec,
        st.none() | st.sampled_from(sorted(DTYPE_ALIASES)),
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
    | st.builds(StringSpec, st.text(max_size=8))
    | st.builds(LiteralSpec, st.sampled_from([True, False, None]))
    | st.builds(Anything),
    lambda inner: st.builds(
        SequenceSpec, st.sampled_from(["tuple", "list"]), st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=4,
)
_COMPARATORS: list[Comparator] = ["==", "!=", "<", "<=", ">", ">="]
_COMPARISONS = st.lists(
    st.tuples(st.sampled_from(_COMPARATORS), _EXPRESSIONS),
    min_size=1,
    max_size=3,
).flatmap(
    lambda tail: st.builds(
        lambda head: Comparison(
            (head, *(operand for _, operand in tail)), tuple(op for op, _ in tail)
        ),
        _EXPRESSIONS,
    )
)
_CONTRACTS = st.builds(
    Contract,
    st.sampled_from(["gemm", "mod.scan", "_pool"]),
    st.lists(_EXPRESSIONS, max_size=3).map(tuple),
    st.lists(st.builds(Parameter, _NAMES, _SPECS), max_size=4, unique_by=lambda p: p.name).map(
        tuple
    ),
    st.lists(_COMPARISONS, max_size=3).map(tuple),
)


@settings(max_examples=300, deadline=None)
@given(_CONTRACTS)
def test_printing_and_reading_are_inverse(contract: Contract) -> None:
    assert parse(str(contract)) == contract


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="fKx:[](),.*_-+%/=<>0129 \"'#é", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        contract = parse("f" + text)
    except ContractError as error:
        assert 0 <= error.column <= len(text) + 1
    else:
        assert parse(str(contract)) == contract
