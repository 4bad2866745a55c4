"""Running untrusted programs with the official evaluators (protocol §7)."""
