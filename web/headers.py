"""The headers of every answer: what its page may do in a browser."""

from __future__ import annotations

from reports.pages import inline_head
from reports.report import SCRIPTS

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'none'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`, with which browsers name no origin for a form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}


def report_policy() -> str:
    """Return the policy of a report: its own scripts alone run, in an origin of its own.

    Vega needs `unsafe-eval` and styles in the page, so the report is kept apart by `sandbox`: its scripts
    see no cookie and no other page of this server, and can send nothing.
    """
    own = inline_head(*SCRIPTS).policy
    return f"{own}; frame-ancestors 'none'; sandbox allow-scripts"
