"""`report.html`: one candidate or release on one page that opens anywhere and asks for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from release_store.store import ReleaseStore
from reports.pages import inline_head, render
from reports.report_model import ReportModel, SheetData, candidate_facts, read_sheet_data, report_model

SCRIPTS = ("page.js", "vega.js", "charts.js")


def candidate_report(store: ReleaseStore, candidate_id: str) -> bytes:
    """Return the report of a candidate as the store knows it now."""
    facts = candidate_facts(store, candidate_id)
    return page(report_model(facts, read_sheet_data(store, candidate_id), state=facts["state"]))


def release_report(facts: Mapping[str, Any], of: SheetData) -> bytes:
    """Return the report of a release about to be published: `facts` are those of its manifest."""
    return page(report_model(facts, of, release=str(facts["release_id"]), public=True))


def page(sheet: ReportModel) -> bytes:
    """Return the page of a sheet; the same sheet gives the same bytes."""
    return render("report.html", inline_head(*SCRIPTS), sheet=sheet).encode()
