package drivers

import (
	"fmt"
	"math/big"
	"net"
	"reflect"
	"sort"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"gopkg.in/inf.v0"
)

// A value as a text that is equal for equal values: through pointers, whatever zone a time is in, sets and maps in order.
func shown(value interface{}) string {
	switch known := value.(type) {
	case nil:
		return "null"
	case time.Time:
		return known.UTC().Format(time.RFC3339Nano)
	case net.IP:
		return "address " + known.String()
	case inf.Dec:
		return fmt.Sprintf("decimal %s e%d", known.UnscaledBig(), -known.Scale())
	case big.Int:
		return "integer " + known.String()
	case gocql.UUID:
		return known.String()
	case string:
		return fmt.Sprintf("%q", known)
	case []byte:
		return fmt.Sprintf("bytes %x", known)
	}
	return shownByShape(reflect.ValueOf(value))
}

func shownByShape(value reflect.Value) string {
	var parts []string
	switch value.Kind() {
	case reflect.Ptr:
		if value.IsNil() {
			return "null"
		}
		return shown(value.Elem().Interface())
	case reflect.Slice, reflect.Array:
		for index := 0; index < value.Len(); index++ {
			parts = append(parts, shown(value.Index(index).Interface()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.Map:
		for _, key := range value.MapKeys() {
			parts = append(parts, shown(key.Interface())+": "+shown(value.MapIndex(key).Interface()))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Struct:
		for index := 0; index < value.NumField(); index++ {
			parts = append(parts, shown(value.Field(index).Interface()))
		}
		return "(" + strings.Join(parts, ", ") + ")"
	}
	return fmt.Sprintf("%v", value.Interface())
}
