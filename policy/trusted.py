"""What a store's owner trusts: folders, objects, databases, packages and a cluster; and its memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from policy.errors import PolicyError
from policy.location import Location, ObjectAddress, location_of
from policy.postgres_address import PostgresTable

TRUSTED_FILE = "trusted.yaml"
# What no policy reads, wherever it lies: who holds such a file holds a role, or signs.
NEVER_NAMES = ("people.yaml", "notices.yaml", TRUSTED_FILE)
_NEVER_ENDS = (".key", ".pem", ".token")


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster that decides the fragments of large tables: the address of its scheduler.

    `ca`, `certificate` and `key` are the files of its TLS in PEM form.
    """

    address: str
    ca: Path
    certificate: Path
    key: Path


@dataclass(frozen=True)
class ObjectStore:
    """An S3 store: below which addresses policies may name objects, and where it answers.

    Without `endpoint` it is Amazon's; without `region`, the environment names it. The credentials are those
    of the account that runs the command.
    """

    prefixes: tuple[ObjectAddress, ...] = ()
    endpoint: str | None = None
    region: str | None = None


@dataclass(frozen=True)
class Memory:
    """How much memory DuckDB may take in a process, and where the rest goes. No byte of a release changes.

    `limit` is in bytes; None is a share of the machine's memory. `spill` is the folder of encrypted temporary
    files; None means that there are none. They take up to `spill_limit` bytes; None is half of the room that
    is free.
    """

    limit: int | None = None
    spill: Path | None = None
    spill_limit: int | None = None


@dataclass(frozen=True)
class Trusted:
    """What the owner of a store trusts: folders of files, packages of methods and privacy models, a cluster,
    objects of S3; databases of Postgres; paths that are never read; and the memory of a run.

    `never` holds the store's folder, its keys and its lists of people, as resolved paths.
    """

    folders: tuple[Path, ...] = ()
    packages: tuple[str, ...] = ()
    never: tuple[Path, ...] = ()
    cluster: Cluster | None = None
    objects: ObjectStore = ObjectStore()
    memory: Memory = Memory()
    databases: tuple[PostgresTable, ...] = ()

    def located(self, written: str, base: Path, where: str) -> Location:
        """Return the object, the table, or as `named` the path, that a policy in the folder `base` names.

        `where` is its field. Raises UsageError for an address that is none, and PolicyError for an object or
        a table that no policy may read.
        """
        found = location_of(written, where)
        if isinstance(found, Path):
            return self.named(written, base, where)
        if isinstance(found, PostgresTable):
            return self._trusted_table(found, where)
        self.check_no_secret_name(found.name, where)
        if not any(found.is_below(prefix) for prefix in self.objects.prefixes):
            raise PolicyError(
                f"is not below an address that the store's owner trusts ('{found}')",
                where=where,
                hint=f"Let the store's owner list its bucket or the beginning of its key in s3.prefixes of "
                f"{TRUSTED_FILE}.",
            )
        return found

    def _trusted_table(self, table: PostgresTable, where: str) -> PostgresTable:
        if not any(table.is_of(database) for database in self.databases):
            raise PolicyError(
                f"is not a table of a database that the store's owner trusts ('{table}')",
                where=where,
                hint=f"Let the store's owner list this address, without the table, in {TRUSTED_FILE}.",
            )
        return table

    def named(self, written: str, base: Path, where: str) -> Path:
        """Return the path that a policy in the folder `base` names in its field `where`, links resolved.

        Raises PolicyError where it leads elsewhere than below `base` or a trusted folder, or to a file
        that no policy reads. Whether there is a file, its reader says.
        """
        if "\0" in written:
            raise PolicyError("contains a NUL character", where=where, hint="Give the path of a file.")
        try:
            path = (base / written).resolve()
        except (OSError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
            raise PolicyError("is a broken link", where=where, hint="Give the path of a file.") from None
        try:
            self.check(path, base, where)
        except OSError:  # of a name that is too long
            raise PolicyError("is not a valid path", where=where, hint="Give the path of a file.") from None
        return path

    def check(self, path: Path, base: Path, where: str) -> None:
        """Raise PolicyError unless a policy in `base` may read the resolved `path`."""
        self.check_no_secret(path, where)
        if not any(path.is_relative_to(folder) for folder in (base.resolve(), *self.folders)):
            raise PolicyError(
                f"leads out of the policy's folder ('{path}')",
                where=where,
                hint=f"Move the file below the policy's folder, or let the store's owner list its folder in "
                f"{TRUSTED_FILE}.",
            )

    def check_no_secret(self, path: Path, where: str) -> None:
        """Raise PolicyError where the resolved `path` is in a store, a key, or says who may do what."""
        self.check_no_secret_name(path.name, where)
        kept = any(path == one or path.is_relative_to(one) for one in self.never)
        if kept or any((folder / "history.duckdb").exists() for folder in path.parents):
            raise _secret(where)

    def check_no_secret_name(self, name: str, where: str) -> None:
        """Raise PolicyError where a file or object of this name is a key, or says who may do what."""
        name = name.strip().casefold()  # a space at the end is easily overlooked
        if name in NEVER_NAMES or name.endswith(_NEVER_ENDS):
            raise _secret(where)


def _secret(where: str) -> PolicyError:
    return PolicyError(
        "is a file of a store, a key or a list of people, which no policy reads",
        where=where,
        hint="Give the path of a table.",
    )
