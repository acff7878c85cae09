r"""LaTeX: sections, lists, tables, listings; mathematics stays, comments go, \input is told and not followed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest import Document, Skip, read, split
from consilience.ingest.readers import latex
from consilience.ingest.readers.latex_inline import plain_text

PAPER = r"""
\documentclass[11pt]{article} % of two columns
\usepackage{amsmath}
\newcommand{\term}[1]{\emph{#1}}
\title{On the \emph{Spacing}
 of Retries}
\author{Ada Lovelace}
\date{March 1, 2024}
\begin{document}
\maketitle
\begin{abstract}
We space retries, so that nobody waits for all others at once.
\end{abstract}

\section{Introduction}\label{sec:intro}
Clients that come back at once
% a comment between two lines
meet each other~\cite[p.~3]{turing36}. It costs 5\,\% more.\footnote{As measured.}

The delay is $d = 2^n$ and grows as
\begin{equation}
  D = \sum_{n} 2^n % base
\end{equation}
shows in Section~\ref{sec:intro}.

\subsection*{M\"uller's law}
\begin{itemize}
  \item first of the things that we list here,
  \item second of the things,
    which goes on.
\end{itemize}
\begin{verbatim}
retry(times=3)  % kept
\end{verbatim}
\begin{table}[h]
\caption{What it costs on each machine.}
\begin{tabular}{l|r}
\hline
Machine & Cost \\ \hline
one & 3 \% \\
two & $x_1$ \\
\end{tabular}
\end{table}
\input{chapters/two}
\begin{thebibliography}{9}
\bibitem{turing36} A. Turing. On computable numbers, with an application.
\end{thebibliography}
\end{document}
ignored
"""


def told(text: str, name: str = "paper.tex") -> list[tuple[str, str, str]]:
    document = read(text.encode(), name)
    assert isinstance(document, Document), document
    return [(p.role, p.locator.text(), p.text) for p in split(document)]


def test_a_paper() -> None:
    document = read(PAPER.encode(), "paper.tex")
    assert isinstance(document, Document)
    assert document.title == "On the Spacing of Retries"
    assert document.date == "2024-03-01"
    assert document.warnings == ("other files that it includes are not followed: chapters/two",)
    at = "@2024-03-01 # On the Spacing of Retries >"
    assert [(p.role, p.locator.text(), p.text) for p in split(document)] == [
        ("prose", f"L12 {at} Abstract", "We space retries, so that nobody waits for all others at once."),
        (
            "prose",
            f"L16-L18 {at} Introduction",
            "Clients that come back at once meet each other [turing36]. It costs 5 % more. (As measured.)",
        ),
        (
            "prose",
            f"L20-L24 {at} Introduction",
            r"The delay is $d = 2^n$ and grows as \begin{equation} D = \sum_{n} 2^n \end{equation} "
            "shows in Section [sec:intro].",
        ),
        ("prose", f"L28 {at} Introduction > Müller's law", "first of the things that we list here,"),
        ("prose", f"L29-L30 {at} Introduction > Müller's law", "second of the things, which goes on."),
        ("code", f"L33 {at} Introduction > Müller's law", "retry(times=3)  % kept"),
        ("prose", f"L36 {at} Introduction > Müller's law", "What it costs on each machine."),
        ("table", f"L39-L41 {at} Introduction > Müller's law", "Machine | Cost\none | 3 %\ntwo | $x_1$"),
        (
            "reference",
            f"L46 {at} Introduction > Müller's law",
            "[turing36] A. Turing. On computable numbers, with an application.",
        ),
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"\textbf{a \emph{b} c}", "a b c"),
        (r"\unknown[x]{kept} words", "kept words"),
        (r"caf\'e, na\"{\i}ve, \c{c}a, \v{s}, \ss, \O", "café, naïve, ça, š, ß, Ø"),
        (r"``quoted'' -- and --- so~on\ldots", "“quoted” – and — so on…"),
        (r"\href{http://x.org}{the page} and \url{http://y.org}", "the page (http://x.org) and http://y.org"),
        (r"50\% of \$3 \& \{x\} \_ \#", "50% of $3 & {x} _ #"),
        (r"$a_{1} \le \frac{x}{y}$ holds", r"$a_{1} \le \frac{x}{y}$ holds"),
        (r"\(a\) and \[b\]", r"\(a\) and \[b\]"),
        (r"line\\ next", "line  next"),
        (r"\own{one}{two} more", "one two more"),
        (r"\multicolumn{2}{c}{wide} \textcolor{red}{red}", "wide red"),
        (r"use \verb|a_{b}| here", "use a_b here"),
    ],
)
def test_inside_a_paragraph(source: str, text: str) -> None:
    assert plain_text(source).strip() == text


def test_a_fragment_without_a_preamble_and_percent_signs_that_are_no_comment() -> None:
    assert told(
        "\\chapter{One}\nAbout 5\\% of it.\n\nMore \\\\% gone\nof the words that were here before.\n",
        "one.tex",
    ) == [
        ("prose", "L2 # One", "About 5% of it."),
        ("prose", "L4-L5 # One", "More of the words that were here before."),
    ]


LONG_TABLE = r"""
\begin{longtable}[]{@{}
  >{\raggedright\arraybackslash}p{(\columnwidth - 4\tabcolsep) * \real{0.33}}
  >{\raggedright\arraybackslash}p{(\columnwidth - 4\tabcolsep) * \real{0.67}}@{}}
\caption{Birds of the \emph{lake}}\\
\toprule
Name & Size \\
\midrule
\endfirsthead
Name & Size \\
\midrule
\endhead
\multicolumn{2}{r}{continued on the next page}\\
\endfoot
\bottomrule
\endlastfoot
Heron & 90 cm \\
\multicolumn{2}{|c|}{Both \textbf{of them}} \\
Coot & \multirow{2}{*}{40 cm} \\
\end{longtable}
"""


def test_a_long_table_without_what_its_pages_repeat() -> None:
    document = latex.read(LONG_TABLE.encode(), "birds.tex")
    assert isinstance(document, Document)
    assert [(b.role, b.text, b.first_line) for b in document.blocks] == [
        ("prose", "Birds of the lake", 5),
        ("table", "Name | Size", 7),
        ("table", "Heron | 90 cm", 17),
        ("table", "Both of them", 18),
        ("table", "Coot | 40 cm", 19),
    ]


def test_an_included_file_is_not_read() -> None:
    document = read(rb"Words. \input{/etc/passwd} \include{../x}", "a.tex")
    assert isinstance(document, Document)
    assert document.warnings == ("other files that it includes are not followed: /etc/passwd, ../x",)
    assert "root" not in "".join(b.text for b in document.blocks)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 50_000,
        "\\emph{" * 5_000 + "x",
        "\\emph{" * 500 + "x" + "}" * 500,
        "\\(" * 50_000,
        "$" * 50_001,
        "\\begin{equation}" * 5_000,
        "\\begin{tabular}" * 2_000,
        "\\begin{verbatim}\nwords",
        "\\section{" * 5_000,
        "\\item " * 20_000,
        "\\begin{itemize}" * 2_000 + "\\item x",
        "\\newcommand{\\x}{\\x\\x} \\x words",
        "\\def\\a" * 10_000,
        "\\end{itemize} words \\end{document} more",
        "%" * 100_000 + "\nwords",
        "\\\\" * 50_000,
    ],
    ids=[
        "braces", "unclosed", "deep", "math", "dollars", "equations", "tables", "open listing", "sections", "items",
        "lists", "recursive", "definitions", "ends only", "comment", "line ends",
    ],
)  # fmt: skip
def test_hostile_documents(text: str) -> None:
    assert isinstance(latex.read(text.encode(), "x.tex"), Document)


@given(st.text(alphabet="\\{}[]$%&~ab \n'\"^beginitems"))
def test_no_text_makes_it_raise(text: str) -> None:
    document = latex.read(text.encode(), "x.tex")
    if isinstance(document, Skip):
        return
    lines = text.count("\n") + 1
    assert all(1 <= block.first_line <= block.last_line <= lines for block in document.blocks)
