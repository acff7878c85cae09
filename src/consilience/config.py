"""`consilience.toml`: what it may say, read and checked, with file, line and key in every complaint.

    [project]
    name = "lectures"
    actor = "ana@example.org"

    [brains.algebra]
    description = "Linear algebra, two semesters"

    [brains.algebra.embedding]
    provider = "openai"
    url = "http://localhost:11434/v1"
    model = "nomic-embed-text"

Reading never changes the file; `config_file` does.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from consilience.config_sources import SOURCE_KEYS, SourceConfig, read_sources
from consilience.errors import ConfigurationError, ConsilienceError, NoProjectError, UsageError

FILE_NAME = "consilience.toml"
NAME_LIMIT = 64
_SIZE_LIMIT = 1 << 20
_BRAIN_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_MODULES = ("canonical", "semantic", "episodic", "procedural", "provenance")
_SQL = ("blocks", "main", "temp", "system", "information_schema", "pg_catalog", "sqlite_master")
_DEVICES = ("con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10)))
RESERVED: dict[str, str] = {
    **dict.fromkeys(_MODULES, "a module is called so"),
    **dict.fromkeys(_SQL, "a table or schema in SQL is called so"),
    **dict.fromkeys(_DEVICES, "no folder can be called so on Windows"),
    "all": "--all stands for every brain",
}
"""Names that no brain may have, and why."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One key that the file may hold. `NAME` in `table` stands for a brain's name."""

    table: str
    key: str
    kind: type
    required: bool = False
    meaning: str

    @property
    def path(self) -> str:
        return f"{self.table}.{self.key}"


SETTINGS: tuple[Setting, ...] = (
    Setting(table="project", key="name", kind=str, required=True, meaning="what the project is called"),
    Setting(table="project", key="actor", kind=str, meaning="who writes, where nobody else is named"),
    Setting(table="project", key="description", kind=str, meaning="what the project is about"),
    Setting(table="brains.NAME", key="path", kind=str, meaning="the brain's folder; brains/NAME by default"),
    Setting(table="brains.NAME", key="description", kind=str, meaning="what the brain is about"),
    Setting(table="brains.NAME", key="outside", kind=bool, meaning="allows a path outside of the project"),
    Setting(table="brains.NAME.embedding", key="provider", kind=str, meaning="what turns text into vectors"),
    Setting(table="brains.NAME.embedding", key="model", kind=str, meaning="the provider's model"),
    Setting(table="brains.NAME.embedding", key="url", kind=str, meaning="where the provider answers"),
    Setting(table="brains.NAME.embedding", key="dims", kind=int, meaning="the width that vectors must have"),
    Setting(table="brains.NAME.embedding", key="query_prefix", kind=str, meaning="put before every question"),
    Setting(
        table="brains.NAME.embedding", key="passage_prefix", kind=str, meaning="put before every passage"
    ),
    Setting(
        table="brains.NAME.embedding",
        key="api_key_env",
        kind=str,
        meaning="the environment variable that holds the provider's key",
    ),
    *(
        Setting(table=table, key=key, kind=bool, meaning=meaning)
        for table in ("retention", "brains.NAME.retention")
        for key, meaning in (
            ("canonical_drop", "originals may be dropped"),
            ("redact", "the bytes of blocks may be destroyed"),
            ("canonical_redact", "the bytes of originals may be destroyed"),
        )
    ),
    *(
        Setting(table=table, key=key, kind=int, meaning=meaning)
        for table in ("retention", "brains.NAME.retention")
        for key, meaning in (
            ("keep_snapshots", "how many of the newest snapshots a prune keeps"),
            ("keep_days", "how many days back a prune keeps what was the head"),
        )
    ),
    *(
        Setting(table="brains.NAME.sources", key=key, kind=kind, meaning=meaning)
        for key, kind, meaning in SOURCE_KEYS
    ),
)


class Embedding(msgspec.Struct, frozen=True, kw_only=True):
    """A brain's embedding as the file declares it. The key itself is never in the file, only its variable's
    name."""

    provider: str = "e5-small"
    model: str | None = None
    url: str | None = None
    dims: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    api_key_env: str | None = None


class RetentionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What may be removed from a brain, and what a prune keeps: its own table over that of the project. Nothing may
    be by default, and nothing says what to keep."""

    canonical_drop: bool = False
    redact: bool = False
    canonical_redact: bool = False
    keep_snapshots: int | None = None
    keep_days: int | None = None


class BrainConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One declared brain. `path` is absolute, `declared` is the path as the file has it (or the default)."""

    name: str
    path: Path
    declared: str
    description: str = ""
    outside: bool = False
    embedding: Embedding = Embedding()
    retention: RetentionConfig = RetentionConfig()
    sources: tuple[SourceConfig, ...] = ()


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """A whole, valid `consilience.toml`. Brains stand in the order in which the file declares them."""

    file: Path
    name: str
    actor: str | None = None
    description: str = ""
    brains: tuple[BrainConfig, ...] = ()

    @property
    def root(self) -> Path:
        return self.file.parent

    @property
    def brain_names(self) -> tuple[str, ...]:
        return tuple(brain.name for brain in self.brains)


