"""Outcome checks: is what a run claims true? Judged by code, never by the agent."""
