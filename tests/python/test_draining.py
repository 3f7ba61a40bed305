"""What a loop takes from a rest, piece by piece, against the loop itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from verifier.symbolic import expr as E
from verifier.symbolic.python.draining import Rest, cursor_of, rest_of, share_of

NUMBERS = st.integers(0, 40)


def symbols() -> tuple[E.Expr, E.Expr, E.Expr, E.Sym]:
    E.fresh_context()
    index = E.symbol("i", 0)
    atom = index.as_atom()
    assert isinstance(atom, E.Sym)
    return E.symbol("n", 0), E.symbol("s", 0), index, atom


@given(NUMBERS, NUMBERS, st.integers(0, 12), st.booleans())
def test_a_rest_by_trip(start: int, size: int, trips: int, size_first: bool) -> None:
    n, s, i, _ = symbols()
    rest = Rest(n, s, size_first)
    left, taken = start, 0
    for trip in range(trips):
        env = {"n": start, "s": size, "i": trip}
        piece = min(left, size)
        assert E.evaluate(rest.at(i), env) == left
        assert E.evaluate(rest.piece(i), env) == piece
        assert E.evaluate(rest.taken(i), env) == taken
        left, taken = left - piece, taken + piece
        assert E.evaluate(rest.after(i), env) == left


def test_what_is_left_after_a_trip_is_what_the_next_starts_with() -> None:
    n, s, i, _ = symbols()
    for size_first in (False, True):
        rest = Rest(n, s, size_first)
        for start in range(9):
            for size in range(5):
                for trip in range(5):
                    env = {"n": start, "s": size, "i": trip}
                    following = rest.at(i + 1)
                    assert E.evaluate(rest.after(i), env) == E.evaluate(following, env)


def test_a_rest_is_recognised() -> None:
    n, s, _i, atom = symbols()
    rest = rest_of(n, n - E.minimum(n, s), atom)
    assert rest is not None and rest.start is n and rest.size is s
    turned = rest_of(n, n - E.minimum(s, n), atom)
    assert turned is not None and turned.size is s


def test_what_is_no_rest() -> None:
    n, s, i, atom = symbols()
    assert rest_of(n, n - s, atom) is None
    assert rest_of(n, n - E.maximum(n, s), atom) is None
    assert rest_of(n, n - E.minimum(n, i), atom) is None  # another size in each trip
    assert rest_of(n, n - E.minimum(n, s) * 2, atom) is None
    assert rest_of(n, n + E.minimum(n, s), atom) is None
    assert rest_of(n, n - E.minimum(s, i + 1), atom) is None


def test_a_cursor_is_recognised() -> None:
    end, size, i, atom = symbols()
    start = E.symbol("start", 0)
    at = start + size * i
    for left, now in (
        (True, at + E.minimum(size, end - at)),
        (False, at + E.minimum(end - at, size)),
        (True, E.minimum(at + size, end)),
        (False, E.minimum(end, at + size)),
    ):
        rest = cursor_of(start, at, now, atom)
        assert rest is not None and rest.start is end - start and rest.size is size, now
        assert rest.size_first is left


def test_what_is_no_cursor() -> None:
    end, size, i, atom = symbols()
    start = E.symbol("start", 0)
    at = start + size * i
    for now in (
        at + E.minimum(size, end),
        at + E.maximum(size, end - at),
        at + E.minimum(size * i, end - at),
        at + 2 * E.minimum(size, end - at),
        at - E.minimum(size, end - at),
        E.minimum(at + size, end * i),
    ):
        assert cursor_of(start, at, now, atom) is None, now


def test_what_grows_by_the_pieces() -> None:
    n, s, i, atom = symbols()
    width = E.symbol("w", 0)
    rest = Rest(n, s)
    piece = rest.piece(i)
    share = share_of(piece * width * 3, [rest], atom)
    assert share is not None and share.rest is rest and share.factor is width * 3
    plain = share_of(piece, [rest], atom)
    assert plain is not None and plain.factor is E.const(1)


def test_what_does_not_grow_by_the_pieces() -> None:
    n, s, i, atom = symbols()
    rest = Rest(n, s)
    piece = rest.piece(i)
    assert share_of(piece + 1, [rest], atom) is None
    assert share_of(piece * piece, [rest], atom) is None
    assert share_of(piece * i, [rest], atom) is None  # more in each trip
    assert share_of(s, [rest], atom) is None
    assert share_of(E.const(0), [rest], atom) is None
