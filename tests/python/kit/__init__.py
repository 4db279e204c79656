"""Shared parts of tests: ways to run things, scenarios, pages, programs that kill."""
