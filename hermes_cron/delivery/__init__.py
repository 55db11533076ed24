"""Targets: how does a message reach a person, and what did they answer?"""
