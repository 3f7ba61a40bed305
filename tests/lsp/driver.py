"""A client for tests and benchmarks: a real server process, and a mirror of what it was told."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, Union, cast
from unittest import mock

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter
from pygls.uris import from_fs_path

from tests.commands import Command

ROOT = Path(__file__).resolve().parent.parent.parent
Handler = TypeVar("Handler", bound=Callable[..., Any])
#: seconds that anything may take before a test fails
PATIENCE = 60.0

FULL = lsp.ClientCapabilities(
    workspace=lsp.WorkspaceClientCapabilities(
        apply_edit=True,
        workspace_edit=lsp.WorkspaceEditClientCapabilities(document_changes=True),
        inlay_hint=lsp.InlayHintWorkspaceClientCapabilities(refresh_support=True),
    ),
    text_document=lsp.TextDocumentClientCapabilities(
        publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(
            related_information=True, version_support=True, data_support=True
        )
    ),
    window=lsp.WindowClientCapabilities(
        work_done_progress=True, show_document=lsp.ShowDocumentClientCapabilities(support=True)
    ),
)
PLAIN = lsp.ClientCapabilities()


def _converter() -> Any:
    """The library takes every code action that has a command for a bare command."""
    converter = default_converter()  # type: ignore[no-untyped-call]

    def structure(value: Any, _: Any) -> Any:
        bare = isinstance(value.get("command"), str)
        return converter.structure(value, lsp.Command if bare else lsp.CodeAction)

    converter.register_structure_hook(lsp.Command | lsp.CodeAction, structure)
    converter.register_structure_hook(Union[lsp.Command, lsp.CodeAction], structure)  # noqa: UP007
    return converter


async def connected(client: LanguageClient) -> Command:
    """A server for a client, forked from a process that has loaded it and its worker."""
    ours, theirs = socket.socketpair()
    with theirs:
        server = Command("lsp", "--stdio", stdin=theirs, stdout=theirs)

    async def connect(*_: object) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await open_connection(sock=ours)

    open_connection = asyncio.open_connection
    with mock.patch.object(asyncio, "open_connection", connect):
        await client.start_tcp("", 0)
    return server


class Driver:
    """A connection to a server, and everything that it sent."""

    def __init__(self) -> None:
        self.client = LanguageClient("driver", "1", converter_factory=_converter)
        self.published: list[lsp.PublishDiagnosticsParams] = []
        self.diagnostics: dict[str, Sequence[lsp.Diagnostic]] = {}
        self.versions: dict[str, int | None] = {}
        self.messages: list[lsp.ShowMessageParams] = []
        self.logged: list[lsp.LogMessageParams] = []
        self.shown: list[lsp.ShowDocumentParams] = []
        self.progress: list[Any] = []
        self.refreshed = 0
        self.settings: Any = None
        self.server: Command | None = None
        self._news = asyncio.Event()
        feature = self._feature

        @feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.append(params)
            self.diagnostics[params.uri] = params.diagnostics
            self.versions[params.uri] = params.version
            self._tell()

        @feature(lsp.WINDOW_SHOW_MESSAGE)
        def message(params: lsp.ShowMessageParams) -> None:
            self.messages.append(params)
            self._tell()

        @feature(lsp.WINDOW_LOG_MESSAGE)
        def logged(params: lsp.LogMessageParams) -> None:
            self.logged.append(params)

        @feature(lsp.WINDOW_SHOW_DOCUMENT)
        def show(params: lsp.ShowDocumentParams) -> lsp.ShowDocumentResult:
            self.shown.append(params)
            self._tell()
            return lsp.ShowDocumentResult(True)

        @feature(lsp.WINDOW_WORK_DONE_PROGRESS_CREATE)
        def create(params: lsp.WorkDoneProgressCreateParams) -> None:
            self.progress.append(params)

        @feature(lsp.PROGRESS)
        def progress(params: lsp.ProgressParams) -> None:
            self.progress.append(params)

        @feature(lsp.WORKSPACE_INLAY_HINT_REFRESH)
        def refresh(_: Any) -> None:
            self.refreshed += 1

        @feature(lsp.WORKSPACE_CODE_LENS_REFRESH)
        def refresh_lenses(_: Any) -> None:
            self.refreshed += 1

        @feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def register(_: lsp.RegistrationParams) -> None:
            return None

        @feature(lsp.WORKSPACE_CONFIGURATION)
        def configuration(params: lsp.ConfigurationParams) -> list[Any]:
            return [self.settings for _ in params.items]

    def _feature(self, method: str) -> Callable[[Handler], Handler]:
        """The library's own decorator says nothing of types."""
        return cast(Callable[[Handler], Handler], self.client.feature(method))

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    @property
    def pid(self) -> int:
        server = self.client._server or self.server
        assert server is not None
        return server.pid

    async def start(self, forked: bool) -> None:
        """``forked``: from a process that has loaded the server, and its worker from it."""
        if not forked:
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            await self.client.start_io(
                sys.executable, "-m", "verifier", "lsp", "--stdio", env=environment
            )
            return
        self.server = await connected(self.client)

    # ----------------------------------------------------------------- documents

    def open(self, path: Path, text: str, version: int = 1) -> str:
        uri = str(from_fs_path(str(path)))
        self.versions.pop(uri, None)
        item = lsp.TextDocumentItem(uri, "python", version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return uri

    def change(
        self, uri: str, version: int, *changes: tuple[tuple[int, int], tuple[int, int], str] | str
    ) -> None:
        """Edits one after another; a text alone replaces everything."""
        events: list[Any] = []
        for change in changes:
            if isinstance(change, str):
                events.append(lsp.TextDocumentContentChangeWholeDocument(change))
                continue
            start, end, text = change
            range_ = lsp.Range(lsp.Position(*start), lsp.Position(*end))
            events.append(lsp.TextDocumentContentChangePartial(range=range_, text=text))
        document = lsp.VersionedTextDocumentIdentifier(uri=uri, version=version)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, events))

    def close(self, uri: str) -> None:
        document = lsp.TextDocumentIdentifier(uri)
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))

    # ----------------------------------------------------------------- waiting

    async def until(self, holds: Any, patience: float = PATIENCE) -> None:
        """Wait until a condition holds that depends on what the server sends."""
        end = time.monotonic() + patience
        while not holds():
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"not so after {patience} s; log: {self.logged[-3:]}")
            try:
                await asyncio.wait_for(self._news.wait(), min(left, 1.0))
            except asyncio.TimeoutError:
                continue

    async def checked(self, uri: str, version: int) -> Sequence[lsp.Diagnostic]:
        """The diagnostics of a version of a document."""
        await self.until(lambda: self.versions.get(uri) == version)
        return self.diagnostics[uri]

    # ----------------------------------------------------------------- questions

    async def hover(self, uri: str, line: int, character: int) -> str:
        found = await self.client.text_document_hover_async(
            lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(line, character))
        )
        if found is None:
            return ""
        assert isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value

    async def completions(self, uri: str, line: int, character: int) -> dict[str, str]:
        """What is offered, with its parameters."""
        found = await self.client.text_document_completion_async(
            lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), lsp.Position(line, character))
        )
        items = found.items if isinstance(found, lsp.CompletionList) else found or ()
        return {item.label: item.detail or "" for item in items}

    async def actions(self, uri: str, range_: lsp.Range, *only: str) -> Sequence[lsp.CodeAction]:
        context = lsp.CodeActionContext(
            diagnostics=list(self.diagnostics.get(uri, ())), only=list(only) or None
        )
        found = await self.client.text_document_code_action_async(
            lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), range_, context)
        )
        return [action for action in found or () if isinstance(action, lsp.CodeAction)]

    async def lenses(self, uri: str) -> dict[int, str]:
        """The titles of the code lenses, by line."""
        found = await self.client.text_document_code_lens_async(
            lsp.CodeLensParams(lsp.TextDocumentIdentifier(uri))
        )
        return {lens.range.start.line: lens.command.title for lens in found or () if lens.command}

    async def hints(self, uri: str) -> Sequence[lsp.InlayHint]:
        everything = lsp.Range(lsp.Position(0, 0), lsp.Position(1_000_000, 0))
        found = await self.client.text_document_inlay_hint_async(
            lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), everything)
        )
        return found or ()

    async def command(self, name: str, *arguments: Any) -> Any:
        return await self.client.workspace_execute_command_async(
            lsp.ExecuteCommandParams(name, list(arguments))
        )


