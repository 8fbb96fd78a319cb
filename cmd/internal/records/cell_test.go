package records

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/worker/answers"
)

func TestNumbersReadBackAsTheSameDouble(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100_000 {
		f := math.Float64frombits(random.Uint64())
		if math.IsNaN(f) {
			continue
		}
		back, err := strconv.ParseFloat(number(f), 64)
		if err != nil || math.Float64bits(back) != math.Float64bits(f) {
			t.Fatalf("seed %d: %x is written %s", seed, math.Float64bits(f), number(f))
		}
	}
	for f, want := range map[float64]string{0: "0", 1234567: "1234567", 0.1: "0.1", 1e21: "1e+21", -2.5e-7: "-2.5e-07",
		math.Inf(-1): "-Infinity"} {
		if got := number(f); got != want {
			t.Errorf("%g is written %s, want %s", f, got, want)
		}
	}
}

func TestTablesShowSixDigits(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 21.5: "21.5", 0.1 + 0.2: "0.3", 57.456789: "57.4568",
		-2.0 / 3: "-0.666667", 123456.789: "123457", 1234567.891: "1234568", 987654321: "987654321",
		1.23456789e-9: "1.23457e-09", 1e300 / 3: "3.33333e+299", 999999.96: "1000000", math.Inf(1): "Infinity",
		math.NaN(): "NaN"} {
		for _, cell := range []any{f, tables.Double(f)} {
			if got := show(cell); got.text != want || !got.right {
				t.Errorf("%v is shown as %q, want %q", f, got.text, want)
			}
		}
	}
}

// A sent text is a record that has one column of what a device sends.
type sent string

func (sent) Columns() []string { return []string{"device", "text"} }
func (s sent) Lines() [][]any  { return [][]any{{"d", string(s)}} }
func (s sent) Object() any     { return string(s) }

// FuzzTextsInCSV holds that whatever text a device sends is one field, runs in
// no spreadsheet, and is given back by taking an apostrophe away, but for control
// characters.
func FuzzTextsInCSV(f *testing.F) {
	for _, text := range []string{"=1+1", "a,\"b\"\nc", "'", "''=", "-5", "+inf", "-", "\r\n", " x", `\.`, "@", "—",
		"\x00", "=\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b bytes.Buffer
		out := bufio.NewWriter(&b)
		to := newCSV(out, sent("").Columns())
		must.Succeed(t, to.write(sent(text)))
		must.Succeed(t, to.flush())
		lines, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(lines) != 2 || len(lines[1]) != len(lines[0]) {
			t.Fatalf("%q becomes %q, %v", text, lines, err)
		}
		field := lines[1][1]
		if _, err := strconv.ParseFloat(field, 64); err != nil && field != "" && strings.ContainsRune("=+-@\t\r",
			rune(field[0])) {
			t.Errorf("%q becomes the formula %q", text, field)
		}
		want := strings.ReplaceAll(answers.Printable(text), "\r\n", "\n")
		if got := strings.TrimPrefix(field, "'"); got != want {
			t.Errorf("%q is read back as %q", text, got)
		}
	})
}

func TestTextsDoNothingToATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"open": "open", "\x1b[2Jx": "·[2Jx", "a\nb": "a·b", "\xff": "·", "\u202e": "·", "—": "—",
		strings.Repeat("x", 150): strings.Repeat("x", 100) + "…",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
