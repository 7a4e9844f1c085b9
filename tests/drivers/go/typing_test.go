package drivers

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// Every type there and back, as a value and as null. All are columns of one table, since making tables is not what is tested.
func typing(t *testing.T, subject subject) {
	session := subject.session
	execute(t, session, "CREATE TYPE address (street text, number int, tags frozen<set<text>>)")
	execute(t, session, `CREATE TYPE person (name text, home frozen<address>, phones frozen<map<text, text>>,
		place frozen<tuple<double, double>>)`)
	all := typedValues()
	var columns []string
	for number, typed := range all {
		columns = append(columns, fmt.Sprintf("c%d %s", number, typed.kind))
	}
	execute(t, session, "CREATE TABLE typed (id int PRIMARY KEY, "+strings.Join(columns, ", ")+")")
	for number, typed := range all {
		t.Run(typed.kind, func(t *testing.T) { isKept(t, session, number, typed) })
	}
}

func isKept(t *testing.T, session *gocql.Session, number int, typed typedValue) {
	column := fmt.Sprintf("c%d", number)
	insert := "INSERT INTO typed (id, " + column + ") VALUES (?, " + typed.marker() + ")"
	query := "SELECT " + column + " FROM typed WHERE id = ?"
	for index, value := range typed.values {
		id := number*100 + index
		execute(t, session, insert, bound(id, typed, value)...)
		if typed.isNoElement(value) {
			// What has a cell per element and no element is nothing.
			equal(t, typed.kind+" without elements", got(t, session.Query(query, id), reflect.TypeOf(value)), nil)
			continue
		}
		equal(t, typed.kind, got(t, session.Query(query, id), reflect.TypeOf(value)), value)
	}
	if !typed.isTuple() {
		execute(t, session, insert, number*100, reflect.Zero(reflect.PtrTo(reflect.TypeOf(typed.values[0]))).Interface())
		equal(t, typed.kind+" null", got(t, session.Query(query, number*100), reflect.TypeOf(typed.values[0])), nil)
	}
}

// The values to bind: this driver takes and hands out a tuple as its elements, and knows of none that is null as a whole.
func bound(id int, typed typedValue, value interface{}) []interface{} {
	values := []interface{}{id}
	if !typed.isTuple() {
		return append(values, value)
	}
	tuple := reflect.ValueOf(value)
	for index := 0; index < tuple.NumField(); index++ {
		values = append(values, tuple.Field(index).Interface())
	}
	return values
}

// The one value of the result as one of that type, or nil. A tuple comes element by element.
func got(t *testing.T, query *gocql.Query, kind reflect.Type) interface{} {
	t.Helper()
	iter := query.Iter()
	defer iter.Close()
	into := reflect.New(reflect.PtrTo(kind))
	destinations := []interface{}{into.Interface()}
	if _, isTuple := iter.Columns()[0].TypeInfo.(gocql.TupleTypeInfo); isTuple {
		tuple := reflect.New(kind)
		destinations = nil
		for index := 0; index < kind.NumField(); index++ {
			destinations = append(destinations, tuple.Elem().Field(index).Addr().Interface())
		}
		into.Elem().Set(tuple)
	}
	if !iter.Scan(destinations...) {
		t.Fatalf("%s: no row: %v", query, iter.Close())
	}
	if into.Elem().IsNil() {
		return nil
	}
	return into.Elem().Elem().Interface()
}

func keys(t *testing.T, subject subject) {
	session := subject.session
	execute(t, session, `CREATE TABLE keyed (a frozen<map<int, text>>, b frozen<list<int>>, c frozen<list<int>>, d int,
		PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC)`)
	up := [][]int{{}, {-1}, {1}, {1, 2}, {2}}
	a, b := map[int]string{1: "one", 2: "two"}, []int{7}
	for _, list := range up {
		execute(t, session, "INSERT INTO keyed (a, b, c, d) VALUES (?, ?, ?, ?)", a, b, list, len(list))
	}
	iter := session.Query("SELECT c FROM keyed WHERE a = ? AND b = ?", a, b).Iter()
	var down [][]int
	for row := []int(nil); iter.Scan(&row); row = nil {
		down = append([][]int{row}, down...)
	}
	must(t, iter.Close())
	equal(t, "clustering order", down, up)
	var length int
	scan(t, session.Query("SELECT d FROM keyed WHERE a = ? AND b = ? AND c = ?", a, b, []int{1, 2}), &length)
	equal(t, "a row by nested keys", length, 2)
}
