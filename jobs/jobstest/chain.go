package jobstest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ChainRow returns the properties of a row that a device may write, good or bad, as members of a JSON object without
// its braces. Storage accepts nearly all of them.
func ChainRow(r *rand.Rand) string {
	n := 1 + r.IntN(8)
	if r.IntN(40) == 0 {
		n = 200 + r.IntN(53)
	}
	seen := map[string]bool{}
	var b strings.Builder
	for range n {
		name := chainName(r)
		if seen[name] {
			continue
		}
		seen[name] = true
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(chainProperty(r, name))
		if b.Len() > 400<<10 {
			break
		}
	}
	return b.String()
}

// ChainRows yields n rows. Two of them are poison: each has once stopped a worker.
func ChainRows(seed uint64, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		r := rand.New(rand.NewPCG(seed, 0))
		for i := range n {
			row := ""
			switch i {
			case n / 3:
				row = PoisonLeaves()
			case 2 * n / 3:
				row = PoisonNames()
			default:
				row = ChainRow(r)
			}
			if !yield(row) {
				return
			}
		}
	}
}

// ChainBody returns an entity with the properties of a row, as a device posts it.
func ChainBody(partitionKey, rowKey, properties string) []byte {
	if properties != "" {
		properties = "," + properties
	}
	return fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q%s}`, partitionKey, rowKey, properties)
}

// PoisonLeaves returns a row of 489 KB that nests 244,500 values.
func PoisonLeaves() string {
	return poison(15, strings.Repeat("1,", 16_299)+"1", "[", "]")
}

// PoisonNames returns a row of values whose names have 16,000 letters each.
func PoisonNames() string {
	return poison(10, strings.Repeat("1,", 8_000)+"1", `{"`+strings.Repeat("n", 16_000)+`":[`, "]}")
}

func poison(properties int, leaves, begin, end string) string {
	var all []string
	for i := range properties {
		all = append(all, fmt.Sprintf(`"p%d":%s`, i, quoted(begin+leaves+end)))
	}
	return strings.Join(all, ",")
}

func quoted(text string) string {
	b, _ := jsontext.AppendQuote(nil, text)
	return string(b)
}

// chainName returns a name, mostly an ordinary one.
func chainName(r *rand.Rand) string {
	odd := [...]string{"cafe\u0301", "größe", "温度", "a\u203fb", "_", "__", "_ack", "_x", "A", "a1", "x_0", "x_0_0",
		"odata", "value", "PartitionKey2",
		"State_latest", "_fence", "_parts", "Timestamp", strings.Repeat("n", 200), strings.Repeat("n", 201),
		strings.Repeat("é", 100), strings.Repeat("m", 255)}
	switch n := r.IntN(24); {
	case n < 3:
		return odd[r.IntN(len(odd))]
	case n < 8:
		return "sensor" + strconv.Itoa(r.IntN(400))
	}
	return [...]string{"temperature", "humidity", "pressure", "battery", "door", "x"}[r.IntN(6)]
}

// chainProperty returns a member for a property, with its annotation if it needs one.
func chainProperty(r *rand.Rand, name string) string {
	typed := func(kind, value string) string {
		return fmt.Sprintf("%s:%q,%s:%s", quoted(name+"@odata.type"), "Edm."+kind, quoted(name), value)
	}
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	switch r.IntN(20) {
	case 0:
		return typed("Int64", pick(`"9223372036854775807"`, `"-1"`, `"9007199254740993"`))
	case 1:
		return typed("Double", pick(`"NaN"`, `"Infinity"`, `"-Infinity"`, `1.7976931348623157e308`, `5e-324`, `-0.0`))
	case 2:
		return typed("DateTime", pick(`"1601-01-01T00:00:00Z"`, `"9999-12-31T23:59:59.9999999Z"`,
			`"2026-11-20T09:17:05.1234567Z"`))
	case 3:
		return typed("Guid", `"c9da6455-213d-42c9-9a79-3e9149a57833"`)
	case 4:
		return typed("Binary", pick(`""`, `"AAEC/v8="`, `"`+strings.Repeat("AAAA", r.IntN(16<<10))+`"`))
	case 5:
		return quoted(name) + ":" + pick("true", "false", "null", "2147483648", "-2147483648", "1e5", "0.1")
	case 6, 7, 8, 9:
		return quoted(name) + ":" + chainText(r)
	}
	return quoted(name) + ":" + strconv.FormatFloat(float64(r.IntN(1000))/8, 'g', -1, 64)
}

// chainText returns a quoted text.
func chainText(r *rand.Rand) string {
	switch r.IntN(7) {
	case 0: // half a surrogate pair can be written only in escapes
		return [...]string{`"\ud83d"`, `"a\udc00b"`, `"\ud83d\ude00"`, `"\u0000\u001f"`}[r.IntN(4)]
	case 1:
		return quoted(strings.Repeat([...]string{"x", "é", "😀", "\x01", "\""}[r.IntN(5)], r.IntN(300)))
	case 2:
		return quoted(strings.Repeat("x", r.IntN(32<<10)))
	case 3, 4:
		if r.IntN(5) == 0 {
			return quoted(chainWide(r))
		}
		return quoted(chainNested(r, 0))
	}
	return quoted([...]string{"", " ", "00981150", "7894e80000058754", "1e999", "-1e-999", "nan", "NaN", "inf",
		"-Infinity", "1_0", "0x10", " 21.5 ", "+7", ".5", "5.", "-0",
		"open", "null", "true", "{}", "[]", "{", "[1", `{"a":1}x`, `{"a":1,"a":2}`, `{"a":"\ud83d"}`,
		`{"":[null]}`}[r.IntN(28)])
}

// chainWide returns an object of hundreds of sensors that overlap with those of other rows: a device gets more than it
// may have, and its outputs several parts.
func chainWide(r *rand.Rand) string {
	first, pad := r.IntN(3000), strings.Repeat("w", r.IntN(3)*r.IntN(60))
	var b strings.Builder
	for i := range 1 + r.IntN(700) {
		value := strconv.Itoa(i)
		if first%3 == 0 && i%2 == 0 {
			value = quoted(strings.Repeat("t", i%90))
		}
		if fmt.Fprintf(&b, `,"%s%d":%s`, pad, first+i, value); b.Len() > 31<<10 {
			break
		}
	}
	return "{" + b.String()[1:] + "}"
}

// chainNested returns JSON that is nested a little or deeply, and sometimes broken.
func chainNested(r *rand.Rand, depth int) string {
	switch n := r.IntN(12); {
	case n == 0 && depth == 0:
		return strings.Repeat("[", 1+r.IntN(20)) + "1"
	case n == 1 && depth == 0:
		return "[" + strings.Repeat("1,", r.IntN(1100)) + "1]"
	case n < 5 && depth < 5:
		var all []string
		for i := range r.IntN(4) {
			all = append(all, quoted([...]string{"a", "b c", "é", "", strings.Repeat("k", r.IntN(260))}[r.IntN(5)]+
				strconv.Itoa(i))+":"+chainNested(r, depth+1))
		}
		return "{" + strings.Join(all, ",") + "}"
	case n < 7 && depth < 5:
		return "[" + chainNested(r, depth+1) + "," + chainNested(r, depth+1) + "]"
	}
	return [...]string{"1", "-2.5", "true", "null", `"open"`, `"7"`, "1e400"}[r.IntN(7)]
}
