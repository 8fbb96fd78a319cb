package tables

import (
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

func TestTicksAreExact(t *testing.T) {
	for text, want := range map[string]string{
		"0001-01-01T00:00:00Z":              "0000000000000000000",
		"1970-01-01T00:00:00Z":              "0621355968000000000",
		"2017-07-17T00:00:00Z":              "0636358464000000000",
		"2026-11-20T09:17:00.1234567Z":      "0639307630201234567",
		"2026-11-20T11:17:00.1234567+02:00": "0639307630201234567",
		"9999-12-31T23:59:59.9999999Z":      "3155378975999999999",
	} {
		at := must.Have(time.Parse(time.RFC3339Nano, text))(t)
		if got := TicksOf(at).String(); got != want {
			t.Errorf("TicksOf(%s) = %s, want %s", text, got, want)
		}
		if got := TicksOf(at).Time(); !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("TicksOf(%s).Time() = %v", text, got)
		}
	}
}

func TestTicksAreLimitedToYears1To9999(t *testing.T) {
	if got := TicksOf(time.Time{}.Add(-time.Hour)); got != 0 {
		t.Errorf("an hour before the year 1 is %d, want 0", got)
	}
	if got := TicksOf(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)); got != MaxTicks {
		t.Errorf("the year 10000 is %d, want %d", got, MaxTicks)
	}
	if got := Ticks(-5).String(); got != strings.Repeat("0", ticksDigits) {
		t.Errorf("Ticks(-5) = %s", got)
	}
}

func TestTicksAddHundredsOfNanoseconds(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 17, 0, 100, time.UTC)
	for _, d := range []time.Duration{0, 100, time.Hour, -time.Hour, 90 * 24 * time.Hour, -300} {
		if got, want := TicksOf(at).Add(d), TicksOf(at.Add(d)); got != want {
			t.Errorf("Add(%v) = %v, want %v", d, got, want)
		}
	}
}

func FuzzTicksRoundTrip(f *testing.F) {
	f.Add(int64(0), int64(1))
	f.Add(int64(unixTicks), int64(MaxTicks))
	f.Fuzz(func(t *testing.T, a, b int64) {
		x, y := Ticks(a&(1<<62-1))%(MaxTicks+1), Ticks(b&(1<<62-1))%(MaxTicks+1)
		if got, err := ParseTicks(x.String()); err != nil || got != x {
			t.Fatalf("ParseTicks(%s) = %d, %v; want %d", x, got, err, x)
		}
		if got := TicksOf(x.Time()); got != x {
			t.Fatalf("TicksOf(%v) = %d, want %d", x.Time(), got, x)
		}
		if (x < y) != (x.String() < y.String()) {
			t.Fatalf("%d and %d are not in the order of %s and %s", x, y, x, y)
		}
	})
}

func FuzzParseTicks(f *testing.F) {
	f.Add("0639307630201234567")
	f.Add("3155378976000000000")
	f.Add("063915405420123456x")
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := ParseTicks(s); err == nil && got.String() != s {
			t.Fatalf("ParseTicks(%q) = %s", s, got)
		}
	})
}
