"""The record: nothing lost, nothing twice, nothing mixed in."""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.errors import RecordError
from nanolm.records import Record, frames
from nanolm.records.frames import zstd
from nanolm.records.lines import decode, encode
from nanolm.records.lock import held
from nanolm.schema import Decoding, Output


def output(item: str = "0001", sample: int = 0, text: str = "Answer: A", **fields: object) -> Output:
    values: dict[str, object] = {
        "benchmark": "arc-easy",
        "item": item,
        "sample": sample,
        "seed": 7,
        "entry": "e0",
        "prompt_digest": "p0",
        "rendered_digest": "",
        "decoding": Decoding(),
        "max_tokens": 256,
        "text": text,
        "finish_reason": "stop",
    }
    return Output(**(values | fields))  # type: ignore[arg-type]


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    with Record(tmp_path, write=True) as record:
        for number in range(50):
            record.append(output(f"{number:04}", text="x" * number))
        assert record.get("arc-easy", "0031", 0) == output("0031", text="x" * 31)
        assert record.get("arc-easy", "0031", 1) is None
    with Record(tmp_path) as record:
        assert len(record) == 50
        assert [one.item for one in record.outputs()] == [f"{n:04}" for n in range(50)]


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_survives_the_line(text: str) -> None:
    line = encode(output(text=text))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == output(text=text)
    assert json.loads(line)["text"] == text


def test_half_a_character_survives(tmp_path: Path) -> None:
    """Case junit-007: the stored line gives the same text, so a rescore the same verdict."""
    with Record(tmp_path, write=True) as record:
        record.append(output(text="half \ud835 char"))
    with Record(tmp_path) as record:
        found = record.get("arc-easy", "0001", 0)
    assert found is not None
    assert found.text == "half \ud835 char"


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_torn_last_line_is_healed(tmp_path: Path, cut: int) -> None:
    with Record(tmp_path, write=True) as record:
        record.append(output("0001"))
        record.append(output("0002"))
    path = tmp_path / "outputs.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with Record(tmp_path) as reader:  # a reader leaves the file alone
        assert len(reader) == 1
    with Record(tmp_path, write=True) as record:
        assert len(record) == 1
        record.append(output("0002"))
    assert path.read_bytes() == whole


def test_a_broken_line_in_the_middle_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "outputs.jsonl").write_bytes(encode(output("0001")) + b"{oops}\n" + encode(output("0002")))
    with pytest.raises(RecordError, match=r"outputs\.jsonl, line 2: not an output"):
        Record(tmp_path)


def test_only_one_writer(tmp_path: Path) -> None:
    with Record(tmp_path, write=True):
        assert held(tmp_path)
        with pytest.raises(RecordError, match=r"another run is writing .*process \d+"):
            Record(tmp_path, write=True)
    assert not held(tmp_path)
    Record(tmp_path, write=True).close()


def test_a_reader_follows_a_writer(tmp_path: Path) -> None:
    with Record(tmp_path, write=True) as writer, Record(tmp_path) as reader:
        assert reader.refresh() == 0
        writer.append(output("0001"))
        writer.append(output("0002"))
        assert reader.refresh() == 2
        assert reader.get("arc-easy", "0002", 0) == output("0002")
        with (tmp_path / "outputs.jsonl").open("ab") as file:
            file.write(encode(output("0003"))[:30])
        assert reader.refresh() == 0


def test_an_error_is_asked_again_and_the_answer_replaces_it(tmp_path: Path) -> None:
    key = ("arc-easy", "0001", 0)
    with Record(tmp_path, write=True) as record:
        record.append(output(finish_reason="error", error="engine died"))
        assert not record.has(key)
        record.append(output(text="Answer: C"))
        record.append(output(text="Answer: D"))  # a second one changes nothing
    with Record(tmp_path) as record:
        assert record.has(key)
        found = record.get(*key)
        assert found is not None
        assert found.text == "Answer: C"
        assert len(record) == 1


def test_what_differs_is_named(tmp_path: Path) -> None:
    key = ("arc-easy", "0001", 0)
    with Record(tmp_path, write=True) as record:
        record.append(output())
        same = {"entry": "e0", "seed": 7, "prompt_digest": "p0", "decoding": Decoding()}
        assert record.differences(key, **same) == []  # type: ignore[arg-type]
        other = same | {"prompt_digest": "p1", "decoding": Decoding(temperature=0.7)}
        assert record.differences(key, **other) == [  # type: ignore[arg-type]
            "prompt_digest 'p0' in the record, 'p1' now",
            "temperature 0.0 in the record, 0.7 now",
        ]


def test_fresh_keeps_the_old_record(tmp_path: Path) -> None:
    for number in range(3):
        with Record(tmp_path, write=True, fresh=True) as record:
            assert len(record) == 0
            record.append(output(text=f"run {number}"))
    kept = sorted(tmp_path.glob("outputs.2*.jsonl"))
    assert len(kept) == 2
    assert {json.loads(path.read_text())["text"] for path in kept} == {"run 0", "run 1"}


