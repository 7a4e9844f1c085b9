// Package drivers holds gocql against the binary: every topic in every configuration, one server and one session each.
package drivers

import (
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// What a topic's tests need.
type subject struct {
	node    *node
	session *gocql.Session
}

func (subject subject) version() int {
	return subject.node.configuration.version()
}

func TestDriver(t *testing.T) {
	topics := []struct {
		name string
		test func(*testing.T, subject)
	}{
		{"connecting", connecting}, {"describing", describing}, {"events", events}, {"typing", typing}, {"keys", keys},
		{"statements", statements}, {"unset", unset}, {"paging", paging}, {"batching", batching}, {"altering", altering},
		{"altering types", alteringTypes}, {"failing", failing}, {"unavailable", unavailable},
	}
	for _, each := range configurations(t) {
		configuration := each
		t.Run(configuration.String(), func(t *testing.T) {
			// The driver gathers schema changes for seconds, so that one configuration goes on while another waits.
			t.Parallel()
			node := startNode(t, configuration)
			defer node.stop(t)
			prepareKeyspace(t, node)
			cluster := node.cluster()
			cluster.Keyspace = "tested"
			session := connect(t, cluster)
			defer session.Close()
			for _, topic := range topics {
				t.Run(topic.name, func(t *testing.T) { topic.test(t, subject{node, session}) })
			}
		})
	}
}

func prepareKeyspace(t *testing.T, node *node) {
	session := connect(t, node.cluster())
	defer session.Close()
	execute(t, session, "DROP KEYSPACE IF EXISTS tested")
	execute(t, session, "CREATE KEYSPACE tested WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
}
