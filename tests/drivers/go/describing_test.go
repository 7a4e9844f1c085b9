package drivers

import (
	"context"
	"os"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// The default of `num_tokens`.
const tokensOfNode = 16

func connecting(t *testing.T, subject subject) {
	hosts := subject.session.GetHosts()
	equal(t, "hosts", len(hosts), 1)
	host := hosts[0]
	equal(t, "the host", []string{host.DataCenter(), host.Rack(), host.ClusterName(), host.Partitioner(), host.Version().String()},
		[]string{"datacenter1", "rack1", "Test Cluster", "org.apache.cassandra.dht.Murmur3Partitioner", "v5.0.6"})
	tokens := tokensOfNode
	// The real Cassandra that `cargo xtask cassandra` runs.
	if os.Getenv("HELENUS_AGAINST") != "" {
		tokens = 1
	}
	equal(t, "tokens", len(host.Tokens()), tokens)
	must(t, subject.session.AwaitSchemaAgreement(context.Background()))
	// Told no version, the driver asks the server for its highest.
	cluster := subject.node.cluster()
	cluster.ProtoVersion, cluster.Compressor = 0, nil
	session := connect(t, cluster)
	defer session.Close()
	var key string
	scan(t, session.Query("SELECT key FROM system.local"), &key)
	equal(t, "system.local", key, "local")
}

func keyspace(t *testing.T, subject subject) *gocql.KeyspaceMetadata {
	t.Helper()
	// A session of its own, since an old one gathers changes for a second.
	session := connect(t, subject.node.cluster())
	defer session.Close()
	keyspace, err := session.KeyspaceMetadata("tested")
	must(t, err)
	return keyspace
}

func describing(t *testing.T, subject subject) {
	execute(t, subject.session, `CREATE TABLE described (a int, b text, c timestamp, d bigint, s map<text, int> STATIC, "Quoted" blob,
		v frozen<list<uuid>>, w vector<float, 3>, PRIMARY KEY ((a, b), c, d)) WITH CLUSTERING ORDER BY (c DESC, d ASC)`)
	execute(t, subject.session, "CREATE TYPE described_type (a int, b frozen<list<text>>, c tuple<int, text>)")
	seen := keyspace(t, subject)
	equal(t, "the strategy", seen.StrategyClass, "org.apache.cassandra.locator.SimpleStrategy")
	equal(t, "its options", seen.StrategyOptions, map[string]interface{}{"replication_factor": "1"})
	equal(t, "durable writes", seen.DurableWrites, true)
	table := seen.Tables["described"]
	if table == nil {
		t.Fatal("the table is not known")
	}
	equal(t, "the partition key", names(table.PartitionKey), []string{"a", "b"})
	equal(t, "the clustering columns", names(table.ClusteringColumns), []string{"c", "d"})
	equal(t, "their order", []bool{bool(table.ClusteringColumns[0].Order), bool(table.ClusteringColumns[1].Order)}, []bool{true, false})
	kinds := map[string]string{}
	for name, column := range table.Columns {
		kinds[name] = column.Validator
	}
	equal(t, "the columns", kinds, map[string]string{"a": "int", "b": "text", "c": "timestamp", "d": "bigint", "s": "map<text, int>",
		"Quoted": "blob", "v": "frozen<list<uuid>>", "w": "vector<float, 3>"})
	equal(t, "the static column", table.Columns["s"].Kind, gocql.ColumnStatic)
	kind := seen.UserTypes["described_type"]
	if kind == nil {
		t.Fatal("the type is not known")
	}
	equal(t, "the fields", kind.FieldNames, []string{"a", "b", "c"})
	equal(t, "a field's type", kind.FieldTypes[1].Type(), gocql.TypeList)
}

func names(columns []*gocql.ColumnMetadata) []string {
	var names []string
	for _, column := range columns {
		names = append(names, column.Name)
	}
	return names
}

// What the schema's listener was told of, in words.
type listener struct{ heard chan string }

func (listener listener) tell(change, name string) { listener.heard <- change + " " + name }

func (listener listener) OnKeyspaceCreated(event gocql.OnKeyspaceCreatedEvent) {
	listener.tell("created keyspace", event.Keyspace.Name)
}
func (listener listener) OnKeyspaceUpdated(event gocql.OnKeyspaceUpdatedEvent) {
	listener.tell("updated keyspace", event.New.Name)
}
func (listener listener) OnKeyspaceDropped(event gocql.OnKeyspaceDroppedEvent) {
	listener.tell("dropped keyspace", event.Keyspace.Name)
}
func (listener listener) OnTableCreated(event gocql.OnTableCreatedEvent) {
	listener.tell("created table", event.Table.Name)
}
func (listener listener) OnTableUpdated(event gocql.OnTableUpdatedEvent) {
	listener.tell("updated table", event.New.Name)
}
func (listener listener) OnTableDropped(event gocql.OnTableDroppedEvent) {
	listener.tell("dropped table", event.Table.Name)
}
func (listener listener) OnUserTypeCreated(event gocql.OnUserTypeCreatedEvent) {
	listener.tell("created type", event.UserType.Name)
}
func (listener listener) OnUserTypeUpdated(event gocql.OnUserTypeUpdatedEvent) {
	listener.tell("updated type", event.New.Name)
}
func (listener listener) OnUserTypeDropped(event gocql.OnUserTypeDroppedEvent) {
	listener.tell("dropped type", event.UserType.Name)
}

// The driver gathers changes for a second after the last one, so that they are made three by three.
func events(t *testing.T, subject subject) {
	heard := listener{make(chan string, 100)}
	cluster := subject.node.cluster()
	cluster.Metadata.SchemaListener = gocql.SchemaListenersConfig{KeyspaceChangeListener: heard, TableChangeListener: heard, UserTypeChangeListener: heard}
	other := connect(t, cluster)
	defer other.Close()
	for _, step := range []struct {
		what       string
		statements []string
	}{
		{"created", []string{"CREATE TABLE announced (a int PRIMARY KEY, b text)", "CREATE TYPE announced_type (a int)",
			"CREATE KEYSPACE announced WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}"}},
		{"updated", []string{"ALTER TABLE announced ADD c int", "ALTER TYPE announced_type ADD b text",
			"ALTER KEYSPACE announced WITH durable_writes = false"}},
		{"dropped", []string{"DROP TABLE announced", "DROP TYPE announced_type", "DROP KEYSPACE announced"}},
	} {
		for _, statement := range step.statements {
			execute(t, subject.session, statement)
		}
		missing := map[string]bool{step.what + " table announced": true, step.what + " type announced_type": true, step.what + " keyspace announced": true}
		waitFor(t, step.what, func() bool {
			select {
			case words := <-heard.heard:
				delete(missing, words)
			default:
			}
			return len(missing) == 0
		})
	}
}
