"""The server as an editor sees it: a real process, spoken to over its pipes."""

from __future__ import annotations

import asyncio
import copy
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.lsp.driver import FULL, PLAIN, ROOT, Driver, session
from tests.lsp.kernels import DOUBLE, HALVE, HELPER, USER

#: where `x.shape[0] <= 128` is missing
ROWS = "partition-extent"


def drive(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 120))


def codes(driver: Driver, uri: str) -> list[str]:
    return [str(d.code) for d in driver.diagnostics.get(uri, ())]


def lines(driver: Driver, uri: str, code: str) -> list[int]:
    return [d.range.start.line for d in driver.diagnostics[uri] if d.code == code]


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def test_diagnostics_follow_the_text(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE)
            shown = await driver.checked(uri, 1)
            assert ROWS in [d.code for d in shown]
            [first] = lines(driver, uri, ROWS)[:1]
            driver.change(uri, 2, ((0, 0), (0, 0), "# 😀 é\r\n"))
            await driver.checked(uri, 2)
            assert lines(driver, uri, ROWS)[:1] == [first + 1]
            driver.change(uri, 3, ((9, 0), (9, 0), "    assert rows <= 128\n"))
            await driver.checked(uri, 3)
            assert driver.diagnostics[uri] == ()
            driver.change(uri, 4, HALVE)
            await driver.checked(uri, 4)
            assert ROWS in codes(driver, uri)
            driver.close(uri)
            await driver.until(lambda: driver.versions[uri] is None)
            assert driver.diagnostics[uri] == ()

    drive(work)


def test_details_of_a_diagnostic(tmp_path: Path) -> None:
    bias = (ROOT / "fixtures" / "nki" / "bad" / "bias_rows.py").read_text(encoding="utf-8")

    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(tmp_path / "k.py", bias)
            shown = await driver.checked(uri, 1)
            assert all(d.source == "tilelint" for d in shown)
            related = [r for d in shown for r in d.related_information or ()]
            assert any("allocated" in r.message for r in related)
            assert {d.severity for d in shown} <= set(lsp.DiagnosticSeverity)
        async with session(tmp_path, PLAIN) as driver:
            uri = driver.open(tmp_path / "k.py", bias)
            shown = await driver.checked(uri, 1)
            assert all(not d.related_information for d in shown)

    drive(work)


def test_half_typed_code_keeps_what_was_found(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE + DOUBLE)
            await driver.checked(uri, 1)
            before = lines(driver, uri, ROWS)
            assert before
            row = HALVE.splitlines().index("    assert cols == 512")
            driver.change(uri, 2, ((row, 0), (row, 0), "    y = (\n"))
            await driver.checked(uri, 2)
            assert "syntax" in codes(driver, uri)
            assert lines(driver, uri, ROWS) == [line + 1 for line in before]
            driver.change(uri, 3, ((row, 0), (row + 1, 0), ""))
            await driver.checked(uri, 3)
            assert "syntax" not in codes(driver, uri)
            assert lines(driver, uri, ROWS) == before

    drive(work)


def test_findings_in_a_helper(tmp_path: Path) -> None:
    write(tmp_path, helper=HELPER, user=USER)

    async def work() -> None:
        async with session(tmp_path) as driver:
            helper = (tmp_path / "helper.py").as_uri()
            uri = driver.open(tmp_path / "user.py", USER)
            await driver.until(lambda: ROWS in codes(driver, helper))
            assert driver.versions[helper] is None
            count = len(driver.diagnostics[helper])
            # the helper is opened, and mended: nothing is left, nothing was there twice
            driver.open(tmp_path / "helper.py", HELPER)
            await driver.checked(helper, 1)
            assert len(driver.diagnostics[helper]) == count
            body = HELPER.replace("    t = ", "    assert rows <= 128\n    t = ")
            driver.change(helper, 2, body)
            await driver.until(lambda: not driver.diagnostics[helper])
            driver.change(helper, 3, HELPER)
            await driver.until(lambda: ROWS in codes(driver, helper))
            driver.close(uri)
            await driver.until(lambda: not driver.diagnostics[helper])

    drive(work)


