"""Questions that are no questions, too long, in another script, or full of syntax: text, or a clear refusal."""

from __future__ import annotations

import pytest
from product import PARAGRAPHS, QUESTION, Done, Product

COMMANDS = {
    "search": ("search", "--brain", "north"),
    "search without a model": ("search", "--brain", "west"),
    "explain": ("explain", "--brain", "north", "--analyze"),
    "compound search": ("compound", "search", "--all"),
    "compound search fused": ("compound", "search", "--all", "--fuse"),
    "compound explain": ("compound", "explain", "--all", "--analyze"),
}
EVERYWHERE = pytest.mark.parametrize("command", COMMANDS)


def ask(farm: Product, command: str, text: str, *args: str) -> Done:
    return farm.csl(*COMMANDS[command], *args, "--json", "--", text)


WORDLESS = {
    "empty": "",
    "spaces": " \t\n ",
    "punctuation": "?!... — «»",
    "brackets": "()[]{}<>",
    "an operator": "*",
    "quotes": '"" ""',
    "underscores": "_ __ ___",
    "signs of joining": "\u200b\u200d\u2060",
    "an accent alone": "\u0301",
    "pictures": "🌾🌾",
    "a NUL": "\x00",
    "100 kB of punctuation": "?!" * 50_000,
}


@EVERYWHERE
@pytest.mark.parametrize("name", WORDLESS)
def test_without_a_word_it_is_refused(farm: Product, command: str, name: str) -> None:
    done = ask(farm, command, WORDLESS[name])
    assert done.status == 2 and done.json["data"] is None
    assert done.error["code"] == "query" and done.error["hint"] and not done.error["retryable"]
    assert "empty" in done.error["message"] or "no word" in done.error["message"]
    assert len(done.error["message"]) < 200


def test_no_question_at_all_and_several_words(farm: Product) -> None:
    for command in ("search", "compound search"):
        done = farm.csl(*COMMANDS[command], "--json")
        assert done.status == 2 and "TEXT" in done.error["message"]
    words = farm.csl("search", "--brain", "north", *QUESTION.split(), "--json").data
    assert words["query"]["text"] == QUESTION and words["count"] > 0


@EVERYWHERE
def test_a_million_characters_are_too_many(farm: Product, command: str) -> None:
    done = ask(farm, command, "pump " * 200_001)
    assert done.status == 2 and done.error["code"] == "query"
    assert "1,000,005 characters" in done.error["message"] and "1,000,000" in done.error["hint"]


LONG = {
    "one sentence again and again": "why does a pump lose pressure? " * 3_300,
    "one word": "a" * 100_000,
    "one word of several": "pump " + "a" * 100_000,
    "many different words": "pump " + " ".join(f"word{i}" for i in range(10_000)),
    "one phrase": f'"{"pump of well " * 7_000}"',
    "opening quotes": "“" * 33_000 + " pump",
    "many phrases": '"pump of" ' * 10_000,
    "identifiers": "pump_a1 " * 12_000,
    "no spaces between": "pump." * 20_000,
    "another script": "水泵" * 16_000,
}


@pytest.mark.parametrize("name", LONG)
def test_of_100_kilobytes(farm: Product, name: str) -> None:
    data = ask(farm, "compound search fused", LONG[name], "--no-floor").data
    assert [m["brain"] for m in data["members"]] == ["north", "south", "west"]
    if "pump" in LONG[name] and "phrase" not in name:
        assert data["count"] > 0 and "pump" in data["matches"][0]["content"]["statement"]
    assert ask(farm, "explain", LONG[name]).status == 0


def test_of_100_kilobytes_through_a_process(farm: Product) -> None:
    done = farm.process("search", "--brain", "north", "--json", LONG["one sentence again and again"])
    assert done.data["count"] > 0 and done.data["query"]["text"].startswith(QUESTION)


def test_a_long_question_of_many_words_says_that_it_was_cut(farm: Product) -> None:
    done = ask(farm, "compound search", LONG["many different words"])
    assert [w for w in done.json["warnings"] if w.startswith("north: the question is long")]


SCRIPTS = {
    "cyrillic": "почему насос теряет давление",
    "han": "水泵 为什么 失去 压力",
    "arabic": "لماذا تفقد المضخة الضغط",
    "hebrew": "מדוע המשאבה מאבדת לחץ",
    "devanagari": "पंप दबाव क्यों खो देता है",
    "thai": "ทำไมปั๊มถึงเสียแรงดัน",
    "digits": "१२३",
    "hangul": "펌프는 왜 압력을 잃는가",
    "mathematical letters": "𝓅𝓊𝓂𝓅 𝐩𝐮𝐦𝐩",
}


