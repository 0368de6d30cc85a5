"""The ten series, by name, with the traps of each."""

from __future__ import annotations

from benchmarks.untidy_series.health import clinic, panel, register, survey, visits
from benchmarks.untidy_series.series import Series
from benchmarks.untidy_series.work import loans, payroll, pupils, residents, students

SERIES = {
    one.name: one
    for one in (
        Series("students", "bands that a spreadsheet made dates of; `2013J`; BOM; blanks", students),
        Series(
            "survey",
            "`80 or older`; five spellings of sex; commas; no key, other people",
            survey,
            are_others=True,
        ),
        Series(
            "clinic",
            "windows-1250; birth in three columns; ICD-10; decimal comma; days as periods",
            clinic,
        ),
        Series("visits", "several rows a person, key `pid`; ICD-10 that repeat", visits),
        Series("register", "no key; 99.7% of the rows again; blanks; a month as period", register),
        Series("panel", "UTF-16; the period in a column; `age` and `age_min`; a comma in a name", panel),
        Series(
            "payroll",
            "windows-1252; `-$374.85`; hire dates; 60 titles; zeros in the key",
            payroll,
            sensitive="absence_reason",
        ),
        Series("loans", "euros; postal codes with zeros; 60 purposes; an outcome; `202301`", loans),
        Series("residents", "only grows; `under 18`; commas; four marks of an unknown value", residents),
        Series("pupils", "the school year in a column; free text; `2019-20`; changing answers", pupils),
    )
}
