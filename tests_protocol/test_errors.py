from nanolm.errors import NanoLMError, UsageError, unknown


def test_close_matches_come_first() -> None:
    error = unknown("entry", "lfm2-530m", ["lfm2-350m", "oracle"])
    assert isinstance(error, UsageError)
    assert isinstance(error, NanoLMError)
    assert str(error) == "unknown entry 'lfm2-530m'; did you mean lfm2-350m? Known: lfm2-350m, oracle"


def test_without_a_close_match_all_names_are_listed() -> None:
    assert str(unknown("edition", "zzz", [])) == "unknown edition 'zzz'. Known: none"
