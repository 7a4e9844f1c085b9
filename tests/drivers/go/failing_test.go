package drivers

import (
	"errors"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// Each error with its code, and as the type that the driver has for it.
func failing(t *testing.T, subject subject) {
	session := subject.session
	execute(t, session, "CREATE TABLE twice (a int PRIMARY KEY, b int)")
	execute(t, session, "CREATE TYPE twice_type (a int)")
	for _, wrong := range []struct {
		code      int
		statement string
	}{
		{gocql.ErrCodeSyntax, "SELEKT 1"},
		{gocql.ErrCodeInvalid, "SELECT * FROM nowhere"},
		{gocql.ErrCodeInvalid, "SELECT * FROM no_keyspace.nowhere"},
		{gocql.ErrCodeInvalid, "SELECT nothing FROM system.local"},
		{gocql.ErrCodeInvalid, "INSERT INTO twice (a) VALUES ('text')"},
		{gocql.ErrCodeInvalid, "INSERT INTO twice (b) VALUES (1)"},
		{gocql.ErrCodeInvalid, "SELECT * FROM twice WHERE b = 1"},
		{gocql.ErrCodeInvalid, "CREATE TYPE twice_type (a int)"},
		{gocql.ErrCodeConfig, "CREATE KEYSPACE wrong WITH replication = {'class': 'NoSuchStrategy'}"},
		{gocql.ErrCodeAlreadyExists, "CREATE TABLE twice (a int PRIMARY KEY)"},
		{gocql.ErrCodeAlreadyExists, "CREATE KEYSPACE tested WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"},
	} {
		isRefused(t, session.Query(wrong.statement).Exec(), wrong.code)
	}
	isInvalid(t, session.Query("SELECT * FROM twice WHERE nothing = ?", 1).Exec())
	var exists *gocql.RequestErrAlreadyExists
	if !errors.As(session.Query("CREATE TABLE twice (a int PRIMARY KEY)").Exec(), &exists) {
		t.Fatal("no error of that type")
	}
	equal(t, "what exists", []string{exists.Keyspace, exists.Table}, []string{"tested", "twice"})
}

func unavailable(t *testing.T, subject subject) {
	session := subject.session
	execute(t, session, "CREATE KEYSPACE three WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
	execute(t, session, "CREATE TABLE three.t (a int PRIMARY KEY)")
	for _, statement := range []string{"INSERT INTO three.t (a) VALUES (1)", "SELECT * FROM three.t WHERE a = 1"} {
		err := session.Query(statement).Consistency(gocql.Quorum).Exec()
		var unavailable *gocql.RequestErrUnavailable
		if !errors.As(err, &unavailable) {
			t.Fatalf("%v (%T)", err, err)
		}
		equal(t, statement, []int{int(unavailable.Consistency), unavailable.Required, unavailable.Alive}, []int{int(gocql.Quorum), 2, 1})
	}
	execute(t, session, "DROP KEYSPACE three")
}
