"""Connections to people's databases that can look and cannot change: guard, session, account."""
