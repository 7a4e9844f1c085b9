#!/bin/bash
# Many generators at one instant, as a job of Slurm: sbatch --ntasks=16 stress-slurm.sh 10.0.0.1,10.0.0.2
#
# Each task writes 2,500,000 rows of its own to a keyspace of its own; then they are read, with as many tasks.
# Exit code 0: every task did all of its operations, and the rate was kept where one is asked for.
#SBATCH --job-name=helenus-stress
#SBATCH --cpus-per-task=2
#SBATCH --output=%x-%j.txt
set -euo pipefail

nodes=$1
rows=${ROWS:-2500000}
results=${RESULTS:-$PWD/helenus-stress-$SLURM_JOB_ID}
mkdir -p "$results"

# A phase: its name, then the words of a command line. All tasks begin 30 seconds from now, when all are connected.
phase() {
    local name=$1
    shift
    START_AT=$(($(date +%s) + 30)) NAME=$name RESULTS=$results srun --kill-on-bad-exit=0 bash -c '
        exec helenus stress "$@" -schema keyspace=ks$SLURM_PROCID --start-at $START_AT \
            --json "$RESULTS/$NAME-$SLURM_PROCID.json" -log no-summary hdrfile="$RESULTS/$NAME-$SLURM_PROCID.hdr"
    ' stress "$@"
    helenus stress merge "$results/$name"-*.hdr --json "$results/$name.json"
}

phase write write no-warmup "n=$rows" -rate threads=200 -node "$nodes" -pop "seq=1..$rows"
phase read read no-warmup "n=$rows" -rate threads=200 -node "$nodes" -pop "dist=uniform(1..$rows)"
