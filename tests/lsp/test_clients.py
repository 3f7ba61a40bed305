"""The server with the capabilities that well-known editors announce."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from tests.lsp.driver import ROOT
from tests.lsp.kernels import HALVE


@pytest_lsp.fixture(  # type: ignore[untyped-decorator]
    config=ClientServerConfig(
        server_command=[sys.executable, "-m", "verifier", "lsp"],
        server_env={**os.environ, "PYTHONPATH": str(ROOT)},
    ),
    params=["neovim", "visual_studio_code", "emacs"],
)
async def editor(request: pytest.FixtureRequest, lsp_client: LanguageClient) -> AsyncIterator[None]:
    for method in (
        lsp.WORKSPACE_CODE_LENS_REFRESH,
        lsp.WORKSPACE_INLAY_HINT_REFRESH,
        lsp.CLIENT_REGISTER_CAPABILITY,
    ):
        lsp_client.feature(method)(lambda _: None)
    await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities(request.param),
            workspace_folders=[lsp.WorkspaceFolder(uri=ROOT.as_uri(), name="tilelint")],
        )
    )
    yield
    await lsp_client.shutdown_session()


async def _precondition(editor: Any, uri: str) -> Any:
    """The finding, with the first analysis or, where that is cut short, the next one."""
    while True:
        await editor.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        for found in editor.diagnostics[uri]:
            if found.code == "precondition":
                return found


@pytest.mark.asyncio
async def test_an_edit_a_hover_and_a_fix(editor: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "k.py").as_uri()
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
