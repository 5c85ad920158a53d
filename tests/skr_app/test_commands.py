"""The commands: what they print, and how bad input ends."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean

import orjson
import pytest

from skr_app.country import KINDS, load_country
from skr_core.errors import install_line
from skr_learn import Records
from tests.skr_app.conftest import Skr

README = Path(__file__).resolve().parents[2] / "README.md"

RECORDS = "self-knowledge.jsonl"

QUESTION = "Where was the director of the film Jaws born?"
ANSWER_KEYS = {
    "question",
    "answer",
    "citations",
    "references",
    "decision",
    "rounds",
    "stop_reason",
    "usage",
}
SCORES = {
    "title_recall_at_10",
    "all_titles_at_10",
    "answer_accuracy",
    "citation_precision",
    "citation_recall",
    "removed_markers",
    "rounds",
    "calls",
    "prompt_tokens",
    "seconds",
    "n",
}


@pytest.fixture
def store(skr: Skr, corpus: Path, tmp_path: Path) -> Path:
    path = tmp_path / "store"
    assert skr("ingest", corpus, "--store", path).code == 0
    return path


def test_help_names_every_command(skr: Skr) -> None:
    result = skr("--help")
    assert result.code == 0
    assert all(name in result.out for name in ("ingest", "ask", "demo", "evaluate"))


@pytest.mark.integration
@pytest.mark.usefixtures("few_trees")
def test_demo_shows_both_halves_and_leaves_files_to_try_commands_on(
    skr: Skr, tmp_path: Path
) -> None:
    out = tmp_path / "demo"
    result = skr("demo", "--out", out)
    assert result.code == 0, result.err
    told = " ".join(result.out.split())
    refusal = "I cannot answer the question"
    assert told.index(refusal) < told.index("search 2: Ottilie Brandt born"), "the second hop"
    assert 'daughter of a clockmaker. [1][6] [1] Marrow Bay Lighthouse "It was designed' in told
    assert told.index("dog?") < told.rindex(refusal) < told.index("where the answer is")
    assert "a stand-in without weights" in told
    page = README.read_text(encoding="utf-8")
    for cells in re.findall(r"^\| ((?:in|nowhere|all) ?.*%) \|$", page, re.MULTILINE):
        assert cells.replace(" | ", " ") in told, "the first page says what it prints"
    (routed,) = re.findall(r"\(always the loop: \d+\)", page)
    assert f"of 200 right {routed}" in told
    assert "┤" in told, "the curve"
    assert told.index("in 1879") < told.index("Edda Lorne") < told.rindex("Hallerfeld")
    assert "skr ingest FILES" in told
    model = ("--model", f"extractive:{out / 'memory.jsonl'}")
    asked = "Who is president of Varnland?"
    assert skr("route", asked, "--router", out / "router.skr", *model, "--json").json["retrieve"]
    corpus = ("--corpus", out / "corpus.jsonl", "--limit", 3)
    collecting = skr(
        *("collect", out / "questions.jsonl", *corpus, *model, "--json"),
        *("--out", tmp_path / "collected.jsonl"),
    )
    assert collecting.json["n"] == 3

    records = {each.question: each.outcomes for each in Records.read(out / RECORDS)}
    assert len(records) == 200
    right = {
        kind: [
            fmean(records[each.question][action].score for each in questions)
            for action in ("direct", "single", "loop")
        ]
        for kind in KINDS
        for questions in [[one for one in load_country().questions if one.types == (kind,)]]
    }
    direct, single, loop = range(3)
    assert right["known"][direct] > 0.9 > 0.7 > right["known"][loop]
    assert right["outdated"][direct] == 0 < 0.55 < right["outdated"][single]
    assert right["unknown"][direct] == 0 < 0.75 < right["unknown"][single]
    assert right["two hops"][direct] == 0
    assert right["two hops"][single] < 0.3 < 0.75 < right["two hops"][loop]
    assert right["unanswerable"][direct] < right["unanswerable"][loop] == 1


def test_demo_refuses_a_file_in_its_folders_place(skr: Skr, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    result = skr("demo", "--out", tmp_path / "taken")
    assert result.code == 2
    assert "give --out a folder" in result.err


def test_a_pdf_that_is_none_is_one_line_of_our_own(
    skr: Skr, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"\xc1\xdc no PDF" * 200)
    result = skr("ingest", bad, "--store", tmp_path / "store")
    assert result.code == 2
    assert "not a readable PDF" in result.err
    assert caplog.records == []  # pypdf's, which a terminal would show too


def test_ingesting_twice_changes_nothing(skr: Skr, corpus: Path, tmp_path: Path) -> None:
    first = skr("ingest", corpus, "--store", tmp_path / "store", "--json").json
    second = skr("ingest", corpus, "--store", tmp_path / "store", "--json").json
    assert (first["added"], first["passages"], first["references"]) == (1, 32, 32)
    assert (second["left"], second["passages"], second["references"]) == (1, 0, 32)


def test_documents_are_listed_replaced_and_removed(skr: Skr, tmp_path: Path) -> None:
    docs, store = tmp_path / "docs", ("--store", tmp_path / "store")
    docs.mkdir()
    (docs / "harbour.md").write_text("# Harbour\n\nThe board keeps the books.")
    (docs / "ferry.txt").write_text("The ferry sails at noon.")
    assert "2 documents added" in skr("ingest", docs, *store).out
    (docs / "harbour.md").write_text("# Harbour\n\nNobody keeps the books.")
    (docs / "ferry.txt").unlink()
    kept = skr("ingest", docs, *store, "--json").json
    assert (kept["replaced"], kept["removed"], kept["references"]) == (1, 0, 2)
    pruned = skr("ingest", docs, *store, "--prune", "--json").json
    assert (pruned["left"], pruned["removed"], pruned["passages_removed"]) == (1, 1, 1)
    [row] = skr("store", "ls", *store, "--json").json
    assert (row["name"], row["scope"], row["passages"]) == (str(docs / "harbour.md"), "shared", 1)
    assert "harbour.md" in "".join(skr("store", "ls", *store).out.split())
    _no_traceback(skr("store", "rm", "absent.md", *store), "skr store ls")
    _no_traceback(skr("store", "rm", *store), "--scope")
    assert "1 passage removed" in skr("store", "rm", docs / "harbour.md", *store).out
    stats = skr("store", "stats", *store, "--json").json
    assert (stats["passages"], stats["sources"]) == (0, 0)


def test_ask_as_json(skr: Skr, store: Path) -> None:
    output = skr("ask", QUESTION, "--store", store, "--json").json
    assert output.keys() >= ANSWER_KEYS
    assert output["question"] == QUESTION
    assert "Cincinnati" in output["answer"]
    ids = [reference["id"] for reference in output["references"]]
    assert all(each["reference_id"] in ids for each in output["citations"])


def test_an_answer_without_support_says_so(skr: Skr, store: Path) -> None:
    warning = "Not supported by the references."
    assert warning not in skr("ask", "Who directed the film Jaws?", "--store", store).out
    lost = skr("ask", "Wo wurde Angela Merkel geboren?", "--store", store)
    assert warning in lost.out
    assert "Die vorliegenden Quellen reichen nicht aus" in lost.out


def test_ask_streamed_shows_each_query_and_the_answer(skr: Skr, store: Path) -> None:
    result = skr("ask", QUESTION, "--store", store, "--stream")
    assert "search 1" in result.out
    answer = skr("ask", QUESTION, "--store", store, "--json").json["answer"]
    assert "Cincinnati" in answer
    shown = " ".join(result.out.split())
    assert " ".join(answer.split()) in shown, "nothing stands within the answer"


def test_ask_streamed_as_json_keeps_standard_output_clean(skr: Skr, store: Path) -> None:
    result = skr("ask", QUESTION, "--store", store, "--stream", "--json")
    assert result.json["question"] == QUESTION
    assert "search 1" in result.err


def test_evaluate_as_json(skr: Skr, questions: Path, corpus: Path) -> None:
    output = skr("evaluate", questions, "--corpus", corpus, "--json").json
    for system in ("single_shot", "loop"):
        assert output[system].keys() >= SCORES
        assert output[system]["n"] == 1
    assert output["single_shot"]["rounds"] == 1
    assert output["loop"]["answer_accuracy"] == 1


def test_evaluate_as_a_table_over_a_store(skr: Skr, questions: Path, store: Path) -> None:
    result = skr("evaluate", questions, "--store", store)
    assert result.code == 0
    assert "all titles at 10" in result.out


def _no_traceback(result: object, *words: str) -> None:
    assert result.code == 2, result
    lines = [line for line in result.err.splitlines() if "error:" in line]
    assert len(lines) == 1, result.err
    assert "Traceback" not in result.err
    assert all(word in lines[0] for word in words), lines


def test_missing_path(skr: Skr, tmp_path: Path) -> None:
    _no_traceback(skr("ingest", tmp_path / "absent", "--store", tmp_path / "s"), "absent")


def test_empty_corpus(skr: Skr, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    _no_traceback(skr("ingest", tmp_path / "empty.jsonl", "--store", tmp_path / "s"), "empty.jsonl")
    assert not (tmp_path / "s").exists()


def test_store_that_is_not_there(skr: Skr, tmp_path: Path) -> None:
    _no_traceback(skr("ask", QUESTION, "--store", tmp_path / "absent"), "skr ingest")


def test_unknown_model(skr: Skr, store: Path) -> None:
    _no_traceback(skr("ask", QUESTION, "--store", store, "--model", "nobody:nothing"), "nobody")


@pytest.mark.parametrize("question", ["", "   ", "\n\t"])
def test_question_of_only_spaces(skr: Skr, store: Path, question: str) -> None:
    _no_traceback(skr("ask", question, "--store", store), "question")


def test_an_embedder_that_is_none(skr: Skr, store: Path) -> None:
    asked = skr("ask", QUESTION, "--store", store, "--embedder", "/no/such/model")
    _no_traceback(asked, "cannot load embedder")


def test_line_that_is_not_json(skr: Skr, corpus: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b'{"id": "1", "title": "", "text": "fine"}\nnot json\n')
    _no_traceback(skr("ingest", broken, "--store", tmp_path / "s"), "line 2")
    survived = skr("ingest", broken, "--store", tmp_path / "s2", "--skip-bad", "--json").json
    assert (survived["references"], survived["skipped"]) == (1, 1)


def test_questions_file_with_a_broken_line(skr: Skr, corpus: Path, tmp_path: Path) -> None:
    broken = tmp_path / "q.jsonl"
    broken.write_bytes(orjson.dumps({"question": "Who?", "answer": "He"}) + b"\n{oops\n")
    _no_traceback(skr("evaluate", broken, "--corpus", corpus), "line 2")
    survived = skr("evaluate", broken, "--corpus", corpus, "--skip-bad", "--json").json
    assert survived["loop"]["n"] == 1


@pytest.mark.parametrize("command", ["collect", "evaluate"])
def test_without_passages_the_default_store_is_searched(
    skr: Skr, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("skr_app.opening.DEFAULT_STORE", str(tmp_path / "default"))
    monkeypatch.chdir(tmp_path)
    _no_traceback(skr(command, questions), str(tmp_path / "default"), "skr ingest")


def test_unknown_option_ends_with_2(skr: Skr) -> None:
    assert skr("ask", "Who?", "--no-such-option").code == 2


def test_missing_sentence_transformers_names_the_extra(
    skr: Skr, monkeypatch: pytest.MonkeyPatch, corpus: Path, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    result = skr("ingest", corpus, "--store", tmp_path / "s", "--embedder", "some-model")
    _no_traceback(result, install_line("local"))


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in folder.rglob("*")
        if each.is_file()
    }


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder that only looks like a store."""
    folder = tmp_path / "papers"
    (folder / "index").mkdir(parents=True)
    (folder / "index" / "a.html").write_text("mine")
    (folder / "references.jsonl").write_text('{"doi": "10.1/1"}\n{"doi": "10.1/2"}')
    return folder


