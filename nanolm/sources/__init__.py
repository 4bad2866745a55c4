"""Where raw rows come from: hub, GitHub, local folder; pins, checksums, cache."""
