package drivers

import (
	"math"
	"math/big"
	"net"
	"reflect"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"gopkg.in/inf.v0"
)

// A type as CQL writes it, and values of it: empty, extreme, with nothing inside.
type typedValue struct {
	kind   string
	values []interface{}
}

// Whether the value has no cell: each element of these has its own.
func (typed typedValue) isNoElement(value interface{}) bool {
	isMultiCell := strings.HasPrefix(typed.kind, "list") || strings.HasPrefix(typed.kind, "set") || strings.HasPrefix(typed.kind, "map")
	return isMultiCell && reflect.ValueOf(value).Len() == 0
}

func (typed typedValue) isTuple() bool {
	return strings.HasPrefix(typed.kind, "tuple")
}

// What stands for the value in a statement: this driver takes a tuple element by element.
func (typed typedValue) marker() string {
	if !typed.isTuple() {
		return "?"
	}
	return "(?" + strings.Repeat(", ?", reflect.TypeOf(typed.values[0]).NumField()-1) + ")"
}

// User-defined types by their fields, tuples by place; a pointer where null may stand.
type address struct {
	Street *string  `cql:"street"`
	Number *int     `cql:"number"`
	Tags   []string `cql:"tags"`
}

type place struct{ Latitude, Longitude *float64 }

type person struct {
	Name   *string           `cql:"name"`
	Home   *address          `cql:"home"`
	Phones map[string]string `cql:"phones"`
	Place  *place            `cql:"place"`
}

type mixed struct {
	Number *int
	Text   *string
	Truth  *bool
}

type deep struct {
	Number    *int
	Addresses []address
	Inner     []mixed
}

func number(value int) *int           { return &value }
func text(value string) *string       { return &value }
func truth(value bool) *bool          { return &value }
func fraction(value float64) *float64 { return &value }

func typedValues() []typedValue {
	return append(append(scalars(), collections()...), structures()...)
}

func scalars() []typedValue {
	everyByte := make([]byte, 256)
	for index := range everyByte {
		everyByte[index] = byte(index)
	}
	long, _ := new(big.Int).SetString("-123456789012345678901234567890123", 10)
	power := new(big.Int).Lsh(big.NewInt(1), 200)
	return []typedValue{
		{"ascii", []interface{}{"plain", "", "it's"}},
		{"bigint", []interface{}{int64(math.MinInt64), int64(0), int64(math.MaxInt64)}},
		{"blob", []interface{}{everyByte, []byte{}}},
		{"boolean", []interface{}{true, false}},
		{"date", []interface{}{day(1970, 1, 1), day(-4000, 2, 28), day(9999, 12, 31)}},
		{"decimal", []interface{}{*inf.NewDecBig(long, 3), *inf.NewDec(1, -10), *inf.NewDec(0, 3)}},
		{"double", []interface{}{0.0, math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(-1)}},
		{"duration", []interface{}{gocql.Duration{Months: 1, Days: 2, Nanoseconds: 3}, gocql.Duration{Months: -14, Days: -3, Nanoseconds: -5e9}}},
		{"float", []interface{}{float32(0), float32(1.5), float32(math.MaxFloat32), float32(math.Inf(1))}},
		{"inet", []interface{}{net.ParseIP("127.0.0.1"), net.ParseIP("2001:db8::1"), net.ParseIP("::")}},
		{"int", []interface{}{math.MinInt32, 0, math.MaxInt32}},
		{"smallint", []interface{}{int16(math.MinInt16), int16(0), int16(math.MaxInt16)}},
		{"text", []interface{}{"Ὅμηρος 🏺", "", strings.Repeat("x", 100_000)}},
		{"time", []interface{}{time.Duration(0), 24*time.Hour - 1, 12*time.Hour + 123456789}},
		{"timestamp", []interface{}{time.Unix(0, 0), time.UnixMilli(-1), time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)}},
		{"timeuuid", []interface{}{gocql.TimeUUID(), gocql.MinTimeUUID(time.Unix(0, 0))}},
		{"tinyint", []interface{}{int8(-128), int8(127)}},
		{"uuid", []interface{}{gocql.UUID{}, gocql.MustRandomUUID()}},
		{"varchar", []interface{}{"another name for text"}},
		{"varint", []interface{}{*big.NewInt(0), *big.NewInt(-129), *power, *new(big.Int).Neg(power)}},
	}
}

