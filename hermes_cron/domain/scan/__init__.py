"""Does a text attack the agent that will read it? Pure functions: text and purpose in, findings and a verdict out.

The scanner is an alarm, not the wall: what an agent can do is decided by the tools it has. docs/formats/scanner.md
lists the classes and what is let through.
"""

from hermes_cron.domain.scan.finding import Finding, Kind, Purpose, Scan, Verdict

__all__ = ["Finding", "Kind", "Purpose", "Scan", "Verdict", "scan"]


def scan(text: str, purpose: Purpose) -> Scan:
    """Findings of every class, each with its verdict for a text of this purpose. Time grows with the text.

    The patterns are made at the first call: most commands only know what a finding is.
    """
    from hermes_cron.domain.scan.scanner import scan as scanned

    return scanned(text, purpose)
