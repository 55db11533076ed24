"""The command line: it parses, asks the app that wiring built, and prints."""
