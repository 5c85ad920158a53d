"""A disk whose power is cut: what a process did to its files, and what may be left of it.

The process is traced, so that what SQLite and other libraries write counts too. POSIX promises of a
file what was synced (`fsync`), and of a name what its folder was synced with; anything else may be
there after the cut, in any order, or not.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

Left = Literal["nothing", "names", "data", "some"]
"""Of what was not synced: nothing is left; all names, of files that are empty or zeros; all that
was written, under the names that were synced; any part, block by block and name by name."""

LEFT: tuple[Left, ...] = ("nothing", "names", "data", "some")
BLOCK = 4096

_CALLS = (
    "openat,close,lseek,write,pwrite64,ftruncate,fallocate,fsync,fdatasync,"
    "rename,renameat,renameat2,unlink,unlinkat,mkdir,rmdir"
)
_LINE = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)")
_BEGUN = re.compile(r"^(\d+) +(\w+\(.*?) ?<unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>,? ?(.*)$")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@cache
def can_trace() -> bool:
    """Whether there is an ``strace`` that may trace here."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", os.devnull, "true"], check=False).returncode == 0


def traced(code: str, folder: Path, *arguments: str) -> list[str]:
    """The system calls of a program that works in a folder, a line each."""
    path = folder.parent / "trace.txt"
    said = subprocess.run(
        [
            *("strace", "-f", "--seccomp-bpf", "-xx", "-s", "100000000", "-e", f"trace={_CALLS}"),
            *("-o", str(path), sys.executable, "-c", code, str(folder), *arguments),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    return path.read_text().splitlines()


@dataclass
class File:
    """What a file holds, and what of it was synced."""

    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    writes: list[tuple[int, bytes]] = field(default_factory=list)

    def write(self, offset: int, data: bytes) -> None:
        self.writes.append((offset, data))
        _put(self.data, offset, data)

    def truncate(self, size: int) -> None:
        del self.data[size:]
        self.data.extend(bytes(size - len(self.data)))
        self.writes.append((-1, str(size).encode()))

    def sync(self) -> None:
        self.synced, self.writes = bytes(self.data), []

    def left(self, left: Left, draw: random.Random) -> bytes:
        if left == "data":
            return bytes(self.data)
        if left == "names":
            beyond = max(0, len(self.data) - len(self.synced))
            return self.synced + bytes(draw.choice((0, beyond)))
        found = bytearray(self.synced)
        for offset, data in self.writes if left == "some" else ():
            if offset < 0:
                if draw.random() < 0.5:
                    del found[int(data) :]
                continue
            for start in range(0, len(data), BLOCK):
                if draw.random() < 0.5:
                    _put(found, offset + start, data[start : start + BLOCK])
        return bytes(found)


@dataclass
class Folder:
    """The names in a folder, and those that were synced."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    synced: dict[str, File | Folder] = field(default_factory=dict)

    def sync(self) -> None:
        self.synced = dict(self.names)

    def write_to(self, path: Path, left: Left, draw: random.Random) -> None:
        """Make the folder that is found after the cut."""
        path.mkdir()
        for name in sorted({*self.names, *self.synced}):
            kept = {"nothing": False, "names": True, "data": False}.get(left, draw.random() < 0.5)
            node = (self.names if kept else self.synced).get(name)
            if isinstance(node, Folder):
                node.write_to(path / name, left, draw)
            elif node is not None:
                (path / name).write_bytes(node.left(left, draw))


def _put(data: bytearray, offset: int, new: bytes) -> None:
    data.extend(bytes(max(0, offset - len(data))))
    data[offset : offset + len(new)] = new


@dataclass
class Disk:
    """A folder as a program's system calls make it.

    Attributes:
        said: What the program has printed.
    """

    path: Path
    root: Folder = field(default_factory=Folder)
    said: str = ""
    _open: dict[int, tuple[str, int, bool]] = field(default_factory=dict)  # path, offset, appends
    _files: dict[int, File | Folder] = field(default_factory=dict)

    def changes(self, lines: list[str]) -> Iterator[None]:
        """Do what the lines say; stops after each call that changes or syncs something."""
        for line in _whole(lines):
            if (call := _LINE.match(line)) is None:
                continue
            _, name, arguments, result = call.groups()
            if int(result) >= 0 and self._do(name, arguments, int(result)):
                yield

    def _do(self, name: str, arguments: str, result: int) -> bool:
        texts = [bytes.fromhex(each.replace(r"\x", "")) for each in _TEXT.findall(arguments)]
        if name == "openat":
            return self._opened(arguments, texts[0].decode(), result)
        if name in ("rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "rmdir"):
            folders = re.findall(r"(?:^|, )(AT_FDCWD|\d+), ?$", _TEXT.split(arguments)[0] or "")
            paths = [self._path_of(each.decode(), folders) for each in texts]
            return self._named(name, *paths)
        number = int(arguments.split(",")[0])
        if name == "write" and number == 1:
            self.said += texts[0].decode()
            return False
        if name == "close":
            self._open.pop(number, None)
            self._files.pop(number, None)
            return False
        node = self._files.get(number)
        if node is None:
            return False
        path, offset, appends = self._open[number]
        if name in ("fsync", "fdatasync"):
            node.sync()
            return True
        assert isinstance(node, File)
        rest = [int(each) for each in re.findall(r"-?\d+", _TEXT.sub("", arguments))]
        if name == "lseek":
            self._open[number] = path, result, appends
            return False
        if name == "ftruncate":
            node.truncate(rest[1])
        elif name == "fallocate":
            node.truncate(max(len(node.data), rest[-2] + rest[-1]))
        elif name == "pwrite64":
            node.write(rest[-1], texts[0][:result])
        else:
            offset = len(node.data) if appends else offset
            node.write(offset, texts[0][:result])
            self._open[number] = path, offset + result, appends
        return True

    def _opened(self, arguments: str, name: str, number: int) -> bool:
        path = self._path_of(name, [arguments.split(",")[0]])
        self._files.pop(number, None)
        self._open[number] = path, 0, "O_APPEND" in arguments
        parts = self._parts(path)
        if parts is None:
            return False
        if not parts:
            self._files[number] = self.root
            return False
        folder = self._folder(parts[:-1])
        is_new = "O_CREAT" in arguments and parts[-1] not in folder.names
        if is_new:
            folder.names[parts[-1]] = File()
        node = self._files[number] = folder.names[parts[-1]]
        if "O_TRUNC" in arguments and isinstance(node, File) and node.data:
            node.truncate(0)
        return is_new

    def _named(self, name: str, path: str, to: str = "") -> bool:
        parts, onto = self._parts(path), self._parts(to)
        if parts is None:
            return False
        folder = self._folder(parts[:-1])
        if name == "mkdir":
            folder.names[parts[-1]] = Folder()
        elif onto is None:
            del folder.names[parts[-1]]
        else:
            self._folder(onto[:-1]).names[onto[-1]] = folder.names.pop(parts[-1])
        return True

    def _path_of(self, name: str, folders: list[str]) -> str:
        if name.startswith("/"):
            return name
        number = folders[0] if folders else "AT_FDCWD"
        beside = os.getcwd() if number == "AT_FDCWD" else self._open[int(number)][0]
        return os.path.join(beside, name)

    def _parts(self, path: str) -> tuple[str, ...] | None:
        """The names below the folder; None for another place."""
        try:
            return Path(os.path.normpath(path)).relative_to(self.path).parts
        except ValueError:
            return None

    def _folder(self, parts: tuple[str, ...]) -> Folder:
        found = self.root
        for part in parts:
            inner = found.names[part]
            assert isinstance(inner, Folder)
            found = inner
        return found


def _whole(lines: list[str]) -> Iterator[str]:
    """The calls in the order in which they ended; another thread's may come in between."""
    begun: dict[str, str] = {}
    for line in lines:
        if match := _BEGUN.match(line):
            begun[match[1]] = match[2]
        elif match := _RESUMED.match(line):
            yield f"{match[1]} {begun.pop(match[1])}{match[2]}"
        else:
            yield line
