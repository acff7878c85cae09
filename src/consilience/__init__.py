"""Consilience: ask several verifiable brains one question, and see, with proof, where they agree.

    from consilience import Project

    result = Project.open(".").compound("python", "rust").search("deprecation policy", fuse=True)

Importing the package loads nothing else; each name below comes with its module when it is first used.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from consilience.brain import Brain
    from consilience.citations.model import CheckReport, EvidenceReport, Finding
    from consilience.compound import Compound
    from consilience.config import BrainConfig
    from consilience.embed import Embedder, EmbedderSpec
    from consilience.errors import (
        ActorError,
        ActorRequiredError,
        BlockNotFoundError,
        BrainNotFoundError,
        BusyError,
        ConfigurationError,
        ConflictError,
        ConsilienceError,
        CorruptStoreError,
        DecisionNeededError,
        EmbeddingError,
        FormatError,
        IndexUnusableError,
        IntegrityError,
        MissingExtraError,
        NoBrainError,
        NoProjectError,
        NotFoundError,
        PolicyError,
        QueryError,
        RemoteError,
        SourceError,
        StorageError,
        UsageError,
        ValidationError,
    )
    from consilience.ingest.report import IngestReport
    from consilience.inspection import BlockReport, BrainStatus, ProofReport
    from consilience.model import (
        Bundle,
        CompoundExplanation,
        CompoundMatch,
        CompoundResult,
        Contribution,
        Explanation,
        Failure,
        Filters,
        Locator,
        Match,
        Member,
        MemberReport,
        NearMatch,
        Query,
        Skipped,
        Source,
    )
    from consilience.progress import Progress
    from consilience.project import Project
    from consilience.protocol import Actor, ActorKind, MemoryType
    from consilience.protocol.citation import Citation
    from consilience.store.verify import VerifyReport
    from consilience.trace import TraceReport

__all__ = [
    "Actor",
    "ActorError",
    "ActorKind",
    "ActorRequiredError",
    "BlockNotFoundError",
    "BlockReport",
    "Brain",
    "BrainConfig",
    "BrainNotFoundError",
    "BrainStatus",
    "Bundle",
    "BusyError",
    "CheckReport",
    "Citation",
    "Compound",
    "CompoundExplanation",
    "CompoundMatch",
    "CompoundResult",
    "ConfigurationError",
    "ConflictError",
    "ConsilienceError",
    "Contribution",
    "CorruptStoreError",
    "DecisionNeededError",
    "Embedder",
    "EmbedderSpec",
    "EmbeddingError",
    "EvidenceReport",
    "Explanation",
    "Failure",
    "Filters",
    "Finding",
    "FormatError",
    "IndexUnusableError",
    "IngestReport",
    "IntegrityError",
    "Locator",
    "Match",
    "Member",
    "MemberReport",
    "MemoryType",
    "MissingExtraError",
    "NearMatch",
    "NoBrainError",
    "NoProjectError",
    "NotFoundError",
    "PolicyError",
    "Progress",
    "Project",
    "ProofReport",
    "Query",
    "QueryError",
    "RemoteError",
    "Skipped",
    "Source",
    "SourceError",
    "StorageError",
    "TraceReport",
    "UsageError",
    "ValidationError",
    "VerifyReport",
    "__version__",
]

_HOMES = {
    "consilience.brain": "Brain",
    "consilience.citations.model": "CheckReport EvidenceReport Finding",
    "consilience.compound": "Compound",
    "consilience.config": "BrainConfig",
    "consilience.embed": "Embedder EmbedderSpec",
    "consilience.errors": """
        ActorError ActorRequiredError BlockNotFoundError BrainNotFoundError BusyError
        ConfigurationError ConflictError ConsilienceError CorruptStoreError DecisionNeededError
        EmbeddingError FormatError IndexUnusableError IntegrityError MissingExtraError NoBrainError
        NoProjectError NotFoundError PolicyError QueryError RemoteError SourceError StorageError
        UsageError ValidationError
    """,
    "consilience.ingest.report": "IngestReport",
    "consilience.inspection": "BlockReport BrainStatus ProofReport",
    "consilience.model": """
        Bundle CompoundExplanation CompoundMatch CompoundResult Contribution Explanation Failure
        Filters Locator Match Member MemberReport NearMatch Query Skipped Source
    """,
    "consilience.progress": "Progress",
    "consilience.project": "Project",
    "consilience.protocol": "Actor ActorKind MemoryType",
    "consilience.protocol.citation": "Citation",
    "consilience.store.verify": "VerifyReport",
    "consilience.trace": "TraceReport",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

if not TYPE_CHECKING:  # so that a type checker knows the names above and no other

    def __getattr__(name):
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        value = getattr(importlib.import_module(home), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
