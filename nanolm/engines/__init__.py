"""Who writes outputs: requests in, outputs out as they finish."""
