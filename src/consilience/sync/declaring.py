"""Sources written into `consilience.toml` and taken out of it, by lines (docs/decisions/0071)."""

from __future__ import annotations

from pathlib import Path

from consilience.config import BrainConfig, Config, near, unknown_brain
from consilience.config_file import edit
from consilience.config_sources import OptionValue, SourceConfig, source_problem
from consilience.errors import ConfigurationError, NotFoundError, UsageError
from consilience.toml_lines import Writable, append_table, remove_element


def add_source(file: Path, brain: str, source: SourceConfig) -> Config:
    """Declare one more source of a brain, at the end of the file. UsageError for one that is there or cannot be."""
    problem = source_problem(source)
    if problem is not None:
        raise UsageError(f"{source.name!r} cannot be a source: it {problem}")

    def change(text: str, config: Config) -> str:
        if source.name in {each.name for each in _brain(config, brain).sources}:
            raise UsageError(
                f"{source.name} is a source of {brain} already", hint=f"csl source list --brain {brain}"
            )
        return append_table(text, ("brains", brain, "sources"), _values(source), element=True)

    return edit(file, change)


def remove_source(file: Path, brain: str, name: str) -> Config:
    """Take a source out of the file; what was taken from it stays. NotFoundError where there is none of this name."""

    def change(text: str, config: Config) -> str:
        names = [each.name for each in _brain(config, brain).sources]
        if name not in names:
            meant = near(name, tuple(names))
            hint = f"did you mean {meant}? " if meant else ""
            hint += f"known: {', '.join(names)}" if names else "it has none"
            raise NotFoundError(f"brain {brain!r} has no source {name!r}", hint=hint)
        changed = remove_element(text, ("brains", brain, "sources"), names.index(name))
        if changed is None:
            raise ConfigurationError(
                f"{file}: the sources of {brain!r} are written in one list",
                hint=f"take {name} out by hand, or write each as its own [[brains.{brain}.sources]] table",
            )
        return changed

    return edit(file, change)


def _brain(config: Config, name: str) -> BrainConfig:
    for brain in config.brains:
        if brain.name == name:
            return brain
    raise unknown_brain(name, config)


def _values(source: SourceConfig) -> list[tuple[str, Writable]]:
    """The keys that are not as they are by default."""
    plain = SourceConfig()
    fields = [(key, getattr(source, key)) for key in SourceConfig.__struct_fields__ if key != "options"]
    values = [(key, value) for key, value in fields if value is not None and value != getattr(plain, key)]
    return [*values, *((key, _writable(value)) for key, value in source.options)]


def _writable(value: OptionValue) -> Writable:
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return value
    raise UsageError(f"{value!r} cannot be written as an option of a source")
