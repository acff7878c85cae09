"""The compression dictionary of stored blocks, version 1 (docs/decisions/0021). Its bytes never change.

Raw content in the sense of RFC 8878, section 5: bytes that a frame may refer back to. What occurs most often
comes last.
"""

from __future__ import annotations

from typing import Final

__all__ = ["DICTIONARY_V1"]

_ENGLISH = (
    " because should would could there their which other these those about between through without"
    " within where when while the following example is used to describe how this can be implemented in"
    " a way that does not change the existing behaviour of however, therefore, instead of the current"
    " proposal, we would like to allow for the case that it has been added to the language and the"
    " library in order to make it possible for the user to provide a function, a type, a value, an"
    " error, a module, a class, a method, the default, the implementation,"
)
_SPANISH = (
    " el la los las de que y en un una por para con no se su al lo como más pero sus le ya o este sí"
    " porque esta entre cuando muy sin sobre también"
)
_SHORT = (
    " and that the of to in is for with on as be are not it this by from an or if has have was can will"
    " may more must only such than any all "
)
_CLOSE_1 = '"},"schema_version":1,"serialization":"jcs/1"}'
_RECORD = '{"boltzmann":1,"memory_type":"provenance","payload":{"record":{"actor":{"id":"","kind":"'
_BLOCKS = (
    '{"boltzmann":1,"memory_type":"canonical","payload":{"blob":"sha256:","media_type":"application/pdf",'
    '"normalized_view":{"blob":"sha256:","media_type":"text/plain","size":1},"size":1},'
    '"schema_version":1,"serialization":"jcs/1"}'
    '{"boltzmann":1,"memory_type":"canonical","payload":{"blob":"sha256:","media_type":"text/html","size":'
    '{"boltzmann":1,"memory_type":"canonical","payload":{"blob":"sha256:","media_type":"text/markdown","size":'
    '{"boltzmann":1,"memory_type":"episodic","payload":{"context":"","ended_at":"2026-01-01T00:00:00Z",'
    '"evidence":["sha256:"],"occurred_at":"2026-01-01T00:00:00Z","outcome":"","participants":["'
    '"],"summary":"","tags":["'
    '{"boltzmann":1,"memory_type":"procedural","payload":{"evidence":["sha256:"],"goal":"","label":"",'
    '"preconditions":[""],"steps":[{"action":"","alternatives":[""],"condition":"","uses":["sha256:"]}],'
    '"subject":"","success_criteria":["'
    '{"boltzmann":1,"memory_type":"semantic","payload":{"aliases":[""],"content":{"blob":"sha256:",'
    '"media_type":"text/plain","size":1},"evidence":["sha256:"],"kind":"concept","label":"",'
    '"relations":[{"predicate":"classified_as","target":"sha256:"}],"statement":"","subject":"'
)
_RARE_RECORDS = (
    _RECORD
    + 'agent","name":""},"at":"2026-","blocks":["sha256:"],"mechanism":"drop","memory_type":"semantic",'
    '"reason":"","record_type":"removal"}'
    + _CLOSE_1[1:]
    + _RECORD
    + 'service"},"at":"2026-","block":"sha256:",'
    '"checks":["boltzmann:catalog/declaration","duplicate","schema"],"record_type":"validation","task":"",'
    '"verdict":"validated"}' + _CLOSE_1[1:] + '"block":"sha256:","policy":"","reason":"no longer in ",'
    '"record_type":"demotion"}},"schema_version":2,"serialization":"jcs/1"}'
    '"block":"sha256:","reason":"edited in ","record_type":"supersession","supersedes":"sha256:'
    '"}' + _CLOSE_1[1:] + '"block":"sha256:","pipeline":"consilience/markdown","pipeline_version":"1",'
    '"record_type":"normalization"}'
    + _CLOSE_1[1:]
    + _RECORD
    + 'human","name":""},"at":"2026-","block":"sha256:",'
    '"license":"","origin":"docs/.md","record_type":"registration","retention_policy":"'
    '"}' + _CLOSE_1[1:]
)
_PASSAGE = (
    '{"boltzmann":1,"memory_type":"semantic","payload":{"kind":"fact","label":"","statement":"' + _CLOSE_1
)
_DERIVATION = (
    _RECORD + 'human"},"at":"2026-11-30T00:00:00Z","block":"sha256:","derived_from":["sha256:'
    '"],"locator":"L1-L2 @2026-01-01 # Abstract > Motivation > Rationale",'
    '"producer":{"id":"consilience/markdown","kind":"pipeline","version":"1"},"record_type":"derivation"}'
    + _CLOSE_1[1:]
)

DICTIONARY_V1: Final = (
    _ENGLISH + _SPANISH + _SHORT + _BLOCKS + _RARE_RECORDS + _PASSAGE + _DERIVATION
).encode()
