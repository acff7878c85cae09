"""Stop words: tantivy's lists where it has them, plus the question and filler words that they leave out."""

from __future__ import annotations

import functools
from typing import Final

_MORE: Final = {
    "en": (
        "about above after again against all also am any because been before being below between both "
        "can cannot could d did do does doing don down during each few from further had has have "
        "having he her here hers herself him himself his how i isn its itself just ll m me more most "
        "my myself nor now off once only other our ours out over own re s same she should so some t "
        "than them themselves through too under until up ve very we were what when where which while "
        "who whom whose why would you your yours yourself"
    ),
    "es": (
        "cómo como cuál cual cuáles cuales cuándo cuando cuánto cuanto cuántos cuántas cuánta dónde "
        "donde quién quien quiénes quienes qué que cuyo cuya hay fue fueron ser es son está están era "
        "eran ha han"
    ),
    "pt": (
        "como qual quais quando quanto quantos quantas onde quem que porque foi foram ser é são está estão há"
    ),
    "fr": (
        "comment quand où quel quelle quels quelles qui que quoi combien pourquoi est sont été être d "
        "l j n s t m c qu"
    ),
    "it": (
        "come quando dove quale quali chi che cosa quanto quanti quante perché è sono stato essere d "
        "l c s t m dell all"
    ),
    "de": ("wie wann wo was wer wen wem welche welcher welches warum wieso wurde wurden ist sind war waren"),
    "ro": (
        "care cum când unde cine ce cât câți câte de la și în cu pe un o este sunt a fost nu se din pentru"
    ),
    "nl": ("hoe wanneer waar wat wie welke waarom"),
    "sv": ("hur när var vad vem vilken vilka varför"),
}
"""Lowercase, one string per language."""

BUILT_IN: Final = frozenset(
    ("da", "de", "en", "es", "fi", "fr", "hu", "it", "nb", "nl", "nn", "no", "pt", "ru", "sv")
)
"""Languages that tantivy has a stop word list for."""


@functools.cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of an ISO 639-1 code, as people write them and without accents; empty where none are
    known."""
    return frozenset(_MORE.get(language, "").split())
