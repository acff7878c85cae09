"""The one object that `--json` prints, and HTTP and MCP return, for every command and every error. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from consilience import __version__
from consilience.documents import Document, to_json
from consilience.errors import ConsilienceError, IntegrityError
from consilience.model import Bundle, CompoundExplanation, CompoundResult, Explanation

__all__ = ["Envelope", "ErrorDocument", "envelope", "error_document", "outcome", "to_json"]


class ErrorDocument(Document, frozen=True, kw_only=True):
    """The one shape of an error, wherever it is printed."""

    code: str
    message: str
    hint: str | None
    retryable: bool


class Envelope(Document, frozen=True, kw_only=True):
    consilience: str
    command: str
    ok: bool
    data: object
    warnings: tuple[str, ...]
    error: ErrorDocument | None


def envelope(
    command: str, data: object = None, warnings: Sequence[str] = (), error: ConsilienceError | None = None
) -> bytes:
    """The envelope of a command as one line of UTF-8 JSON, without a line end.

    `data` is what `to_json` gives, or any JSON value; it may stand beside an error: what could be said is.
    A lone surrogate, which a file name can bring along, becomes U+FFFD. Raises ConsilienceError for data that
    is no JSON.
    """
    document = Envelope(
        consilience=__version__,
        command=command,
        ok=error is None,
        data=data,
        warnings=tuple(warnings),
        error=None if error is None else error_document(error),
    )
    try:
        try:
            return msgspec.json.encode(document)
        except UnicodeEncodeError:
            return msgspec.json.encode(_without_surrogates(document))
    except (TypeError, ValueError, OverflowError, RecursionError) as wrong:
        raise ConsilienceError(f"the answer of {command} cannot be written as JSON: {wrong}") from wrong


def error_document(error: ConsilienceError) -> ErrorDocument:
    return ErrorDocument(code=error.code, message=error.message, hint=error.hint, retryable=error.retryable)


def outcome(answer: Bundle | CompoundResult | Explanation | CompoundExplanation) -> ConsilienceError | None:
    """The error to report beside an answer (it decides the exit status), or None.

    A member that failed: its error, with its name before it. Matches that failed verification: IntegrityError
    (C7). Where there are several, broken integrity goes first, then the first by name (decision 0062).
    """
    failed = _failed(answer) if isinstance(answer, CompoundResult | CompoundExplanation) else None
    if isinstance(failed, IntegrityError):
        return failed
    unverified: list[str] = []
    if isinstance(answer, Bundle) and not answer.all_verified:
        unverified = [answer.brain]
    elif isinstance(answer, CompoundResult):
        unverified = sorted(member.brain for member in answer.members if not member.all_verified)
    if not unverified:
        return failed
    return IntegrityError(
        f"matches that failed verification were dropped: {', '.join(unverified)}",
        hint="`verify` says what is damaged",
    )


def _failed(answer: CompoundResult | CompoundExplanation) -> ConsilienceError | None:
    if not answer.failures:
        return None
    from consilience.compound import gravest  # commands that are no compound do without it

    failure = gravest(answer.failures)
    error = type(failure.error)(f"{failure.brain}: {failure.error.message}", hint=failure.error.hint)
    error.__cause__ = failure.error
    return error


def _without_surrogates(value: object) -> object:
    """The same JSON with U+FFFD for each lone surrogate; slow, for the rare answer that has one."""
    if isinstance(value, str):
        return "".join("�" if "\ud800" <= char <= "\udfff" else char for char in value)
    if isinstance(value, msgspec.Struct):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return {name: _without_surrogates(field) for name, field in fields if field is not UNSET}
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(each) for each in value]
    return value
