"""The outputs of one entry on one edition: `outputs.jsonl`, append-only, one line an output.

A writer holds a lock, heals a torn last line, and flushes each line as it comes. A reader follows
the file while another process writes it. A complete and large record becomes `outputs.jsonl.zst`.
"""

import os
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from nanolm.errors import RecordError, counted
from nanolm.records import frames
from nanolm.records.index import PLAIN, Index, Key, fingerprint
from nanolm.records.lines import Header, decode, decode_header, encode
from nanolm.records.lock import Lock
from nanolm.schema import Decoding, Output

LINES = "outputs.jsonl"
COMPRESSED = "outputs.jsonl.zst"
COMPRESS_FROM = 32 << 20
"""Bytes; a smaller record stays plain text, which is nicer to look at."""


def is_recorded(folder: Path) -> bool:
    """Whether a record lies in this folder."""
    return (folder / LINES).exists() or (folder / COMPRESSED).exists()


def stamped(path: Path, stamp: str, suffix: str) -> Path:
    """The path with a stamp before its `suffix`, and a number where a file of that name is there already."""
    stem = path.name.removesuffix(suffix)
    target = path.with_name(f"{stem}.{stamp}{suffix}")
    number = 1
    while target.exists():
        number += 1
        target = path.with_name(f"{stem}.{stamp}-{number}{suffix}")
    return target