def test_a_helper_outside_of_the_workspace(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    write(tmp_path, helper=HELPER)
    user = USER.replace("from helper", "from ..helper")
    (tmp_path / "__init__.py").touch()
    (inside / "__init__.py").touch()

    async def work() -> None:
        async with session(inside) as driver:
            uri = driver.open(inside / "user.py", user)
            shown = await driver.checked(uri, 1)
            [found] = [d for d in shown if d.code == ROWS][:1]
            assert "helper.py" in found.message
            assert found.related_information is not None
            assert found.related_information[0].location.uri.endswith("/helper.py")
            assert list(driver.diagnostics) == [uri]

    drive(work)


WRITTEN = """\
import nki
import nki.isa as nisa
from neuronxcc.nki import language as old
import numpy as np


@nki.jit
def kernel(x):
    nisa.select_reduce
    nisa.tensor_c
    old.load_t
    np.arr
"""


def test_functions_are_offered_and_explained(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(tmp_path / "k.py", WRITTEN)
            found = await driver.completions(uri, 9, 17)
            assert found["tensor_copy"].startswith("(dst, src, ")
            assert all(name.startswith("tensor_c") for name in found)
            older = await driver.completions(uri, 10, 14)
            assert older == {"load_transpose2d": "(src, *, mask=None, dtype=None)"}
            assert await driver.completions(uri, 11, 10) == {}
            text = await driver.hover(uri, 8, 12)
            assert "`predicate`: a tile or a tensor; in SBUF or PSUM; an 8- or 16-bit" in text

    drive(work)


def test_hover(tmp_path: Path) -> None:
    comment = HALVE.replace(
        "    t = nl", "    # tilelint: ignore[partition-extent] -- small inputs only\n    t = nl"
    )
    rows = comment.splitlines()
    made = next(n for n, text in enumerate(rows) if text.startswith("    half = "))
    used = next(n for n, text in enumerate(rows) if "data=t" in text)
    said = next(n for n, text in enumerate(rows) if "ignore[" in text)

    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(tmp_path / "k.py", comment)
            await driver.checked(uri, 1)
            tile = await driver.hover(uri, made, 5)
            assert "half: x.dtype[x.shape[0], 512]" in tile
            assert "bytes per partition" in tile
            assert "live here" in tile
            operand = await driver.hover(uri, used, rows[used].index("data=t") + 5)
            assert "t: x.dtype" in operand
            rule = await driver.hover(uri, said, rows[said].index("extent"))
            assert "# partition-extent" in rule
            assert await driver.hover(uri, 3, 0) == ""
            finding = await driver.hover(uri, made, rows[made].index("rows"))
            assert "required" in finding or "half:" in finding

    drive(work)


def test_actions_and_commands(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(HALVE, encoding="utf-8")

    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(path, HALVE)
            shown = await driver.checked(uri, 1)
            place = next(d.range for d in shown if d.code == ROWS)
            offered = await driver.actions(uri, place)
            titles = [a.title for a in offered]
            assert any(title.startswith("Suppress partition-extent") for title in titles)
            for action in offered:
                if action.command is not None:
                    told = await driver.command(
                        action.command.command, *(action.command.arguments or ())
                    )
                    assert told
            await driver.until(lambda: driver.shown and driver.messages)
            assert "replay: confirmed" in driver.messages[0].message
            assert driver.shown[0].uri.endswith(".md")
            # only what was asked for
            assert await driver.actions(uri, place, "refactor") == []

            suppress = next(a for a in offered if a.title.startswith("Suppress"))
            assert suppress.edit is not None and suppress.edit.document_changes is not None
            [document] = suppress.edit.document_changes
            assert isinstance(document, lsp.TextDocumentEdit)
            assert document.text_document.version == 1
            [edit] = document.edits
            assert isinstance(edit, lsp.TextEdit)
            start, end = edit.range.start, edit.range.end
            driver.change(
                uri, 2, ((start.line, start.character), (end.line, end.character), edit.new_text)
            )
            before = len(lines(driver, uri, ROWS))
            await driver.checked(uri, 2)
            assert len(lines(driver, uri, ROWS)) == before - 1

    drive(work)


def test_the_missing_precondition_is_inserted(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path, PLAIN) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE)
            shown = await driver.checked(uri, 1)
            place = next(d.range for d in shown if d.code == "precondition")
            fix = next(a for a in await driver.actions(uri, place) if "assert" in a.title)
            assert fix.edit is not None and fix.edit.changes is not None
            [edit] = fix.edit.changes[uri]
            start, end = edit.range.start, edit.range.end
            driver.change(
                uri, 2, ((start.line, start.character), (end.line, end.character), edit.new_text)
            )
            assert ROWS not in [d.code for d in await driver.checked(uri, 2)]

    drive(work)


def test_plain_clients_get_messages(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path, PLAIN) as driver:
            text = await driver.command("tilelint.explain", "partition-extent")
            assert text.startswith("# partition-extent")
            await driver.until(lambda: driver.messages)
            assert not driver.shown

    drive(work)


def test_hints_can_be_switched_off(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE)
            await driver.checked(uri, 1)
            labels = [hint.label for hint in await driver.hints(uri)]
            assert ": x.dtype[x.shape[0], 512] sbuf" in labels
            settings = lsp.DidChangeConfigurationParams({"tilelint": {"inlayHints": False}})
            driver.client.workspace_did_change_configuration(settings)
            assert await driver.hints(uri) == ()
        async with session(tmp_path, PLAIN, options={"inlayHints": False}) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE)
            assert await driver.hints(uri) == ()
        capabilities = copy.deepcopy(FULL)
        settings_ = {"inlayHints": False, "nonsense": 1}
        async with session(tmp_path, capabilities, settings=settings_) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE)
            await driver.checked(uri, 1)
            assert await driver.hints(uri) == ()
            assert any("nonsense" in entry.message for entry in driver.logged)

    drive(work)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_position_encodings(tmp_path: Path, encoding: str) -> None:
    wide = "😀é"
    text = HALVE.replace(
        "assert cols == 512", f'assert cols == 512, "{wide}"; note = "{wide}"; t_ = nope'
    )
    line = next(n for n, row in enumerate(text.splitlines()) if wide in row)
    row = text.splitlines()[line]

    def unit(column: int) -> int:
        head = row[:column]
        if encoding == "utf-32":
            return len(head)
        return len(head.encode(encoding + "-le" if encoding != "utf-8" else encoding)) // (
            2 if encoding == "utf-16" else 1
        )

    async def work() -> None:
        async with session(tmp_path, encodings=[encoding]) as driver:
            uri = driver.open(tmp_path / "k.py", text)
            shown = await driver.checked(uri, 1)
            starts = [d.range.start.character for d in shown if d.range.start.line == line]
            assert unit(row.index("nope")) in starts
            start, end = unit(row.index("nope")), unit(len(row))
            driver.change(uri, 2, ((line, start), (line, end), "0"))
            shown = await driver.checked(uri, 2)
            assert not [d for d in shown if d.range.start.line == line]

    drive(work)


