package entity

import (
	"encoding/base64"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"

	"github.com/google/uuid"
)

// A Level is the amount of metadata in an answer.
type Level byte

const (
	NoMetadata Level = iota
	MinimalMetadata
	FullMetadata
)

func (l Level) String() string {
	return [...]string{"nometadata", "minimalmetadata", "fullmetadata"}[l]
}

// A Renderer writes entities of one table as JSON.
type Renderer struct {
	Level  Level
	Base   string // the service's URL with the account, without a trailing slash
	Table  string
	Select []string // nil: all properties

	places map[string]int // of the names in Select
	found  []Value        // of these, in the row that is written
}

// Append appends the entity as a JSON object. With context it has the odata.metadata
// of an entity that is not in a list.
func (r *Renderer) Append(dst []byte, partition, row string, s Stored, context bool) []byte {
	dst = append(dst, '{')
	if r.Level != NoMetadata {
		dst = r.head(dst, partition, row, s, context)
	}
	if r.Select == nil {
		dst = appendString(dst, "PartitionKey", partition)
		dst = appendString(dst, "RowKey", row)
		dst = r.appendTimestamp(dst, s)
		for name, v := range s.All() {
			dst = r.appendProperty(dst, name, v)
		}
	} else {
		dst = r.appendSelected(dst, partition, row, s)
	}
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}')
}

// appendSelected appends the properties that $select names, in its order. A missing
// property is null, as documented for Query Entities.
func (r *Renderer) appendSelected(dst []byte, partition, row string, s Stored) []byte {
	r.find(s)
	for i, name := range r.Select {
		switch name {
		case "PartitionKey":
			dst = appendString(dst, name, partition)
		case "RowKey":
			dst = appendString(dst, name, row)
		case "Timestamp":
			dst = r.appendTimestamp(dst, s)
		default:
			dst = r.appendProperty(dst, []byte(name), r.found[i])
		}
	}
	return dst
}

// find finds the selected properties of a row, which it goes over once for all of them.
func (r *Renderer) find(s Stored) {
	if r.places == nil {
		r.places, r.found = map[string]int{}, make([]Value, len(r.Select))
		for i, name := range r.Select {
			r.places[name] = i
		}
	}
	clear(r.found)
	for name, v := range s.All() {
		if i, selected := r.places[string(name)]; selected {
			r.found[i] = v
		}
	}
}

func (r *Renderer) head(dst []byte, partition, row string, s Stored, context bool) []byte {
	if context {
		dst = appendString(dst, "odata.metadata", r.Base+"/$metadata#"+r.Table+"/@Element")
	}
	if r.Level == FullMetadata {
		account := r.Base[strings.LastIndexByte(r.Base, '/')+1:]
		link := EntityPath(r.Table, partition, row)
		dst = appendString(dst, "odata.type", account+"."+r.Table)
		dst = appendString(dst, "odata.id", r.Base+"/"+link)
		dst = appendETag(dst, s)
		return appendString(dst, "odata.editLink", link)
	}
	return appendETag(dst, s)
}

func appendETag(dst []byte, s Stored) []byte {
	dst = append(dst, `"odata.etag":"W/\"datetime'`...)
	dst = appendEscapedTicks(dst, s.Timestamp())
	return append(dst, `'\"",`...)
}

// quoted escapes a key for a quoted string in a URL.
func quoted(key string) string { return url.PathEscape(strings.ReplaceAll(key, "'", "''")) }

// EntityPath returns an entity's path below the account.
func EntityPath(table, partition, row string) string {
	return table + "(PartitionKey='" + quoted(partition) + "',RowKey='" + quoted(row) + "')"
}

// ETag returns the entity tag of a row last written at ticks.
func ETag(ticks int64) string { return string(AppendETag(make([]byte, 0, 64), ticks)) }

// AppendETag appends the entity tag of a row last written at ticks.
func AppendETag(dst []byte, ticks int64) []byte {
	return append(appendEscapedTicks(append(dst, `W/"datetime'`...), ticks), `'"`...)
}

// The parts of a time as the service gives it: to 100 ns, without trailing zeros of the fraction.
const dateAndHour, minute, second = "2006-01-02T15", "04", "05.9999999Z"

func appendEscapedTicks(dst []byte, ticks int64) []byte {
	t := store.FromTicks(ticks)
	dst = append(t.AppendFormat(dst, dateAndHour), "%3A"...)
	dst = append(t.AppendFormat(dst, minute), "%3A"...)
	return t.AppendFormat(dst, second)
}

// appendTicks appends a time as a JSON string.
func appendTicks(dst []byte, ticks int64) []byte {
	dst = store.FromTicks(ticks).AppendFormat(append(dst, '"'), dateAndHour+":"+minute+":"+second)
	return append(dst, '"')
}

func (r *Renderer) appendTimestamp(dst []byte, s Stored) []byte {
	if r.Level == FullMetadata {
		dst = appendString(dst, "Timestamp@odata.type", "Edm.DateTime")
	}
	return append(appendTicks(append(dst, `"Timestamp":`...), s.Timestamp()), ',')
}

// appendProperty appends a property and a comma. Types that JSON has are not
// annotated at any level.
func (r *Renderer) appendProperty(dst []byte, name []byte, v Value) []byte {
	if r.Level != NoMetadata && annotated(v) {
		dst = wire.AppendString(dst, name)
		dst = append(dst[:len(dst)-1], `@odata.type":"`...)
		dst = append(append(dst, v.Type.String()...), `",`...)
	}
	dst = append(wire.AppendString(dst, name), ':')
	dst = appendValue(dst, v)
	return append(dst, ',')
}

func annotated(v Value) bool {
	switch v.Type {
	case Int64, DateTime, GUID, Binary:
		return true
	case Double:
		return math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)
	}
	return false
}

func appendValue(dst []byte, v Value) []byte {
	switch v.Type {
	case String:
		return wire.AppendString(dst, v.Raw)
	case Int32:
		return strconv.AppendInt(dst, v.Num, 10)
	case Int64:
		return append(strconv.AppendInt(append(dst, '"'), v.Num, 10), '"')
	case Double:
		return appendDouble(dst, v.Float())
	case Boolean:
		return strconv.AppendBool(dst, v.Num != 0)
	case DateTime:
		return appendTicks(dst, v.Num)
	case GUID:
		return wire.AppendString(dst, uuid.UUID(v.Raw).String())
	case Binary:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Raw)
		return append(dst, '"')
	}
	return append(dst, "null"...)
}

// appendDouble writes a Double with a point or an exponent, so that it stays a Double.
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-5 || abs >= 1e15) {
		format = 'E'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if !slices.ContainsFunc(dst[start:], func(c byte) bool { return c == '.' || c == 'E' }) {
		dst = append(dst, ".0"...)
	}
	return dst
}

func appendString(dst []byte, name, value string) []byte {
	dst = append(wire.AppendString(dst, name), ':')
	return append(wire.AppendString(dst, value), ',')
}
