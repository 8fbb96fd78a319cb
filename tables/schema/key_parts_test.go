package schema

import (
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
)

func TestDeviceIDErrorsNameTheCharacter(t *testing.T) {
	for id, want := range map[string]string{
		"contoso:us-5260:Giles-7163712301905": "",
		"a":                                   "",
		strings.Repeat("x", 128):              "",
		strings.Repeat("x", 129):              "has 129 characters; at most 128",
		"":                                    "device id is empty",
		"pump 7":                              `"pump 7": character ' ' at position 5 is not allowed; use letters, digits and - . _ :`,
		"pümp":                                `character 'ü' at position 2`,
		".":                                   `device id ".": a URL cannot`,
		"..":                                  `device id "..": a URL cannot`,
		"...":                                 "",
		"pump!7":                              `character '!' at position 5`,
	} {
		got, err := ParseDeviceID(id)
		if want == "" && (err != nil || string(got) != id) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("ParseDeviceID(%.40q) = %v, want %q", id, err, want)
		}
	}
}

func TestPrefixIsARangeOfIDs(t *testing.T) {
	keys := must.Have(IDsWithPrefix("contoso:us."))(t)
	for id, want := range map[string]bool{
		"contoso:us.": true, "contoso:us.zz": true, "contoso:us.-": true, "contoso:us.:": true,
		"contoso:us": false, "contoso:us-5": false, "contoso:us0": false, "contoso:usz": false, "Contoso:us.1": false,
	} {
		if keys.Contains(id) != want {
			t.Errorf("%+v contains %q: %v, want %v", keys, id, !want, want)
		}
	}
	if _, err := IDsWithPrefix("a*"); err == nil {
		t.Error(`a prefix "a*" is accepted`)
	}
	if all, err := IDsWithPrefix(""); err != nil || all != (tables.Keys{}) {
		t.Errorf("IDsWithPrefix(\"\") = %v, %v", all, err)
	}
}

func TestNamesAreAcceptedByAzure(t *testing.T) {
	n := must.Have(ParseNames(strings.Repeat("p", 20)))(t)
	p := must.Have(ParsePipeline(strings.Repeat("q", 20)))(t)
	for _, name := range n.Tables(p) {
		if err := tables.CheckTable(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{n.Jobs(p), n.Catchup(p), n.Poison(p)} {
		if len(name) > 63 {
			t.Errorf("queue name %s is longer than 63", name)
		}
	}
	for _, s := range []string{"", "A", "1a", "a-b", "é", strings.Repeat("a", 21)} {
		if _, err := ParsePipeline(s); err == nil {
			t.Errorf("pipeline %q is accepted", s)
		}
	}
	for _, s := range []string{"", "ab", "1ab", "a-b", "Tables", strings.Repeat("a", 64), "aéb"} {
		if err := tables.CheckTable(s); err == nil {
			t.Errorf("table name %q is accepted", s)
		}
	}
}

func FuzzDeviceID(f *testing.F) {
	f.Add("contoso:us-5260", "contoso:us-5260:Giles")
	f.Add("a", "a\x7f")
	f.Fuzz(func(t *testing.T, prefix, id string) {
		if _, err := ParseDeviceID(id); err != nil {
			return
		}
		if err := tables.CheckKey(id); err != nil {
			t.Fatalf("a device id is no key: %v", err)
		}
		keys, err := IDsWithPrefix(prefix)
		if err == nil && keys.Contains(id) != strings.HasPrefix(id, prefix) {
			t.Fatalf("%+v contains %q: %v", keys, id, keys.Contains(id))
		}
	})
}

func FuzzRowKey(f *testing.F) {
	f.Add("0639307630201234567", "0639307630201234567-a.1")
	f.Add("0639307630201234567-a", "0639307630201234567-")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := ParseRowKey(a)
		y, errY := ParseRowKey(b)
		if errX != nil || errY != nil {
			return
		}
		if x.String() != a || tables.CheckKey(a) != nil {
			t.Fatalf("ParseRowKey(%q) = %s, %v", a, x, tables.CheckKey(a))
		}
		if x.Compare(y) != strings.Compare(a, b) {
			t.Fatalf("%q and %q: Compare is %d", a, b, x.Compare(y))
		}
	})
}

func FuzzMonth(f *testing.F) {
	f.Add("2026-11", "2026-11.03")
	f.Add("2026-11.00", "0001-01.99")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := ParseMonth(a)
		y, errY := ParseMonth(b)
		if errX != nil || errY != nil {
			return
		}
		if x.String() != a || tables.CheckKey(a) != nil || x.Check() != nil {
			t.Fatalf("ParseMonth(%q) = %s", a, x)
		}
		if x.Compare(y) != strings.Compare(a, b) {
			t.Fatalf("%q and %q: Compare is %d", a, b, x.Compare(y))
		}
	})
}

func FuzzMonthValues(f *testing.F) {
	f.Add(uint16(2026), uint8(11), uint8(3))
	f.Fuzz(func(t *testing.T, year uint16, month, shard uint8) {
		m := Month{Year: int(year), Month: time.Month(month), Shard: int(shard)}
		if m.Check() != nil {
			return
		}
		if got, err := ParseMonth(m.String()); err != nil || got != m {
			t.Fatalf("ParseMonth(%s) = %v, %v", m, got, err)
		}
	})
}

func TestOtherSpellingsOfMonthsAreRefused(t *testing.T) {
	for _, s := range []string{"", "2026", "2026-13", "2026-00", "0000-01", "2026-11.00", "2026-11.3", "2026-11.003",
		"2026-11 ", "2026/11", "2026-11.0x"} {
		if m, err := ParseMonth(s); err == nil {
			t.Errorf("ParseMonth(%q) = %v", s, m)
		}
	}
}
