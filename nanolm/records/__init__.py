"""The outputs of an entry: append-only, never edited, never lost."""
