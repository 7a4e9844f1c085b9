# Sourced by the scripts beside it: finds the binary, and speaks of what fails.

# Prints a sentence and ends the script.
fail() {
    echo "helenus (ccm): $*" >&2
    exit 1
}

# The install directory: named by ccm, or the one that the script lies in.
if [ -z "${CASSANDRA_HOME:-}" ]; then
    CASSANDRA_HOME=$(cd "$(dirname "$0")/.." && pwd) || exit 1
    # tools/bin is one folder deeper.
    [ "$(basename "$CASSANDRA_HOME")" != tools ] || CASSANDRA_HOME=$(dirname "$CASSANDRA_HOME")
fi

# The binary: HELENUS_BINARY, else on PATH, else a build of the repository that this directory lies in.
find_helenus() {
    if [ -n "${HELENUS_BINARY:-}" ]; then
        [ -x "$HELENUS_BINARY" ] || fail "HELENUS_BINARY names $HELENUS_BINARY, which is not a program"
        HELENUS=$HELENUS_BINARY
    elif HELENUS=$(command -v helenus); then
        :
    else
        HELENUS=$CASSANDRA_HOME/../../target/release/helenus
        [ -x "$HELENUS" ] || fail "no helenus on PATH nor in target/release; name it with HELENUS_BINARY, or run cargo build --release"
    fi
}
