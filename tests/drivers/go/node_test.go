package drivers

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/apache/cassandra-gocql-driver/v2/lz4"
	"github.com/apache/cassandra-gocql-driver/v2/snappy"
)

const stopMax = 30 * time.Second

// No wait for a condition takes as long on any machine.
const hungAfter = 60 * time.Second

// A server and how the driver talks to it: a line of the table that all suites read.
type configuration struct {
	reactor, shards, protocol, compression string
}

func (configuration configuration) String() string {
	return strings.Join([]string{configuration.reactor, configuration.shards, "v" + configuration.protocol, configuration.compression}, "-")
}

func (configuration configuration) version() int {
	version, _ := strconv.Atoi(configuration.protocol)
	return version
}

// All lines, or those that `cargo xtask drivers` has chosen for this run.
func configurations(t *testing.T) []configuration {
	table := os.Getenv("HELENUS_CONFIGURATIONS_FILE")
	if table == "" {
		table = filepath.Join("..", "configurations.txt")
	}
	text, err := os.ReadFile(table)
	must(t, err)
	var all []configuration
	for _, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) == 5 && words[0] == "full" {
			all = append(all, configuration{words[1], words[2], words[3], words[4]})
		}
	}
	if len(all) == 0 {
		t.Fatal("the table has no line for this suite")
	}
	return all
}

// A running server. The Python harness starts it, ends it and judges its log.
type node struct {
	configuration configuration
	host          string
	port          int
	process       *exec.Cmd
	input         io.WriteCloser
	output        *bufio.Reader
}

// With a folder the server speaks TLS, and the folder gets the certificates; with an authenticator too, clients log in by it.
func startNode(t *testing.T, configuration configuration, folder ...string) *node {
	words := append([]string{filepath.Join("..", "python", "server.py"), configuration.reactor, configuration.shards}, folder...)
	process := exec.Command("python3", words...)
	process.Stderr = os.Stderr
	input, err := process.StdinPipe()
	must(t, err)
	output, err := process.StdoutPipe()
	must(t, err)
	must(t, process.Start())
	reader := bufio.NewReader(output)
	line, err := reader.ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start, its words are above: %v", err)
	}
	host, port, err := net.SplitHostPort(strings.TrimSpace(line))
	must(t, err)
	number, err := strconv.Atoi(port)
	must(t, err)
	return &node{configuration, host, number, process, input, reader}
}

// Runs a statement of the owner of the server's process.
func (node *node) asOwner(t *testing.T, statement string) {
	t.Helper()
	_, err := io.WriteString(node.input, statement+"\n")
	must(t, err)
	answer, err := node.output.ReadString('\n')
	must(t, err)
	if answer != "done\n" {
		t.Fatalf("%s: %s", statement, answer)
	}
}

// Ends the server, which must end well and have nothing to complain of.
func (node *node) stop(t *testing.T) {
	must(t, node.input.Close())
	timer := time.AfterFunc(stopMax, func() { _ = node.process.Process.Kill() })
	defer timer.Stop()
	if err := node.process.Wait(); err != nil {
		t.Errorf("the server ended badly, its words are above: %v", err)
	}
}

func (node *node) cluster() *gocql.ClusterConfig {
	cluster := gocql.NewCluster(node.host)
	cluster.Port = node.port
	cluster.ProtoVersion = node.configuration.version()
	cluster.Consistency = gocql.One
	cluster.Timeout = 30 * time.Second
	cluster.ConnectTimeout = 10 * time.Second
	switch node.configuration.compression {
	case "lz4":
		cluster.Compressor = lz4.LZ4Compressor{}
	case "snappy":
		cluster.Compressor = snappy.SnappyCompressor{}
	}
	return cluster
}

func connect(t *testing.T, cluster *gocql.ClusterConfig) *gocql.Session {
	t.Helper()
	session, err := cluster.CreateSession()
	must(t, err)
	return session
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func execute(t *testing.T, session *gocql.Session, statement string, values ...interface{}) {
	t.Helper()
	if err := session.Query(statement, values...).Exec(); err != nil {
		t.Fatalf("%.200s: %v", statement, err)
	}
}

// The first row of the result, into `into`.
func scan(t *testing.T, query *gocql.Query, into ...interface{}) {
	t.Helper()
	if err := query.Scan(into...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func equal(t *testing.T, what string, got, wanted interface{}) {
	t.Helper()
	if shown(got) != shown(wanted) {
		t.Errorf("%s: %s instead of %s", what, shown(got), shown(wanted))
	}
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hungAfter); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