func day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func collections() []typedValue {
	one := gocql.UUID{15: 1}
	return []typedValue{
		{"list<int>", []interface{}{[]int{3, 1, 3, math.MinInt32}, []int{}}},
		{"set<text>", []interface{}{[]string{"", "a", "b"}, []string{}}},
		{"map<text, int>", []interface{}{map[string]int{"b": 2, "": 0}, map[string]int{}}},
		{"list<duration>", []interface{}{[]gocql.Duration{{Nanoseconds: 1}}}},
		{"map<smallint, inet>", []interface{}{map[int16]net.IP{-1: net.ParseIP("::1")}}},
		{"frozen<list<text>>", []interface{}{[]string{"b", "a", ""}, []string{}}},
		{"frozen<set<int>>", []interface{}{[]int{-1, 0, 1}, []int{}}},
		{"frozen<map<int, boolean>>", []interface{}{map[int]bool{-1: true, 1: false}, map[int]bool{}}},
		{"list<frozen<list<int>>>", []interface{}{[][]int{{1, 2}, {}, {3}}, [][]int{}}},
		{"set<frozen<set<int>>>", []interface{}{[][]int{{}, {1}, {1, 2}}}},
		{"map<text, frozen<map<int, frozen<set<uuid>>>>>", []interface{}{
			map[string]map[int][]gocql.UUID{"x": {1: {one}, 2: {}}, "y": {}}}},
		{"frozen<map<frozen<tuple<int, text>>, frozen<list<text>>>>", []interface{}{
			map[struct {
				Number int
				Text   string
			}][]string{{1, "one"}: {"a"}, {2, ""}: {}}}},
	}
}

func structures() []typedValue {
	home := address{text("Ἴλιον"), number(7), []string{"", "old"}}
	bare := address{}
	full := person{text("Helenus"), &home, map[string]string{"work": "1"}, &place{fraction(39.9), fraction(26.2)}}
	half := person{text(""), &bare, map[string]string{}, nil}
	tuple := mixed{number(1), text(""), truth(true)}
	return []typedValue{
		{"tuple<int, text, boolean>", []interface{}{tuple, mixed{nil, text("x"), nil}, mixed{}}},
		// Neither a tuple right inside of a tuple nor a frozen element of a vector is known to this driver.
		{"tuple<int, frozen<list<frozen<address>>>, frozen<list<frozen<tuple<int, text, boolean>>>>>", []interface{}{
			deep{number(1), []address{home, bare}, []mixed{tuple, {}}}, deep{nil, []address{}, nil}}},
		{"frozen<address>", []interface{}{home, bare}},
		{"frozen<person>", []interface{}{full, half}},
		{"person", []interface{}{full, half}},
		{"list<frozen<address>>", []interface{}{[]address{home, bare, home}, []address{}}},
		{"set<frozen<tuple<int, text, boolean>>>", []interface{}{[]mixed{tuple, {number(2), nil, nil}}}},
		{"map<text, frozen<person>>", []interface{}{map[string]person{"full": full, "half": half}}},
		{"vector<float, 3>", []interface{}{[]float32{1.5, 0, math.MaxFloat32}}},
		{"vector<int, 2>", []interface{}{[]int{math.MinInt32, math.MaxInt32}}},
		{"vector<text, 3>", []interface{}{[]string{"", "a", strings.Repeat("ἄ", 200)}}},
		{"vector<vector<double, 2>, 2>", []interface{}{[][]float64{{1, 2}, {-3, 4}}}},
		{"list<frozen<vector<float, 2>>>", []interface{}{[][]float32{{1, 2}, {3, 4}}}},
		{"vector<list<int>, 2>", []interface{}{[][]int{{1, 2}, {}}}},
	}
}
