"""The command that serves a store to browsers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import store_of
from policy.errors import UsageError
from release_store.store import ReleaseStore
from reports.text import sanitize_text

app = typer.Typer()


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Listen on this address; any other than this machine's needs TLS."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Listen on this port; 0 takes a free one.")] = 8765,
    origin: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The address that browsers use, where TLS ends at a proxy or the name is another.",
            show_default=False,
        ),
    ] = "",
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate for TLS, a PEM file.")
    ] = None,
    certificate_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate's private key, a PEM file.")
    ] = None,
) -> int:
    """Serve pages on which people read what waits, and decide with their own keys."""
    root = store_of(context)
    ReleaseStore.open_to_work(root)
    try:
        from web.serve import Address
        from web.serve import serve as serve_store
    except ModuleNotFoundError as error:
        raise UsageError(
            f"serving needs {error.name}, which is not installed",
            hint="Run `pip install 'releasegate[server]'`.",
        ) from None

    def tell(address: str) -> None:
        print(f"serving {sanitize_text(str(root))} at {address}/ (stop with Ctrl-C)", flush=True)

    serve_store(root, Address(host, port, origin.rstrip("/"), certificate, certificate_key), tell)
    return 0
