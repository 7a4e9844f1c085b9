package drivers

import (
	"sync"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
)

const rows = 10_000

type tracer struct{ ids chan []byte }

func (tracer tracer) Trace(id []byte) { tracer.ids <- id }

func statements(t *testing.T, subject subject) {
	session := subject.session
	execute(t, session, "CREATE TABLE bound (a int, b text, c int, PRIMARY KEY (a, b))")
	execute(t, session, "INSERT INTO bound (a, b, c) VALUES (?, ?, ?)", 1, "x", 2)
	execute(t, session, "INSERT INTO bound (a, b, c) VALUES (:a, :b, :c)", gocql.NamedValue("a", 1), gocql.NamedValue("b", "y"), gocql.NamedValue("c", 3))
	var c int
	scan(t, session.Query("SELECT c FROM bound WHERE a = ? AND b = ?", 1, "x"), &c)
	equal(t, "by place", c, 2)
	scan(t, session.Query("SELECT c FROM bound WHERE a = 1 AND b = 'y'"), &c)
	equal(t, "by name", c, 3)
	if err := session.Query("SELECT c FROM bound WHERE a = ? AND b = ?", 2, "x").Scan(&c); err != gocql.ErrNotFound {
		t.Errorf("no row: %v", err)
	}
	must(t, session.Query("INSERT INTO bound (a, b, c) VALUES (3, 'z', 1)").WithTimestamp(123_456).Exec())
	var written int64
	scan(t, session.Query("SELECT writetime(c) FROM bound WHERE a = 3"), &written)
	equal(t, "the client's timestamp", written, int64(123_456))
	traced := tracer{make(chan []byte, 100)}
	var key string
	scan(t, session.Query("SELECT key FROM system.local").Trace(traced), &key)
	equal(t, "a tracing id's length", len(<-traced.ids), 16)
	if subject.version() >= 4 {
		scan(t, session.Query("SELECT key FROM system.local").CustomPayload(map[string][]byte{"who": {1}}), &key)
	}
	if subject.version() >= 5 {
		scan(t, session.Query("SELECT key FROM local").SetKeyspace("system"), &key)
		execute(t, session, "INSERT INTO bound (a, b, c) VALUES (4, 'x', 1) USING TTL 100")
		// A hundred seconds later there are none left.
		if err := session.Query("SELECT c FROM bound WHERE a = ?", 4).WithNowInSeconds(1<<30*2 - 1).Scan(&c); err != gocql.ErrNotFound {
			t.Errorf("what has expired by the request's clock: %v", err)
		}
	}
	// Far beyond a segment of version 5.
	long := make([]byte, 3<<20)
	for index := range long {
		long[index] = byte(index*31 + index/256)
	}
	execute(t, session, "CREATE TABLE large (a int PRIMARY KEY, b blob)")
	execute(t, session, "INSERT INTO large (a, b) VALUES (1, ?)", long)
	var back []byte
	scan(t, session.Query("SELECT b FROM large"), &back)
	if string(back) != string(long) {
		t.Error("a long value came back changed")
	}
}

func unset(t *testing.T, subject subject) {
	session := subject.session
	execute(t, session, "CREATE TABLE sparse (a int PRIMARY KEY, b int, c int)")
	execute(t, session, "INSERT INTO sparse (a, b, c) VALUES (?, ?, ?)", 1, 2, 3)
	err := session.Query("INSERT INTO sparse (a, b, c) VALUES (?, ?, ?)", 1, 5, gocql.UnsetValue).Exec()
	var b, c *int
	scan(t, session.Query("SELECT b, c FROM sparse"), &b, &c)
	if subject.version() < 4 {
		// Version 3 cannot say it; this driver then writes null.
		must(t, err)
		equal(t, "unset over version 3", []*int{b, c}, []*int{number(5), nil})
	} else {
		must(t, err)
		equal(t, "unset", []*int{b, c}, []*int{number(5), number(3)})
	}
	execute(t, session, "INSERT INTO sparse (a, b, c) VALUES (?, ?, ?)", 1, 6, nil)
	scan(t, session.Query("SELECT b, c FROM sparse"), &b, &c)
	equal(t, "null", []*int{b, c}, []*int{number(6), nil})
}