def test_what_is_no_store_is_left_alone(skr: Skr, corpus: Path, foreign: Path) -> None:
    before = contents(foreign)
    _no_traceback(skr("ingest", corpus, "--store", foreign), "earlier version")
    _no_traceback(skr("ask", QUESTION, "--store", foreign), "earlier version")
    assert contents(foreign) == before


def test_an_embedder_that_cannot_be_loaded_changes_nothing(
    skr: Skr, store: Path, corpus: Path, tmp_path: Path
) -> None:
    pytest.importorskip("sentence_transformers")
    (tmp_path / "no-model").mkdir()
    asked = skr("ask", QUESTION, "--store", store, "--embedder", tmp_path / "no-model")
    _no_traceback(asked, "cannot load embedder", "no-model")
    assert "Cincinnati" in skr("ask", QUESTION, "--store", store, "--json").json["answer"]
    fresh = skr("ingest", corpus, "--store", tmp_path / "s", "--embedder", tmp_path / "no-model")
    _no_traceback(fresh, "cannot load embedder")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("model", ["", "  "])
def test_a_model_without_a_name(skr: Skr, store: Path, model: str) -> None:
    _no_traceback(skr("ask", QUESTION, "--store", store, "--model", model), "model")


def test_a_question_that_is_not_utf8(skr: Skr, store: Path) -> None:
    result = skr("ask", QUESTION + " \udcff", "--store", store, "--json")
    assert result.json["question"] == QUESTION + " \ufffd"


