"""The entry point. Help is answered from stored pages before anything is imported."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit status (docs/commands.md lists them)."""
    args = sys.argv[1:] if argv is None else argv
    page = _page(args)
    if page is not None:
        return page
    try:
        import os

        # One question is too small a product for two threads, which would spin beside it; bulk work has its own.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from consilience.cli.app import run

        return run(args)
    except KeyboardInterrupt:
        return 130


def _page(args: list[str]) -> int | None:
    """Print a stored help page, if that is all that is asked for and the terminal is wide enough for it."""
    if not args or len(args) > 3 or args[-1] not in ("--help", "-h", "--version"):
        return None
    import os

    if sys.stdout is None:
        return None
    try:
        width = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (ValueError, OSError):
        width = 80
    from consilience.cli.help_text import PAGES

    path = " ".join(args) if args[-1] == "--version" else " ".join(args[:-1])
    text = PAGES.get(path)
    if text is None or width < 80:
        return None
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        return None
    return 0


if __name__ == "__main__":
    sys.exit(main())
