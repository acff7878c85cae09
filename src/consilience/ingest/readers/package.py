"""Zip packages of documents (OOXML, ODF, EPUB) and the XML in them, with bounds on everything that bytes can claim.

An archive's directory may lie about sizes, so a member is unpacked only up to a bound. XML with a document type
declaration of its own is refused: entities defined there are how a kilobyte becomes a gigabyte.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from consilience.ingest.model import Skip

MAX_PART = 64 << 20
MAX_TOTAL = 256 << 20
MAX_DEPTH = 200
MAX_LIST_DEPTH = 20
_RELATIONS = (
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships}",
    "http://purl.oclc.org/ooxml/officeDocument/relationships}",
)


class RefusedError(Exception):
    """This package is not read. Stays inside the readers: becomes a Skip."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.skip = Skip(reason)


class Package:
    """The members of one zip file by name. Raises RefusedError for one that is damaged, encrypted or too large."""

    def __init__(self, data: bytes, what: str) -> None:
        self.what = what
        self._unpacked = 0
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError, EOFError) as error:
            raise RefusedError(f"damaged {what}: {_said(error)}") from None
        self.names = frozenset(self._zip.namelist())

    def part(self, name: str) -> bytes:
        """A member's bytes. Asked for one that is not there: damaged."""
        try:
            info = self._zip.getinfo(name)
        except KeyError:
            raise RefusedError(f"damaged {self.what}: {name} is not in it") from None
        if info.flag_bits & 1:
            raise RefusedError(f"encrypted {self.what}")
        left = min(MAX_PART, MAX_TOTAL - self._unpacked)
        try:
            with self._zip.open(info) as member:
                data = member.read(left + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
            raise RefusedError(f"damaged {self.what}: {name}: {_said(error)}") from None
        if len(data) > left:
            raise RefusedError(f"unpacks to more than {left >> 20:,} MiB: {name}")
        self._unpacked += len(data)
        return data

    def xml(self, name: str) -> Element:
        try:
            return parse_xml(self.part(name))
        except expat.ExpatError as error:
            raise RefusedError(f"damaged {self.what}: {name}: {error}") from None

    def optional_xml(self, name: str) -> Element | None:
        """None where the part is not there or is damaged: for parts that a document can do without."""
        if name not in self.names:
            return None
        try:
            return parse_xml(self.part(name))
        except expat.ExpatError:
            return None

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """The relations of an OOXML part by id: the last word of their type, and the part they lead to (ECMA-376-2,
        clause 9.3)."""
        folder, base = posixpath.split(part)
        root = self.optional_xml(posixpath.join(folder, "_rels", f"{base}.rels"))
        found = {}
        for relation in root if root is not None else ():
            target = unquote(relation.get("Target", ""))
            kind = relation.get("Type", "").rsplit("/", 1)[-1]
            if relation.get("TargetMode") != "External":
                path = target if target.startswith("/") else posixpath.join(folder, target)
                found[relation.get("Id", "")] = (kind, posixpath.normpath(path).lstrip("/"))
        return found


def _said(error: Exception) -> str:
    return f"{error}"[:120] or type(error).__name__


def parse_xml(data: bytes) -> Element:
    """The tree of an XML document; tags and attributes are local names, without their namespace (`r:id`, the id of a
    relation, keeps its own).

    Raises RefusedError for a document type with declarations of its own and for depth, ExpatError for what is no XML.
    """
    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise RefusedError(f"its XML is nested deeper than {MAX_DEPTH}")
        builder.start(_local(tag), {_key(name): value for name, value in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_local(tag))

    def doctype(name: str, system: str | None, public: str | None, internal: bool) -> None:
        if internal:
            raise RefusedError("its XML declares a document type of its own")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except (LookupError, ValueError) as error:
        raise RefusedError(f"its XML cannot be decoded: {_said(error)}") from None
    return builder.close()


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _key(name: str) -> str:
    return f"r:{_local(name)}" if name.startswith(_RELATIONS) else _local(name)


def child(node: Element | None, *path: str) -> Element | None:
    """The first descendant along a path of local names."""
    for name in path:
        if node is None:
            return None
        node = next((each for each in node if each.tag == name), None)
    return node


def value(node: Element | None, *path: str) -> str | None:
    """The `val` of the element at the end of a path; None where there is none."""
    found = child(node, *path)
    return None if found is None else found.get("val")


def number(text: str | None, *, least: int = 0, most: int, otherwise: int) -> int:
    """A whole number that a document gives, within bounds: it decides how much is made."""
    if text is None or not (text.isascii() and text.isdigit()):
        return otherwise
    return max(least, min(int(text[:9]), most))


def is_on(node: Element | None, *path: str) -> bool:
    """A toggle property of OOXML: there, and not switched off."""
    found = child(node, *path)
    return found is not None and found.get("val", "1") not in ("0", "false", "off")


def walk(node: Element, *, skipping: frozenset[str]) -> Iterator[Element]:
    """The node and what is below it in document order, without what is below a tag among `skipping`."""
    todo = [node]
    while todo:
        each = todo.pop()
        if each.tag in skipping:
            continue
        yield each
        todo.extend(reversed(each))


def property_of(root: Element | None, name: str) -> str:
    """A property among the metadata of a package, "" where it is not set."""
    if root is None:
        return ""
    found = next((each for each in root.iter(name)), None)
    return " ".join(("" if found is None else found.text or "").split())
