"""Every error that leaves the package.

ConsilienceError                1   a bug of ours
├── UsageError                  2   wrong call: flag, name, argument
│   ├── NoBrainError            2   which brain is meant is not clear
│   └── QueryError              2   the question cannot be asked as it stands
├── ConfigurationError          3   consilience.toml, a setting, a missing extra
│   ├── NoProjectError          3   not inside a project
│   ├── MissingExtraError       3   an optional part is not installed
│   └── ActorRequiredError      3   a write that names nobody
├── NotFoundError               4   a block, brain, snapshot or file that is not here
│   ├── BrainNotFoundError      4   the brain's layout is not on this machine
│   └── BlockNotFoundError      4   no such block in this brain
├── IntegrityError              5   bytes do not hash to their name, a root does not follow
│   ├── CorruptStoreError       5   the database itself is damaged
│   ├── FormatError             5   bytes that are not what the wire format says
│   └── IndexUnusableError      5   a derived index is damaged, foreign or of another version
├── PolicyError                 6   refused by a rule
├── ValidationError             7   input that the rules of its kind reject
│   └── ActorError              7   an actor id that is not one
├── ConflictError               8   histories diverged, a writer in the way
│   └── BusyError               8   another process is writing
├── RemoteError                 9   a registry or endpoint unreachable or refusing
├── DecisionNeededError        10   needs a person
└── SourceError                11   a source was unreachable
    ├── StorageError           11   the disk: full, read-only, failing
    └── EmbeddingError         11   the embedding provider failed

Each class owns its code and exit status; an instance carries the message, what to do next (hint) and whether
trying again can help. A number is never reused for something else.
"""

from __future__ import annotations

from typing import ClassVar


class ConsilienceError(Exception):
    """Base of all errors of this package."""

    code: ClassVar[str] = "internal"
    exit_status: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.done: object | None = None
        """The report of what was completed before it, where an operation keeps that (`ingest`, `index`)."""


class UsageError(ConsilienceError):
    code = "usage"
    exit_status = 2


class NoBrainError(UsageError):
    code = "no_brain"


class QueryError(UsageError):
    code = "query"


class ConfigurationError(ConsilienceError):
    code = "configuration"
    exit_status = 3


class NoProjectError(ConfigurationError):
    code = "no_project"


class MissingExtraError(ConfigurationError):
    code = "missing_extra"


class ActorRequiredError(ConfigurationError):
    code = "actor_required"


class NotFoundError(ConsilienceError):
    code = "not_found"
    exit_status = 4


class BrainNotFoundError(NotFoundError):
    code = "brain_not_found"


class BlockNotFoundError(NotFoundError):
    code = "block_not_found"


class IntegrityError(ConsilienceError):
    code = "integrity"
    exit_status = 5


class CorruptStoreError(IntegrityError):
    code = "corrupt_store"


class FormatError(IntegrityError):
    code = "format"


class IndexUnusableError(IntegrityError):
    code = "index_unusable"


class PolicyError(ConsilienceError):
    code = "policy"
    exit_status = 6


class ValidationError(ConsilienceError):
    code = "validation"
    exit_status = 7


class ActorError(ValidationError):
    code = "actor"


class ConflictError(ConsilienceError):
    code = "conflict"
    exit_status = 8


class BusyError(ConflictError):
    code = "busy"
    retryable = True


class RemoteError(ConsilienceError):
    code = "remote"
    exit_status = 9
    retryable = True


class DecisionNeededError(ConsilienceError):
    code = "decision_needed"
    exit_status = 10


class SourceError(ConsilienceError):
    code = "source"
    exit_status = 11
    retryable = True


class StorageError(SourceError):
    code = "storage"


class EmbeddingError(SourceError):
    code = "embedding"
