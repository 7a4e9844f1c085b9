package drivers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// The ring of three nodes that `python/ring.py` runs, as the environment names it.
type ring struct {
	hosts []string
	port  int
}

func theRing(t *testing.T) ring {
	addresses := strings.Split(os.Getenv("HELENUS_RING"), ",")
	if len(addresses) != 3 {
		t.Fatal("HELENUS_RING names no three nodes: `cargo xtask drivers` starts them")
	}
	var ring ring
	for _, address := range addresses {
		host, port, err := net.SplitHostPort(address)
		must(t, err)
		ring.hosts = append(ring.hosts, host)
		ring.port, err = strconv.Atoi(port)
		must(t, err)
	}
	return ring
}

// Has the ring carry out a command.
func command(words ...string) error {
	output, err := exec.Command("python3", append([]string{filepath.Join("..", "python", "ring.py")}, words...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", words, err, output)
	}
	return nil
}

// A cluster of which one node is known.
func (ring ring) through(host string) *gocql.ClusterConfig {
	cluster := gocql.NewCluster(host)
	cluster.Port = ring.port
	cluster.ProtoVersion = 4
	cluster.Consistency = gocql.One
	cluster.NumConns = 1
	cluster.Timeout = 30 * time.Second
	cluster.ConnectTimeout = 10 * time.Second
	cluster.RetryPolicy = &gocql.SimpleRetryPolicy{NumRetries: 3}
	cluster.DefaultIdempotence = true
	return cluster
}

// Takes no node for down because of a connection: then each DOWN that the driver tells is one that a node sent. By itself it tells two.
type noConviction struct{}

func (noConviction) AddFailure(error, *gocql.HostInfo) bool { return false }
func (noConviction) Reset(*gocql.HostInfo)                  {}

// What the driver told of nodes.
type heard struct {
	lock sync.Mutex
	all  []string
}

func (heard *heard) add(change string, host *gocql.HostInfo) {
	heard.lock.Lock()
	defer heard.lock.Unlock()
	heard.all = append(heard.all, change+" "+host.ConnectAddress().String())
}

func (heard *heard) so() []string {
	heard.lock.Lock()
	defer heard.lock.Unlock()
	return append([]string(nil), heard.all...)
}

func (heard *heard) OnHostUp(event gocql.HostUpEvent)           { heard.add("up", event.Host) }
func (heard *heard) OnHostDown(event gocql.HostDownEvent)       { heard.add("down", event.Host) }
func (heard *heard) OnNewHost(event gocql.NewHostEvent)         { heard.add("new", event.Host) }
func (heard *heard) OnRemovedHost(event gocql.RemovedHostEvent) { heard.add("removed", event.Host) }

// What the driver knows of each node, by address.
func described(session *gocql.Session) map[string]string {
	known := map[string]string{}
	for _, host := range session.GetHosts() {
		tokens := append([]string(nil), host.Tokens()...)
		sort.Strings(tokens)
		known[host.ConnectAddress().String()] = fmt.Sprint(host.HostID(), " ", host.DataCenter(), " ", host.Rack(), " ", tokens)
	}
	return known
}

func areAllUp(session *gocql.Session) bool {
	for _, host := range session.GetHosts() {
		if !host.IsUp() {
			return false
		}
	}
	return true
}

// The host id of the node that answered.
func coordinator(session *gocql.Session) (string, error) {
	var id gocql.UUID
	err := session.Query("SELECT host_id FROM system.local").Scan(&id)
	return id.String(), err
}

// What the driver makes of a ring of three nodes, of which some are killed.
func TestRing(t *testing.T) {
	ring := theRing(t)
	must(t, command("settle"))
	// A topic that failed leaves nodes down, of which the next one would complain too.
	_ = t.Run("metadata", ring.metadata) && t.Run("schema", ring.schema) && t.Run("events", ring.events) && t.Run("failover", ring.failover)
}

// Each node alone leads to all three.
func (ring ring) metadata(t *testing.T) {
	var first map[string]string
	for _, contact := range ring.hosts {
		session := connect(t, ring.through(contact))
		known := described(session)
		ids, tokens := map[string]bool{}, map[string]bool{}
		for _, host := range session.GetHosts() {
			equal(t, "the place", []string{host.DataCenter(), host.Rack()}, []string{"datacenter1", "rack1"})
			equal(t, "tokens of a node", len(host.Tokens()), tokensOfNode)
			ids[host.HostID()] = true
			for _, token := range host.Tokens() {
				tokens[token] = true
			}
		}
		equal(t, "nodes, ids, tokens", []int{len(known), len(ids), len(tokens)}, []int{3, 3, 3 * tokensOfNode})
		if first == nil {
			first = known
		}
		equal(t, "what is known through "+contact, known, first)
		for _, host := range ring.hosts {
			if known[host] == "" {
				t.Errorf("%s is not known through %s", host, contact)
			}
		}
		waitFor(t, "all nodes are up", func() bool { return areAllUp(session) })
		session.Close()
	}
}

// The schema that one node makes is that of all.
func (ring ring) schema(t *testing.T) {
	var sessions []*gocql.Session
	for index, contact := range ring.hosts {
		cluster := ring.through(contact)
		// Statements go to that node alone.
		cluster.HostFilter = gocql.WhiteListHostFilter(contact)
		sessions = append(sessions, connect(t, cluster))
		defer sessions[index].Close()
	}
	execute(t, sessions[0], "DROP KEYSPACE IF EXISTS ring")
	execute(t, sessions[0], "CREATE KEYSPACE ring WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}")
	execute(t, sessions[1], "CREATE TABLE ring.made (a int PRIMARY KEY, b text)")
	// The first question after the answer.
	versions := map[string]bool{}
	for _, session := range sessions {
		var version gocql.UUID
		scan(t, session.Query("SELECT schema_version FROM system.local"), &version)
		versions[version.String()] = true
	}
	equal(t, "schema versions", len(versions), 1)
	must(t, sessions[2].AwaitSchemaAgreement(context.Background()))
	for number, session := range sessions {
		execute(t, session, "INSERT INTO ring.made (a, b) VALUES (?, ?)", number, ring.hosts[number])
		var value string
		scan(t, session.Query("SELECT b FROM ring.made WHERE a = ?", number), &value)
		equal(t, "the value", value, ring.hosts[number])
	}
	// A session of its own, since an old one gathers changes for a second.
	session := connect(t, ring.through(ring.hosts[2]))
	defer session.Close()
	seen, err := session.KeyspaceMetadata("ring")
	must(t, err)
	equal(t, "tables", len(seen.Tables), 1)
	execute(t, sessions[2], "DROP KEYSPACE ring")
}

// A node that is killed and back is one down and one up.
func (ring ring) events(t *testing.T) {
	var heard heard
	cluster := ring.through(ring.hosts[0])
	cluster.ConvictionPolicy = noConviction{}
	// To a server whose version is 5.0 it connects only ten seconds after UP: it asks for a minor version of 2.
	cluster.ReconnectInterval = 50 * time.Millisecond
	cluster.Metadata.HostListener = gocql.HostListenersConfig{HostStateChangeListener: &heard, TopologyChangeListener: &heard}
	session := connect(t, cluster)
	defer session.Close()
	waitFor(t, "all nodes are up", func() bool { return areAllUp(session) })
	known, told := described(session), len(heard.so())
	must(t, command("kill", "2"))
	waitFor(t, "the driver hears of the end", func() bool { return len(heard.so()) > told })
	equal(t, "what it heard", heard.so()[told:], []string{"down " + ring.hosts[1]})
	must(t, command("start"))
	must(t, command("settle"))
	waitFor(t, "the driver hears of the start", func() bool { return areAllUp(session) && len(heard.so()) > told+1 })
	equal(t, "what is known", described(session), known)
	equal(t, "what it heard", heard.so()[told:], []string{"down " + ring.hosts[1], "up " + ring.hosts[1]})
}

// The control connection fails over.
func (ring ring) failover(t *testing.T) {
	cluster := ring.through(ring.hosts[0])
	cluster.ReconnectInterval = 50 * time.Millisecond
	session := connect(t, cluster)
	defer session.Close()
	waitFor(t, "all nodes are up", func() bool { return areAllUp(session) })
	known := described(session)
	killed := make(chan error, 1)
	go func() { killed <- command("kill", "1") }()
	coordinators := map[string]bool{}
	isKilled := false
	waitFor(t, "both other nodes answer", func() bool {
		select {
		case err := <-killed:
			must(t, err)
			isKilled, coordinators = true, map[string]bool{}
		default:
		}
		// None of these fails: the driver asks another node.
		id, err := coordinator(session)
		must(t, err)
		coordinators[id] = true
		return isKilled && len(coordinators) == 2
	})
	for id := range coordinators {
		if strings.HasPrefix(known[ring.hosts[0]], id) {
			t.Errorf("%s answered after its end", id)
		}
	}
	// The driver does not say where its control connection is. This question takes it.
	waitFor(t, "another control connection", func() bool { return session.AwaitSchemaAgreement(context.Background()) == nil })
	equal(t, "what is known", described(session), known)
	must(t, command("start"))
	waitFor(t, "all nodes are up", func() bool { return areAllUp(session) })
	equal(t, "what is known", described(session), known)
}
