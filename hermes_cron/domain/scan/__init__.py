"""Does a text attack the agent that will read it? Pure functions: text and purpose in, findings and a verdict out.

The scanner is an alarm, not the wall: what an agent can do is decided by the tools it has. docs/formats/scanner.md
lists the classes and what is let through.
"""

from hermes_cron.domain.scan.finding import Finding, Kind, Purpose, Scan, Verdict
from hermes_cron.domain.scan.scanner import scan

__all__ = ["Finding", "Kind", "Purpose", "Scan", "Verdict", "scan"]
