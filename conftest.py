"""Nothing but a note: benchmark tests get their items, fixtures and options from `nanolm.plugin`."""
