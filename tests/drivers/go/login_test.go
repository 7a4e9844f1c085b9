package drivers

import (
	"strings"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// A session with a password, one with a wrong one, and one with none.
func TestLogin(t *testing.T) {
	node := startNode(t, configuration{"uring", "2", "5", "lz4"}, "passwords")
	defer node.stop(t)
	cluster := node.cluster()
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: "admin", Password: "a password of the tests"}
	session := connect(t, cluster)
	defer session.Close()
	var name string
	scan(t, session.Query("SELECT username FROM system_views.clients LIMIT 1"), &name)
	if name != "admin" {
		t.Errorf("the client is listed as %q", name)
	}
	wrong := node.cluster()
	wrong.Authenticator = gocql.PasswordAuthenticator{Username: "admin", Password: "wrong"}
	if session, err := wrong.CreateSession(); err == nil {
		session.Close()
		t.Error("a wrong password is accepted")
	} else if !strings.Contains(err.Error(), "Provided username admin and/or password are incorrect") {
		t.Errorf("a wrong password is refused otherwise: %v", err)
	}
	if session, err := node.cluster().CreateSession(); err == nil {
		session.Close()
		t.Error("a client without a password is served")
	}
}
