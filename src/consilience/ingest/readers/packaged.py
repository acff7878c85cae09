"""What the readers of packages (Word, OpenDocument, PowerPoint, EPUB) share: opening, refusing, title, date."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar
from xml.etree.ElementTree import Element

from consilience.ingest import metadata
from consilience.ingest.model import Document, Skip
from consilience.ingest.readers.flow import Flow
from consilience.ingest.readers.package import Package, RefusedError, property_of


class PackageReader(ABC):
    """Reads one package into a flow of headings and blocks. `document` may raise RefusedError; `read` never does."""

    what: ClassVar[str]
    unit: ClassVar[str]

    def __init__(self, package: Package, name: str) -> None:
        self.package = package
        self.name = name
        self.flow = Flow()
        self.title = ""
        """What the document shows as its title."""

    @classmethod
    def read(cls, data: bytes, name: str) -> Document | Skip:
        """Read a document. Skip where it is damaged, encrypted or beyond the bounds."""
        try:
            return cls(Package(data, cls.what), name).document()
        except RefusedError as refused:
            return refused.skip

    @abstractmethod
    def document(self) -> Document: ...

    def told(
        self, about: Element | None, *, title: str, created: str = "created", modified: str = "modified"
    ) -> Document:
        """What was read so far, with its date from the properties `about` it. `title` is for where none is shown."""
        dates = {"created": property_of(about, created), "modified": property_of(about, modified)}
        named = self.title or title or metadata.readable_name(self.name)
        return self.flow.document(named, self.unit, date=metadata.date_of(dates))

    def main_part(self, otherwise: str) -> str:
        """The part of an OOXML package that everything else hangs on."""
        kinds = self.package.relations("").values()
        main = next((path for kind, path in kinds if kind == "officeDocument"), "")
        return main if main in self.package.names else otherwise
