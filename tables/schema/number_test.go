package schema

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"furrow/tables"
)

func TestSuffixesOfDevicesHaveNumbers(t *testing.T) {
	for suffix, want := range map[string]string{
		"abcdefg2.00000001":          "abcdefg2 1",
		"abcdefg2.0000001f":          "abcdefg2 31",
		"abcdefg2.12345678":          "abcdefg2 305419896",
		"abcdefab.00000010":          "abcdefab 16",
		"2345abcd.ffffffff":          "2345abcd 4294967295",
		"0a1b2c3d.1":                 "0a1b2c3d 1",
		"0a1b2c3d.10000000":          "0a1b2c3d 10000000",
		"00000000.4294967295":        "00000000 4294967295",
		"":                           "",
		"2":                          "",
		"abcdefg2":                   "",
		"abcdefg2.":                  "",
		"abcdefg2.1":                 "", // sas/device writes 8 digits
		"abcdefg2.00000000":          "", // it begins with 1
		"abcdefg2.100000000":         "",
		"ABCDEFG2.00000001":          "",
		"abcdefg2.0000001F":          "",
		"0a1b2c3d.01":                "",
		"0a1b2c3d.0":                 "",
		"0a1b2c3d.-1":                "",
		"0a1b2c3d.1.1":               "",
		"0a1b2c3d.4294967296":        "",
		"0a1b2c3g.1":                 "",
		"0a1b2c3d4.1":                "",
		"mfrggzdfmztwq2lk":           "", // an imported row
		"mfrggzdfmztwq2lk.2":         "", // and one with the same values
		strings.Repeat("a", 64):      "",
		"abcdefg2.0000000000000001":  "",
		"0a1b2c3d.18446744073709551": "",
	} {
		n, ok := RowKey{Ticks: 1, Suffix: suffix}.Number()
		got := ""
		if ok {
			got = fmt.Sprint(n.Boot, " ", n.N)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", suffix, got, want)
		}
	}
}

func TestRandomNumbersAreReadAsWritten(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	name := func(letters string) string {
		b := make([]byte, lengthOfBoot)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	for range 10_000 {
		ours := Number{name("abcdefghijklmnopqrstuvwxyz234567"), 1 + r.Uint64N(1<<28-1)}
		theirs := Number{name("0123456789abcdef"), 1 + r.Uint64N(1<<32-1)}
		for suffix, want := range map[string]Number{ours.String(): ours, fmt.Sprint(theirs.Boot, ".", theirs.N): theirs} {
			key, err := ParseRowKey(RowKey{tables.Ticks(r.Int64N(int64(tables.MaxTicks))), suffix}.String())
			if n, ok := key.Number(); err != nil || !ok || n != want {
				t.Fatalf("seed %d: %s is %+v, %v; want %+v", seed, suffix, n, err, want)
			}
		}
	}
}
