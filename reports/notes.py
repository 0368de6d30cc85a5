"""What the notes of a release say of its cells: their levels, and the release that they were taken from."""

from __future__ import annotations

from policy.text import number_of
from release_store.summary import Summary, levels_of, reused_release


def levels_text(summary: Summary) -> str:
    """Return the level of each quasi-identifier of a release that has one a column; "" for others."""
    found = levels_of(summary.notes)
    return ", ".join(f"{name}: {level}" for name, level in found.items()) if found else ""


def reuse_text(summary: Summary) -> str:
    """Say of which release how many cells were used again, and for how many rows; "" where none was."""
    release, notes = reused_release(summary.notes), summary.notes
    if release is None:
        return ""
    of = f"{notes.get('reused_classes')} of {notes.get('reusable_cells')} cells of {release}"
    return f"{of}, for {number_of(int(notes.get('reused_cell_records', 0)), 'row')}"
