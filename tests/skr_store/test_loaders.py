import gzip
import logging

import pytest
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

from skr_core.errors import DataError, InputError
from skr_store.loaders import find_files, load_file


def read(path):
    def stop(error):
        raise error

    return list(load_file(path, stop))


def survivors(path):
    errors = []
    return list(load_file(path, errors.append)), errors


def write_pdf(path, pages, title="A paper"):
    canvas = Canvas(str(path))
    canvas.setTitle(title)
    for text in pages:
        canvas.drawString(72, 720, text)
        canvas.showPage()
    canvas.save()
    return path


def test_folders_are_read_in_order_without_hidden_and_unknown_files(tmp_path):
    for name in ("b.txt", "a.MD", "sub/c.html", ".hidden.txt", ".git/d.txt", "e.png", "f.jsonl.gz"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    found = [path.relative_to(tmp_path).as_posix() for path in find_files([tmp_path])]
    assert found == ["a.MD", "b.txt", "f.jsonl.gz", "sub/c.html"]


def test_missing_and_unknown_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        find_files([tmp_path / "none.txt"])
    (tmp_path / "picture.png").write_text("x")
    with pytest.raises(InputError, match=r"unknown kind; known are \.txt"):
        find_files([tmp_path / "picture.png"])


def test_text_is_titled_by_its_name_and_markdown_by_its_heading(tmp_path):
    (tmp_path / "note.txt").write_bytes("\ufeff# Not a heading\nCafé".encode())
    (tmp_path / "page.md").write_text("intro\n# The Title #\ntext")
    [note], [page] = read(tmp_path / "note.txt"), read(tmp_path / "page.md")
    assert (note.title, note.text) == ("note", "# Not a heading\nCafé")
    assert (page.title, page.metadata) == ("The Title", {"source": str(tmp_path / "page.md")})


def test_text_that_is_not_utf8_is_an_error(tmp_path):
    (tmp_path / "latin.txt").write_bytes("Café".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8 at byte 3"):
        read(tmp_path / "latin.txt")


def test_html_gives_its_visible_text(tmp_path):
    (tmp_path / "page.html").write_text(
        "<?xml version='1.0'?><html><head><title> Paris </title><style>p {}</style></head><body>"
        "<script>var x</script><p>It is <b>in</b> France.</p><ul><li>One<li>Two</ul></body></html>"
    )
    [page] = read(tmp_path / "page.html")
    assert page.title == "Paris"
    assert page.text.split("\n") == ["It is in France.", "One", "Two"]


def test_html_in_another_encoding_is_read_as_it_declares(tmp_path):
    html = '<meta charset="iso-8859-1"><p>Café</p>'
    (tmp_path / "page.htm").write_bytes(html.encode("latin-1"))
    [page] = read(tmp_path / "page.htm")
    assert (page.title, page.text) == ("page", "Café")


def test_a_pdf_gives_a_document_a_page(tmp_path):
    path = write_pdf(tmp_path / "paper.pdf", ["Paris is in France.", "Rome is in Italy."])
    first, second = read(path)
    assert (first.title, first.text.strip(), first.metadata["page"]) == (
        "A paper",
        "Paris is in France.",
        1,
    )
    assert second.metadata["page"] == 2


def test_encrypted_broken_and_empty_pdfs_are_errors(tmp_path, caplog):
    caplog.set_level(logging.CRITICAL)
    good = write_pdf(tmp_path / "good.pdf", ["text"])
    writer = PdfWriter(clone_from=PdfReader(good))
    writer.encrypt("secret", algorithm="AES-256")
    writer.write(tmp_path / "encrypted.pdf")
    (tmp_path / "broken.pdf").write_bytes(good.read_bytes()[:200])
    (tmp_path / "nothing.pdf").write_bytes(b"")
    write_pdf(tmp_path / "scan.pdf", [""])
    for name, problem in {
        "encrypted": "password",
        "broken": "not a readable PDF",
        "nothing": "not a readable PDF",
        "scan": "no text",
    }.items():
        with pytest.raises(DataError, match=problem):
            read(tmp_path / f"{name}.pdf")


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_jsonl_gives_a_document_a_line(tmp_path, suffix):
    path = tmp_path / f"corpus{suffix}"
    lines = '\ufeff{"id": 7, "title": "Paris", "text": "In France."}\n\n{"text": "Untitled."}\n'
    path.write_bytes(gzip.compress(lines.encode()) if suffix.endswith("gz") else lines.encode())
    first, second = read(path)
    assert (first.title, first.text) == ("Paris", "In France.")
    assert first.metadata == {"source": str(path), "id": "7"}
    assert (second.title, second.metadata) == ("", {"source": str(path)})


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "7", '{"text": 7}', '{"text": " "}', '{"title": "x"}', '{"text": "x", "title": 7}'],
)
def test_a_broken_line_is_named_and_the_others_survive(tmp_path, line):
    path = tmp_path / "corpus.jsonl"
    path.write_text(f'{{"text": "one"}}\n{line}\n{{"text": "two"}}\n')
    with pytest.raises(DataError, match="line 2: "):
        read(path)
    documents, errors = survivors(path)
    assert [document.text for document in documents] == ["one", "two"]
    assert [error.line for error in errors] == [2]