def test_configuration_files_count(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE)
            assert ROWS in [d.code for d in await driver.checked(uri, 1)]
            config = tmp_path / "tilelint.toml"
            config.write_text('ignore = ["partition-extent"]\n', encoding="utf-8")
            event = lsp.FileEvent(config.as_uri(), lsp.FileChangeType.Created)
            driver.client.workspace_did_change_watched_files(
                lsp.DidChangeWatchedFilesParams([event])
            )
            await driver.until(lambda: ROWS not in codes(driver, uri))
            config.write_text('[contracts]\nhalve = "(x: bf16[128, 512])"\n', encoding="utf-8")
            driver.client.workspace_did_change_watched_files(
                lsp.DidChangeWatchedFilesParams([event])
            )
            driver.change(uri, 2, ((0, 0), (0, 0), "\n"))
            assert ROWS not in [d.code for d in await driver.checked(uri, 2)]
            # what is wrong with one is shown where it stands
            config.write_text('\nselect = ["nonsense"]\n', encoding="utf-8")
            before = len(driver.diagnostics[uri])
            driver.change(uri, 3, ((0, 0), (0, 0), "\n"))
            assert len(await driver.checked(uri, 3)) == before
            await driver.until(lambda: bool(driver.diagnostics.get(config.as_uri())))
            (wrong,) = driver.diagnostics[config.as_uri()]
            assert (wrong.range.start.line, "nonsense" in wrong.message) == (1, True)

    drive(work)


