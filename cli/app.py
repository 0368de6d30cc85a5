"""The commands of `releasegate`: a module of a group is imported where one of its commands is given."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

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
    "rejudge": Entry("release", RELEASES, "Judge a stale candidate again beside the history as it is now."),
    "approve": Entry("decisions", DECISIONS, "Agree to a candidate that waits for approval."),
    "reject": Entry("decisions", DECISIONS, "Refuse a candidate that waits for approval."),
    "override": Entry("decisions", DECISIONS, "Publish what gates held back; it takes two administrators."),
    "withdraw": Entry("decisions", DECISIONS, "Take a release out of the public place."),
    "sign": Entry("decisions", DECISIONS, "Sign a decision, to be given where the store is."),
    "history": Entry("history", HISTORY, "List the releases, and the candidates that are none."),
    "show": Entry("history", HISTORY, "Show a release or a candidate with its gates."),
    "diff": Entry("diff", HISTORY, "Show two releases or candidates side by side."),
    "report": Entry("pages", HISTORY, "Write the pages of the store, or the report of one release."),
    "pictures": Entry("pages", HISTORY, "Write the report's pictures as files for papers and slides."),
    "audit": Entry("audit", PROOF, "Re-check published releases against today's gates."),
    "reproduce": Entry("audit", PROOF, "Make a release again, and compare it byte by byte."),
    "evidence": Entry("proof", PROOF, "Export a verification bundle."),
    "verify": Entry("proof", PROOF, "Check the log, the signatures and every published file."),
    "draft": Entry("methods", METHODS, "Write a commented policy guessed from a table."),
    "methods": Entry("methods", METHODS, "List the methods that a policy can name."),
    "evaluate": Entry("methods", METHODS, "Compare methods on one table; nothing is published."),
    "init": Entry("store", STORE, "Make a store, and its signing key beside it."),
    "people": Entry("store", STORE, "List the people who work with the store, or add one."),
    "notify": Entry("store", STORE, "Send the notices that are due."),
    "clock": Entry("store", STORE, "Repair the log after a clock error."),
    "doctor": Entry("store", STORE, "Check store and set-up, and settle what was interrupted."),
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


@app.callback(
    epilog="Exit codes: 0 published or fine, 2 usage or policy, 3 input refused, 4 blocked by a gate, "
    "5 waiting for approval, 6 verification failed, 1 anything unforeseen."
)
def releasegate(
    context: typer.Context,
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
    """Publish a table about people every period, if it is safe beside all that is public."""
    context.obj = store