def test_a_line_that_is_not_utf8_is_a_broken_line(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'{"text": "caf\xe9"}\n{"text": "two"}\n')
    documents, errors = survivors(path)
    assert len(documents) == len(errors) == 1


def test_a_truncated_archive_is_an_error_after_what_could_be_read(tmp_path):
    path = tmp_path / "corpus.jsonl.gz"
    whole = gzip.compress(b"".join(b'{"text": "%d"}\n' % n for n in range(50_000)))
    path.write_bytes(whole[: len(whole) // 2])
    documents, [error] = survivors(path)
    assert documents
    assert "broken compression" in str(error)


def test_a_large_file_is_read_line_by_line(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "one"}\n' + "{broken\n")
    documents = load_file(path, lambda error: pytest.fail("read ahead"))
    assert next(documents).text == "one"


def test_a_store_inside_a_folder_is_no_document(tmp_path):
    (tmp_path / "note.txt").write_text("A note.")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "store.lock").touch()
    (tmp_path / "store" / "references.jsonl").write_text('{"format": 1}')
    assert find_files([tmp_path]) == [tmp_path / "note.txt"]


def test_a_python_file_is_text_under_its_name(tmp_path):
    code = "# A comment\nif x:\n\ty  =  arr[0]\n"
    (tmp_path / "code.py").write_text(code)
    [document] = read(tmp_path / "code.py")
    assert (document.title, document.text) == ("code.py", code)


def test_a_comment_in_a_block_of_code_is_no_heading(tmp_path):
    text = "## Intro\n```python\n# Set it\nx = arr[0]\n```\n# Title\n\n| a   | b |\n|---|---|\n"
    (tmp_path / "page.md").write_text(text)
    [page] = read(tmp_path / "page.md")
    assert page.title == "Title"
    assert page.text == text.replace("# Title", "")
    (tmp_path / "bare.md").write_text("~~~~\n# Set it\n~~~\n# More\n~~~~\n")
    [bare] = read(tmp_path / "bare.md")
    assert (bare.title, bare.text) == ("bare", "~~~~\n# Set it\n~~~\n# More\n~~~~\n")


def test_html_keeps_code_and_rows(tmp_path):
    (tmp_path / "page.html").write_text(
        "<p>Some\n  text.</p><pre>\ndef f():\n    return  <b>arr</b>[0]<br>\n\tx\n</pre>"
        "<table><tr><th>Year</th><th>Revenue</th></tr>\n<tr>\n <td> 2019 </td>\n "
        "<td>7,\n431</td></tr></table><table><tr><td><p>A page</p></td><td><p>In a table</p></td>"
        "</tr></table>"
    )
    [page] = read(tmp_path / "page.html")
    assert page.text == (
        "Some text.\ndef f():\n    return  arr[0]\n\n\tx\n"
        "Year | Revenue\n2019 | 7, 431\nA page\nIn a table"
    )
