"""Who answers: a model at a revision in a mode, decided by its own artefacts (protocol §2, §5)."""