def find(start: Path) -> Path | None:
    """The nearest `consilience.toml` in `start` or a folder above it."""
    folder = Path(os.path.abspath(start))  # noqa: PTH100 - `..` is taken as typed, as a shell does
    for candidate in (folder, *folder.parents):
        file = candidate / FILE_NAME
        if os.path.lexists(file):
            return file
    return None


def load(file: Path) -> Config:
    """Read and check one file.

    Raises NoProjectError if there is none, ConfigurationError (with file, line and key) if it is not in
    order.
    """
    return parse(read_text(file), file)


def read_text(file: Path) -> str:
    """The file's text without a byte order mark; ConfigurationError with the reason when it cannot be
    read."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_SIZE_LIMIT + 1)
    except FileNotFoundError:
        if file.is_symlink():
            raise ConfigurationError(f"{file}: a link to a file that does not exist") from None
        raise NoProjectError(f"no {FILE_NAME} at {file}", hint="csl project init NAME makes one") from None
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read: {error.strerror or error}") from None
    if len(data) > _SIZE_LIMIT:
        raise ConfigurationError(f"{file}: larger than {_SIZE_LIMIT >> 20} MB; this is not a {FILE_NAME}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(
            f"{file}:{line}: byte 0x{data[error.start]:02x} is not UTF-8", hint="save the file as UTF-8"
        ) from None


def parse(text: str, file: Path) -> Config:
    """Check the text of a file that stands at `file` (an absolute path; the brains' paths are relative to
    it)."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(
            _syntax(error, text, file), hint="see https://toml.io for the format"
        ) from None
    except RecursionError:
        raise ConfigurationError(f"{file}: nested too deeply") from None
    check = _Check(text, file)
    config = check.config(tree)
    check.raise_problems()
    return config


def check_brain_name(name: str) -> str | None:
    """Why `name` cannot be a brain's name, or None if it can."""
    if name in RESERVED:
        return f"{name!r} is reserved: {RESERVED[name]}"
    if len(name) > NAME_LIMIT:
        return f"a name has at most {NAME_LIMIT} characters, this one {len(name)}"
    if _BRAIN_NAME.fullmatch(name) is None:
        rule = "lowercase letters and digits, with single - or _ between them"
        better = suggest_name(name)
        return f"{name!r} is not a brain's name: {rule}" + (f" (like {better})" if better else "")
    return None


