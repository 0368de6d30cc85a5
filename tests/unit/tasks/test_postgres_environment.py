"""The server that an address names is the one that is asked, whatever the environment says."""

from __future__ import annotations

import socket
from pathlib import Path
from threading import Thread

import pytest

from policy.errors import TransientFailure
from policy.postgres_address import postgres_table
from tasks.intake import postgres
from tests.support.timeouts import HANG_TIMEOUT

OTHER = "127.0.0.9"


@pytest.mark.enemy("other account", "reads a file")
@pytest.mark.parametrize("by", ["variable", "service"])
def test_no_other_machine_is_asked_than_the_address_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by: str
) -> None:
    if by == "variable":
        monkeypatch.setenv("PGHOSTADDR", OTHER)
    else:
        (tmp_path / "services").write_text(f"[other]\nhostaddr={OTHER}\n")
        monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
        monkeypatch.setenv("PGSERVICE", "other")
    asked: list[str] = []

    def answer(server: socket.socket) -> None:
        connection, _ = server.accept()
        asked.append(server.getsockname()[0])
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as named:
        named.settimeout(HANG_TIMEOUT)
        listener = Thread(target=answer, args=[named])
        listener.start()
        address = postgres_table(f"postgresql://u@127.0.0.1:{named.getsockname()[1]}/d?table=t", "x")
        with pytest.raises(TransientFailure):
            postgres.table_exists(address)
        listener.join()
    assert asked == ["127.0.0.1"]
