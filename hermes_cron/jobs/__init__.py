"""Job files: read, checked with file:line, written without losing a person's text."""
