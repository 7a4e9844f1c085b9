package drivers

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// A session under TLS, with a certificate of the client, and one that is refused for the lack of it.
func TestTls(t *testing.T) {
	folder := t.TempDir()
	node := startNode(t, configuration{"uring", "2", "5", "lz4"}, folder)
	defer node.stop(t)
	session := connect(t, node.certified(folder))
	defer session.Close()
	var encrypted bool
	scan(t, session.Query("SELECT ssl_enabled FROM system_views.clients LIMIT 1"), &encrypted)
	if !encrypted {
		t.Error("the connection is listed as plain")
	}
	if session, err := node.uncertified(folder).CreateSession(); err == nil {
		session.Close()
		t.Error("a client without a certificate is served")
	}
}

// As docs/guide/security.md has it.
func (node *node) certified(folder string) *gocql.ClusterConfig {
	cluster := node.cluster()
	cluster.SslOpts = &gocql.SslOptions{
		CaPath:                 filepath.Join(folder, "ca.crt"),
		CertPath:               filepath.Join(folder, "client.crt"),
		KeyPath:                filepath.Join(folder, "client.key"),
		EnableHostVerification: true,
	}
	return cluster
}

func (node *node) uncertified(folder string) *gocql.ClusterConfig {
	cluster := node.cluster()
	cluster.SslOpts = &gocql.SslOptions{CaPath: filepath.Join(folder, "ca.crt"), EnableHostVerification: true}
	return cluster
}

const identity = "spiffe://example.com/client"

// The certificate is the login, with a password beside it or none, for as long as its identity is of a role.
func TestTlsLogin(t *testing.T) {
	folder := t.TempDir()
	node := startNode(t, configuration{"uring", "2", "5", "lz4"}, folder, "MutualTlsAuthenticator")
	defer node.stop(t)
	refuses(t, node.certified(folder), "Certificate identity '"+identity+"' not authorized")
	node.asOwner(t, "CREATE ROLE client WITH LOGIN = true AND SUPERUSER = true")
	node.asOwner(t, "ADD IDENTITY '"+identity+"' TO ROLE 'client'")
	session := connect(t, node.certified(folder))
	defer session.Close()
	var name string
	scan(t, session.Query("SELECT username FROM system_views.clients LIMIT 1"), &name)
	equal(t, "the client's role", name, "client")
	answering := node.certified(folder)
	answering.Authenticator = gocql.PasswordAuthenticator{Username: "any", Password: "any"}
	connect(t, answering).Close()
	node.asOwner(t, "DROP IDENTITY '"+identity+"'")
	refuses(t, node.certified(folder), "not authorized")
	scan(t, session.Query("SELECT cluster_name FROM system.local"), &name)
}

// A client without a certificate has its password; one with a certificate of no role is not asked for one.
func TestTlsLoginByPassword(t *testing.T) {
	folder := t.TempDir()
	node := startNode(t, configuration{"epoll", "1", "5", "lz4"}, folder, "MutualTlsWithPasswordFallbackAuthenticator")
	defer node.stop(t)
	node.asOwner(t, "CREATE ROLE client WITH LOGIN = true AND PASSWORD = 'secret'")
	password := gocql.PasswordAuthenticator{Username: "client", Password: "secret"}
	bare, whole := node.uncertified(folder), node.certified(folder)
	bare.Authenticator, whole.Authenticator = password, password
	connect(t, bare).Close()
	refuses(t, whole, "not authorized")
	refuses(t, node.uncertified(folder), "authentication required")
}

func refuses(t *testing.T, cluster *gocql.ClusterConfig, words string) {
	t.Helper()
	session, err := cluster.CreateSession()
	if err == nil {
		session.Close()
		t.Fatalf("a client is served that should hear: %s", words)
	}
	if !strings.Contains(err.Error(), words) {
		t.Errorf("it hears %q instead of %q", err, words)
	}
}
