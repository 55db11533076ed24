"""Desks: what a person may do with runs, sessions and the history, apart from how it is printed."""
