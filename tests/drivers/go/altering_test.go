package drivers

import (
	"errors"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// Prepared statements whose table changed: the server forgets them, the driver prepares them anew.
func altering(t *testing.T, subject subject) {
	session := subject.session
	execute(t, session, "CREATE TABLE grown (a int PRIMARY KEY, b int)")
	execute(t, session, "INSERT INTO grown (a, b) VALUES (?, ?)", 1, 2)
	star := func() map[string]interface{} {
		row := map[string]interface{}{}
		must(t, session.Query("SELECT * FROM grown WHERE a = ?", 1).MapScan(row))
		return row
	}
	equal(t, "before", star(), map[string]interface{}{"a": 1, "b": 2})
	execute(t, session, "ALTER TABLE grown ADD (aa text, z list<int>)")
	execute(t, session, "UPDATE grown SET aa = 'new', z = [1] WHERE a = 1")
	execute(t, session, "INSERT INTO grown (a, b) VALUES (?, ?)", 2, 3)
	// The driver prepares anew for each version, and learns of the result's columns again.
	equal(t, "after", star(), map[string]interface{}{"a": 1, "aa": "new", "b": 2, "z": []int{1}})
	var b int
	scan(t, session.Query("SELECT b FROM grown WHERE a = ?", 2), &b)
	equal(t, "written after", b, 3)

	execute(t, session, "CREATE TABLE shrunk (a int PRIMARY KEY, b int, c int)")
	execute(t, session, "INSERT INTO shrunk (a, b, c) VALUES (1, 2, 3)")
	var c int
	scan(t, session.Query("SELECT c FROM shrunk WHERE a = ?", 1), &c)
	scan(t, session.Query("SELECT b FROM shrunk WHERE a = ?", 1), &b)
	execute(t, session, "ALTER TABLE shrunk DROP c")
	isInvalid(t, session.Query("SELECT c FROM shrunk WHERE a = ?", 1).Scan(&c))
	scan(t, session.Query("SELECT b FROM shrunk WHERE a = ?", 1), &b)
	equal(t, "what was not dropped", b, 2)

	execute(t, session, "CREATE TABLE renamed (a int PRIMARY KEY, b int)")
	execute(t, session, "INSERT INTO renamed (a, b) VALUES (1, 2)")
	scan(t, session.Query("SELECT b FROM renamed WHERE a = ?", 1), &b)
	execute(t, session, "ALTER TABLE renamed RENAME a TO k")
	isInvalid(t, session.Query("SELECT b FROM renamed WHERE a = ?", 1).Scan(&b))
	scan(t, session.Query("SELECT b FROM renamed WHERE k = ?", 1), &b)

	execute(t, session, "CREATE TABLE forgotten (a int PRIMARY KEY, b int)")
	forgotten := session.Query("SELECT b FROM forgotten WHERE a = ?", 1)
	if err := forgotten.Scan(&b); err != gocql.ErrNotFound {
		t.Errorf("an empty table: %v", err)
	}
	execute(t, session, "DROP TABLE forgotten")
	isInvalid(t, forgotten.Scan(&b))
	execute(t, session, "CREATE TABLE forgotten (a int PRIMARY KEY, b int)")
	execute(t, session, "INSERT INTO forgotten (a, b) VALUES (1, 9)")
	scan(t, forgotten, &b)
	equal(t, "a table made anew", b, 9)
}

func alteringTypes(t *testing.T, subject subject) {
	session := subject.session
	execute(t, session, "CREATE TYPE growing (a int)")
	execute(t, session, "CREATE TABLE holding (k int PRIMARY KEY, v frozen<growing>)")
	execute(t, session, "INSERT INTO holding (k, v) VALUES (1, {a: 5})")
	select_ := func(k int) map[string]interface{} {
		var value map[string]interface{}
		scan(t, session.Query("SELECT v FROM holding WHERE k = ?", k), &value)
		return value
	}
	equal(t, "before", select_(1), map[string]interface{}{"a": 5})
	execute(t, session, "ALTER TYPE growing ADD b text")
	execute(t, session, "INSERT INTO holding (k, v) VALUES (?, ?)", 2, map[string]interface{}{"a": 6, "b": "six"})
	equal(t, "after", select_(2), map[string]interface{}{"a": 6, "b": "six"})
}

func isInvalid(t *testing.T, err error) {
	t.Helper()
	isRefused(t, err, gocql.ErrCodeInvalid)
}

func isRefused(t *testing.T, err error, code int) {
	t.Helper()
	var refused gocql.RequestError
	if !errors.As(err, &refused) || refused.Code() != code {
		t.Errorf("%v (%T) instead of code %#x", err, err, code)
	}
}
