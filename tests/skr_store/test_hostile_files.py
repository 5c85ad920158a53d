"""No file hangs ingestion, fills the memory, reads another's files or comes in wrong letters."""

from __future__ import annotations

import gzip
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skr_core.errors import DataError, InputError
from skr_core.files import in_utf8, read_jsonl, read_whole
from skr_core.files.reading import LONGEST_LINE
from skr_store import Store, ingest, loaders
from skr_store.convert import CONVERTED, convert
from skr_store.loaders import find_files, load_file

GB = 1 << 30
SECONDS = 150
"""Far more than any of these takes, and far less than it took."""


def refused(path: Path) -> str:
    errors: list[DataError] = []
    assert list(load_file(path, errors.append)) == []
    (error,) = errors
    assert "\n" not in str(error)
    return str(error)


def loaded_apart(path: Path) -> str:
    """What another process reads of a file, in little memory and some time."""
    script = (
        "import sys; from pathlib import Path; from skr_store.loaders import load_file\n"
        "print([len(each.text) for each in load_file(Path(sys.argv[1]), print)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 * GB, 3 * GB)),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "unit",
    ["<div>", "<table><tr><td>", "<pre>", "<li>", "<b>", "<td></td>", "<p>x", "<ruby><rt>"],
)
def test_a_page_of_nested_tags_is_read_in_no_time(unit: str, tmp_path: Path):
    path = tmp_path / "deep.html"
    path.write_text(unit * (100_000 // len(unit)) + "end")
    said = loaded_apart(path)
    assert said.startswith("[") or "tags within each other" in said


@pytest.mark.parametrize("unit", ["<!--", "<a b", "<a b='", "<![CDATA[", "<?x ", "<!-- -- "])
@pytest.mark.parametrize("end", ["", ">"])
def test_tags_that_do_not_end_are_refused_or_read(unit: str, end: str, tmp_path: Path):
    path = tmp_path / "open.html"
    path.write_text(unit * (100_000 // len(unit)) + end)
    said = loaded_apart(path)
    assert said.startswith("[") or "open.html: " in said


@pytest.fixture(autouse=True)
def _a_process_of_its_own() -> Iterator[None]:
    loaders.end_reading()
    yield
    loaders.end_reading()


@pytest.mark.parametrize("kind", CONVERTED)
def test_what_takes_long_is_stopped(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loaders, "SECONDS", 1)
    monkeypatch.setattr(loaders.convert, "__file__", str(tmp_path / "slow.py"))
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)")
    (tmp_path / f"a{kind}").touch()
    assert "not read within 1 seconds" in refused(tmp_path / f"a{kind}")
    monkeypatch.undo()
    (tmp_path / "next.html").write_text("<p>The harbour board keeps the books.</p>")
    [document] = loaders.load_file(tmp_path / "next.html", loaders.stop)
    assert "harbour board" in document.text


def test_what_takes_all_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loaders, "MEMORY", 60_000_000)
    (tmp_path / "tags.html").write_text("<b>x</b>" * 200_000)
    assert "too much memory" in refused(tmp_path / "tags.html")


def test_a_workbook_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loaders, "MEMORY", 300_000_000)
    workbook = openpyxl.Workbook()
    workbook.active.append(["Harbour"])
    workbook.save(tmp_path / "good.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "good.xlsx") as good,
        zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for name in good.namelist():
            content = good.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b"<sheetData>", b"<sheetData>" + b"<row></row>")
            if name.endswith("sharedStrings.xml"):
                content = content.replace(b"Harbour", b"Harbour" * 5 * 10**7)
            bomb.writestr(name, content)
    assert refused(tmp_path / "bomb.xlsx")


def test_a_module_beside_the_file_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("json", "bs4", "resource"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('ran')")
    (tmp_path / "a.html").write_text("<p>Paris.")
    monkeypatch.chdir(tmp_path)
    assert [each.text.strip() for each in load_file(Path("a.html"), loaders.stop)] == ["Paris."]


def test_a_file_that_is_called_as_an_option_is_read(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("-c.html").write_text("<p>Paris.")
    assert [each.text.strip() for each in load_file(Path("-c.html"), loaders.stop)] == ["Paris."]


def test_what_a_page_does_not_show_is_not_read(tmp_path: Path):
    page = "<p>seen<!--\nhidden\n--><script>hidden</script><pre>a<noscript>hidden</noscript>b</pre>"
    (tmp_path / "a.html").write_text(page)
    (document,) = load_file(tmp_path / "a.html", loaders.stop)
    assert document.text.split() == ["seen", "```", "ab", "```"]


def test_a_line_without_end_takes_no_memory(tmp_path: Path):
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"text": "' + b"x" * (LONGEST_LINE + 10))
        for _ in range(10):
            file.write(b"x" * LONGEST_LINE)
    said = loaded_apart(path)
    assert f"line 1: longer than {LONGEST_LINE:,} bytes" in said


def test_lines_before_one_without_end_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("skr_core.files.reading.LONGEST_LINE", 30)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "short"}\n{"text": "' + "x" * 100)
    with pytest.raises(DataError, match="line 2: longer than 30 bytes"):
        list(read_jsonl(path))
    errors: list[DataError] = []
    assert [each.text for each in load_file(path, errors.append)] == ["short"]
    assert len(errors) == 1


def test_what_decompresses_without_end_is_refused(tmp_path: Path):
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b"[" + b" " * 10_000_000))
    with pytest.raises(DataError, match="more than 1,000,000 bytes"):
        read_whole(path, most=1_000_000)


@pytest.mark.parametrize("name", ["pipe.txt", "pipe.jsonl", "pipe.html", "pipe.pdf", "pipe.docx"])
def test_a_pipe_or_a_socket_is_not_waited_for(name: str, tmp_path: Path):
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="a folder, pipe, socket or device"):
        find_files([tmp_path / name])
    assert "pipe, socket or device" in refused(tmp_path / name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket.txt"))
        assert "pipe, socket or device" in refused(tmp_path / "socket.txt")


def test_a_folder_with_a_pipe_in_it_is_read_but_for_it(tmp_path: Path):
    os.mkfifo(tmp_path / "a.txt")
    (tmp_path / "b.txt").write_text("Paris is in France.")
    with Store.ephemeral() as store:
        with pytest.raises(DataError, match="pipe"):
            ingest([tmp_path], store)
        report = ingest([tmp_path], store, skip_bad=True)
    assert (report.added, report.skipped) == (1, 1)


def test_a_link_out_of_a_folder_is_not_followed(tmp_path: Path):
    secret = tmp_path / "secret.txt"
    secret.write_text("The password.")
    folder = tmp_path / "unpacked"
    (folder / "within").mkdir(parents=True)
    (folder / "within" / "b.txt").write_text("Paris.")
    (folder / "notes.txt").symlink_to(secret)
    (folder / "linked").symlink_to(tmp_path)
    (folder / "c.txt").symlink_to(folder / "within" / "b.txt")
    with pytest.raises(DataError, match=r"notes\.txt: a link out of .*: name its file"):
        find_files([folder])
    errors: list[DataError] = []
    found = find_files([folder], errors.append)
    assert [path.name for path in found] == ["c.txt", "b.txt"]
    assert len(errors) == 1
    assert find_files([folder / "notes.txt"]) == [folder / "notes.txt"]


def test_a_link_to_nothing_or_to_itself_is_refused(tmp_path: Path):
    (tmp_path / "nothing.txt").symlink_to(tmp_path / "gone.txt")
    (tmp_path / "itself.txt").symlink_to(tmp_path / "itself.txt")
    for name in ("nothing.txt", "itself.txt"):
        assert name in refused(tmp_path / name)


TEXT = "Café 巴黎 😀\nsecond"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("order", ["", "-be"])
def test_marks_are_read_everywhere(encoding: str, order: str, tmp_path: Path):
    if order and encoding in ("utf-16", "utf-32"):
        mark = "\ufeff"
        write = lambda text: f"{mark}{text}".encode(encoding + order)  # noqa: E731
    else:
        write = lambda text: text.encode(encoding)  # noqa: E731
    (tmp_path / "a.txt").write_bytes(write(TEXT))
    (tmp_path / "a.html").write_bytes(write("<meta charset=utf-8><p>Café 巴黎 😀<p>second"))
    (tmp_path / "a.jsonl").write_bytes(write('{"text": "Café 巴黎 😀"}\r\n\n{"text": "second"}'))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    for name in ("a.txt", "a.html", "a.jsonl", "a.jsonl.gz"):
        read = list(load_file(tmp_path / name, loaders.stop))
        assert "\n".join(each.text for each in read).split() == TEXT.split(), name
    assert [number for number, _ in read_jsonl(tmp_path / "a.jsonl")] == [1, 3]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\xfe\xff\xd8\x00x", b"\xff\xfe\x00\x00x"])
def test_what_is_not_in_the_encoding_of_its_mark_is_refused(content: bytes, tmp_path: Path):
    for name in ("a.txt", "a.jsonl"):
        (tmp_path / name).write_bytes(content)
        assert name in refused(tmp_path / name)


@given(st.text().filter(lambda text: text[:1] not in ("\ufeff", "\x00")))
def test_a_mark_changes_no_letter(text: str):
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        assert in_utf8(text.encode(encoding)) == text.encode()


PIECES = (
    "<p> </p> <pre> </pre> <td> <tr> <table> </table> <br> <!-- --> <script> </script> <title> < > "
    "<h1> </h2> <ol> <li> <a href=x> &amp; &#0; x \x00"
).split(" ")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, "\n"]) | st.text(max_size=3)).map("".join))
def test_any_page_is_read(page: str):
    with tempfile.NamedTemporaryFile(suffix=".html") as file:
        file.write(page.encode())
        file.flush()
        json.dumps(convert(Path(file.name)))
