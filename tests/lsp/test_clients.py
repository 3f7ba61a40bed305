"""The server with the capabilities that well-known editors announce."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from tests.lsp.driver import PATIENCE, ROOT, connected
from tests.lsp.kernels import HALVE


@asynccontextmanager
async def editor(name: str) -> AsyncIterator[LanguageClient]:
    """A client with the capabilities of an editor, which meets no error."""
    client = make_test_lsp_client()
    for method in (
        lsp.WORKSPACE_CODE_LENS_REFRESH,
        lsp.WORKSPACE_INLAY_HINT_REFRESH,
        lsp.CLIENT_REGISTER_CAPABILITY,
    ):
        client.feature(method)(lambda _: None)
    server = await connected(client)
    try:
        await client.initialize_session(
            lsp.InitializeParams(
                capabilities=client_capabilities(name),
                workspace_folders=[lsp.WorkspaceFolder(uri=ROOT.as_uri(), name="tilelint")],
            )
        )
        yield client
        await client.shutdown_session()
        await client.stop()  # type: ignore[no-untyped-call]
        assert server.wait(PATIENCE) == 0
    finally:
        if server.poll() is None:
            server.kill()
    assert client.error is None


async def _precondition(editor: Any, uri: str) -> Any:
    """The finding, with the first analysis or, where that is cut short, the next one."""
    while True:
        await editor.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        for found in editor.diagnostics[uri]:
            if found.code == "precondition":
                return found


@pytest.mark.parametrize("name", ["neovim", "visual_studio_code", "emacs"])
def test_an_edit_a_hover_and_a_fix(name: str, tmp_path: Path) -> None:
    async def session() -> None:
        async with editor(name) as client:
            await _edited(client, (tmp_path / "k.py").as_uri())

    asyncio.run(asyncio.wait_for(session(), 2 * PATIENCE))


async def _edited(editor: Any, uri: str) -> None:
    editor.text_document_did_open(
        lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "python", 1, HALVE))
    )
    found = await _precondition(editor, uri)
    hovered = await editor.text_document_hover_async(
        lsp.HoverParams(lsp.TextDocumentIdentifier(uri), found.range.start)
    )
    assert "rows <= 128" in hovered.contents.value
    offered = await editor.text_document_code_action_async(
        lsp.CodeActionParams(
            lsp.TextDocumentIdentifier(uri), found.range, lsp.CodeActionContext([found])
        )
    )
    assert any(action.title.startswith("insert") for action in offered)
    change = lsp.TextDocumentContentChangeWholeDocument("# 😀\n" + HALVE)
    editor.text_document_did_change(
        lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(2, uri), [change])
    )
    moved = await _precondition(editor, uri)
    assert moved.range.start.line == found.range.start.line + 1
