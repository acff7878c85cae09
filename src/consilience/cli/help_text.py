"""Stored help pages, made by `python -m consilience.cli.help_pages`. Not to be edited."""

PAGES: dict[str, str] = {
    "": """\
Usage: csl [OPTIONS] COMMAND [ARGS]...

  Ask several verifiable brains one question, and see, with proof, where they
  agree.

Set up:
  project   Make, show and change a project of several brains
  status    What is here, healthy, stale or missing

Fill:
  ingest    Take files and folders into a brain
  remember  Take one fact in by hand
  task      Let a model or a person propose knowledge, and check it before it
            goes in
  source    Declare what a brain is kept in step with
  sync      Bring a brain up to date with its sources
  watch     Keep a brain in step with its sources until Ctrl-C
  index     Bring a brain's indices up to date
  readers   List what kinds of file can be read here

Keep:
  retain    Hide, drop or destroy what a brain holds, by a rule and with a
            record
  export    Write a brain as an OCI image layout
  import    Take in an OCI image layout, verified

Ask:
  search    Search one brain
  explain   Show why a brain answers as it does
  sql       Ask one brain in SQL
  compound  Ask several brains one question

Check:
  history   Show a brain's snapshots and what each changed
  diff      Show what changed between two snapshots of a brain
  block     Show one block, where it comes from, its proof
  trace     Show what a block came from, and what came from it
  check     Check citations in an answer, and proof files
  verify    Recompute everything a brain claims

Measure:
  bench     Measure how well and how fast brains answer

Options:
  --version   Print the version.
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Learn more:
  csl COMMAND --help
""",
    "project": """\
Usage: csl project [OPTIONS] COMMAND [ARGS]...

  A project is one consilience.toml: its brains by name, and who writes to
  them.

Commands:
  init    Make a project in this folder
  add     Declare one more brain
  show    Show the project and its brains
  remove  Take a brain out of the project
  list    List the projects above and below this folder

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Learn more:
  csl project COMMAND --help
""",
    "project init": """\
Usage: csl project init [OPTIONS] NAME

  Make a project: write a consilience.toml.

  Who writes to its brains is asked of --actor, CONSILIENCE_ACTOR, or git
  (user.email).

Arguments:
  NAME  What the project is called.

Options:
  --path FOLDER       Where; this folder by default. Made if need be.
  --description TEXT  What the project is about.
  -h, --help          Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl project init lectures
  csl project init lectures --path ~/lectures --actor ana@example.org
""",
    "project add": """\
Usage: csl project add [OPTIONS] BRAIN

  Declare one more brain in the project's file. Its layout is made by its
  first ingest.

Arguments:
  BRAIN  Lowercase letters and digits, single - or _ between them.

Options:
  --path FOLDER             Where it lives, from the project's folder;
                            brains/BRAIN by default.
  --outside                 Allow a folder outside of the project.
  --description TEXT        What the brain is about.
  --model PROVIDER[:MODEL]  What turns its text into vectors; e5-small by
                            default.
  --model-url URL           Where that provider answers.
  -h, --help                Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl project add algebra --description 'Linear algebra, two semesters'
  csl project add notes --path ../notes-brain --outside
  csl project add notas --model openai:bge-m3 --model-url http://localhost:1/v1
""",
    "project show": """\
Usage: csl project show [OPTIONS]

  Show the project: each brain, where it lives, whether it is here, blocks,
  last change, root.

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.
""",
    "project remove": """\
Usage: csl project remove [OPTIONS] BRAIN

  Take a brain out of the project's file. Its data stays where it is, unless
  --delete-data is given.

Arguments:
  BRAIN  The brain's name.

Options:
  --delete-data  Delete its blocks and indices too. There is no way back.
  -h, --help     Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.
""",
    "project list": """\
Usage: csl project list [OPTIONS] [FOLDER]

  List the projects in the folders above this one and, some levels deep, below
  it.

Arguments:
  [FOLDER]  Where to look; this folder by default.

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.
""",
    "status": """\
Usage: csl status [OPTIONS]

  Say what is here, healthy, behind or missing, and what to do about it. With
  --brain, of that one only; with --at, what that one held then.

Options:
  --at SNAPSHOT  As it was at a snapshot: head~N, or the first digits of one
                 that `csl history` lists.
  -h, --help     Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl status
""",
    "ingest": """\
Usage: csl ingest [OPTIONS] PATH...

  Take files of every kind that `csl readers` lists into a brain, whose layout
  is made if need be.

  What was taken before and has not changed costs nothing. A changed file
  supersedes what it replaced. Interrupting is safe: the same command goes on
  from there.

Arguments:
  PATH...  Files, folders, or globs in quotes.

Options:
  --include PATTERN  Only such files, as in .gitignore. Repeatable.
  --exclude PATTERN  No such files, as in .gitignore. Repeatable.
  --no-ignore        Take what .gitignore, .ignore and .consilienceignore
                     leave out.
  --jobs N           Processes that parse side by side; as many as processors
                     by default.  [1<=x<=64]
  --no-embed         Leave the vectors to a later `csl index`.
  -h, --help         Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl ingest notes/ --brain algebra
  csl ingest peps/*.rst docs --exclude drafts/
  csl ingest notes/ --no-embed && csl index
""",
    "remember": """\
Usage: csl remember [OPTIONS] TEXT...

  Take one fact into a brain, whose layout is made if need be. The words
  themselves are registered, with where they come from, and the fact is
  derived from them. The same fact again is not written again.

Arguments:
  TEXT...  The fact in words; - is standard input.

Options:
  --source TEXT               Where it comes from: a URL, a book, a file of
                              this brain.
  --subject TEXT              What it is about.
  --tag TAG                   A word to find it by (--tag). Repeatable.
  --when DATE                 When it happened, 2026-05-01 say: makes it an
                              event.
  --kind [fact|concept|formula|relation|constraint]
                              What kind of statement it is; a fact where
                              nothing is said.
  --by ID                     Who says so; the same as --actor.
  --no-embed                  Leave its vector to a later `csl index`.
  -h, --help                  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl remember 'The northern pump needs 1.2 bar.' --subject pump
  csl remember 'Wells need a filter.' --source https://example.org/wells
  csl remember 'The filter was replaced.' --when 2026-05-01 --tag well
  csl remember - --by lab/notes
""",
    "task": """\
Usage: csl task [OPTIONS] COMMAND [ARGS]...

  A task names sources; candidates answer it; the gate says what may go in; a
  commit takes all or nothing.

Commands:
  define    Write a task over blocks of a brain
  schema    Print the JSON Schema that candidates must satisfy
  validate  Say of each candidate whether it may go in
  commit    Take candidates in, all or none

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Learn more:
  csl task COMMAND --help
""",
    "task define": """\
Usage: csl task define [OPTIONS]

  Write a task: which blocks are to be read, and which kinds of block may be
  made of them.

  It is a JSON document for whoever reads: a model, an agent, a person. Its id
  follows from what it says.

Options:
  --source ID          A block to read: a file, or a passage. Repeatable; -
                       reads ids from standard input.  [required]
  --allow KIND         What may be proposed: semantic, episodic, procedural;
                       all by default.
  --instructions TEXT  What else whoever reads the task should know.
  --with-text          Put in what there is to read, passage by passage.
  --out FILE           Write it there instead of printing it.
  -h, --help           Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl task define --source 4582b8d520aa --with-text --out task.json
  csl task define --source 4582b8d520aa,77b0c1d2 --allow semantic,procedural
""",
    "task schema": """\
Usage: csl task schema [OPTIONS] [TASK]

  Print the JSON Schema (2020-12) of candidates, for a model's structured
  output. With a task, only its kinds of block and the ids that it allows as
  evidence.

Arguments:
  [TASK]  A task, as `csl task define` writes it; - is standard input.

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl task schema task.json > schema.json
  csl task schema
""",
    "task validate": """\
Usage: csl task validate [OPTIONS] TASK [CANDIDATES]

  Hold each candidate against the task and the brain: validated, duplicate,
  rejected (with the check's code), contradicted, or in need of a person.
  Nothing is written. Exit status 7 if one is rejected, 10 if one needs a
  person.

Arguments:
  TASK          A task, as `csl task define` writes it; - is standard input.
  [CANDIDATES]  Candidates in JSON; standard input where it is - or left out.

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl task validate task.json candidates.json
  csl task validate task.json --json
""",
    "task commit": """\
Usage: csl task commit [OPTIONS] TASK [CANDIDATES]

  Take every candidate into the brain in one snapshot, or none where one may
  not go in. The records say who did it, what made them, for which task, from
  which blocks. What is there already is not written again.

Arguments:
  TASK          A task, as `csl task define` writes it; - is standard input.
  [CANDIDATES]  Candidates in JSON; standard input where it is - or left out.

Options:
  --model NAME             What made the candidates; the document's producer
                           by default.
  --model-version VERSION  Which version of it.
  --accept NUMBER          Take this candidate although it contradicts or
                           cannot be decided. A person's decision. Repeatable.
  --no-embed               Leave the vectors to a later `csl index`.
  -h, --help               Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl task commit task.json candidates.json --actor lab/reader --model qwen3
  csl task commit task.json candidates.json --accept 3
""",
    "source": """\
Usage: csl source [OPTIONS] COMMAND [ARGS]...

  A source is a folder, a file, a git working tree, or what a plug-in brings;
  `csl sync` takes it in.

Commands:
  add     Declare one more source of a brain
  list    List the sources and whether a brain is behind them
  remove  Take a source out of a brain

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Learn more:
  csl source COMMAND --help
""",
    "source add": """\
Usage: csl source add [OPTIONS] [PLACE]

  Declare one more source in the project's file. Nothing is taken before `csl
  sync`.

Arguments:
  [PLACE]  A folder, a file, or with --git a working tree.

Options:
  --git                  Read it as a git working tree, at a revision.
  --revision REVISION    Which branch, tag or commit; HEAD by default.
  --kind KIND            A kind of source that a plug-in brings.
  --option KEY=VALUE     For the plug-in. Repeatable.
  --include PATTERN      Only such files. Repeatable.
  --exclude PATTERN      No such files. Repeatable.
  --no-ignore            Take what ignore files leave out.
  --deleted [keep|hide]  What becomes of what was taken from a file that is
                         gone.  [default: keep]
  -h, --help             Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl source add documents/station --brain station --deleted hide
  csl source add ../handbook --git --revision main --include '*.md'
  csl source add --kind mail --option server=imap.example.org
""",
    "source list": """\
Usage: csl source list [OPTIONS]

  List the declared sources of every brain, or of the one named with --brain,
  and how far behind it is.

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.
""",
    "source remove": """\
Usage: csl source remove [OPTIONS] SOURCE

  Take a source out of the project's file. What was taken from it stays in the
  brain.

Arguments:
  SOURCE  As `csl source list` names it.

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.
""",
    "sync": """\
Usage: csl sync [OPTIONS]

  Take what is new and changed in a brain's declared sources, follow files
  that moved, and deal with gone files by the rule of their source.

  A source or a brain that fails does not stop the others. Interrupting is
  safe: the same command goes on from there.

Options:
  --all       Every brain that declares a source.
  --dry-run   Say file by file what would happen, and write nothing.
  --jobs N    Processes that parse side by side; as many as processors by
              default.  [1<=x<=64]
  --no-embed  Leave the vectors to a later `csl index`.
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl sync --brain station --dry-run
  csl sync --all
  csl sync --no-embed && csl index
""",
    "watch": """\
Usage: csl watch [OPTIONS]

  Sync now, and again whenever a file of a source is new, changed, moved or
  gone, until Ctrl-C.

  A file is taken when it has stood still for two seconds. Each change is one
  line.

Options:
  --all               Every brain that declares a source.
  --interval SECONDS  How long to wait between two looks.  [default: 5.0;
                      x>=0.1]
  --no-embed          Leave the vectors to a later `csl index`.
  -h, --help          Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl watch --brain station
  csl watch --all --interval 30
""",
    "index": """\
Usage: csl index [OPTIONS]

  Bring everything that is derived from a brain's blocks up to date: lexical
  index, vectors, statistics.

  Interrupting is safe: the same command goes on from there.

Options:
  --rebuild   Make them anew. Vectors of texts that did not change are kept.
  --no-embed  Everything but the vectors.
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl index --brain algebra
  csl index --rebuild
""",
    "readers": """\
Usage: csl readers [OPTIONS]

  List every kind of file there is a reader for: the reader's version, the
  endings and media types it takes, and the command that installs what is
  missing.

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl readers
""",
    "retain": """\
Usage: csl retain [OPTIONS] COMMAND [ARGS]...

  What leaves a brain leaves by a rule, and leaves a record that says who,
  when and why.

Commands:
  plan       Show what a drop or a redaction would do
  drop       End the membership of blocks and of what came only from them
  supersede  Say that a block took another's place
  demote     Hide blocks without a successor
  restore    Show superseded or demoted blocks again
  redact     Destroy the bytes of blocks, which stay members
  readmit    Let redacted bytes in again
  prune      Remove older snapshots, and bytes that only they name

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Learn more:
  csl retain COMMAND --help
""",
    "retain plan": """\
Usage: csl retain plan [OPTIONS] WHAT ID...

  Show what would go, what would go with it, what stays and why. Nothing is
  changed.

  The last line is the plan's name, which `csl retain drop` and `redact` take
  with --plan.

Arguments:
  WHAT   `drop` or `redact`.
  ID...  sha256:... or its first four hex digits or more; several may be
         named.

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl retain plan drop 3f2a9c01d2e4
  csl retain plan redact 3f2a9c01d2e4 77b0c1d2
""",
    "retain drop": """\
Usage: csl retain drop [OPTIONS] ID...

  Take blocks out of a brain, and what was derived only from them. The bytes
  stay as long as a retained snapshot names them.

Arguments:
  ID...  sha256:... or its first four hex digits or more; several may be
         named.

Options:
  --reason TEXT  Why. It stands in the record for ever, so no secret belongs
                 into it.  [required]
  --plan PLAN    The plan to carry out, as `csl retain plan` printed it;
                 refused if it no longer fits.
  --yes          Carry it out without a plan seen before.
  -h, --help     Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl retain drop 3f2a9c01d2e4 --reason 'wrong edition' --plan PLAN
  csl retain drop 3f2a9c01d2e4 --reason 'wrong edition' --yes
""",
    "retain supersede": """\
Usage: csl retain supersede [OPTIONS] OLD

  Hide a block behind its successor. Nothing is removed; `--include-
  superseded` shows it.

Arguments:
  OLD  The block that is hidden from now on.

Options:
  --by NEW       The block that took its place.  [required]
  --reason TEXT  Why. It stands in the record for ever, so no secret belongs
                 into it.
  -h, --help     Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl retain supersede 3f2a9c01d2e4 --by 77b0c1d2 --reason 'second edition'
""",
    "retain demote": """\
Usage: csl retain demote [OPTIONS] ID...

  Show blocks no longer by default. Nothing is removed; `csl retain restore`
  shows them again.

Arguments:
  ID...  sha256:... or its first four hex digits or more; several may be
         named.

Options:
  --reason TEXT  Why. It stands in the record for ever, so no secret belongs
                 into it.
  -h, --help     Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl retain demote 3f2a9c01d2e4 --reason 'boilerplate'
""",
    "retain restore": """\
Usage: csl retain restore [OPTIONS] ID...

  Show again what was superseded or demoted: the latest word about a block
  counts.

Arguments:
  ID...  sha256:... or its first four hex digits or more; several may be
         named.

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl retain restore 3f2a9c01d2e4
""",
    "retain redact": """\
Usage: csl retain redact [OPTIONS] ID...

  Destroy the bytes of blocks everywhere in the brain, originals that hold
  them included.

  The blocks stay members: they count, they prove, and read as not resolvable.
  It cannot be undone.

Arguments:
  ID...  sha256:... or its first four hex digits or more; several may be
         named.

Options:
  --reason TEXT  Why. It stands in the record for ever, so no secret belongs
                 into it.  [required]
  --plan PLAN    The plan to carry out, as `csl retain plan` printed it;
                 refused if it no longer fits.
  --yes          Carry it out without a plan seen before.
  -h, --help     Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl retain redact 3f2a9c01d2e4 --reason 'asked by the person' --plan PLAN
""",
    "retain readmit": """\
Usage: csl retain readmit [OPTIONS] ID...

  Lift the refusal that a redaction left, for these blocks and the originals
  that went with them.

  The bytes are not here; the next `csl ingest` of a file that holds them
  brings them back.

Arguments:
  ID...  sha256:... or its first four hex digits or more; several may be
         named.

Options:
  --reason TEXT  Why. It stands in the record for ever, so no secret belongs
                 into it.  [required]
  -h, --help     Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl retain readmit 3f2a9c01d2e4 --reason 'consent given'
""",
    "retain prune": """\
Usage: csl retain prune [OPTIONS]

  Bound how far back a brain can be opened: remove the oldest snapshots, and
  the bytes of blocks and originals that no snapshot kept names.

  With neither --keep nor --keep-days, what [retention] in consilience.toml
  says. A snapshot stays if either rule says so; the head always does.
  Membership does not change, and a record says which blocks lost their bytes.

Options:
  --keep N          The newest N snapshots stay.  [1<=x<=1000000000]
  --keep-days DAYS  What was the head in the last DAYS stays.
                    [1<=x<=1000000000]
  --dry-run         Show what would go. Nothing is changed.
  --yes             Carry it out. There is no way back.
  -h, --help        Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl retain prune --keep 20 --dry-run
  csl retain prune --keep 20 --keep-days 90 --yes
  csl retain prune --yes
""",
    "export": """\
Usage: csl export [OPTIONS] DIR

  Write a brain's head and whole history as an OCI image layout, which other
  software of the protocol opens.

  An earlier export of the same brain is brought up to date; what was redacted
  since is removed from it.

Arguments:
  DIR  A new or empty folder, or an earlier export of this brain.

Options:
  --tag TAG      The name of the artifact.  [default: latest]
  --no-artifact  Without the packed layers that registries take.
  -h, --help     Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl export /mnt/usb/algebra --brain algebra
  csl export out --tag 2026-11 --no-artifact
""",
    "import": """\
Usage: csl import [OPTIONS] DIR

  Take in an OCI image layout with its whole history. Everything is verified
  before anything is visible.

  A declared brain that has no data yet is made. One that has is brought
  forward, if its own head is part of the history that comes in; otherwise the
  histories have diverged and nothing is written.

Arguments:
  DIR  A layout that export or pyboltzmann made.

Options:
  --tag TAG   The packed artifact of this name, instead of the loose blobs.
  --no-embed  Leave the vectors to a later `csl index`.
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl import /mnt/usb/algebra --brain algebra
  csl import published --brain algebra --tag v3
""",
    "search": """\
Usage: csl search [OPTIONS] TEXT...

  Search one brain. Every match has been verified against the brain's root.

  Several words need no quotes. Options may stand before or after them.

Arguments:
  TEXT...  The question.

Options:
  -n, --limit INTEGER RANGE  Most matches.  [default: 10; 1<=x<=10000]
  --module MODULE            Only this module: canonical, episodic, semantic,
                             procedural, provenance. Repeatable.
  --kind KIND                Only blocks of this kind. Repeatable.
  --subject SUBJECT          Only blocks about this subject. Repeatable.
  --tag TAG                  Only blocks with this tag. Repeatable.
  --source GLOB              Only what comes from these files. Repeatable.
  --since DATE               Nothing before: 2024, 2024-05, 2024-05-01, with
                             time, UTC.
  --until DATE               Nothing after, the day (month, year) itself
                             included.
  --include-superseded       Also what something else has replaced.
  --no-floor                 Also what is no nearer than chance.
  --related                  Also what is related to the matches: beside them,
                             linked.
  --no-collapse              Copies of one passage as matches of their own.
  --at SNAPSHOT              As it was at a snapshot: head~N, or the first
                             digits of one that `csl history` lists.
  -h, --help                 Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl search how are features deprecated
  csl search 'structured concurrency' --brain python --limit 3
  csl search 'exam dates' --module episodic --since 2024-01-01
  csl search 'exam dates' --at head~3
""",
    "explain": """\
Usage: csl explain [OPTIONS] TEXT...

  Show the plan that would answer a question, those rejected, the indices, and
  the noise floor.

Arguments:
  TEXT...  The question.

Options:
  -n, --limit INTEGER RANGE  Most matches.  [default: 10; 1<=x<=10000]
  --module MODULE            Only this module: canonical, episodic, semantic,
                             procedural, provenance. Repeatable.
  --kind KIND                Only blocks of this kind. Repeatable.
  --subject SUBJECT          Only blocks about this subject. Repeatable.
  --tag TAG                  Only blocks with this tag. Repeatable.
  --source GLOB              Only what comes from these files. Repeatable.
  --since DATE               Nothing before: 2024, 2024-05, 2024-05-01, with
                             time, UTC.
  --until DATE               Nothing after, the day (month, year) itself
                             included.
  --include-superseded       Also what something else has replaced.
  --no-floor                 Also what is no nearer than chance.
  --related                  Also what is related to the matches: beside them,
                             linked.
  --no-collapse              Copies of one passage as matches of their own.
  --at SNAPSHOT              As it was at a snapshot: head~N, or the first
                             digits of one that `csl history` lists.
  --analyze                  Run it, and show what was measured beside what
                             was estimated.
  -h, --help                 Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl explain how are features deprecated
  csl explain 'exam dates' --analyze
""",
    "sql": """\
Usage: csl sql [OPTIONS] [SELECT...]

  Ask one brain one SELECT, answered exactly over every block. --schema lists
  the tables.

  Read only: joins, WITH, UNION and windows are fine. Without ORDER BY the
  order is stable.

Arguments:
  [SELECT...]  The query; - reads it from standard input.

Options:
  --file FILE                 Read the query from a file.
  --schema                    List the tables and their columns, and ask
                              nothing.
  --explain                   Show what would be read, and the engine's plan.
  -n, --limit INTEGER RANGE   Most rows.  [default: 1000; 1<=x<=10000000]
  --include-superseded        Also what was replaced or demoted.
  --verify                    Prove every id in the rows into its root.
  --format [table|json|jsonl|csv|parquet|arrow]
                              How to print.  [default: table]
  --out FILE                  Write the rows to a file instead of standard
                              output.
  --timeout FLOAT RANGE       Most seconds.  [default: 30.0; 0.01<=x<=86400]
  --memory INTEGER RANGE      Most MiB of memory.  [default: 1024;
                              16<=x<=1000000]
  --at SNAPSHOT               As it was at a snapshot: head~N, or the first
                              digits of one that `csl history` lists.
  -h, --help                  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl sql 'SELECT kind, count(*) FROM semantic GROUP BY kind'
  csl sql "SELECT label FROM semantic WHERE about(id, 'tides', 0.85)"
  csl sql --schema
  csl sql --file report.sql --format csv --out report.csv
""",
    "compound": """\
Usage: csl compound [OPTIONS] COMMAND [ARGS]...

  Every brain answers by itself, from its own indices, verified against its
  own roots.

Commands:
  search   Search several brains, grouped or fused
  explain  Show why each brain answers as it does
  sql      Ask several brains in SQL

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Learn more:
  csl compound COMMAND --help
""",
    "compound search": """\
Usage: csl compound search [OPTIONS] TEXT...

  Search several brains, side by side: grouped by brain, or with --fuse as one
  list.

  --limit counts per brain, or with --fuse for the whole list.

Arguments:
  TEXT...  The question.

Options:
  -n, --limit INTEGER RANGE  Most matches.  [default: 10; 1<=x<=10000]
  --module MODULE            Only this module: canonical, episodic, semantic,
                             procedural, provenance. Repeatable.
  --kind KIND                Only blocks of this kind. Repeatable.
  --subject SUBJECT          Only blocks about this subject. Repeatable.
  --tag TAG                  Only blocks with this tag. Repeatable.
  --source GLOB              Only what comes from these files. Repeatable.
  --since DATE               Nothing before: 2024, 2024-05, 2024-05-01, with
                             time, UTC.
  --until DATE               Nothing after, the day (month, year) itself
                             included.
  --include-superseded       Also what something else has replaced.
  --no-floor                 Also what is no nearer than chance.
  --related                  Also what is related to the matches: beside them,
                             linked.
  --no-collapse              Copies of one passage as matches of their own.
  --brains NAME[,NAME...]    The brains to ask, in this order; repeatable, or
                             with commas.
  --all                      Ask every brain that is on this machine.
  --fuse                     One list for all, by reciprocal rank, instead of
                             one for each brain.
  --defer                    With --fuse: the less sure a brain is of the
                             subject, the later its ranks begin.
  --near                     Under a match, where other brains say the same,
                             in other words or almost the same.
  --at BRAIN=SNAPSHOT        One brain as it was at a snapshot of its own;
                             repeatable. The others as they are.
  -h, --help                 Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl compound search --all how are features deprecated
  csl compound search --brains python,rust 'deprecation policy' --fuse
  csl compound search --all 'deprecation policy' --at python=head~3
""",
    "compound explain": """\
Usage: csl compound explain [OPTIONS] TEXT...

  Show each brain's own plan for a question, side by side. There is no plan of
  the compound.

Arguments:
  TEXT...  The question.

Options:
  -n, --limit INTEGER RANGE  Most matches.  [default: 10; 1<=x<=10000]
  --module MODULE            Only this module: canonical, episodic, semantic,
                             procedural, provenance. Repeatable.
  --kind KIND                Only blocks of this kind. Repeatable.
  --subject SUBJECT          Only blocks about this subject. Repeatable.
  --tag TAG                  Only blocks with this tag. Repeatable.
  --source GLOB              Only what comes from these files. Repeatable.
  --since DATE               Nothing before: 2024, 2024-05, 2024-05-01, with
                             time, UTC.
  --until DATE               Nothing after, the day (month, year) itself
                             included.
  --include-superseded       Also what something else has replaced.
  --no-floor                 Also what is no nearer than chance.
  --related                  Also what is related to the matches: beside them,
                             linked.
  --no-collapse              Copies of one passage as matches of their own.
  --brains NAME[,NAME...]    The brains to ask, in this order; repeatable, or
                             with commas.
  --all                      Ask every brain that is on this machine.
  --at BRAIN=SNAPSHOT        One brain as it was at a snapshot of its own;
                             repeatable. The others as they are.
  --analyze                  Run it, and show what was measured beside what
                             was estimated.
  -h, --help                 Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl compound explain --all how are features deprecated
""",
    "compound sql": """\
Usage: csl compound sql [OPTIONS] [SELECT...]

  Ask several brains one SELECT. A bare table spans them all and has a column
  `brain`.

  A table of one of them is called by its name: python.semantic; "with-a-
  dash".semantic.

Arguments:
  [SELECT...]  The query; - reads it from standard input.

Options:
  --file FILE                 Read the query from a file.
  --schema                    List the tables and their columns, and ask
                              nothing.
  --explain                   Show what would be read, and the engine's plan.
  -n, --limit INTEGER RANGE   Most rows.  [default: 1000; 1<=x<=10000000]
  --include-superseded        Also what was replaced or demoted.
  --verify                    Prove every id in the rows into its root.
  --format [table|json|jsonl|csv|parquet|arrow]
                              How to print.  [default: table]
  --out FILE                  Write the rows to a file instead of standard
                              output.
  --timeout FLOAT RANGE       Most seconds.  [default: 30.0; 0.01<=x<=86400]
  --memory INTEGER RANGE      Most MiB of memory.  [default: 1024;
                              16<=x<=1000000]
  --brains NAME[,NAME...]     The brains to ask, in this order; repeatable, or
                              with commas.
  --all                       Ask every brain that is on this machine.
  --at BRAIN=SNAPSHOT         One brain as it was at a snapshot of its own;
                              repeatable. The others as they are.
  -h, --help                  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl compound sql --all 'SELECT brain, count(*) FROM semantic GROUP BY 1'
  csl compound sql --all 'FROM go.blocks JOIN rust.blocks USING (id)'
""",
    "history": """\
Usage: csl history [OPTIONS]

  Show the snapshots of a brain, newest first: when, by whom, what changed in
  each module, which files.

  A snapshot's first digits, or head~N, go to --at and to `csl diff`.

Options:
  -n, --limit INTEGER RANGE  Most snapshots, newest first.  [default: 20;
                             1<=x<=1000000]
  --module MODULE            Only snapshots that changed this module, and
                             that.
  -h, --help                 Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl history
  csl history --brain algebra --limit 3
  csl history --module semantic
""",
    "diff": """\
Usage: csl diff [OPTIONS] A B

  Show which blocks joined, left, were superseded, demoted, shown again or
  redacted from snapshot A to snapshot B.

  The counts are of all; the list is cut at --limit, and says so.

Arguments:
  A  A snapshot: head, head~N, or its first digits.
  B  Another one of the same brain.

Options:
  --module MODULE            Only this module; provenance is listed only so.
  -n, --limit INTEGER RANGE  Most blocks listed.  [default: 20; 0<=x<=1000000]
  -h, --help                 Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl diff head~1 head
  csl diff 3f2a9c01 head --module semantic --limit 100
""",
    "block": """\
Usage: csl block [OPTIONS] ID

  Show one block: what it says, where it comes from, by whom, when, and what
  replaced it.

Arguments:
  ID  sha256:... or its first four hex digits or more.

Options:
  --at SNAPSHOT  As it was at a snapshot: head~N, or the first digits of one
                 that `csl history` lists.
  --prove        Its inclusion proof into the module's root, checked (RFC
                 9162).
  --out FILE     With --prove: write a proof that `csl check` verifies
                 anywhere, without this brain.
  --records      With --out: also prove the provenance records about it, which
                 name people and files.
  --bytes        Its bytes and nothing else: a file's original, or canonical
                 JSON.
  -h, --help     Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl block 3f2a9c01d2e4
  csl block 3f2a9c01d2e4 --prove
  csl block 3f2a9c01d2e4 --prove --out proof.json
  csl block 3f2a9c01d2e4 --bytes > file
""",
    "trace": """\
Usage: csl trace [OPTIONS] ID

  Show the lineage of a block as a tree: up to the files it came from (place,
  who, when, by what reader), and down to what was made from it.

Arguments:
  ID  sha256:... or its first four hex digits or more.

Options:
  --up                       Only what it came from, up to the registered
                             files.
  --down                     Only what was made from it.
  --depth INTEGER RANGE      Steps each way; 8 by default.  [1<=x<=100000]
  -n, --limit INTEGER RANGE  Blocks shown at each step; 10 by default.
                             [1<=x<=100000]
  --at SNAPSHOT              As it was at a snapshot: head~N, or the first
                             digits of one that `csl history` lists.
  -h, --help                 Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl trace 3f2a9c01d2e4
  csl trace 3f2a9c01d2e4 --down --limit 50
  csl trace 3f2a9c01d2e4 --up --at head~3
""",
    "check": """\
Usage: csl check [OPTIONS] CITE|FILE|-...

  Check every citation in an answer: is the block a member under the root it
  names, is it what the brain says now, and does the quotation beside it stand
  in it. A proof file is checked by itself, without a brain or a project. Exit
  status 5 if one fails.

Arguments:
  CITE|FILE|-...  Citations; files with citations in them (text, Markdown,
                  JSON); proof files; - is standard input.

Options:
  --snapshot DIGEST  The snapshot that you trust: proof files must be of it.
  -h, --help         Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl check answer.md
  csl check -
  csl check csl:station/semantic/sha256:9495...@sha256:ffbe...
  csl check proof.json --snapshot sha256:6063...
""",
    "verify": """\
Usage: csl verify [OPTIONS]

  Recompute every id, membership, root, snapshot and original of a brain, and
  check every file that is derived from them. Exit status 5 if one differs.

  With --repair, what is derived is rebuilt where it is damaged, and the
  ledger and the indexes of the database are written anew; then everything is
  verified again, and the brain is opened again and asked a question. Blocks
  and originals follow from nothing else: their problems say what to do.

  With --at, the roots of that snapshot too, from the blocks that were its
  members. With --all, a brain that fails does not stop the others.

Options:
  --at SNAPSHOT  As it was at a snapshot: head~N, or the first digits of one
                 that `csl history` lists.
  --all          Every brain of the project that is here.
  --repair       Write anew what follows from the rest.
  -h, --help     Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl verify --brain algebra
  csl verify --brain algebra --repair
  csl verify --all
  csl verify --brain algebra --at head~3
""",
    "bench": """\
Usage: csl bench [OPTIONS] COMMAND [ARGS]...

  How well brains answer questions whose answers are known, and how fast on
  this machine.

Commands:
  quality  Measure retrieval quality on judged collections
  speed    Time brains of several sizes against raw engines
  ingest   Time how files go in, by format

Options:
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Learn more:
  csl bench COMMAND --help
""",
    "bench quality": """\
Usage: csl bench quality [OPTIONS] DIR

  Measure how well questions with known answers are answered.

  DIR holds corpus.jsonl, queries.jsonl and qrels/test.tsv, or folders that
  do. Each is made a brain once. Several are measured as one project too: one
  big brain, the right brain, all of them grouped and fused.

Arguments:
  DIR  A BEIR folder, or a folder of them: each is a brain of one project.

Options:
  --work DIR                Where brains are made and used again; the user's
                            cache by default.
  --model PROVIDER[:MODEL]  What turns text into vectors.  [default: e5-small]
  --questions N             Only so many questions of each folder.  [x>=1]
  --documents N             Only so many documents of each folder.  [x>=1]
  --runs DIR                Write the rankings there, as TREC run files.
  --against FILE            Compare with an earlier run, question by question.
  -h, --help                Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl bench quality beir/scifact
  csl bench quality beir --questions 50 --runs runs
  csl bench quality beir/scifact --json > before.json
  csl bench quality beir/scifact --against before.json
""",
    "bench speed": """\
Usage: csl bench speed [OPTIONS]

  Time what brains do, beside the same work by SQLite, tantivy or numpy alone,
  and how it grows with their size.

  Makes brains of generated text in a temporary folder: words alone, and with
  vectors of hashed words, since a model's own time would be all that is
  measured. A cold search is a process of its own, in CPU time.

Options:
  --sizes N[,N...]  Passages of each brain.  [default: 1000,10000]
  --repeat N        Runs of each operation.  [default: 7; x>=1]
  -h, --help        Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl bench speed
  csl bench speed --sizes 1000,10000,100000 --repeat 15
""",
    "bench ingest": """\
Usage: csl bench ingest [OPTIONS] [DIR]

  Time how fast files go in, by format: read, parsed, and committed to a
  brain, beside the parser's library alone.

  Makes brains in a temporary folder. No index is made and no model asked.

Arguments:
  [DIR]  A folder of files; generated ones if there is none.

Options:
  --files N   Only so many files of each format.  [x>=1]
  --size MIB  Of each format, where files are generated.  [default: 1;
              1<=x<=64]
  --jobs N    Processes that parse side by side; as many as processors by
              default.  [1<=x<=64]
  -h, --help  Show this message and exit.

Global options:
  --project PATH        The project: its folder, or its consilience.toml.
  --brain NAME          The brain that a command is about.
  --actor ID            Who writes: ana@example.org, or lab/crawler.
  --json                Print one JSON object on standard output.
  --color / --no-color  Colour, or none, whatever the terminal.
  -q, --quiet           No progress, notes or warnings.

Examples:
  csl bench ingest
  csl bench ingest documents --files 200
  csl bench ingest --jobs 1 --json
""",
    "--version": """\
csl 0.1.0
""",
}