@asynccontextmanager
async def session(
    folder: Path | None = None,
    capabilities: lsp.ClientCapabilities = FULL,
    options: Any = None,
    encodings: Sequence[str] | None = None,
    settings: Any = None,
    forked: bool = True,
) -> AsyncIterator[Driver]:
    """A server that is initialised, and shut down afterwards. It shows each finding at its place,
    unless ``options`` say otherwise. ``forked``: as :meth:`Driver.start` says."""
    driver = Driver()
    driver.settings = settings
    await driver.start(forked)
    folders = None
    if folder is not None:
        folders = [lsp.WorkspaceFolder(str(from_fs_path(str(folder))), folder.name)]
    general = None
    if encodings is not None:
        general = lsp.GeneralClientCapabilities(
            position_encodings=[lsp.PositionEncodingKind(e) for e in encodings]
        )
    workspace = capabilities.workspace
    if settings is not None and workspace is not None:
        workspace.configuration = True
    chosen = lsp.ClientCapabilities(
        workspace=workspace,
        text_document=capabilities.text_document,
        window=capabilities.window,
        general=general,
    )
    await driver.client.initialize_async(
        lsp.InitializeParams(
            capabilities=chosen,
            process_id=os.getpid(),
            workspace_folders=folders,
            initialization_options={"verbose": True, **(options or {})},
        )
    )
    driver.client.initialized(lsp.InitializedParams())
    try:
        yield driver
    finally:
        await asyncio.wait_for(driver.client.shutdown_async(None), PATIENCE)
        driver.client.exit(None)
        stopping = driver.client.stop()  # type: ignore[no-untyped-call]
        await asyncio.wait_for(stopping, PATIENCE)
        if driver.server is not None:
            assert driver.server.wait(PATIENCE) == 0


def offset(text: str, place: tuple[int, int]) -> int:
    """Where a (line, code point) is in a text whose lines end as LSP says."""
    line, column = place
    at = 0
    for _ in range(line):
        ends = [i for i in (text.find("\n", at), text.find("\r", at)) if i >= 0]
        at = min(ends)
        at += 2 if text[at : at + 2] == "\r\n" else 1
    return at + column


def seeded(seed: int) -> random.Random:
    return random.Random(seed)
