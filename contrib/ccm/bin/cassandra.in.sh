# ccm copies this file to each node and writes the two paths into it: whole lines, each found by its name.
CASSANDRA_HOME="${CASSANDRA_HOME:-}"
CASSANDRA_CONF="${CASSANDRA_CONF:-}"