def test_a_folder_where_a_file_should_be(skr: Skr, corpus: Path, store: Path) -> None:
    (store / "store.sqlite3").unlink()
    (store / "store.sqlite3").mkdir()
    _no_traceback(skr("ask", QUESTION, "--store", store), str(store))
    _no_traceback(skr("ingest", corpus, "--store", store), str(store))


def test_an_error_of_the_system_is_one_line(
    skr: Skr, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "some/file")

    monkeypatch.setattr("skr_app.commands.ask.open_retriever", refuse)
    _no_traceback(skr("ask", QUESTION, "--store", store), "Permission denied", "some/file")


def test_asking_makes_no_store_of_a_folder(skr: Skr, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "note.txt").write_text("mine")
    _no_traceback(skr("ask", QUESTION, "--store", tmp_path / "folder"), "skr ingest")
    assert list(contents(tmp_path / "folder")) == ["note.txt"]


def test_a_missing_path_leaves_no_store_and_draws_no_bar(
    skr: Skr, corpus: Path, tmp_path: Path
) -> None:
    result = skr("ingest", corpus, tmp_path / "absent", "--store", tmp_path / "s")
    assert result.code == 2
    assert "Ingesting" not in result.err
    assert not (tmp_path / "s").exists()


def test_what_was_skipped_is_said(skr: Skr, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b'{"text": "fine"}\n' + b"not json\n" * 25)
    shown = skr("ingest", broken, "--store", tmp_path / "s", "--skip-bad")
    assert "line 2: not JSON" in shown.out
    assert "and 5 more" in shown.out
    found = skr("ingest", broken, "--store", tmp_path / "s", "--skip-bad", "--json").json
    assert len(found["problems"]) == 20