@EVERYWHERE
@pytest.mark.parametrize("script", SCRIPTS)
def test_in_another_script(farm: Product, command: str, script: str) -> None:
    done = ask(farm, command, SCRIPTS[script])
    assert done.data["query"]["text"] == SCRIPTS[script]
    shown = farm.csl(*COMMANDS[command], "--", SCRIPTS[script])
    assert shown.status == 0 and shown.text


def test_what_is_written_in_another_script_is_found_in_it(own_farm: Product) -> None:
    for name, text in SCRIPTS.items():
        own_farm.write(f"scripts/{name}.md", f"# {name}\n\n{text}\n")
    own_farm.ingest("scripts", "--brain", "west")
    for name in ("cyrillic", "han", "arabic", "hebrew", "devanagari", "hangul"):
        found = own_farm.texts("west", SCRIPTS[name].split()[0])
        assert found and found[0] == SCRIPTS[name], name


SYNTAX = [
    "pump AND well",
    "pump AND NOT (filter OR sand)",
    "NOT pump",
    "+pump -filter",
    "field:pump",
    "text:pump module:semantic",
    "pump~2",
    "pump^3",
    "pum* p?mp",
    "[pump TO well]",
    "{pump TO well}",
    "/pu.p/",
    'an unclosed "quote about a pump',
    "pump \\",
    "(((pump",
    "pump)))",
    "pump && well || filter",
    "<pump> & </pump>",
    "'; DROP TABLE blocks; -- pump",
    "pump %s %d {} {0} $(pump) `pump`",
    "pump\x1b[31m\x07\x00pump",
    "pump\u202e\u200b pump",
    "PUMP",
    "púmp",
    "--limit pump",
    "pump sha256:",
    "pump " + "0" * 64,
]


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_is_only_text(farm: Product, text: str) -> None:
    for command in ("search", "search without a model", "compound search fused"):
        done = ask(farm, command, text, "--no-floor", "-n", "50")
        assert done.data["query"]["text"] == text
        if "without" not in command:
            found = [m for m in done.data["matches"] if "pump" in m["content"]["statement"]]
            assert len(found) >= PARAGRAPHS, text
    assert ask(farm, "compound explain", text).status == 0
    shown = farm.csl("search", "--brain", "north", "--", text)
    assert shown.status == 0 and "\x1b" not in shown.text and "\x00" not in shown.text


@pytest.mark.parametrize("text", ["sha256:", "sha256:zz", "sha256:" + "0" * 64, "0" * 63, "deadbeef" * 2])
def test_what_looks_like_an_id_and_names_no_block_is_an_empty_answer(farm: Product, text: str) -> None:
    assert ask(farm, "compound search fused", text).data["matches"] == []


@EVERYWHERE
def test_a_lone_surrogate_is_refused(farm: Product, command: str) -> None:
    done = ask(farm, command, "pump \udce9")
    assert done.status == 2 and "UTF-8" in done.error["message"]


BAD_OPTIONS = [
    (["--since", "yesterday"], "'yesterday' is not a date"),
    (["--until", "2024-02-30"], "'2024-02-30' is not a date"),
    (["--since", "2024-13"], "'2024-13' is not a date"),
    (["--since", ""], "is not a date"),
    (["--since", "2030", "--until", "2020"], "later than"),
    (["--limit", "0"], "0 is not in the range"),
    (["--limit", "-5"], "-5 is not in the range"),
    (["--limit", "many"], "'many' is not a valid integer"),
    (["--limit", "1" * 5_000], "not"),
    (["--module", "semantics"], "there is no module 'semantics'"),
    (["--module", "provenance"], "provenance module is not searched"),
]


@pytest.mark.parametrize(("options", "says"), BAD_OPTIONS)
def test_options_that_cannot_be(farm: Product, options: list[str], says: str) -> None:
    for command in ("search", "compound search", "compound explain"):
        done = farm.csl(*COMMANDS[command], *options, "--json", QUESTION)
        assert done.status == 2, (options, done)
        assert says in done.error["message"] and done.error["hint"], done.error


@pytest.mark.parametrize(
    "options",
    [
        ["--source", "["],
        ["--source", "\\"],
        ["--source", ""],
        ["--source", "x" * 10_000],
        ["--kind", "'; DROP TABLE"],
        ["--tag", "\x00"],
        ["--subject", "水"],
        ["--since", "0001"],
        ["--until", "9999-12-31"],
    ],
)
def test_filters_that_nothing_passes_are_an_empty_answer(farm: Product, options: list[str]) -> None:
    for command in ("search", "compound search", "compound explain"):
        done = farm.csl(*COMMANDS[command], *options, "--json", QUESTION)
        assert done.data.get("matches", []) == [], options
