"""The command line: `releasegate COMMAND ...`. What the commands do stands in `cli.main`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from cli.ending import exit_process
from flows.runtime import machine_limits
from policy.errors import ReleaseGateError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End with usage, the finding and its mend, where argparse knows none."""
        if "unrecognized arguments" in message and "--store" in message:
            message += "\n  --store stands before the command: releasegate --store DIR COMMAND ..."
        super().error(message)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = _Parser(
        prog="releasegate",
        description="Publish a table about people every period, if it is safe beside all that is public.",
        epilog="Exit codes: 0 published or fine, 2 usage or policy, 3 input refused, 4 blocked by a gate, "
        "5 waiting for approval, 6 verification failed, 1 anything unforeseen.",
    )
    top.add_argument(
        "--store",
        type=Path,
        default=Path(os.environ.get("RELEASEGATE_STORE", "store")),
        help="folder of the release store (default: RELEASEGATE_STORE, else ./store)",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    command = commands.add_parser("init", help="make a store, and its signing key beside it")

    command = commands.add_parser("draft", help="write a commented policy guessed from a table")
    command.add_argument("table", type=Path, metavar="TABLE", help="a CSV or Parquet file")

    command = commands.add_parser("run", help="release one period's table, if every gate passes")
    command.add_argument("policy", type=Path, metavar="POLICY", help="the policy's YAML file")
    command.add_argument("--period", help="such as 2026Q1; left out, it follows from the policy and the date")
    command.add_argument("--input", type=Path, help="the table, where it is not the policy's own source")
    command.add_argument(
        "--by", metavar="NAME", help="who makes the candidate (default: the system's account)"
    )
    _secrets(command)
    command.add_argument(
        "--revise",
        metavar="REASON",
        help="release a period again that has a release; why, kept in the audit log, and public",
    )
    command.add_argument("--wait", action="store_true", help="wait for an input that is late (source.wait)")
    _json(command)

    command = commands.add_parser("rejudge", help="judge a stale candidate again beside the history as it is")
    command.add_argument("candidate", metavar="CANDIDATE")
    command.add_argument("--input", type=Path, help="the table that it was made of")
    command.add_argument("--by", metavar="NAME", help="who asks for it (default: the system's account)")
    _secrets(command)
    _json(command)

    for word, what in (
        ("approve", "agree to a candidate that waits for approval"),
        ("reject", "refuse a candidate that waits for approval"),
        ("override", "publish what gates held back, on the word of two administrators"),
    ):
        command = commands.add_parser(word, help=what)
        command.add_argument("candidate", metavar="CANDIDATE")
        command.add_argument("--by", metavar="NAME", required=True, help="who decides")
        command.add_argument("--reason", metavar="TEXT", required=True, help="why; kept in the audit log")
        _proof(command)
        _json(command)

    command = commands.add_parser("withdraw", help="take a release out of the public place")
    command.add_argument("release", metavar="RELEASE")
    command.add_argument("--by", metavar="NAME", required=True, help="who withdraws it")
    command.add_argument(
        "--reason", metavar="TEXT", required=True, help="why; kept in the audit log, and public"
    )
    _proof(command)
    _json(command)

    command = commands.add_parser("clock", help="repair the log after a clock error")
    command.add_argument("--by", metavar="NAME", required=True, help="who corrects it: an administrator")
    command.add_argument("--reason", metavar="TEXT", required=True, help="why; kept in the audit log")
    _secrets(command)
    _json(command)

    command = commands.add_parser("notify", help="send the notices that are due")
    _json(command)

    _staff(commands)
    _reading(commands)
    _showing(commands)
    return top


def _staff(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Add the commands about the people who work with the store."""
    command = commands.add_parser("sign", help="sign a decision, to be given where the store is")
    command.add_argument("act", choices=("approve", "reject", "override", "withdraw"), metavar="ACT")
    command.add_argument("id", metavar="ID", help="the candidate, or the release to withdraw")
    command.add_argument("--by", metavar="NAME", required=True, help="who signs")
    command.add_argument("--reason", metavar="TEXT", required=True, help="why; kept in the audit log")
    command.add_argument(
        "--key", type=Path, metavar="FILE", help="the person's private key (default: RELEASEGATE_KEY)"
    )
    command.add_argument(
        "--from",
        dest="told",
        type=Path,
        metavar="FILE",
        help="what `show ID --json` wrote, where the store is not at hand",
    )
    _json(command)

    command = commands.add_parser("people", help="list the people who work with the store, or add one")
    _json(command)
    inner = command.add_subparsers(dest="people_command", metavar="add")
    add = inner.add_parser("add", help="add a person to the file of people")
    add.add_argument("name", metavar="NAME")
    add.add_argument(
        "--role",
        action="append",
        required=True,
        choices=("operator", "approver", "auditor", "admin"),
        metavar="ROLE",
        help="operator, approver, auditor or admin; may be given again",
    )
    add.add_argument("--public-key", metavar="HEX|FILE", help="of the person's own Ed25519 key")
    add.add_argument("--make-key", type=Path, metavar="FILE", help="make a private key for the person there")
    add.add_argument("--make-token", type=Path, metavar="FILE", help="make a token for the person there")
    add.add_argument("--account", metavar="LOGIN", help="the system's login whose runs are the person's")
    _json(add)


def _secrets(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--key", type=Path, metavar="FILE", help="the person's private key (default: RELEASEGATE_KEY)"
    )
    command.add_argument(
        "--token-file", type=Path, metavar="FILE", help="the person's token (default: RELEASEGATE_TOKEN)"
    )


def _proof(command: argparse.ArgumentParser) -> None:
    _secrets(command)
    command.add_argument("--signed", metavar="TEXT", help="what `sign` printed, in place of key and token")


def _reading(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Add the commands that read."""
    command = commands.add_parser("history", help="list the releases, and the candidates that are none")
    command.add_argument("series", nargs="?", metavar="SERIES")
    _json(command)

    command = commands.add_parser("show", help="show a release or a candidate with its gates")
    command.add_argument("id", metavar="ID")
    _json(command)

    command = commands.add_parser("diff", help="show two releases or candidates side by side")
    command.add_argument("a", metavar="A")
    command.add_argument("b", metavar="B")
    _json(command)

    command = commands.add_parser("audit", help="re-check published releases against today's gates")
    command.add_argument("series", metavar="SERIES")
    command.add_argument(
        "--policy", type=Path, metavar="FILE", help="judge all by this policy (default: each by its own)"
    )
    command.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="PERIOD=FILE",
        help="the very input of a period's release, for the gates that need it; may be given again",
    )
    command.add_argument("--by", metavar="NAME", help="who audits (default: the system's user)")
    _json(command)

    command = commands.add_parser("evidence", help="export a verification bundle")
    command.add_argument("release", metavar="RELEASE")
    command.add_argument("--out", type=Path, metavar="FILE", help="default: RELEASE.evidence.zip, here")
    _json(command)

    _pictures(commands)

    command = commands.add_parser("reproduce", help="make a release again, and compare it byte by byte")
    command.add_argument("release", metavar="RELEASE")
    command.add_argument("--input", type=Path, metavar="FILE", help="the table that it was made of")
    _json(command)

    command = commands.add_parser("verify", help="check the log, the signatures and every published file")
    command.add_argument("bundle", nargs="?", type=Path, metavar="BUNDLE", help="check this evidence instead")
    command.add_argument("--public-key", metavar="FILE|HEX", help="the key to trust, kept elsewhere")
    command.add_argument(
        "--checkpoint", type=Path, metavar="FILE", help="one kept elsewhere, that the log must go on from"
    )
    _json(command)

    command = commands.add_parser("doctor", help="check and repair the store")
    _json(command)

    command = commands.add_parser("evaluate", help="lay methods side by side on one table")
    command.add_argument("policy", type=Path, metavar="POLICY", help="the policy's YAML file")
    command.add_argument("--methods", required=True, metavar="A,B,...", help="the methods, by name")
    command.add_argument("--k", metavar="5,8,...", help="the least class sizes (default: the policy's k)")
    command.add_argument(
        "--seeds",
        type=int,
        default=5,
        metavar="N",
        help="runs of each, from the policy's seed on (default: 5)",
    )
    command.add_argument(
        "--measures", metavar="A,B,...", help="of utility (default: all that take no seconds)"
    )
    command.add_argument("--input", type=Path, help="the table, where it is not the policy's own source")
    command.add_argument("--period", help="such as 2026Q1; left out, it follows from the policy and the date")
    command.add_argument(
        "--out",
        type=Path,
        default=Path("evaluation"),
        metavar="DIR",
        help="a new folder (default: ./evaluation)",
    )
    command.add_argument("--jobs", type=int, metavar="N", help="worker processes (default: one a core)")
    _json(command)

    command = commands.add_parser("methods", help="list the methods that a policy can name")
    command.add_argument("name", nargs="?", metavar="METHOD", help="show this method's parameters")
    _json(command)


def _pictures(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "pictures", help="write the report's pictures as files for papers and slides"
    )
    command.add_argument("id", metavar="ID|SERIES", help="a release, a candidate, or a whole series")
    command.add_argument("--format", default="svg", metavar="svg,png", help="svg (the default), png, or both")
    command.add_argument(
        "--only", metavar="A,B,...", help="these pictures, by name or by group, such as values (default: all)"
    )
    command.add_argument("--out", type=Path, metavar="DIR", help="default: ID.pictures, here")
    command.add_argument(
        "--scale", type=float, default=2.0, metavar="N", help="a PNG is 640 times N pixels wide (default: 2)"
    )
    command.add_argument("--no-titles", action="store_true", help="leave the titles to captions")
    _json(command)


def _showing(commands: argparse._SubParsersAction[_Parser]) -> None:
    """Add the commands that write pages."""
    command = commands.add_parser("report", help="write the pages of the store, or the report of one release")
    command.add_argument(
        "id", nargs="?", metavar="ID", help="a release or candidate: write its report alone, as one file"
    )
    command.add_argument("--series", metavar="SERIES", help="the pages of this series alone")
    command.add_argument(
        "--out", type=Path, metavar="PATH", help="a folder (default: ./report), with ID a file (./ID.html)"
    )
    command.add_argument(
        "--evidence", action="store_true", help="put the evidence of each release beside its page"
    )
    _json(command)


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="write JSON for programs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = parser().parse_args(arguments)
    try:
        machine_limits.check()
        from cli import main as commands

        return commands.COMMANDS[args.command](args)
    except ReleaseGateError as error:
        from reports.text import sanitize_text

        where = f"{error.where}: " if error.where else ""
        for line in (f"releasegate: {where}{error.message}", f"  {error.hint}" if error.hint else ""):
            if line:
                print(sanitize_text(line), file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read us (`| head`) has gone; what is left has no reader.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("releasegate: interrupted; nothing half done is visible", file=sys.stderr)
        return 130
    except Exception as error:
        print(f"releasegate: something unforeseen ({type(error).__name__})", file=sys.stderr)
        return 1


def entry() -> NoReturn:
    """Run one command and end the process with its exit code."""
    try:
        code = main()
    except SystemExit as ended:  # argparse: help, or a command that it does not understand
        code = ended.code if isinstance(ended.code, int) else 2
    exit_process(code)


if __name__ == "__main__":
    entry()
