"""Exact positions of LibCST nodes, in one cheap pass.

LibCST's own ``PositionProvider`` costs more than parsing: it splits every token at line ends and
keeps two position objects per node. This pass runs the same code generation with a state that only
counts characters, and agrees with ``PositionProvider`` node for node (a test compares them).
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import libcst as cst
from libcst._nodes.internal import CodegenState


class Positions:
    """Start and end of every node of one parsed text, as line (1-based) and column (0-based).

    Columns count code points. Expressions are positioned without their own parentheses,
    statements without leading comments and decorators, exactly as ``PositionProvider`` does.
    """

    __slots__ = ("_ends", "_keep", "_line_starts", "_starts")

    def __init__(self, module: cst.Module, text: str) -> None:
        """``text`` must be what ``module`` was parsed from: ``\\n`` line ends, one at the end.

        Raises:
            ValueError: LibCST lost or invented something other than white space.
        """
        state = _CountingState(module.default_indent, module.default_newline)
        module._codegen(state)
        self._keep = module  # positions are found by identity: the nodes must stay alive
        self._starts = state.starts
        self._ends = state.ends
        code = "".join(state.tokens)
        if code != text:
            self._realign(code, text)
        line_starts = [0]
        find, position = text.find, text.find("\n")
        while position >= 0:
            line_starts.append(position + 1)
            position = find("\n", position + 1)
        self._line_starts = line_starts

    def _realign(self, code: str, text: str) -> None:
        """Carry offsets in the generated code over to the text.

        LibCST forgets some white space (before the colon of ``except E :``). The other characters
        are the same in both, so the n-th of one is the n-th of the other. A node that keeps its
        position starts and ends with such a character.
        """
        in_text = [i for i, c in enumerate(text) if not c.isspace()]
        rank = list(accumulate((not c.isspace() for c in code), initial=0))
        if rank[-1] != len(in_text):
            raise ValueError("generated code differs from the source")
        in_text.append(len(text))
        rank.append(rank[-1])  # a last line end that the generated code leaves out
        self._starts = {key: in_text[rank[offset]] for key, offset in self._starts.items()}
        self._ends = {
            key: in_text[rank[offset] - 1] + 1 if rank[offset] else 0
            for key, offset in self._ends.items()
        }

    def range(self, first: cst.CSTNode, last: cst.CSTNode) -> tuple[int, int, int, int]:
        """Line, column, end line, end column of the text from ``first`` to ``last``."""
        starts = self._line_starts
        begin, end = self._starts[id(first)], self._ends[id(last)]
        line = bisect_right(starts, begin)
        end_line = bisect_right(starts, end)
        return line, begin - starts[line - 1], end_line, end - starts[end_line - 1]


class _CountingState(CodegenState):
    def __init__(self, default_indent: str, default_newline: str) -> None:
        super().__init__(default_indent, default_newline)
        self.offset = 0
        self.indent_length = 0
        self.starts: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        self.open: list[tuple[cst.CSTNode, cst.CSTNode | None, cst.CSTNode | None, int]] = []
        self.inside = _Inside(self)

    def increase_indent(self, value: str) -> None:
        self.indent_tokens.append(value)
        self.indent_length += len(value)

    def decrease_indent(self) -> None:
        self.indent_length -= len(self.indent_tokens.pop())

    def add_indent_tokens(self) -> None:
        self.offset += self.indent_length
        self.tokens += self.indent_tokens

    def add_token(self, value: str) -> None:
        self.offset += len(value)
        self.tokens.append(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.starts[id(node)] = self.offset

    def after_codegen(self, node: cst.CSTNode) -> None:
        # A syntactic position, recorded inside, wins over the one with surrounding whitespace.
        if id(node) not in self.ends:
            self.ends[id(node)] = self.offset

    def record_syntactic_position(  # type: ignore[override]  # one for all is as good
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> _Inside:
        self.open.append((node, start_node, end_node, self.offset))
        return self.inside


class _Inside:
    """What is generated for a node without what surrounds it, innermost last.

    One object for all nodes of a text: there are thousands, and a generator for each is half of
    what it costs to find their places.
    """

    __slots__ = ("_state",)

    def __init__(self, state: _CountingState) -> None:
        self._state = state

    def __enter__(self) -> None:
        """It was opened where it was made."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        state = self._state
        node, start_node, end_node, begin = state.open.pop()
        if kind is None:
            starts, ends = state.starts, state.ends
            starts[id(node)] = begin if start_node is None else starts[id(start_node)]
            ends[id(node)] = state.offset if end_node is None else ends[id(end_node)]
