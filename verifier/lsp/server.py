"""The language server: the protocol on one side, the session on the other."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from verifier import __version__
from verifier.lsp import actions, hover, options, replaying
from verifier.lsp.actions import Actions, Offer
from verifier.lsp.analyst import Analyst
from verifier.lsp.findings import Found
from verifier.lsp.hints import hints
from verifier.lsp.knowledge import Knowledge, RuleText
from verifier.lsp.places import Places, path_of
from verifier.lsp.published import SOURCE, Publisher, message, shown_at
from verifier.lsp.session import Session
from verifier.lsp.text import Buffer, Encoding, Position
from verifier.report.model import PRECONDITION, Edit
from verifier.service import replays

log = logging.getLogger(__name__)

#: seconds that a question about a place waits for the first result of its file
_PATIENCE: Final = 3.0
#: seconds that hints wait for the result of an edit, if the client cannot be told to ask again
_HINT_PATIENCE: Final = 1.5
_WATCHED: Final = ("**/*.py", "**/pyproject.toml", "**/tilelint.toml")


class _Protocol(LanguageServerProtocol):
    """The documents are kept by the session: its lines end where LSP says they do."""

    def _execute_handler(self, msg_id: Any, *args: Any, **named: Any) -> None:
        """As in the library, which remembers every notification for ever."""
        super()._execute_handler(msg_id, *args, **named)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(
        self, params: lsp.DidOpenTextDocumentParams
    ) -> Generator[Any, Any, None]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: lsp.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(
        self, params: lsp.DidCloseTextDocumentParams
    ) -> Generator[Any, Any, None]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CLOSE], (params,), None


class TilelintServer(LanguageServer):
    """One editor, one session."""

    def __init__(self, analyst: Analyst | None = None) -> None:
        super().__init__(
            SOURCE,
            __version__,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
            protocol_cls=_Protocol,
        )
        self.knowledge = Knowledge()
        self.session = Session(self, analyst)
        self.places = Places(self.session.buffers)
        self.publisher = Publisher(self.places, self.session.findings, self._shows_related)
        self.actions = Actions(self.places, self.knowledge)
        self._published: dict[str, list[lsp.Diagnostic]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._explanations: dict[str, str] = {}

    # ----------------------------------------------------------------- what the client can do

    def can(self, *names: str) -> bool:
        """Whether the client says that it can do something, by the path in its capabilities."""
        found: Any = self.client_capabilities
        for name in names:
            found = getattr(found, name, None)
        return bool(found)

    def _shows_related(self) -> bool:
        return self.can("text_document", "publish_diagnostics", "related_information")

    def start(self, work: Any) -> None:
        """Do something beside what is going on."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("internal error", exc_info=task.exception())
            self.note(f"internal error: {task.exception()!r}")

    def stop_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()

    # ----------------------------------------------------------------- what the client is told

    def note(self, text: str, kind: lsp.MessageType = lsp.MessageType.Error) -> None:
        """A line in the client's log."""
        self.window_log_message(lsp.LogMessageParams(kind, text))

    def say(self, text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """A message to the user."""
        self.window_show_message(lsp.ShowMessageParams(kind, text))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Faults are for the log: a message box at every key would be worse than the fault."""
        log.error("%s: %s", getattr(source, "__name__", source), error)
        with contextlib.suppress(Exception):
            self.note(f"{error}")

    def failed(self, path: str, reason: str) -> None:
        self.note(f"{path}: internal error: {reason}")

    def refused(self, problems: str) -> None:
        """A configuration cannot be used: what is shown is what was found before."""
        self.say(f"tilelint: {problems}", lsp.MessageType.Error)

    def shows(self, path: str) -> bool:
        """Whether findings are shown in a file: it is open, or in the workspace."""
        return path in self.session.buffers or self.session.within(path)

    def publish(self, about: str) -> None:
        session = self.session
        found = session.findings.found(parts=session.options.verbose)
        paths = dict.fromkeys([about, *session.findings.paths(), *self._published])
        for path in paths:
            # a configuration may lie above the workspace
            wrong = path != about and session.findings.errors(path)
            shown = path in session.findings or self.shows(path) or bool(wrong)
            new = (
                self.publisher.of_file(path, found, self.shows, undecided=session.options.undecided)
                if shown
                else []
            )
            if path != about and new == self._published.get(path, []):
                continue
            if new:
                self._published[path] = new
            elif path in self._published:
                del self._published[path]
            elif path not in session.buffers:
                continue
            buffer = session.buffers.get(path)
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(
                    uri=self.places.uri(path),
                    diagnostics=new,
                    version=buffer.version if buffer is not None else None,
                )
            )
        if session.options.inlay_hints and self.can("workspace", "inlay_hint", "refresh_support"):
            self.start(self._refresh(self.workspace_inlay_hint_refresh_async))
        if session.options.code_lens and self.can("workspace", "code_lens", "refresh_support"):
            self.start(self._refresh(self.workspace_code_lens_refresh_async))

    async def _refresh(self, ask: Callable[[None], Awaitable[None]]) -> None:
        with contextlib.suppress(JsonRpcException):  # clients promise more than they do
            await ask(None)

    @contextlib.asynccontextmanager
    async def working(self, path: str) -> AsyncIterator[None]:
        if not self.can("window", "work_done_progress"):
            yield
            return
        token = str(uuid.uuid4())
        progress = self.work_done_progress
        await asyncio.shield(progress.create_async(token))  # its answer comes in any case
        name = os.path.basename(path)  # noqa: PTH119
        progress.begin(token, lsp.WorkDoneProgressBegin(title="tilelint", message=name))
        try:
            yield
        finally:
            progress.end(token, lsp.WorkDoneProgressEnd())
            progress.tokens.pop(token, None)

    # ----------------------------------------------------------------- questions about places

    def position(self, buffer: Buffer, place: lsp.Position) -> Position:
        return buffer.position(place.line, place.character, self.places.encoding)

    def findings_in(self, path: str) -> list[Found]:
        """The findings that are shown in a file, as they are shown."""
        out = []
        for found in self.session.findings.found(parts=self.session.options.verbose):
            shown = shown_at(found, self.session.findings, self.shows)
            if shown.span.path == path:
                out.append(Found(shown, found.about, found.kept))
        return out

    def workspace_edit(self, edits: Iterable[Edit]) -> lsp.WorkspaceEdit:
        buffers = self.session.buffers
        return actions.workspace_edit(
            edits,
            self.places,
            lambda path: buffers[path].version if path in buffers else None,
            versioned=self.can("workspace", "workspace_edit", "document_changes"),
        )

    async def explain(self, rule: RuleText) -> None:
        """Show the text about a rule: as a document if the client can, else as a message."""
        if self.can("window", "show_document", "support"):
            path = self._explanations.get(rule.id)
            if path is None or not os.path.exists(path):  # noqa: PTH110
                folder = tempfile.mkdtemp(prefix="tilelint-")
                path = os.path.join(folder, f"{rule.id}.md")  # noqa: PTH118
                with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
                    file.write(rule.markdown)
                self._explanations[rule.id] = path
            result = await self.window_show_document_async(
                lsp.ShowDocumentParams(uri=self.places.uri(path), take_focus=True)
            )
            if result.success:
                return
        self.say(rule.markdown)

    async def configure(self) -> None:
        """Ask the client for its settings, if it can be asked."""
        if not self.can("workspace", "configuration"):
            return
        try:
            said = await self.workspace_configuration_async(
                lsp.ConfigurationParams([lsp.ConfigurationItem(section=SOURCE)])
            )
        except JsonRpcException:
            return
        self.set_options(said[0] if said else None)

    def set_options(self, said: object) -> None:
        new, problems = options.read(said, self.session.options)
        for problem in problems:
            self.note(problem, lsp.MessageType.Warning)
        if new != self.session.options:
            self.session.options = new
            self.session.recheck()

    def close(self) -> None:
        """End what was started, and leave nothing behind."""
        self.stop_tasks()
        self.session.analyst.kill()
        for path in self._explanations.values():
            with contextlib.suppress(OSError):
                os.unlink(path)  # noqa: PTH108
                os.rmdir(os.path.dirname(path))  # noqa: PTH106, PTH120


def _folders(server: TilelintServer) -> tuple[str, ...]:
    workspace = server.workspace
    found = [path_of(folder.uri) for folder in workspace.folders.values()]
    if not found and workspace.root_path:
        found = [os.path.abspath(workspace.root_path)]  # noqa: PTH100
    return tuple(dict.fromkeys(found))


def _encoding(agreed: str | None) -> Encoding:
    if agreed == "utf-8":
        return "utf-8"
    return "utf-32" if agreed == "utf-32" else "utf-16"


def server(analyst: Analyst | None = None) -> TilelintServer:
    """A server that is ready to be started on a channel."""
    ls = TilelintServer(analyst)
    _life(ls)
    _documents(ls)
    _questions(ls)
    _lenses(ls)
    _completions(ls)
    _actions(ls)
    _commands(ls)
    return ls


def _life(ls: TilelintServer) -> None:
    session = ls.session

    @ls.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        session.options, problems = options.read(params.initialization_options)
        session.folders = _folders(ls)
        ls.places.encoding = _encoding(ls.workspace.position_encoding)
        ls.start(session.run())
        for problem in problems:
            ls.note(problem, lsp.MessageType.Warning)

    @ls.feature(lsp.INITIALIZED)
    async def initialized(_: lsp.InitializedParams) -> None:
        wanted = []
        if ls.can("workspace", "did_change_watched_files", "dynamic_registration"):
            watchers = [lsp.FileSystemWatcher(glob_pattern=glob) for glob in _WATCHED]
            wanted.append(
                lsp.Registration(
                    str(uuid.uuid4()),
                    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                    lsp.DidChangeWatchedFilesRegistrationOptions(watchers),
                )
            )
        if ls.can("workspace", "did_change_configuration", "dynamic_registration"):
            wanted.append(
                lsp.Registration(
                    str(uuid.uuid4()),
                    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION,
                    {"section": SOURCE},
                )
            )
        if wanted:
            with contextlib.suppress(JsonRpcException):
                await ls.client_register_capability_async(lsp.RegistrationParams(wanted))
        await ls.configure()

    @ls.feature(lsp.SHUTDOWN)
    def shutdown(_: None) -> None:
        ls.close()

    @ls.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def settings(params: lsp.DidChangeConfigurationParams) -> None:
        if isinstance(params.settings, dict) and SOURCE in params.settings:
            ls.set_options(params.settings)
        else:
            await ls.configure()

    @ls.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(_: lsp.DidChangeWatchedFilesParams) -> None:
        session.recheck()

    @ls.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(_: lsp.DidChangeWorkspaceFoldersParams) -> None:
        session.folders = _folders(ls)
        session.recheck()


def _documents(ls: TilelintServer) -> None:
    session = ls.session

    @ls.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        path = path_of(document.uri)
        if document.language_id == "python" or path.endswith((".py", ".pyi")):
            session.opened(Buffer(document.uri, path, document.version, document.text))

    @ls.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        buffer = session.buffers.get(path)
        if buffer is None:
            return
        for change in params.content_changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                start = ls.position(buffer, change.range.start)
                end = ls.position(buffer, change.range.end)
                buffer.replace(start, end, change.text)
            else:
                buffer.reset(change.text)
        buffer.version = params.text_document.version
        session.edited(path)

    @ls.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(_: lsp.DidSaveTextDocumentParams) -> None:
        session.recheck()  # a file that is not open may have been written with it

    @ls.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        session.closed(path_of(params.text_document.uri))


def _questions(ls: TilelintServer) -> None:
    session = ls.session

    @ls.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        path = path_of(params.text_document.uri)
        buffer = session.buffers.get(path)
        if buffer is None:
            return None
        named = ls.position(buffer, params.position)
        rule = hover.rule_at(buffer.line(named.line), named.column)
        if rule is not None:
            known = await ls.knowledge.rule(rule)
            return _markdown(known.markdown) if known is not None else None
        if path not in session.findings:
            await session.fresh(path, _PATIENCE)
        place = ls.position(buffer, params.position)
        parts = []
        for found in ls.findings_in(path):
            if hover.contains(found.diagnostic.span, place):
                known = await ls.knowledge.rule(found.diagnostic.rule)
                summary = known.summary if known is not None else ""
                parts.append(hover.finding_text(found.diagnostic, summary))
        parts += hover.kernels_at(session.findings.kernels(path), buffer.line, place)
        tiles = hover.tile_at(list(session.findings.tiles(path)), buffer.line(place.line), place)
        if tiles:
            parts.insert(0, hover.tile_text(tiles))
        function = await ls.knowledge.function(buffer.text, buffer.line(named.line), named.column)
        if function:
            parts.append(function)
        return _markdown("\n\n---\n\n".join(parts)) if parts else None

    @ls.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    async def hinted(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        path = path_of(params.text_document.uri)
        buffer = session.buffers.get(path)
        if buffer is None or not session.options.inlay_hints:
            return []
        if not ls.can("workspace", "inlay_hint", "refresh_support"):
            await session.fresh(path, _HINT_PATIENCE)
        first, last = params.range.start.line, params.range.end.line
        return [
            lsp.InlayHint(
                position=ls.places.position(path, hint.place),
                label=hint.text,
                kind=lsp.InlayHintKind.Type,
                tooltip=lsp.MarkupContent(lsp.MarkupKind.Markdown, hover.described(hint.tile)),
            )
            for hint in hints(session.findings.tiles(path), buffer.line)
            if first <= hint.place.line <= last
        ]


def _lenses(ls: TilelintServer) -> None:
    session = ls.session

    @ls.feature(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions())
    async def lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        path = path_of(params.text_document.uri)
        if path not in session.buffers or not session.options.code_lens:
            return []
        if path not in session.findings:
            await session.fresh(path, _PATIENCE)
        found = {
            (kernel.line, hover.known_of(kernel)): kernel
            for kernel in session.findings.kernels(path)
            if kernel.precondition is not None
        }
        return [
            lsp.CodeLens(
                range=ls.places.range(ls.places.whole_line(path, line)),
                command=lsp.Command(title=text, command=actions.EXPLAIN, arguments=[PRECONDITION]),
            )
            for line, text in found
        ]


def _completions(ls: TilelintServer) -> None:
    session = ls.session

    @ls.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["."]))
    async def completed(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        buffer = session.buffers.get(path_of(params.text_document.uri))
        if buffer is None:
            return []
        place = ls.position(buffer, params.position)
        line = buffer.line(place.line)
        return [
            lsp.CompletionItem(
                label=function.name,
                kind=lsp.CompletionItemKind.Function,
                detail=function.parameters,
                documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, function.text),
            )
            for function in await ls.knowledge.functions(buffer.text, line, place.column)
        ]


def _actions(ls: TilelintServer) -> None:
    session = ls.session

    @ls.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=list(actions.KINDS)),
    )
    async def offered(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        path = path_of(params.text_document.uri)
        buffer = session.buffers.get(path)
        if buffer is None:
            return []
        only = params.context.only

        def wanted(kind: str) -> bool:
            return only is None or any(kind == o or kind.startswith(f"{o}.") for o in only)

        first, last = params.range.start, params.range.end
        offers = []
        fixes = []
        for found in ls.findings_in(path):
            diagnostic = found.diagnostic
            if diagnostic.fix is not None and diagnostic.fix.safe:
                fixes.append(diagnostic.fix)
            shown = ls.publisher.diagnostic(diagnostic, kept=found.kept)
            if not found.kept and _overlap(shown.range, first, last):
                known = (d for d in params.context.diagnostics if _same(d, shown))
                offers.append(Offer(diagnostic, next(known, shown)))
        out = await ls.actions.offered(buffer, offers, ls.workspace_edit, wanted)
        edits = actions.compatible(fixes)
        if edits and wanted(actions.FIX_ALL):
            out.append(
                lsp.CodeAction(
                    title="Apply all safe fixes of tilelint",
                    kind=actions.FIX_ALL,
                    edit=ls.workspace_edit(edits),
                )
            )
        return out


def _commands(ls: TilelintServer) -> None:
    session = ls.session

    @ls.command(actions.EXPLAIN)
    async def explain(rule: str) -> str | None:
        known = await ls.knowledge.rule(rule)
        if known is None:
            ls.say(f"tilelint has no rule `{rule}`", lsp.MessageType.Warning)
            return None
        ls.start(ls.explain(known))
        return known.markdown

    @ls.command(actions.REPLAY)
    async def replay(uri: str, rule: str, kernel: str, line: int) -> str | None:
        path = path_of(uri)
        found = next(
            (
                f
                for f in ls.findings_in(path)
                if (f.diagnostic.rule, f.diagnostic.kernel) == (rule, kernel)
                and f.diagnostic.span.line - 1 == line
            ),
            None,
        )
        report = None
        if found is not None:
            kernels = session.findings.kernels(found.about)
            report = replays.kernel_of(kernels, found.diagnostic)
        if found is None or report is None or found.diagnostic.counterexample is None:
            ls.say("tilelint: there is no such finding any more", lsp.MessageType.Warning)
            return None
        unsaved = _unsaved(ls)
        if unsaved:
            names = ", ".join(os.path.basename(p) for p in unsaved)  # noqa: PTH119
            ls.say(f"tilelint: save {names} first: what runs is the file", lsp.MessageType.Warning)
            return None
        async with ls.working(path):
            answer = await replaying.ask(replays.Question(found.diagnostic, report))
        after = replays.told(found.diagnostic, answer)
        ls.say(f"tilelint {replays.words(answer)}\n{message(after)}")
        return answer.status


def _unsaved(ls: TilelintServer) -> list[str]:
    """The open files whose text is not what is on disk."""
    out = []
    for path, buffer in ls.session.buffers.items():
        try:
            with open(path, encoding="utf-8", newline="") as file:  # noqa: PTH123
                same = file.read().removeprefix("\ufeff") == buffer.text.removeprefix("\ufeff")
        except (OSError, UnicodeDecodeError):
            same = False
        if not same:
            out.append(path)
    return out


def _markdown(text: str) -> lsp.Hover:
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text))


def _before(a: lsp.Position, b: lsp.Position) -> bool:
    return (a.line, a.character) <= (b.line, b.character)


def _overlap(range_: lsp.Range, first: lsp.Position, last: lsp.Position) -> bool:
    return _before(range_.start, last) and _before(first, range_.end)


def _same(a: lsp.Diagnostic, b: lsp.Diagnostic) -> bool:
    return a.source in (SOURCE, None) and a.code == b.code and a.range == b.range


__all__ = ["TilelintServer", "server"]
