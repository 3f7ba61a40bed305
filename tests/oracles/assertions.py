"""The methods of ``unittest.TestCase`` as plain Python expressions."""

from __future__ import annotations

import ast

from tests.oracles.suite import UnusableError

_TWO = {
    "assertEqual": "{0} == {1}",
    "assertEquals": "{0} == {1}",
    "assertSequenceEqual": "{0} == {1}",
    "assertListEqual": "{0} == {1}",
    "assertTupleEqual": "{0} == {1}",
    "assertDictEqual": "{0} == {1}",
    "assertSetEqual": "{0} == {1}",
    "assertMultiLineEqual": "{0} == {1}",
    "assertCountEqual": "sorted({0}) == sorted({1})",
    "assertNotEqual": "{0} != {1}",
    "assertIs": "{0} is {1}",
    "assertIsNot": "{0} is not {1}",
    "assertIn": "{0} in {1}",
    "assertNotIn": "{0} not in {1}",
    "assertIsInstance": "isinstance({0}, {1})",
    "assertNotIsInstance": "not isinstance({0}, {1})",
    "assertLess": "{0} < {1}",
    "assertLessEqual": "{0} <= {1}",
    "assertGreater": "{0} > {1}",
    "assertGreaterEqual": "{0} >= {1}",
    "assertHasAttr": "hasattr({0}, {1})",
    "assertNotHasAttr": "not hasattr({0}, {1})",
    "assertIsSubclass": "issubclass({0}, {1})",
    "assertNotIsSubclass": "not issubclass({0}, {1})",
    "assertStartsWith": "{0}.startswith({1})",
    "assertEndsWith": "{0}.endswith({1})",
}
_ONE = {
    "assertTrue": "{0}",
    "assert_": "{0}",
    "assertFalse": "not {0}",
    "assertIsNone": "{0} is None",
    "assertIsNotNone": "{0} is not None",
}
_ALMOST = {
    "assertAlmostEqual": "{0} == {1} or {2}",
    "assertNotAlmostEqual": "not ({0} == {1} or {2})",
}

#: expect an exception; what a message has to match is left out, which asks for less
RAISES = {"assertRaises": 1, "assertRaisesRegex": 2, "assertRaisesRegexp": 2}
#: expect a warning or a log entry: only what they call is of interest
QUIET = {"assertWarns": 1, "assertWarnsRegex": 2, "assertLogs": 0, "assertNoLogs": 0}


def is_condition(name: str) -> bool:
    """Whether a method of that name says that an expression is true."""
    return name in _TWO or name in _ONE or name in _ALMOST


def condition(name: str, call: ast.Call) -> ast.expr:
    """What an assertion says, as one expression."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        raise UnusableError("an assertion with starred arguments")
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    keywords.pop("msg", None)
    wanted = 1 if name in _ONE else 2
    if name in _ALMOST:
        template = _ALMOST[name].replace("{2}", _nearly(call.args[2:], keywords))
    else:
        template = (_ONE if name in _ONE else _TWO)[name]
        if keywords:
            raise UnusableError("an assertion with keywords")
    if len(call.args) < wanted:
        raise UnusableError("an assertion with too few arguments")
    texts = [f"({ast.unparse(argument)})" for argument in call.args[:wanted]]
    for position, text in enumerate(texts):
        template = template.replace(f"{{{position}}}", f"\0{position}")
        texts[position] = text
    for position, text in enumerate(texts):
        template = template.replace(f"\0{position}", text)
    return ast.parse(template, mode="eval").body


def _nearly(extra: list[ast.expr], keywords: dict[str | None, ast.expr]) -> str:
    if "delta" in keywords:
        return f"abs({{0}} - {{1}}) <= ({ast.unparse(keywords['delta'])})"
    places = extra[0] if extra else keywords.get("places", ast.Constant(7))
    return f"round(abs({{0}} - {{1}}), {ast.unparse(places)}) == 0"
