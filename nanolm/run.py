"""One run: what the record lacks, to requests, to the engine, into the record, while verdicts follow."""