class Record:
    """Open with `Record(folder, write=True)` to write, without to read or follow.

    Safe to use from several threads. Raises `RecordError` on a locked, broken or unwritable record.
    """

    def __init__(self, folder: Path, *, write: bool = False, fresh: bool = False) -> None:
        self.folder = folder
        self.path = folder / LINES
        self.compressed = folder / COMPRESSED
        self.index = Index()
        self._mutex = threading.Lock()
        self._lock: Lock | None = None
        self._fd = -1
        self._end = 0
        self._lines_read = 0
        self._frame: tuple[int, bytes] = (PLAIN, b"")
        if write:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RecordError(
                    f"can't make the folder {folder}: {error.strerror}; choose another with --reports-dir"
                ) from None
            self._lock = Lock(folder)
        try:
            if write and fresh:
                self._set_aside()
            self._scan_compressed()
            if write:
                self._open_for_writing()
            self.refresh()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self.index)

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # reading

    def has(self, key: Key) -> bool:
        """Whether the output is there and needs no asking again (an engine's error does)."""
        return key in self.index and not self.index.is_error(key)

    def get(self, benchmark: str, item: str, sample: int) -> Output | None:
        """The output, or None while the record lacks it."""
        place = self.index.place((benchmark, item, sample))
        return None if place is None else decode(self._line(*place))

    def outputs(self) -> Iterator[Output]:
        """All outputs, in the order in which they were recorded."""
        for benchmark, item, sample in list(self.index):
            output = self.get(benchmark, item, sample)
            if output is not None:
                yield output

    def _line(self, frame: int, offset: int, length: int) -> bytes:
        if frame == PLAIN:
            return os.pread(self._fd, length, offset)
        with self._mutex:
            if self._frame[0] != frame:
                self._frame = (frame, frames.read(self.compressed, frame))
            return self._frame[1][offset : offset + length]

    def refresh(self) -> int:
        """Take in the lines that were added since; returns how many. Whole lines only."""
        if self._fd < 0:
            try:
                if self.path.is_dir():
                    raise RecordError(f"{self.path} is a folder; expected a record's file: move it away")
                self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return 0
            except OSError as error:
                raise RecordError(f"can't read {self.path}: {error.strerror}") from None
        added = 0
        with self._mutex:
            while data := os.pread(self._fd, 1 << 22, self._end):
                last = data.rfind(b"\n")
                while last < 0:  # one line longer than what was read
                    more = os.pread(self._fd, 1 << 22, self._end + len(data))
                    if not more:
                        return added
                    data += more
                    last = data.rfind(b"\n")
                for line in data[: last + 1].splitlines(keepends=True):
                    self._lines_read += 1
                    header = self._header(line)
                    added += self.index.add(header, PLAIN, self._end, len(line))
                    self._end += len(line)
        return added

    def _header(self, line: bytes) -> Header:
        try:
            return decode_header(line)
        except (ValueError, msgspec.MsgspecError) as error:
            raise RecordError(
                f"{self.path}, line {self._lines_read}: not an output ({error}); the record may have been"
                " edited. Remove that line to have it generated again, or keep the file elsewhere and start"
                " anew with --record-mode=all"
            ) from None

    def _scan_compressed(self) -> None:
        if not self.compressed.exists():
            return
        try:
            for place, text in frames.frames(self.compressed):
                offset = 0
                for line in text.splitlines(keepends=True):
                    self._lines_read += 1
                    self.index.add(self._header(line), place, offset, len(line))
                    offset += len(line)
        except (frames.zstd.ZstdError, EOFError, OSError) as error:
            raise RecordError(
                f"{self.compressed} can't be read ({error}); restore it from a copy, or move it away to"
                " generate its outputs again"
            ) from None
        self._lines_read = 0

    # writing

    def _set_aside(self) -> None:
        """`--record-mode=all`: keep the old record under a dated name."""
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        for path in (self.path, self.compressed):
            if path.exists():
                path.rename(stamped(path, stamp, path.name.removeprefix("outputs")))

    def _open_for_writing(self) -> None:
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._heal()
        except OSError as error:
            raise RecordError(
                f"can't write {self.path}: {error.strerror}; choose another folder with --reports-dir"
            ) from None

    def _heal(self) -> None:
        """Cut a torn last line (a process killed while writing it): its output is asked again."""
        size = os.fstat(self._fd).st_size
        end = size
        while end > 0:
            start = max(0, end - (1 << 16))
            chunk = os.pread(self._fd, end - start, start)
            newline = chunk.rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            os.ftruncate(self._fd, end)

    def append(self, output: Output) -> None:
        """Write one output. On a full disk the record is cut back to its last whole line.

        Raises `RecordError`; the outputs before it are safe.
        """
        line = encode(output)
        header = Header(
            benchmark=output.benchmark,
            item=output.item,
            sample=output.sample,
            seed=output.seed,
            entry=output.entry,
            prompt_digest=output.prompt_digest,
            decoding=output.decoding,
            max_tokens=output.max_tokens,
            finish_reason=output.finish_reason,
            prompt_tokens=output.prompt_tokens,
        )
        with self._mutex:
            if self._lock is None or self._fd < 0:
                raise RecordError(f"{self.path} is not open for writing")
            written = 0
            try:
                while written < len(line):
                    written += os.write(self._fd, line[written:])
            except OSError as error:
                os.ftruncate(self._fd, self._end)
                raise RecordError(
                    f"can't write {self.path}: {error.strerror}; the "
                    f"{counted(len(self.index), 'output before is', 'outputs before are')}"
                    " safe. Make room and run the same command again: only what is missing is generated"
                ) from None
            self.index.add(header, PLAIN, self._end, len(line))
            self._end += len(line)

    def compress(self, threshold: int = COMPRESS_FROM) -> Path | None:
        """Turn a complete record of at least `threshold` bytes into its compressed form.

        Nothing is lost when it is interrupted: the plain file goes only after the other is on disk.
        """
        if self._lock is None or self._end < threshold or self._end == 0:
            return None
        temporary = self.compressed.with_suffix(".part")
        try:
            frames.write(temporary, (encode(output) for output in self.outputs()))
            temporary.rename(self.compressed)
            self.path.unlink()
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise RecordError(
                f"can't compress {self.path}: {error.strerror}; the plain record is whole"
            ) from None
        os.close(self._fd)
        self._fd, self._end = -1, 0
        self.index = Index()
        self._scan_compressed()
        return self.compressed

    def close(self) -> None:
        """May be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # conditions

    def differences(
        self, key: Key, *, entry: str, seed: int, prompt_digest: str, decoding: Decoding
    ) -> list[str]:
        """What differs between how the recorded output was made and how it would be made now.

        Empty when it is the same output. The token budget is checked by the caller, who knows how it
        follows from the prompt's length.
        """
        if self.index.made_under(key)[0] == fingerprint(entry, seed, prompt_digest, decoding):
            return []
        output = self.get(*key)
        assert output is not None
        now = {"entry": entry, "seed": seed, "prompt_digest": prompt_digest}
        found = [
            f"{name} {getattr(output, name)!r} in the record, {value!r} now"
            for name, value in now.items()
            if getattr(output, name) != value
        ]
        found += [
            f"{name} {getattr(output.decoding, name)} in the record, {getattr(decoding, name)} now"
            for name in Decoding.__struct_fields__
            if getattr(output.decoding, name) != getattr(decoding, name)
        ]
        return found
