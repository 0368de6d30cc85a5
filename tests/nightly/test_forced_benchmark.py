"""The benchmark of forced classes runs on few rows, and its table has what it promises."""

from __future__ import annotations

from benchmarks import forced


def test_every_method_has_a_row_and_nobody_is_less_forced_than_alone() -> None:
    text = forced.main(
        ["--rows", "400", "--tables", "register", "--methods", "mdav", "mondrian, hierarchies"]
    )
    assert (
        '`python -m benchmarks.forced --rows 400 --tables register --methods mdav "mondrian, hierarchies"`'
        in text
    )
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    head, _, *lines = [[cell.strip() for cell in row] for row in rows]
    assert head == [*forced.HEAD]
    assert [line[:2] for line in lines] == [
        [method, ends] for method in ("mdav", "mondrian, hierarchies") for ends in forced.ENDS
    ]
    for line in lines:
        assert float(line[6]) >= float(line[5])
        assert int(line[8]) >= 8