@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_passages_cannot_steer_the_terminal(skr: Skr, tmp_path: Path, options: list[str]) -> None:
    steering = "\x1b[2J\x9b31m\u202e\x07"
    row = {"title": f"Jaws{steering}", "text": f"Jaws was filmed in 1974{steering} on an island."}
    (tmp_path / "c.jsonl").write_bytes(orjson.dumps(row))
    skr("ingest", tmp_path / "c.jsonl", "--store", tmp_path / "s")
    question = f"When was Jaws{steering} filmed?"
    shown = skr("ask", question, "--store", tmp_path / "s", *options)
    assert "1974" in shown.out
    assert not set(shown.out + shown.err) & set("\x1b\x9b\u202e\x07")
    failed = skr("ingest", f"absent{steering}[bold]:cat:", "--store", tmp_path / "s")
    _no_traceback(failed, "[bold]:cat:")
    assert not set(failed.err) & set("\x1b\x9b\u202e\x07")


def test_the_environment_names_the_server_and_the_search(
    skr: Skr, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKR_SEARCH", "fuzzy")
    assert "SKR_SEARCH" in skr("ask", QUESTION, "--store", store).err
    monkeypatch.setenv("SKR_SEARCH", "bm25")
    monkeypatch.setenv("SKR_BASE_URL", "http://127.0.0.1:9/v1")
    failed = skr("ask", QUESTION, "--store", store, "--model", "some-model")
    assert failed.code == 1
    assert "Traceback" not in failed.err


def test_a_link_out_of_the_folder_is_refused_or_passed_over(skr: Skr, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("The password is 7.")
    folder = tmp_path / "unpacked"
    folder.mkdir()
    (folder / "a.txt").write_text("Paris is in France.")
    (folder / "b.txt").symlink_to(tmp_path / "secret.txt")
    _no_traceback(skr("ingest", folder, "--store", tmp_path / "s"), "name its file")
    assert not (tmp_path / "s").exists()
    read = skr("ingest", folder, "--store", tmp_path / "s", "--skip-bad", "--json").json
    assert (read["added"], read["skipped"]) == (1, 1)
