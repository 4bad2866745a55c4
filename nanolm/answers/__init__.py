"""Reading an answer from a reply and judging it (protocol §6). Pure functions, one module an answer type."""