def test_a_configuration_that_cannot_be_used_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    config = tmp_path / "tilelint.toml"

    async def work() -> None:
        async with session(inside) as driver:
            uri = driver.open(inside / "k.py", HALVE)
            before = [(d.code, d.message) for d in await driver.checked(uri, 1)]
            assert ROWS in [code for code, _ in before]
            config.write_text('\nselect = ["nonsense"]\n', encoding="utf-8")
            for version in (2, 3):
                driver.change(uri, version, ((0, 0), (0, 0), "\n"))
                shown = await driver.checked(uri, version)
                assert [(d.code, d.message) for d in shown] == before
            told = [m for m in driver.messages if m.type == lsp.MessageType.Error]
            assert len(told) == 1 and "nonsense" in told[0].message
            assert [d.range.start.line for d in driver.diagnostics[config.as_uri()]] == [1]
            config.unlink()
            driver.change(uri, 4, ((0, 0), (0, 0), "\n"))
            assert [(d.code, d.message) for d in await driver.checked(uri, 4)] == before
            await driver.until(lambda: not driver.diagnostics[config.as_uri()])

    drive(work)


def test_the_precondition_of_a_kernel(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path, options={"verbose": False}) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE + DOUBLE)
            shown = await driver.checked(uri, 1)
            [block] = [d for d in shown if d.code == "precondition"]
            assert ROWS not in [d.code for d in shown]
            row = HALVE.splitlines().index("def halve(x):")
            assert (block.range.start.line, block.range.start.character) == (row, 4)
            assert "`halve` is right on trn2 exactly when rows <= 128" in block.message
            assert any("rows <= 128" in r.message for r in block.related_information or ())
            text = await driver.hover(uri, row, 5)
            assert "rows <= 128" in text and "it asserts `cols == 512`" in text
            lenses = await driver.lenses(uri)
            assert lenses[row] == "`halve` is right on trn2 exactly when rows <= 128"
            other = (HALVE + DOUBLE).splitlines().index("def double(x):")
            assert lenses[other] == "`double` is right on trn2 for every input that it admits"

    drive(work)


def _workers(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(encoding="utf-8")
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the worker in /proc")
def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE)
            await driver.checked(uri, 1)
            [worker] = _workers(driver.pid)
            os.kill(worker, signal.SIGKILL)
            driver.change(uri, 2, ((0, 0), (0, 0), "\n"))
            assert ROWS in [d.code for d in await driver.checked(uri, 2)]
            [other] = _workers(driver.pid)
            assert other != worker
            # a worker that hears nothing is killed when an edit supersedes what it does
            os.kill(other, signal.SIGSTOP)
            driver.change(uri, 3, ((0, 0), (0, 0), "\n"))
            await asyncio.sleep(0.3)
            driver.change(uri, 4, ((0, 0), (0, 0), "\n"))
            assert ROWS in [d.code for d in await driver.checked(uri, 4)]

    drive(work)


def test_versions_never_go_back(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE + DOUBLE)
            for version in range(2, 40):
                driver.change(uri, version, ((0, 0), (0, 0), "#\n"))
                await asyncio.sleep(0.01 * (version % 4))
            await driver.checked(uri, 39)
            versions = [p.version for p in driver.published if p.uri == uri]
            assert versions == sorted(versions, key=lambda v: v or 0)

    drive(work)


def test_a_request_is_cancelled(tmp_path: Path) -> None:
    async def work() -> None:
        async with session(tmp_path) as driver:
            uri = driver.open(tmp_path / "k.py", HALVE)
            asked = asyncio.ensure_future(driver.hover(uri, 10, 5))
            await asyncio.sleep(0.02)
            number = next(iter(driver.client.protocol._request_futures))
            driver.client.cancel_request(lsp.CancelParams(number))
            with pytest.raises(Exception, match="cancel"):
                await asked
            await driver.checked(uri, 1)

    drive(work)
