"""Questions that have, in all likelihood, nothing to do with a brain: what its noise floor is measured with.

Everyday subjects, asked as people ask (long and short, as questions and as keywords), the same in each language.
A brain is measured in each. docs/decisions/0101-noise-floor.md.
"""

from __future__ import annotations

from collections.abc import Mapping

QUESTIONS_VERSION = 1

_ENGLISH = (
    "how do I renew a passport that expired last year",
    "what is the boiling point of mercury",
    "who won the football world cup in 1998",
    "how many bones does a shark have",
    "what causes prices to rise after a war",
    "when was the treaty of versailles signed",
    "how does a diesel engine work",
    "what are the symptoms of scurvy",
    "which planet has the most moons",
    "how do I set up a rule in the firewall",
    "what is the tax on capital gains",
    "when should tomatoes be planted in a cold climate",
    "how do vaccines make people immune",
    "what is the difference between a wave and a particle",
    "who painted the night watch",
    "how tall is the eiffel tower",
    "what goes into a risotto with mushrooms",
    "how do I change the tyre of a bicycle",
    "what did the court decide about the patent",
    "when did the company announce the merger",
    "what happened at the meeting on friday",
    "how long does the warranty last",
    "which sensor measures the pressure in the tank",
    "what is the melting temperature of the alloy",
    "why does the program crash when the list is empty",
    "what was the diagnosis of the patient",
    "where is the nearest pharmacy",
    "how do bees find the way back to their hive",
    "what interest does the bank charge for the loan",
    "who is responsible for maintenance of the building",
    "why did the bridge collapse",
    "what year did the museum open",
    "how much does the ticket cost for students",
    "which medicine is used against malaria",
    "what is a derivative in calculus",
    "how do I cancel my subscription",
    "when is the deadline for the report",
    "what are the rules of chess",
    "how do glaciers move",
    "what does the error code mean",
    "did she like the present that her brother gave her",
    "where did they go on holiday last summer",
    "what are the main arguments against the proposal",
    "how is the result of the experiment measured",
    "volcano eruption",
    "cheap flights to lisbon",
    "history of the printing press",
    "memory leak in a long running service",
    "violin lessons for adults",
    "effect of temperature on the strength of concrete",
    "election results",
    "grammar of the latin language",
)

_SPANISH = (
    "cómo renuevo un pasaporte que caducó el año pasado",
    "cuál es el punto de ebullición del mercurio",
    "quién ganó el mundial de fútbol de 1998",
    "cuántos huesos tiene un tiburón",
    "por qué suben los precios después de una guerra",
    "cuándo se firmó el tratado de versalles",
    "cómo funciona un motor diésel",
    "cuáles son los síntomas del escorbuto",
    "qué planeta tiene más lunas",
    "cómo se configura una regla en el cortafuegos",
    "cuál es el impuesto sobre las ganancias",
    "cuándo se plantan los tomates en un clima frío",
    "cómo protegen las vacunas a las personas",
    "qué diferencia hay entre una onda y una partícula",
    "quién pintó la ronda de noche",
    "qué altura tiene la torre eiffel",
    "qué lleva un arroz con setas",
    "cómo cambio la rueda de una bicicleta",
    "qué decidió el tribunal sobre la patente",
    "cuándo anunció la empresa la fusión",
    "qué pasó en la reunión del viernes",
    "cuánto dura la garantía",
    "qué sensor mide la presión del depósito",
    "a qué temperatura se funde la aleación",
    "por qué falla el programa cuando la lista está vacía",
    "cuál fue el diagnóstico del paciente",
    "dónde está la farmacia más cercana",
    "cómo encuentran las abejas el camino a la colmena",
    "qué interés cobra el banco por el préstamo",
    "quién se encarga del mantenimiento del edificio",
    "por qué se hundió el puente",
    "en qué año abrió el museo",
    "cuánto cuesta la entrada para estudiantes",
    "qué medicina se usa contra la malaria",
    "qué es una derivada en cálculo",
    "cómo cancelo mi suscripción",
    "cuándo vence el plazo del informe",
    "cuáles son las reglas del ajedrez",
    "cómo se mueven los glaciares",
    "qué significa el código de error",
    "le gustó a ella el regalo de su hermano",
    "adónde fueron de vacaciones el verano pasado",
    "cuáles son los argumentos contra la propuesta",
    "cómo se mide el resultado del experimento",
    "erupción de un volcán",
    "vuelos baratos a lisboa",
    "historia de la imprenta",
    "fuga de memoria en un servicio",
    "clases de violín para adultos",
    "efecto de la temperatura en la resistencia del hormigón",
    "resultados de las elecciones",
    "gramática de la lengua latina",
)

_BY_LANGUAGE: Mapping[str, tuple[str, ...]] = {"en": _ENGLISH, "es": _SPANISH}

LEAST_SHARE = 0.1
"""A language counts as one of the brain's from this share of its passages on."""


def noise_questions(languages: Mapping[str, int], *, across: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(language, questions) for a brain whose passages count `languages` (ISO 639-1 -> passages), the main one first.

    A brain that searches by words alone is asked in the languages it holds a fair share of, in English where there are
    none of these. One with vectors (`across`) finds across languages, so it is asked in all of them.
    """
    own = held_languages(languages) or ("en",)
    chosen = [*own, *(code for code in _by_count(languages) if across and code not in own)]
    return tuple((code, _BY_LANGUAGE[code]) for code in chosen)


def held_languages(languages: Mapping[str, int]) -> tuple[str, ...]:
    """Those of the languages of the noise questions that a fair share of the brain's passages is in, the main first."""
    total = sum(languages.values()) or 1
    return tuple(code for code in _by_count(languages) if languages.get(code, 0) / total >= LEAST_SHARE)


def _by_count(languages: Mapping[str, int]) -> list[str]:
    return sorted(_BY_LANGUAGE, key=lambda code: (-languages.get(code, 0), code))
