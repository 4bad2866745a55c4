"""Verdicts to numbers (protocol §8). No files."""
