# Sourced by bin/cassandra. ccm writes the node's port here: nodetool asks there, and the admin API of Helenus listens there.
JMX_PORT="7199"
