"""Showing scores: terminal, JUnit, score.json, board, item viewer."""