def suggest_name(name: str) -> str | None:
    """The nearest name that would do, for a hint."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    better = "-".join(re.findall(r"[a-z0-9]+", plain))[:NAME_LIMIT].strip("-")
    return better if better and better not in RESERVED else None


def near(word: str, known: tuple[str, ...]) -> str | None:
    """The known word that was probably meant."""
    import difflib

    found = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return found[0] if found else None


def unknown_brain(name: str, config: Config) -> UsageError:
    """The error for a name that this project does not declare."""
    known = config.brain_names
    meant = near(name, known)
    hint = f"did you mean {meant}? " if meant else ""
    hint += f"known: {', '.join(known)}" if known else "it has none yet: csl project add BRAIN"
    return UsageError(f"this project has no brain called {name!r}", hint=hint)


def brain_folder(declared: str, root: Path) -> Path:
    """The absolute folder of a path as declared. UsageError for one that cannot be a folder."""
    if not declared.strip():
        raise UsageError("a brain's path cannot be empty")
    if any(ord(char) < 32 or ord(char) == 127 for char in declared):
        raise UsageError(f"the path {declared!r} holds a control character")
    if declared.startswith("~"):
        raise UsageError(
            f"the path {declared!r} begins with ~, which is not expanded", hint="write it in full"
        )
    return Path(os.path.normpath(root / declared))


def is_outside(folder: Path, root: Path) -> bool:
    """Whether `folder`, links followed, is not below `root`."""
    return not _real(folder).is_relative_to(_real(root))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _syntax(error: tomllib.TOMLDecodeError, text: str, file: Path) -> str:
    match = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", str(error), re.DOTALL)
    if match is not None:
        return f"{file}:{match[2]}:{match[3]}: {match[1]}"
    detail = re.sub(r" \(at end of document\)$", "", str(error))
    return f"{file}:{text.count(chr(10)) + 1}: {detail}, at the end of the file"


_KINDS = {str: "a string", bool: "true or false", int: "a whole number"}


class _Check:
    """Reads a parsed file into a Config, and collects everything that is wrong instead of stopping at the
    first."""

    def __init__(self, text: str, file: Path) -> None:
        self.text = text
        self.file = file
        self.problems: list[tuple[int, str]] = []
        self.policy: dict[str, Any] = {}

    def raise_problems(self) -> None:
        if self.problems:
            lines = [f"{self.file}:{line}: {text}" for line, text in sorted(set(self.problems))]
            raise ConfigurationError("\n".join(lines), hint="docs/configuration.md lists every setting")

    def wrong(self, path: tuple[str, ...], text: str) -> None:
        from consilience.toml_lines import bare_key, line_of

        key = ".".join(bare_key(part) for part in path)
        self.problems.append((line_of(self.text, path) or 1, f"{key}: {text}"))

    def config(self, tree: dict[str, Any]) -> Config:
        self.unknown((), tree, ("project", "brains", "retention"))
        project = self.table((), tree, "project")
        if project is None:
            self.problems.append((1, "project: there is no [project] table, and a project needs a name"))
        values = self.values(("project",), "project", project or {})
        for key in ("name", "actor"):
            self.printable(("project", key), values)
        if "actor" in values:
            self.actor(values["actor"])
        self.policy = self.values(("retention",), "retention", self.table((), tree, "retention") or {})
        self.coherent(("retention",), self.policy, {})
        self.positive(("retention",), self.policy)
        brains = tuple(self.brains(tree))
        self.separate(brains)
        return Config(
            file=self.file,
            name=values.get("name", ""),
            actor=values.get("actor"),
            description=values.get("description", ""),
            brains=brains,
        )

    def brains(self, tree: dict[str, Any]) -> Iterator[BrainConfig]:
        for name, value in (self.table((), tree, "brains") or {}).items():
            path = ("brains", name)
            problem = check_brain_name(name)
            if problem is not None:
                self.wrong(path, problem)
            elif not isinstance(value, dict):
                self.wrong(path, f"a brain is a table: [brains.{name}]")
            else:
                brain = self.brain(path, name, value)
                if brain is not None:
                    yield brain

    def brain(self, path: tuple[str, ...], name: str, tree: dict[str, Any]) -> BrainConfig | None:
        values = self.values(path, "brains.NAME", tree, also=("embedding", "retention", "sources"))
        sources = self.sources((*path, "sources"), tree.get("sources"))
        retention = self.retention((*path, "retention"), self.table(path, tree, "retention"))
        embedding = self.embedding((*path, "embedding"), self.table(path, tree, "embedding"))
        declared = values.get("path", f"brains/{name}")
        outside = values.get("outside", False)
        try:
            folder = brain_folder(declared, self.file.parent)
            problem = folder_problem(folder, self.file.parent, outside=outside)
        except UsageError as error:
            folder, problem = self.file.parent, error.message
        if problem is not None:
            self.wrong((*path, "path"), problem)
            return None
        return BrainConfig(
            name=name,
            path=folder,
            declared=declared,
            description=values.get("description", ""),
            outside=outside,
            embedding=embedding,
            retention=retention,
            sources=sources,
        )

    def sources(self, path: tuple[str, ...], tree: Any) -> tuple[SourceConfig, ...]:
        from consilience.toml_lines import bare_key, line_of_element

        def wrong(at: int, key: str | None, text: str) -> None:
            line = line_of_element(self.text, path, at, key) or 1
            named = ".".join(bare_key(part) for part in (*path, *((key,) if key else ())))
            self.problems.append((line, f"{named}: {text}"))

        return () if tree is None else tuple(read_sources(tree, wrong))

    def retention(self, path: tuple[str, ...], tree: dict[str, Any] | None) -> RetentionConfig:
        """A brain's own table over that of the project, of which it may narrow what is allowed, never widen it."""
        values = self.values(path, "brains.NAME.retention", tree or {})
        self.positive(path, values)
        for key, value in values.items():
            if value is True and self.policy.get(key) is False:
                self.wrong((*path, key), f"contradicts retention.{key} = false, which holds for every brain")
        both = {**self.policy, **values}
        if not self.coherent(path, both, self.policy):
            return RetentionConfig()
        return RetentionConfig(**both)

    def positive(self, path: tuple[str, ...], values: dict[str, Any]) -> None:
        """Complain of a number to keep that keeps nothing, and leave it out."""
        for key in ("keep_snapshots", "keep_days"):
            if values.get(key, 1) < 1:
                self.wrong((*path, key), f"is {values.pop(key)}, and a prune keeps 1 at least")

    def coherent(self, path: tuple[str, ...], values: dict[str, Any], outer: dict[str, Any]) -> bool:
        """Complain of a policy that allows a part of what it forbids as a whole, once, where it says so."""
        contradicts = values.get("canonical_redact") is True and values.get("redact") is False
        if contradicts and not (outer.get("canonical_redact") is True and outer.get("redact") is False):
            key = "redact" if outer.get("canonical_redact") is True else "canonical_redact"
            self.wrong(
                (*path, key),
                "redact = false and canonical_redact = true contradict each other: an original is a block too",
            )
        return not contradicts

    def embedding(self, path: tuple[str, ...], tree: dict[str, Any] | None) -> Embedding:
        values = self.values(path, "brains.NAME.embedding", tree or {})
        problem = embedding_problem(values)
        if problem is not None:
            self.wrong((*path, problem[0]), problem[1])
            return Embedding()
        return Embedding(**values)

    def actor(self, actor: str) -> None:
        problem = actor_problem(actor)
        if problem is not None:
            self.wrong(("project", "actor"), problem)

    def printable(self, path: tuple[str, ...], values: dict[str, Any]) -> None:
        value = values.get(path[-1])
        if value is not None and (not value.strip() or not value.isprintable()):
            self.wrong(path, "is empty" if not value.strip() else "holds a control character")

    def separate(self, brains: tuple[BrainConfig, ...]) -> None:
        for at, brain in enumerate(brains):
            for other in brains[:at]:
                problem = overlap(brain, other)
                if problem is not None:
                    self.wrong(("brains", brain.name, "path"), problem)

    def table(self, path: tuple[str, ...], tree: dict[str, Any], key: str) -> dict[str, Any] | None:
        value = tree.get(key)
        if value is not None and not isinstance(value, dict):
            self.wrong((*path, key), "must be a table")
            return {}
        return value

    def values(
        self, path: tuple[str, ...], table: str, tree: dict[str, Any], also: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """The values of one table that are of the right kind; complaints about the rest."""
        known = {setting.key: setting for setting in SETTINGS if setting.table == table}
        self.unknown(path, tree, (*known, *also))
        values: dict[str, Any] = {}
        for key, setting in known.items():
            if key not in tree:
                if setting.required and tree:
                    self.wrong((*path, key), "is missing")
                continue
            if type(tree[key]) is not setting.kind:
                self.wrong((*path, key), f"must be {_KINDS[setting.kind]}")
            else:
                values[key] = tree[key]
        return values

    def unknown(self, path: tuple[str, ...], tree: dict[str, Any], known: tuple[str, ...]) -> None:
        for key in tree:
            if key not in known:
                better = near(key, known)
                meant = f"; did you mean {better}?" if better else f"; known here: {', '.join(known)}"
                self.wrong((*path, key), f"no such setting{meant}")


def folder_problem(folder: Path, root: Path, *, outside: bool) -> str | None:
    """Why a brain of the project in `root` cannot live in `folder`, or None."""
    if _real(root).is_relative_to(_real(folder)):
        return f"{folder} holds the project itself; a brain needs a folder of its own"
    if not outside and is_outside(folder, root):
        return f"{folder} is outside of the project; outside = true allows it"
    return None


def overlap(brain: BrainConfig, other: BrainConfig) -> str | None:
    """Why two brains cannot live where they are declared, or None."""
    mine, theirs = (os.path.normcase(_real(b.path)).casefold() for b in (brain, other))
    if mine == theirs:
        return f"brain {other.name!r} lives in {other.path} already"
    if (mine + os.sep).startswith(theirs + os.sep) or (theirs + os.sep).startswith(mine + os.sep):
        return f"one of {brain.name!r} and {other.name!r} would live inside the other"
    return None


def actor_problem(actor: str) -> str | None:
    """Why `actor` is not an actor id (WIRE 4), or None."""
    from consilience.protocol.records import validate_actor_id

    try:
        validate_actor_id(actor)
    except ConsilienceError as error:
        return error.message
    return None


def embedding_problem(values: dict[str, Any]) -> tuple[str, str] | None:
    """The key that is wrong in an embedding table, and why; None if all is well."""
    from consilience.embed.base import PROVIDERS

    provider = values.get("provider", "e5-small")
    if provider not in PROVIDERS:
        better = near(provider, PROVIDERS)
        meant = f"did you mean {better}?" if better else f"known: {', '.join(PROVIDERS)}"
        return "provider", f"there is no provider {provider!r}; {meant}"
    rules: list[tuple[str, Callable[[Any], bool], str]] = [
        ("dims", lambda n: 1 <= n <= 65_536, "must lie between 1 and 65536"),
        (
            "url",
            lambda u: re.fullmatch(r"https?://[^\s/]+\S*", u) is not None,
            "must begin with http:// or https://",
        ),
        ("api_key_env", lambda v: re.fullmatch(r"[A-Za-z_]\w*", v) is not None, "must be a variable's name"),
    ]
    for key, holds, text in rules:
        if key in values and not holds(values[key]):
            return key, text
    return None
