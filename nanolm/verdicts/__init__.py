"""Judging recorded outputs; the one path of a run, a rescore and nanolm judge."""
