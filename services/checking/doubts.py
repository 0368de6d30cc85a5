"""What a run would accept although it protects nobody: a key of no people, and limits that limit nothing."""

from __future__ import annotations

from collections.abc import Iterator

from policy.model import ReleasePolicy
from policy.unlimited import unlimited
from services.checking.findings import Finding
from services.checking.model import CellsOfTable
from tasks.history.following import follows_people
from tasks.intake.cell_table import TABLE, Cells
from tasks.intake.whose_rows import KEY_HINT, key_is_nobody
from tasks.validation.whole_table import units_of

ONE_ROW_HINT = (
    "For a release every period, publish one row a person by source.query; or let each be assessed by itself "
    "(gates.person.compare: false and gates.worlds.unfollowed: accept)."
)


def doubt_findings(cells: Cells, policy: ReleasePolicy) -> list[Finding]:
    """Return warnings; the table must have the roles' columns. O(n) for each column about people."""
    return [*_key(cells, policy), *_several_periods(policy), *_limits(policy), *_models(cells, policy)]


def _key(cells: Cells, policy: ReleasePolicy) -> Iterator[Finding]:
    if why := key_is_nobody(cells.all, TABLE, policy):
        yield Finding(cells.where, f"column '{policy.roles.key}'", why, KEY_HINT, None)


def _several_periods(policy: ReleasePolicy) -> Iterator[Finding]:
    """Yield a warning where a second release with people of the first could not be judged."""
    if policy.rows == "several" and follows_people(policy) and policy.population != "independent":
        said = "several lets no second release with the same people pass: two gates cannot tell"
        yield Finding("rows", "", said, ONE_ROW_HINT, None)


def _limits(policy: ReleasePolicy) -> Iterator[Finding]:
    """Yield a warning for each attribute of which the policy limits nothing."""
    hint = "Set p_max under 1, as `releasegate draft` does, or a model in gates.models."
    for fields, said in unlimited(policy):
        yield Finding(fields, "", said, hint, None)


def _models(cells: Cells, policy: ReleasePolicy) -> Iterator[Finding]:
    """Yield a warning for each t and beta that no class of this table can miss."""
    if units_of(policy)[0] is not None:  # a person may have several values
        return
    table = CellsOfTable(cells, policy)
    for name in policy.roles.sensitive:
        models = policy.gates.models.of(name)
        if models.t_closeness is None and models.beta_likeness is None:
            continue
        rarest = float(table.counts(name, None, None).min(initial=cells.rows)) / cells.rows
        # A class of the rarest value alone is the farthest from the table.
        for field, limit, most in (
            ("t_closeness", models.t_closeness, 1 - rarest),
            ("beta_likeness", models.beta_likeness, 1 / rarest - 1),
        ):
            if limit is not None and limit.max >= most - 1e-12:
                said = f"({limit.max:g}) limits nothing: no class of '{name}' can be over {most:.3g}"
                hint = "Set a smaller one."
                yield Finding(f"{policy.gates.models.place(name, field)}.max", "", said, hint, None)
