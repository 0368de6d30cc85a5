"""The names in an evidence bundle and in the audit log that verification goes by."""

from __future__ import annotations

FORMAT = 1
README, SCRIPT, EVIDENCE = "README.txt", "verify_evidence.py", "evidence.json"
CHECKPOINT, NEWEST = "checkpoint.json", "newest-checkpoint.json"
PUBLIC_KEY, POLICY = "public-key.pem", "policy.json"
RELEASE, MANIFEST, PACKAGE = "release/", "manifest.json", "datapackage.json"
WITHOUT_ROWS = (MANIFEST, PACKAGE)  # files of a release that hold no cell of its rows
REPORT = "report.html"  # of a release: made when it is published, and no file that gates judge
CORRECTED = "clock.corrected"
REFUSED = "decision.refused"  # somebody's word: it changes nothing
PURGED = "series.purged"  # the rows of what ended in a series are gone
RESTORED = "release.restored"  # a release that was withdrawn is public again
ASKED, ANSWERED = "question.asked", "question.answered"  # about a candidate that awaits approval
EVENT_FIELDS = ("number", "at", "actor", "action", "object", "reason", "payload", "previous")
BINDING = ("candidate_digest", "policy_digest", "history_head")
DECISIONS = ("decision.approve", "decision.reject", "decision.override")