def test_compressed_reads_the_same_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "FRAME", 3_000)
    texts = [f"reply {n} " * (n % 40) for n in range(200)]
    with Record(tmp_path, write=True) as record:
        for number, text in enumerate(texts):
            record.append(output(f"{number:04}", text=text))
        assert record.compress(threshold=1 << 30) is None
        assert record.compress(threshold=1) == tmp_path / "outputs.jsonl.zst"
        assert not (tmp_path / "outputs.jsonl").exists()
        order = list(range(200))
        random.Random(1).shuffle(order)
        for number in order:
            found = record.get("arc-easy", f"{number:04}", 0)
            assert found is not None
            assert found.text == texts[number]
    with Record(tmp_path, write=True) as record:
        assert len(record) == 200
        assert [one.text for one in record.outputs()] == texts
        record.append(output("0000", sample=1, text="more"))
    with Record(tmp_path) as record:
        assert len(record) == 201

    with zstd.open(tmp_path / "outputs.jsonl.zst") as stream:  # as zstdcat reads it: one stream
        assert sum(1 for _ in stream) == 200


@pytest.mark.parametrize("damage", ["cut", "garbage"])
def test_a_broken_compressed_record_says_so(tmp_path: Path, damage: str) -> None:
    with Record(tmp_path, write=True) as record:
        record.append(output())
        record.compress(threshold=1)
    path = tmp_path / "outputs.jsonl.zst"
    path.write_bytes(path.read_bytes()[:-5] if damage == "cut" else b"not zstd at all")
    with pytest.raises(RecordError, match=r"outputs\.jsonl\.zst can't be read"):
        Record(tmp_path)


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    """The file size limit stands for a full disk: the write is cut in the middle of a line."""
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from nanolm.records import Record\n"
        "from nanolm.errors import RecordError\n"
        "from tests_protocol_record import output\n"
        "record = Record(Path(sys.argv[1]), write=True)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    for n in range(1000): record.append(output(f'{n:04}'))\n"
        "except RecordError as error:\n"
        "    print(error); sys.exit(3)\n"
    )
    here = Path(__file__)
    (tmp_path / "tests_protocol_record.py").write_text(here.read_text())
    folder = tmp_path / "record"
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "are safe. Make room and run the same command again" in done.stdout
    data = (folder / "outputs.jsonl").read_bytes()
    assert data.endswith(b"\n")
    with Record(folder) as record:
        assert len(record) == data.count(b"\n") > 10


def test_an_unwritable_folder_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="choose another with --reports-dir"):
        Record(tmp_path / "file" / "below", write=True)


def test_killed_writers_lose_nothing_and_write_nothing_twice(tmp_path: Path) -> None:
    """SIGKILL at random moments; each new writer goes on where the record ends."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from nanolm.records import Record\n"
        "from tests_protocol_record import output\n"
        "record = Record(Path(sys.argv[1]), write=True)\n"
        "for n in range(20_000):\n"
        "    if not record.has(('arc-easy', f'{n:05}', 0)):\n"
        "        record.append(output(f'{n:05}', text='word ' * (n % 97)))\n"
    )
    (tmp_path / "tests_protocol_record.py").write_text(Path(__file__).read_text())
    folder = tmp_path / "record"
    command = [sys.executable, "-c", script, str(folder), str(tmp_path)]
    chance = random.Random(3)
    for _ in range(4):
        process = subprocess.Popen(command, cwd=tmp_path)
        started = time.monotonic()
        while not (folder / "outputs.jsonl").exists() and time.monotonic() - started < 20:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.08))
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=20)
    subprocess.run(command, cwd=tmp_path, timeout=60, check=True)
    lines = (folder / "outputs.jsonl").read_bytes().splitlines()
    items = [json.loads(line)["item"] for line in lines]
    assert items == [f"{n:05}" for n in range(20_000)]


def test_the_index_of_a_whole_sampled_entry_is_small(tmp_path: Path) -> None:
    """134,000 outputs in less than 100 MB."""
    template = encode(output("ITEM", sample=0, prompt_digest="0123456789abcdef"))
    with (tmp_path / "outputs.jsonl").open("wb") as file:
        for item in range(33_500):
            line = template.replace(b'"ITEM"', f'"a-longer-id-of-item-{item:06}"'.encode())
            for sample in range(4):
                file.write(line.replace(b'"sample":0', f'"sample":{sample}'.encode()))
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from nanolm.records import Record\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "record = Record(Path(sys.argv[1]))\n"
        "print(len(record), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    count, kilobytes = map(int, done.stdout.split())
    assert count == 134_000
    unit = 1 if sys.platform == "linux" else 1024
    assert kilobytes / unit < 100_000


def test_threads_append_and_read_at_once(tmp_path: Path) -> None:
    with Record(tmp_path, write=True) as record:

        def write() -> None:
            for number in range(500):
                record.append(output(f"{number:04}", text="y" * number))

        thread = threading.Thread(target=write)
        thread.start()
        for number in range(500):
            while (found := record.get("arc-easy", f"{number:04}", 0)) is None:
                time.sleep(0.0005)
            assert len(found.text) == number
        thread.join(timeout=20)


def test_a_line_is_what_other_tools_read(tmp_path: Path) -> None:
    with Record(tmp_path, write=True) as record:
        record.append(output(text="<think>x</think> Answer: A<|im_end|>"))
    line = json.loads((tmp_path / "outputs.jsonl").read_text())
    assert line["text"] == "<think>x</think> Answer: A<|im_end|>"
    assert line["decoding"] == msgspec.to_builtins(Decoding())
