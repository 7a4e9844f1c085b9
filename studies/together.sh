#!/bin/sh
# A load as several processes that begin together, each on a keyspace of its own, and what they measured as one report:
#   studies/together.sh HELENUS COUNT REPORT WORDS...
# runs `HELENUS stress WORDS...` COUNT times, on the keyspaces ks0, ks1 and so on, from LEAD seconds from now on. It fails if one of them does.
set -eu
helenus=$1 count=$2 report=$3
shift 3
logs=$(mktemp -d)
trap 'rm -r "$logs"' EXIT
at=$(($(date +%s) + ${LEAD:-3}))
processes=
k=0
while [ "$k" -lt "$count" ]; do
    "$helenus" stress "$@" -schema "keyspace=ks$k" --start-at "$at" -log no-summary level=minimal hdrfile="$logs/$k.hdr" &
    processes="$processes $!"
    k=$((k + 1))
done
for process in $processes; do
    wait "$process"
done
"$helenus" stress merge "$logs"/*.hdr --json "$report"
