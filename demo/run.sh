#!/bin/sh
# Runs the commands that a newcomer would type, on the small project in demo/sample, and shows each before it runs.
# Everything is made in demo-project/, anew each time. `make demo` calls this with BIN, the folder where csl is.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd -P)
PATH=${BIN:-$root/.venv/bin}:$PATH
export PATH
unset CONSILIENCE_PROJECT CONSILIENCE_BRAIN CONSILIENCE_ACTOR

rm -rf "$root/demo-project"
mkdir "$root/demo-project"
cd "$root/demo-project"
cp -R "$root/demo/sample" documents

# The model's cache belongs to the user, for all projects; it stays in here only where there is no such place.
if ! mkdir -p "${CONSILIENCE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/consilience}" 2>/dev/null; then
    CONSILIENCE_CACHE=$PWD/cache
    export CONSILIENCE_CACHE
fi

say() { printf '\n# %s\n' "$@"; }
run() {
    printf '\n$ %s\n' "$1"
    eval "$1"
}

say 'A lake, three kinds of witness: what the field station saw, what the makers of its instruments wrote,
# and what the laboratory measured, which writes in Spanish. One project, a brain for each.'
run "csl project init lake --actor ana@example.org"
run "csl project add station --description 'Incidents, protocols and decisions of the field station'"
run "csl project add instruments --description 'Manuals and bulletins of the makers'"
run "csl project add laboratorio --description 'Informes y métodos del laboratorio'"

say 'Each brain takes its own documents.'
run "csl ingest documents/station --brain station"
run "csl ingest documents/instruments --brain instruments"
run "csl ingest documents/laboratorio --brain laboratorio"
run "csl project show"

say 'One brain, one question.'
run "csl search 'when may we not go out on the boat' --brain station --limit 2"

say 'All of them, one question. Each answers by itself: three accounts that were written without each other.'
run "csl compound search --all 'does a biofilm make the oxygen sensor read too low' --limit 1"

say 'A brain that knows nothing of the matter says nothing.'
run "csl compound search --all 'who must wear a life jacket' --limit 2"

say 'Fused: one list by rank. A paragraph that two brains hold word for word is one block, and names both.'
run "csl compound search --all 'how is the oxygen sensor calibrated' --fuse --limit 3"

say 'Why each of them answered as it did.'
run "csl compound explain --brains station,laboratorio 'who must wear a life jacket' --analyze"

say 'That block, where it comes from, and the proof that it belongs to what the brain says it holds.'
block=$(csl compound search --all 'how is the oxygen sensor calibrated' --fuse --limit 1 --json |
    sed -n 's/.*"matches":\[{"block_id":"sha256:\([0-9a-f]\{12\}\).*/\1/p')
run "csl block $block --brain station --prove"

say 'An answer that a model wrote, as it might come back: a true quotation, one that nobody wrote, and a block that is not there.'
cite() { csl search "$1" --brain station --limit 1 --json | sed -n 's/.*"cite":"\(csl:[^"]*\)".*/\1/p'; }
boat=$(cite 'when may we not go out on the boat')
alone=$(cite 'may somebody go out alone')
cat > answer.md <<END
In water below 10 °C hands can be used for “some ten minutes” [1]($boat).

“Whoever holds a licence may go out alone” [2]($alone).

In March the lake is closed [3]($(echo "$boat" | sed 's/\(sha256:......\)..../\10000/')).
END
printf '\n$ csl check answer.md\n'
csl check answer.md || true

say 'Everything recomputed: every id, root, snapshot and original.'
for brain in station instruments laboratorio; do
    run "csl verify --brain $brain"
done

say 'That is all. It stands in demo-project/: go there, put .venv/bin on your PATH, and ask something else.'