func paging(t *testing.T, subject subject) {
	const writers = 50
	session := subject.session
	execute(t, session, "CREATE TABLE paged (part int, row int, value int, PRIMARY KEY (part, row))")
	var all sync.WaitGroup
	for writer := 0; writer < writers; writer++ {
		all.Add(1)
		go func(writer int) {
			defer all.Done()
			for row := writer; row < rows; row += writers {
				if err := session.Query("INSERT INTO paged (part, row, value) VALUES (?, ?, ?)", row%10, row, row*3).Exec(); err != nil {
					t.Error(err)
				}
			}
		}(writer)
	}
	all.Wait()
	seen := map[int]bool{}
	var state []byte
	pages := 0
	for {
		iter := session.Query("SELECT part, row, value FROM paged").PageSize(333).PageState(state).Iter()
		state = append([]byte(nil), iter.PageState()...)
		if iter.NumRows() > 333 {
			t.Fatalf("a page of %d rows", iter.NumRows())
		}
		var part, row, value int
		for count := iter.NumRows(); count > 0 && iter.Scan(&part, &row, &value); count-- {
			if seen[row] || part != row%10 || value != row*3 {
				t.Fatalf("row %d of part %d with %d, seen before: %v", row, part, value, seen[row])
			}
			seen[row] = true
		}
		must(t, iter.Close())
		pages++
		if len(state) == 0 {
			break
		}
	}
	equal(t, "rows and pages", []int{len(seen), pages}, []int{rows, (rows + 332) / 333})
	iter := session.Query("SELECT row FROM paged WHERE part = ? AND row >= ? ORDER BY row DESC", 3, 500).PageSize(100).Iter()
	wanted := 9_993
	for row := 0; iter.Scan(&row); wanted -= 10 {
		equal(t, "a row", row, wanted)
	}
	must(t, iter.Close())
	equal(t, "the last row", wanted, 493)
	var count int
	scan(t, session.Query("SELECT count(*) FROM paged"), &count)
	equal(t, "count", count, rows)
}

func batching(t *testing.T, subject subject) {
	session := subject.session
	for name, kind := range map[string]gocql.BatchType{"logged": gocql.LoggedBatch, "unlogged": gocql.UnloggedBatch} {
		table := "batched_" + name
		execute(t, session, "CREATE TABLE "+table+" (a int, b int, c text, PRIMARY KEY (a, b))")
		batch := session.Batch(kind)
		for index := 0; index < 100; index++ {
			batch.Query("INSERT INTO "+table+" (a, b, c) VALUES (?, ?, ?)", index%7, index, "prepared")
		}
		batch.Query("INSERT INTO " + table + " (a, b, c) VALUES (100, 100, 'text')")
		batch.Query("DELETE FROM " + table + " WHERE a = 0 AND b = 0")
		must(t, batch.Exec())
		var count int
		scan(t, session.Query("SELECT count(*) FROM "+table), &count)
		// At equal timestamps a deletion wins.
		equal(t, name, count, 100)
		var c string
		scan(t, session.Query("SELECT c FROM "+table+" WHERE a = 100 AND b = 100"), &c)
		equal(t, name, c, "text")
	}
	execute(t, session, "CREATE TABLE batched_text (a int, b int, PRIMARY KEY (a, b))")
	execute(t, session, `BEGIN UNLOGGED BATCH USING TIMESTAMP 77 INSERT INTO batched_text (a, b) VALUES (?, 1);
		INSERT INTO batched_text (a, b) VALUES (?, 1); APPLY BATCH`, 1, 2)
	var count int
	scan(t, session.Query("SELECT count(*) FROM batched_text"), &count)
	equal(t, "a batch as text", count, 2)
}
