"""The commands of `releasegate`: a module of a group is imported where one of its commands is given."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from policy.errors import UsageError

RELEASES, DECISIONS = "Releases", "Decisions"
HISTORY, PROOF = "History", "Proof"
METHODS, STORE = "Policies and methods", "The store"


@dataclass(frozen=True)
class Entry:
    """A command: the module that has it, the heading under which help lists it, and what it does."""

    module: str
    panel: str
    does: str


COMMANDS = {
    "run": Entry("release", RELEASES, "Release one period's table, if every gate passes."),
    "rejudge": Entry(
        "release", RELEASES, "Assess a stale or expired candidate again, against the current history."
    ),
    "approve": Entry("decisions", DECISIONS, "Approve a candidate that awaits approval."),
    "reject": Entry("decisions", DECISIONS, "Reject a candidate that awaits approval."),
    "ask": Entry("decisions", DECISIONS, "Return a candidate with a question."),
    "answer": Entry("decisions", DECISIONS, "Answer a question with which a candidate was returned."),
    "override": Entry("decisions", DECISIONS, "Override the gates and publish; needs two administrators."),
    "withdraw": Entry("decisions", DECISIONS, "Withdraw a release from the public folder."),
    "restore": Entry("decisions", DECISIONS, "Publish a withdrawn release again."),
    "purge": Entry(
        "decisions", DECISIONS, "Remove the rows of candidates that ended and of withdrawn releases."
    ),
    "sign": Entry(
        "decisions", DECISIONS, "Sign a decision offline, to submit on the machine with the store."
    ),
    "serve": Entry(
        "serve", DECISIONS, "Serve pages on which people read what waits, and decide with their own keys."
    ),
    "history": Entry("history", HISTORY, "List releases and unpublished candidates."),
    "show": Entry("history", HISTORY, "Show a release or candidate and the results of its gates."),
    "diff": Entry("diff", HISTORY, "Compare two releases or candidates."),
    "report": Entry("pages", HISTORY, "Write the store's web pages, or the report of one release."),
    "pictures": Entry("pages", HISTORY, "Export the figures of a report as files."),
    "audit": Entry("audit", PROOF, "Re-check published releases against today's gates."),
    "reproduce": Entry("audit", PROOF, "Reproduce a release, and compare it byte by byte."),
    "evidence": Entry("proof", PROOF, "Export a verification bundle, or the script that verifies one."),
    "verify": Entry("proof", PROOF, "Check the log, the signatures and every published file."),
    "draft": Entry("draft", METHODS, "Draft a commented policy from tables."),
    "check": Entry("check", METHODS, "Check a policy and its table before a run; publishes nothing."),
    "assess": Entry("assess", METHODS, "Measure how safe a table is; needs no policy and no store."),
    "methods": Entry("methods", METHODS, "List the methods that a policy can name."),
    "evaluate": Entry(
        "evaluate", METHODS, "Compare methods, or search their parameters for a goal; publishes nothing."
    ),
    "init": Entry("store", STORE, "Create a store and its signing key."),
    "people": Entry("store", STORE, "List the people who work with the store, or add one."),
    "notify": Entry("store", STORE, "Send the notices that are due."),
    "clock": Entry("store", STORE, "Repair the log after a clock error."),
    "trust": Entry("trust", STORE, "Accept a folder of another account, or a store made elsewhere."),
    "doctor": Entry("store", STORE, "Check and repair the store, and finish interrupted work."),
}


class CommandGroup(TyperGroup):
    """All commands; their list needs none of their modules."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._is_listed = False
        for name, entry in COMMANDS.items():
            self.add_command(TyperCommand(name, help=entry.does, rich_help_panel=entry.panel))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or only its line of the help while that is written."""
        if self._is_listed or cmd_name not in COMMANDS:
            return self.commands.get(cmd_name)
        module = import_module(f"cli.commands.{COMMANDS[cmd_name].module}")
        return typer.main.get_group(module.app).get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the program."""
        self._is_listed = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._is_listed = False


app = typer.Typer(
    name="releasegate",
    cls=CommandGroup,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    subcommand_metavar="COMMAND ...",
)


def _show_version(wanted: bool) -> None:
    """Show the version that is installed, where it is wanted, and end."""
    if not wanted:
        return
    from importlib import metadata

    try:
        found = metadata.version("releasegate")
    except metadata.PackageNotFoundError:
        raise UsageError(
            "releasegate is not installed: only its files are here", hint="Run `pip install .` in its folder."
        ) from None
    print(f"releasegate {found}")
    raise typer.Exit


@app.callback(
    help="Publish a table about people each period, but only if it is safe together with everything "
    "published before.",
    epilog="Exit codes: 0 success, 1 unexpected error, 2 usage or policy error, 3 input refused, "
    "4 blocked by a gate, 5 awaiting approval, 6 verification failed.",
)
def releasegate(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
    store: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            envvar="RELEASEGATE_STORE",
            show_envvar=False,
            show_default=False,
            help="Folder of the release store (default: RELEASEGATE_STORE, else ./store).",
        ),
    ] = Path("store"),
) -> None:
    """Take the folder of the store, which stands before the command."""
    del version  # shown before anything else
    context.obj = store
