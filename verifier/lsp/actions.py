"""Code actions: what can be done about the findings at a place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from lsprotocol import types as lsp
from msgspec import Struct

from verifier.lsp.knowledge import Knowledge
from verifier.lsp.places import Places
from verifier.lsp.text import Buffer
from verifier.report.model import Diagnostic, Edit, Fix
from verifier.report.together import Together

EXPLAIN: Final = "tilelint.explain"
REPLAY: Final = "tilelint.replay"
FIX_ALL: Final = lsp.CodeActionKind.SourceFixAll
KINDS: Final = (lsp.CodeActionKind.QuickFix, FIX_ALL)
#: what stands behind a suppression until the user says why
REASON: Final = "say why this is fine"


def workspace_edit(
    edits: Iterable[Edit], places: Places, version: Callable[[str], int | None], *, versioned: bool
) -> lsp.WorkspaceEdit:
    """The edits of several files; with versions, if the client knows what to do with them."""
    by_path: dict[str, list[lsp.TextEdit]] = {}
    for edit in edits:
        new = lsp.TextEdit(range=places.range(edit.span), new_text=edit.text)
        by_path.setdefault(edit.span.path, []).append(new)
    if not versioned:
        return lsp.WorkspaceEdit(changes={places.uri(p): new for p, new in by_path.items()})
    return lsp.WorkspaceEdit(
        document_changes=[
            lsp.TextDocumentEdit(
                lsp.OptionalVersionedTextDocumentIdentifier(places.uri(p), version(p)), new
            )
            for p, new in by_path.items()
        ]
    )


def compatible(fixes: Iterable[Fix]) -> list[Edit]:
    """The edits of the fixes that are applied together, each once."""
    together = Together()
    return [*dict.fromkeys(e for fix in fixes if together.takes(fix) for e in fix.edits)]


class Offer(Struct, frozen=True):
    """A finding in the range that was asked about, and the client's own record of it."""

    diagnostic: Diagnostic
    shown: lsp.Diagnostic


class Actions:
    """Builds the actions that are offered."""

    def __init__(self, places: Places, knowledge: Knowledge) -> None:
        self._places = places
        self._knowledge = knowledge

    async def offered(
        self,
        buffer: Buffer,
        offers: Sequence[Offer],
        edit: Callable[[Iterable[Edit]], lsp.WorkspaceEdit],
        wanted: Callable[[str], bool],
    ) -> list[lsp.CodeAction]:
        """Fixes first, then what needs the user's judgement, then what only informs."""
        if not wanted(lsp.CodeActionKind.QuickFix):
            return []
        out = []
        for offer in offers:
            fix = offer.diagnostic.fix
            if fix is not None:
                out.append(
                    lsp.CodeAction(
                        title=fix.title,
                        kind=lsp.CodeActionKind.QuickFix,
                        diagnostics=[offer.shown],
                        is_preferred=fix.safe,
                        edit=edit(fix.edits),
                    )
                )
        for offer in offers:
            out.append(await self._suppress(buffer, offer, edit))
        for offer in offers:
            if offer.diagnostic.counterexample is not None:
                out.append(self._command(offer, REPLAY, "Run the counterexample", buffer))
        for offer in offers:
            out.append(self._command(offer, EXPLAIN, f"Explain {offer.diagnostic.rule}", buffer))
        unique = {(a.title, repr(a.edit), repr(a.command)): a for a in out}
        return list(unique.values())

    async def _suppress(
        self, buffer: Buffer, offer: Offer, edit: Callable[[Iterable[Edit]], lsp.WorkspaceEdit]
    ) -> lsp.CodeAction:
        rule = offer.diagnostic.rule
        change = await self._knowledge.suppression(buffer.text, offer.diagnostic.span, rule, REASON)
        return lsp.CodeAction(
            title=f"Suppress {rule} here, with a reason",
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[offer.shown],
            edit=edit([change]),
        )

    def _command(self, offer: Offer, command: str, title: str, buffer: Buffer) -> lsp.CodeAction:
        arguments: list[object] = [offer.diagnostic.rule]
        if command == REPLAY:
            place = offer.shown.range.start
            arguments = [buffer.uri, offer.diagnostic.rule, offer.diagnostic.kernel, place.line]
            title = f"{title} of {offer.diagnostic.rule}"
        return lsp.CodeAction(
            title=title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[offer.shown],
            command=lsp.Command(title=title, command=command, arguments=arguments),
        )
