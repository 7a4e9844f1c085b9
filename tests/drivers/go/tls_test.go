package drivers

import (
	"path/filepath"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// A session under TLS, with a certificate of the client, and one that is refused for the lack of it.
func TestTls(t *testing.T) {
	folder := t.TempDir()
	node := startNode(t, configuration{"uring", "2", "5", "lz4"}, folder)
	defer node.stop(t)
	cluster := node.cluster()
	cluster.SslOpts = &gocql.SslOptions{
		CaPath:                 filepath.Join(folder, "ca.crt"),
		CertPath:               filepath.Join(folder, "client.crt"),
		KeyPath:                filepath.Join(folder, "client.key"),
		EnableHostVerification: true,
	}
	session := connect(t, cluster)
	defer session.Close()
	var encrypted bool
	scan(t, session.Query("SELECT ssl_enabled FROM system_views.clients LIMIT 1"), &encrypted)
	if !encrypted {
		t.Error("the connection is listed as plain")
	}
	bare := node.cluster()
	bare.SslOpts = &gocql.SslOptions{CaPath: filepath.Join(folder, "ca.crt"), EnableHostVerification: true}
	if session, err := bare.CreateSession(); err == nil {
		session.Close()
		t.Error("a client without a certificate is served")
	}
}
