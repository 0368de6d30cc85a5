"""What `releasegate reproduce` shows: each file, and what may have made a difference."""

from __future__ import annotations

from services.reproduction import Reproduction


def show_reproduction(found: Reproduction) -> None:
    """Show each file, and what may have made the difference."""
    for name, (recorded, made) in found.files.items():
        print(f"{name:<18} {'the same bytes' if recorded == made else 'DIFFERENT'}  sha256 {recorded}")
        if recorded != made:
            print(f"{'':<18} made now:       sha256 {made or 'none'}")
    for name, (then, now) in found.software.items():
        print(f"{name}: {then or 'none'} then, {now or 'none'} now")
    if found.same:
        print(f"{found.release_id} was reproduced byte for byte")
    else:
        print(f"{found.release_id} was not reproduced")
        if not found.software:
            print("the software versions are the same: if releasegate itself was changed since, CHANGELOG.md")
            print("says what comes out otherwise; if not, check the machine, and run `releasegate verify`")
