import datetime
import gzip

import docx
import openpyxl
import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from reportlab.lib.pdfencrypt import StandardEncryption
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


def write_pdf(path, pages, title="A paper", password=None):
    encryption = StandardEncryption(password) if password else None
    canvas = Canvas(str(path), encrypt=encryption)
    canvas.setTitle(title)
    for text in pages:
        canvas.drawString(72, 720, text)
        canvas.showPage()
    canvas.save()
    return path


def test_folders_are_read_in_order_without_hidden_and_unknown_files(tmp_path):
    names = ("b.txt", "a.MD", "sub/c.html", ".hidden.txt", ".git/d.txt", "e.png", "f.jsonl.gz")
    for name in (*names, "g.rst"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    found = [path.relative_to(tmp_path).as_posix() for path in find_files([tmp_path])]
    assert found == ["a.MD", "b.txt", "f.jsonl.gz", "g.rst", "sub/c.html"]


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
    assert (page.title, page.metadata["heading"]) == ("The Title", "The Title")
    assert page.metadata["source"] == str(tmp_path / "page.md")


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
    assert page.text.split("\n") == ["It is **in** France.", "", "* One", "* Two"]


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


def test_encrypted_broken_and_empty_pdfs_are_errors(tmp_path):
    good = write_pdf(tmp_path / "good.pdf", ["text"])
    write_pdf(tmp_path / "encrypted.pdf", ["text"], password="secret")
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
    (tmp_path / "store" / "store.sqlite3").touch()
    (tmp_path / "store" / "note.txt").write_text("Not ours.")
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
        "<p>Some text.</p><pre>\ndef f():\n    return  <b>arr</b>[0]<br>\n\tx\n# no heading\n</pre>"
        "<table><tr><th>Year</th><th>Revenue</th></tr>\n<tr>\n <td> 2019 </td>\n "
        "<td>7,\n431</td></tr></table>"
    )
    [page] = read(tmp_path / "page.html")
    text, code, table = page.text.split("```")
    assert text.strip() == "Some text."
    assert [line.rstrip() for line in code.strip().split("\n")] == [
        "def f():",
        "    return  arr[0]",
        "",
        "\tx",
        "# no heading",
    ]
    assert table.split() == "| Year | Revenue | | --- | --- | | 2019 | 7, 431 |".split()


def test_html_is_cut_at_its_headings_and_its_navigation_left_out(tmp_path):
    (tmp_path / "page.html").write_text(
        "<title>City guides</title><nav><a href='/'>Home</a></nav><h1>Paris</h1><p>A city.</p>"
        "<h2>River</h2><p>The <a href='https://example.org/s'>Seine</a>.</p>" + "<p>More.</p>" * 400
    )
    first, second = read(tmp_path / "page.html")
    assert (first.title, first.text.strip()) == ("Paris", "A city.")
    assert second.metadata["heading"] == second.title == "Paris: River"
    assert second.text.startswith("The Seine.")


def test_several_headings_of_the_first_level_are_chapters(tmp_path):
    (tmp_path / "book.md").write_text("# One\n\nA.\n\n# Two\n\nB." + " More." * 400)
    assert [each.title for each in read(tmp_path / "book.md")] == ["book: One", "book: Two"]


def test_a_word_document_is_cut_at_its_headings(tmp_path):
    document = docx.Document()
    document.add_heading("The harbour", level=1)
    document.add_paragraph("The board keeps the books.")
    document.add_heading("Fees", level=2)
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(
        [*table.rows[0].cells, *table.rows[1].cells], ["Ship", "Fee", "Barge", "7 | 8"], strict=True
    ):
        cell.text = text
    document.add_paragraph("More of it. " * 200)
    document.save(str(tmp_path / "harbour.docx"))
    first, second = read(tmp_path / "harbour.docx")
    assert (first.title, first.text.strip()) == ("The harbour", "The board keeps the books.")
    assert second.metadata["heading"] == "The harbour: Fees"
    assert "| Barge | 7" in second.text


def test_a_presentation_gives_a_document_a_slide(tmp_path):
    presentation = pptx.Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[5])
    first.shapes.title.text = "Fees"
    group = first.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "In a group"
    table = first.shapes.add_table(1, 2, 0, 0, 9, 9).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Barge", "7"
    first.notes_slide.notes_text_frame.text = "Say it slowly."
    second = presentation.slides.add_slide(presentation.slide_layouts[5])
    chart = CategoryChartData()
    chart.categories = ["North", "South"]
    chart.add_series("Ships", (3, 4))
    second.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, 9, 9, chart)
    presentation.core_properties.title = "The harbour"
    presentation.save(str(tmp_path / "harbour.pptx"))
    one, two = read(tmp_path / "harbour.pptx")
    assert one.text.split("\n\n") == ["## Fees", "In a group", "Barge | 7", "Say it slowly."]
    assert (one.title, one.metadata["page"], two.metadata["page"]) == ("The harbour", 1, 2)
    assert two.text.split("\n") == [" | Ships", "North | 3.0", "South | 4.0"]


def test_a_workbook_gives_a_document_a_sheet(tmp_path):
    workbook = openpyxl.Workbook()
    workbook.active.title = "Fees"
    for row in [["Ship", "Fee", "Since"], ["Barge", 7, datetime.date(2026, 1, 2)], [], [None, "x"]]:
        workbook.active.append(row)
    workbook.create_sheet("Ships").append(["Two\nlines"])
    workbook.save(tmp_path / "harbour.xlsx")
    fees, ships = read(tmp_path / "harbour.xlsx")
    assert fees.text.split("\n") == ["Ship | Fee | Since", "Barge | 7 | 2026-01-02", " | x"]
    assert (fees.title, fees.metadata["heading"]) == ("harbour: Fees", "Fees")
    assert ships.text == "Two lines"


@pytest.mark.parametrize("suffix", ["docx", "pptx", "xlsx"])
def test_what_is_no_office_file_is_an_error(tmp_path, suffix):
    (tmp_path / f"a.{suffix}").write_bytes(b"PK no archive")
    with pytest.raises(DataError, match=f"not a readable {suffix.upper()}"):
        read(tmp_path / f"a.{suffix}")
