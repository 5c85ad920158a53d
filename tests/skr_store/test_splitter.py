from skr_store.splitter import TokenSplitter


def count_words(text):
    return len(text.split())


def test_a_text_within_the_limit_stays_whole():
    text = "one two\n\nthree\n"
    assert TokenSplitter(count_words, limit=3).split(text) == [text]


def test_blank_texts_give_nothing():
    assert TokenSplitter().split(" \n ") == []


def test_no_passage_is_longer_than_the_limit_and_no_word_is_lost():
    paragraphs = [f"Sentence {n} has a few words. And another one." for n in range(40)]
    parts = TokenSplitter(count_words, limit=30, overlap=0).split("\n\n".join(paragraphs))
    assert max(map(count_words, parts)) <= 30
    assert " ".join(parts).split() == " ".join(paragraphs).split()


def test_overlap_repeats_the_end_of_the_passage_before():
    first, second, *_ = TokenSplitter(count_words, limit=6, overlap=2).split(
        "a1 b2 c3 d4 e5 f6 g7 h8 i9 j10"
    )
    assert first.split()[-2:] == second.split()[:2]


def test_cuts_at_headings_first():
    text = "# One\n" + "a b c d e\n" * 3 + "# Two\n" + "f g h i j\n" * 3
    parts = TokenSplitter(count_words, limit=20, overlap=0).split(text)
    assert [part.splitlines()[0] for part in parts] == ["# One", "# Two"]


def test_a_text_without_spaces_is_cut():
    parts = TokenSplitter(len, limit=100, overlap=0).split("。".join("字" * 30 for _ in range(20)))
    assert all(len(part) <= 100 for part in parts)
    assert TokenSplitter(limit=50, overlap=0).split("x" * 10_000)


def test_code_and_tables_keep_their_lines_and_indentation():
    code = "class A:\n" + "".join(
        f"    def f{n}(self):\n\n        return [{n}]\n\n" for n in range(40)
    )
    table = "| a   | b |\n|-----|---|\n" + "".join(f"| {n}   | x |\n" for n in range(60))
    for text in (code, table):
        parts = TokenSplitter(limit=60, overlap=0).split(text)
        assert len(parts) > 3
        lines = [line for part in parts for line in part.split("\n") if line.strip()]
        assert lines == [line for line in text.split("\n") if line.strip()]


def test_parts_of_a_text_stand_in_it_as_they_are():
    text = "\n\n".join(f"    x{n} = [{n}]\n\n\ty = 'a  b'\t# {n}" for n in range(80))
    parts = TokenSplitter(limit=60, overlap=20).split(text)
    assert len(parts) > 5
    assert all(part in text for part in parts)
    assert all(part.startswith(("    x", "\ty")) for part in parts)
