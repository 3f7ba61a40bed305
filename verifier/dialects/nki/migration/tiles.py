"""What Beta 1 does with tiles by operators, assignments and methods (NKI-L55, X33, M039)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from verifier.dialects.nki import isa
from verifier.dialects.nki.migration.changes import CALL, MEANING, PYTHON, Change, Edit
from verifier.dialects.nki.migration.forms import forms
from verifier.dialects.nki.migration.results import pure
from verifier.dialects.nki.migration.returned import stored_at
from verifier.dialects.nki.migration.text import Text
from verifier.dialects.nki.migration.visits import Stored, Visit, Visits
from verifier.dialects.nki.signatures import lookup
from verifier.dialects.nki.versions import newer
from verifier.hardware.capabilities import Capability
from verifier.hardware.memories import Buffer
from verifier.hardware.targets import first_with

_ON_CHIP: Final = (Buffer.SBUF, Buffer.PSUM)
_IN_PLACE: Final = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply"}
#: methods of tiles of Beta 1 -> the function that does the same, and its keywords
_METHODS: Final = {"broadcast_to": "broadcast_to", "expand_dims": "expand_dims", "astype": "copy"}
#: those and the others
_GONE: Final = frozenset({*_METHODS, "assert_shape", "itemsize"})


class Tiles(Struct, frozen=True):
    """The changes of a file that is written for Beta 1, inner expressions first."""

    text: Text
    visits: Visits
    to: str

    def operators(self) -> list[ast.expr]:
        """The expressions that compute with tiles by operators, or call methods of tiles."""
        found: list[ast.expr] = []
        for node in ast.walk(self.text.tree):
            if isinstance(node, ast.Attribute) and node.attr in _GONE:
                call = self.text.parents.get(node)
                method = isinstance(call, ast.Call) and call.func is node
                if self._is_tile(node.value):
                    found.append(call if method and isinstance(call, ast.Call) else node)
            elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)) and self._computed(node):
                found.append(node)
        return found

    def operator(self, node: ast.expr) -> Change:
        """One of them, when what is inside of it is written."""
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            return self._operator(node, self._computed(node))
        method = node.func if isinstance(node, ast.Call) else node
        assert isinstance(method, ast.Attribute)
        return self._method(method)

    def _computed(self, node: ast.expr) -> list[Visit]:
        """What a run says of an operator."""
        found = [
            each
            for each in self.visits.at(self.text.span(node))
            if each.name.startswith("language.") and not each.text[:1].isalpha()
        ]
        return found if found and not found[0].text.endswith("=") else []

    def stores(self) -> Iterator[Change]:
        """``t[...] = value`` and ``t += value``, of values that no instruction returned."""
        for node in ast.walk(self.text.tree):
            if not isinstance(node, (ast.Assign, ast.AugAssign)):
                continue
            span = stored_at(self.text, node)
            found = self.visits.at(span, "language.assign", "language.fill")
            value = node.value
            name = self.text.name(value.func) if isinstance(value, ast.Call) else None
            signature = None if name is None else lookup(name, self.to)
            returns = signature is not None and "dst" in signature.names[:1]
            if not found or (returns and value not in self.text.lowered):
                continue
            yield self._store(node, found, name)

    def sums(self) -> Iterator[Change]:
        """Zeros in PSUM that matmuls add to, which is undefined since (NKI-M136)."""
        for node in ast.walk(self.text.tree):
            found = self._cleared(node)
            if not found or not all(each.summed for each in found):
                continue
            assert isinstance(node, (ast.Call, ast.Assign))
            always = all(each.always for each in found)  # else zeros are what is left somewhere
            edits = self._uncleared(node) if always and not self._left(found) else ()
            what = "remove it"
            if found[0].name in ("language.zeros", "language.full"):
                what = f"write `{self.text.module('language') or 'nl'}.ndarray`"
            if any(each.told for each in found):
                what += ", and give no `accumulate=` to the product that begins the sum"
            elif not always:
                what += ", and see to it that the loop runs once at least and its products reach "
                what += "all of the tile"
            yield Change(
                PYTHON,
                self.text.span(node),
                "matmuls add to what zeros have made of a tile in PSUM, which is undefined "
                f"before {first_with(Capability.SUM_ON_ANY_CONTENT).name}: the first product "
                "overwrites what is there",
                "warning",
                ("NKI-M016", "NKI-M136", "NKI-MMU26"),
                (what,),
                what if edits else "",
                edits,
            )

    def _cleared(self, node: ast.AST) -> list[Visit]:
        """What clears a tile, if all that is known of a place does."""
        if isinstance(node, ast.Assign):
            return self.visits.at(stored_at(self.text, node), "language.fill")
        name = self.text.name(node.func) if isinstance(node, ast.Call) else None
        if name not in ("language.zeros", "language.full", "isa.memset"):
            return []
        assert isinstance(node, ast.Call)
        return self.visits.at(self.text.span(node), name)

    def _uncleared(self, node: ast.Call | ast.Assign) -> tuple[Edit, ...]:
        """The tile as it is made, or no statement that clears it."""
        module = self.text.module("language")
        name = self.text.name(node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and name in ("language.zeros", "language.full"):
            if module is None:
                return ()
            new = f"{module}.ndarray"
            if name == "language.zeros":
                return (Edit(self.text.start(node.func), self.text.end(node.func), new),)
            given = [self.text.rendered(each) for each in (*node.args[:1], *node.args[2:])]
            given += [
                f"{k.arg}={self.text.rendered(k.value)}"
                for k in node.keywords
                if k.arg != "fill_value"
            ]
            whole = f"{new}({', '.join(given)})"
            return (Edit(self.text.start(node), self.text.end(node), whole),)
        statement = node if isinstance(node, ast.Assign) else self.text.parents.get(node)
        if isinstance(statement, (ast.Assign, ast.Expr)):
            return self.text.removed(statement)
        return ()

    def _left(self, found: list[Visit]) -> bool:
        """Whether a product stays as it is written: what it adds to needs its zeros then."""
        left = [
            c.span
            for c in self.text.changes
            if c.rule == CALL and "NKI-M016" in c.facts and not c.edits
        ]
        return any(
            span.path == one.path and span.line <= one.end_line and one.line <= span.end_line
            for visit in found
            for one in visit.writers
            for span in left
        )

    def axes(self) -> Iterator[Change]:
        """``axis=1`` of a reduction could be the last axis up to 0.2 (NKI-M055)."""
        for form in forms(self.text, self.visits, "0.2", self.to):
            given = next((each for each in form.given if each.parameter.name == "axis"), None)
            if form.name != "isa.tensor_reduce" or given is None or 1 not in given.known:
                continue
            visits = self.visits.at(self.text.span(form.call), form.name)
            ranks = {v.ranks.get("data", 0) for v in visits}
            if not ranks or max(ranks) < 3:
                continue
            axis = given.value
            only = form.written and isinstance(axis, ast.Constant)
            meant = len(ranks) == 1 and all(v.of_last for v in visits)
            last = max(ranks) - 1 if meant else 0
            yield Change(
                MEANING,
                self.text.span(axis),
                "`axis=1` could be the last axis up to NKI 0.2 and is the second one since",
                "error",
                ("NKI-M055",),
                (f"write `axis={last or -1}`" + (", if the last axis is meant" * (not last)),),
                f"write `axis={last}`" if last and only else "",
                (Edit(self.text.start(axis), self.text.end(axis), str(last)),)
                if last and only
                else (),
            )

    def functions(self) -> Iterator[Change]:
        """Functions that came back in another form: no program, no broadcast (NKI-L40, L42)."""
        for node in ast.walk(self.text.tree):
            name = self.text.name(node.func) if isinstance(node, ast.Call) else None
            instruction = None if name is None else isa.find(name)
            if not isinstance(node, ast.Call) or instruction is None or name is None:
                continue
            written, simulated = self.text.written(node.func), instruction.simulated
            found = self.visits.at(self.text.span(node), name)
            if simulated is not None and newer(self.to, simulated.since):
                yield self._rejected(
                    node,
                    f"`{written}` does not compile for hardware",
                    simulated.fact,
                    simulated.instead,
                )
            elif found and instruction.role("y") and not all(each.alike for each in found):
                if name.startswith("language.") and newer(self.to, "0.3"):
                    yield self._rejected(
                        node,
                        f"`{written}` of two tiles takes equal shapes",
                        "NKI-L40",
                        "write `nisa.tensor_scalar` for an operand with one column",
                    )

    def _rejected(self, node: ast.Call, message: str, fact: str, help_: str) -> Change:
        since = f"{message} since NKI 0.3"
        return Change(CALL, self.text.span(node), since, "warning", (fact,), (help_,))

    def columns(self) -> Iterator[Change]:
        """``nl.load`` of a column: a tile keeps its free axis since (NKI-L20)."""
        for node in ast.walk(self.text.tree):
            if not isinstance(node, ast.Call) or self.text.name(node.func) != "language.load":
                continue
            found = self.visits.at(self.text.span(node), "language.load")
            source = node.args[0] if node.args else None
            source = next((k.value for k in node.keywords if k.arg == "src"), source)
            if not isinstance(source, ast.Subscript) or not isinstance(source.slice, ast.Tuple):
                continue
            first, *more = source.slice.elts
            if len(more) != 1 or not isinstance(first, ast.Slice) or not found:
                continue
            (last,) = more
            if isinstance(last, (ast.Slice, ast.Call)) or not all(each.column for each in found):
                continue
            index = self.text.rendered(last)
            plain = isinstance(last, (ast.Name, ast.Constant))
            new = f"{index}:{index if plain else f'({index})'} + 1"
            edits = (Edit(self.text.start(last), self.text.end(last), new),)
            yield Change(
                PYTHON,
                self.text.span(source),
                "a column of a tensor has one axis, and a tile has two",
                "warning",
                ("NKI-L20",),
                ("write the index as a slice",),
                "write the index as a slice",
                edits,
            )

    def transfers(self) -> Iterator[Change]:
        """``nl.store`` of a tile in PSUM (NKI-L21, NKI-M050): by way of one in SBUF."""
        for node in ast.walk(self.text.tree):
            if not isinstance(node, ast.Call) or self.text.name(node.func) != "language.store":
                continue
            found = self.visits.at(self.text.span(node), "language.store")
            if any(each.buffers.get("value") is Buffer.PSUM for each in found):
                edits = self._evacuated(node)
                yield Change(
                    PYTHON,
                    self.text.span(node),
                    f"`{self.text.written(node.func)}` reads no PSUM since NKI 0.3",
                    "warning",
                    ("NKI-L21", "NKI-M050"),
                    ("copy the tile into SBUF first",),
                    "copy the tile into SBUF" if edits else "",
                    edits,
                )

    def _evacuated(self, node: ast.Call) -> tuple[Edit, ...]:
        statement = self.text.parents.get(node)
        value = next((k.value for k in node.keywords if k.arg == "value"), None)
        if value is None and len(node.args) > 1:
            value = node.args[1]
        if not isinstance(statement, ast.Expr) or value is None:
            return ()
        whole = value.value if isinstance(value, ast.Subscript) else value
        indent = self.text.indent(statement)
        isa_, language = self.text.module("isa"), self.text.module("language")
        if indent is None or isa_ is None or language is None:
            return ()
        made, tile, part = "", self.text.rendered(whole), self.text.rendered(value)
        called = value if isinstance(value, ast.Call) and value not in self.text.lowered else None
        if called is not None and (function := self.text.name(called.func)) is not None:
            tile = part = self.text.fresh(f"{function.rpartition('.')[2]}_out")
            made = f"{tile} = {self.text.rendered(called)}\n{indent}"
        elif not (isinstance(whole, ast.Name) or value in self.text.lowered):
            return ()
        name = self.text.fresh(f"{tile}_new")
        made += f"{name} = {language}.ndarray({part}.shape, dtype={tile}.dtype, "
        made += f"buffer={language}.sbuf)\n{indent}"
        made += f"{isa_}.tensor_copy(dst={name}, src={part})\n{indent}"
        start = self.text.start(statement)
        return (
            Edit(start, start, made),
            Edit(self.text.start(value), self.text.end(value), name),
        )

    # -- operators ---------------------------------------------------------------------------------

    def _operator(self, node: ast.expr, found: list[Visit]) -> Change:
        name = found[0].name
        edits = self._call(node, name, found)
        what = self.text.module("language") or "nl"
        short = name.removeprefix("language.")
        instruction = isa.find(name)
        help_ = f"write `{what}.{short}(...)`, or an instruction"
        simulated = None if instruction is None else instruction.simulated
        if simulated is not None and newer(self.to, simulated.since):
            help_ = simulated.instead
        return Change(
            PYTHON,
            self.text.span(node),
            f"`{found[0].text}` is no operation of tiles since NKI 0.2",
            "warning",
            ("NKI-L55",),
            (help_,),
            f"write `{what}.{short}`" if edits else "",
            edits,
        )

    def _call(self, node: ast.expr, name: str, found: list[Visit]) -> tuple[Edit, ...]:
        """The operator as a call of the function of its name, if that does the same there."""
        module, instruction = self.text.module("language"), isa.find(name)
        if module is None or instruction is None or lookup(name, self.to) is None:
            return ()
        if instruction.simulated is not None or instruction.program is not None:
            return ()
        if isinstance(node, ast.BinOp):
            parts: list[ast.expr] = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            parts = [node.operand]
        else:
            return ()
        dtypes = {each.kept for each in found}
        if len(dtypes) != 1 or "" in dtypes:
            return ()
        (dtype,) = dtypes
        arguments = [self.text.rendered(part) for part in parts]
        if not all(each.alike for each in found):
            shaped = {each.shaped for each in found}
            whole = {frozenset({"x"}): 0, frozenset({"y"}): 1}.get(frozenset(shaped))
            if whole is None or not pure(self.text, parts[whole]) or not newer(self.to, "0.3"):
                return ()
            narrow, shape = arguments[1 - whole], f"{arguments[whole]}.shape"
            arguments[1 - whole] = f"{module}.broadcast_to({narrow}, {shape})"
        if dtype is not None:
            arguments.append(f"dtype={module}.{dtype}")
        new = f"{module}.{name.removeprefix('language.')}({', '.join(arguments)})"
        return (Edit(self.text.start(node), self.text.end(node), new),)

    # -- methods -----------------------------------------------------------------------------------

    def _is_tile(self, node: ast.expr) -> bool:
        """Whether a name is that of something that the API made."""
        function = self.text.function(node)
        if isinstance(node, ast.Call):
            name = self.text.name(node.func)
            if name is not None:
                return isa.find(name) is not None
            method = node.func
            if isinstance(method, ast.Attribute):
                return method.attr in _METHODS and self._is_tile(method.value)
        if not isinstance(node, ast.Name) or function is None:
            return False
        made = False
        for each in ast.walk(function):
            if isinstance(each, (ast.Assign, ast.AnnAssign)):
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                if any(isinstance(t, ast.Name) and t.id == node.id for t in targets):
                    value = each.value
                    name = self.text.name(value.func) if isinstance(value, ast.Call) else None
                    tile = value is not None and not self._names(value, node.id)
                    tile = tile and value is not None and self._is_tile(value)
                    made_here = name is not None and name.rpartition(".")[0] in ("language", "isa")
                    if not (made_here or tile):
                        return False
                    made = True
        return made

    def _names(self, value: ast.expr, name: str) -> bool:
        return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value))

    def _method(self, node: ast.Attribute) -> Change:
        edits: tuple[Edit, ...] = ()
        call, module = self.text.parents.get(node), self.text.module("language")
        new = _METHODS.get(node.attr, "")
        called = isinstance(call, ast.Call) and call.func is node
        if new and module and called and newer(self.to, "0.3"):
            assert isinstance(call, ast.Call)
            given = [self.text.rendered(node.value)]
            given += [self.text.rendered(argument) for argument in call.args]
            given += [f"{k.arg}={self.text.rendered(k.value)}" for k in call.keywords if k.arg]
            if new == "copy" and len(given) == 2 and not call.keywords:
                given[1] = f"dtype={given[1]}"
            if len(given) == 2:
                written = f"{module}.{new}({', '.join(given)})"
                edits = (Edit(self.text.start(call), self.text.end(call), written),)
        help_ = (f"write `{module or 'nl'}.{new}(...)`",) if new else ()
        return Change(
            PYTHON,
            self.text.span(node),
            f"tensors have no `{node.attr}` since NKI 0.2",
            "warning",
            ("NKI-M039",),
            help_,
            f"write `{module}.{new}`" if edits else "",
            edits,
        )

    # -- stores ------------------------------------------------------------------------------------

    def _store(
        self, node: ast.Assign | ast.AugAssign, found: list[Visit], name: str | None
    ) -> Change:
        edits = self._moved(node, found, name)
        return Change(
            PYTHON,
            self.text.span(node),
            "assignments to parts of tiles are of NKI Beta 1",
            "warning",
            ("NKI-X33", "NKI-L55"),
            ("write the instruction that does it, with `dst=`",),
            "write the instruction" if edits else "",
            edits,
        )

    def _moved(
        self, node: ast.Assign | ast.AugAssign, found: list[Visit], name: str | None
    ) -> tuple[Edit, ...]:
        isa_, language = self.text.module("isa"), self.text.module("language")
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        several = isinstance(node, ast.Assign) and len(node.targets) > 1
        tiles = [each.stored for each in found if each.stored is not None]
        if isa_ is None or language is None or several or len(tiles) != len(found):
            return ()
        if not all(tile.buffer in _ON_CHIP for tile in tiles):
            return ()
        place, value = self.text.rendered(target), self.text.rendered(node.value)
        filled = all(each.name == "language.fill" for each in found)
        loaded = isinstance(node, ast.Assign) and name == "language.load"
        whole = all(tile.fits and tile.same_rank for tile in tiles)
        on_chip = loaded or all(tile.value in _ON_CHIP for tile in tiles)
        if not filled and not (whole and on_chip):
            return ()
        if isinstance(node, ast.AugAssign):
            operator = _IN_PLACE.get(type(node.op))
            if operator is None or any(tile.buffer is not Buffer.SBUF for tile in tiles):
                return ()
            new = f"{isa_}.tensor_tensor(dst={place}, data1={place}, data2={value}, "
            new += f"op={language}.{operator})"
            if filled:
                new = f"{isa_}.tensor_scalar(dst={place}, data={place}, "
                new += f"op0={language}.{operator}, operand0={value})"
        elif filled:
            new = f"{isa_}.memset(dst={place}, value={value})"
        elif loaded:
            return self._loaded(node, tiles, place)
        else:
            new = f"{isa_}.tensor_copy(dst={place}, src={value})"
        return (Edit(self.text.start(node), self.text.end(node), new),)

    def _loaded(self, node: ast.Assign, tiles: list[Stored], place: str) -> tuple[Edit, ...]:
        """``t[...] = nl.load(x)``: a transfer into the tile."""
        call = node.value
        assert isinstance(call, ast.Call)
        same = all(tile.same_type for tile in tiles)
        source = call.args[0] if len(call.args) == 1 and not call.keywords else None
        if len(call.keywords) == 1 and call.keywords[0].arg == "src" and not call.args:
            source = call.keywords[0].value
        into = all(tile.buffer is Buffer.SBUF for tile in tiles)
        if source is None or not same or not into:
            return ()
        new = f"{self.text.module('isa')}.dma_copy(dst={place}, src={self.text.rendered(source)})"
        return (Edit(self.text.start(node), self.text.end(node), new),)
