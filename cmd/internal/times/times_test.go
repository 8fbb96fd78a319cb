package times

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
)

func TestTextsAreReadAsTheyAreMeant(t *testing.T) {
	berlin := Terms{Zone: must.Have(ParseZone("Europe/Berlin"))(t)}
	for _, c := range []struct {
		format, text, want string
		terms              Terms
	}{
		{"iso", "2025-01-01 00:00:00+00", "2025-01-01T00:00:00Z", Terms{}},
		{"iso", "2025-01-01T00:00:00+0000", "2025-01-01T00:00:00Z", Terms{}},
		{"iso", "2025-01-01T00:00Z", "2025-01-01T00:00:00Z", Terms{}},
		{"iso", "2025-01-01T24:00:00Z", "2025-01-02T00:00:00Z", Terms{}},
		{"iso", "2025-06-30T23:59:60Z", "2025-07-01T00:00:00Z", Terms{}},
		{"iso", "2025-01-01 08:30:00 PM", "2025-01-01T20:30:00Z", Terms{}},
		{"iso", "2025-01-01 12:30:00 AM", "2025-01-01T00:30:00Z", Terms{}},
		{"iso", "2026-01-31 13:05:07.1234567 +01:00", "2026-01-31T12:05:07.1234567Z", Terms{}},
		{"iso", "2026-01-31T13:05:07,5", "2026-01-31T12:05:07.5Z", berlin},
		{"iso", "2025-01-01 00:00:00 +0100 CET", "2024-12-31T23:00:00Z", Terms{}},
		{"iso", "20260131T130507Z", "2026-01-31T13:05:07Z", Terms{}},
		{"iso", "202301120010", "2023-01-12T00:10:00Z", Terms{}},
		{"iso", "20250101 0005", "2025-01-01T00:05:00Z", Terms{}},
		{"iso", "Fri, 21 Nov 2025 08:00:00 EST", "2025-11-21T13:00:00Z", Terms{}},
		{"iso", "Nov 21, 2025 8:00 AM", "2025-11-21T08:00:00Z", Terms{}},
		{"dmy", "01.02.2025 10:00", "2025-02-01T10:00:00Z", Terms{}},
		{"dmy", "02.01.25 15:04", "2025-01-02T15:04:00Z", Terms{}},
		{"mdy", "5/15/2023 0:00", "2023-05-15T00:00:00Z", Terms{}},
		{"s", "1735689600.1234567", "2025-01-01T00:00:00.1234567Z", Terms{}},
		{"ms", "1735689600123", "2025-01-01T00:00:00.123Z", Terms{}},
		{"ms", "1.735689600123e12", "2025-01-01T00:00:00.123Z", Terms{}},
		{"ns", "1735689600123000199", "2025-01-01T00:00:00.1230001Z", Terms{}},
		{"ticks", "0638712864000000000-ozdppjynfyysr66f", "2025-01-01T00:00:00Z", Terms{}},
		{"filetime", "131922246173139818", "2019-01-17T18:50:17.3139818Z", Terms{}},
		{"excel", "45292.5", "2024-01-01T12:00:00Z", Terms{}},
		{"excel", "45292.3333333333", "2024-01-01T08:00:00Z", Terms{}},
		{"seconds since 2025-01-01T00:00:00Z", "0.1", "2025-01-01T00:00:00.1Z", Terms{}},
		{"%d/%m/%Y %I:%M:%S.%f %p", "1/2/2025 3:04:05.25 PM", "2025-02-01T15:04:05.25Z", Terms{}},
		{"%d/%m/%Y %I:%M %p", "1/2/2025 3:04 pm", "2025-02-01T15:04:00Z", Terms{}},
		{"%d/%b/%Y %I:%M%p", "1/mar/2025 12:04am", "2025-03-01T00:04:00Z", Terms{}},
		{"%Y%m%d%H%M", "202301120010", "2023-01-12T00:10:00Z", Terms{}},
		{"on %d.%m.%Y, %H Uhr, %M:%S.000Z", "on 1.2.2025, 12 Uhr, 05:06.000Z", "2025-02-01T12:05:06Z", Terms{}},
		{"%Y_%m_%d %H_%M", "2025_02_01 12_05", "2025-02-01T12:05:00Z", Terms{}},
		{"%m_%d_%Y", "02_23_2025", "2025-02-23T00:00:00Z", Terms{}},
		{"2006.01.02 15:04", "2025.06.01 12:00", "2025-06-01T10:00:00Z", berlin},
		{"iso", "1404-11-11 13:05:07", "1404-11-11T13:05:07Z", Terms{First: 1, Last: 9999}},
	} {
		at, _, err := must.Have(Named(c.format))(t).Parse(c.text, c.terms)
		if got := at.Time().Format(time.RFC3339Nano); err != nil || got != c.want {
			t.Errorf("%s %q is %s, %v; want %s", c.format, c.text, got, err, c.want)
		}
	}
}

func TestWhatIsNoTimeIsRefused(t *testing.T) {
	berlin := Terms{Zone: must.Have(ParseZone("Europe/Berlin"))(t)}
	for _, text := range []string{"", "now", "2025-13-01", "2025-02-30", "2025-01-01T25:00Z", "2025-01-01T24:00:01Z",
		"2025-01-01T10:00:61Z", "1404-11-11 13:05:07", "0001-01-01T00:00:00", "2025-01-01 08:00 XYZ", "2025-01-01x",
		"2025-01-01T10:00+25:00", "2025-03-30 02:30", "2025-10-26 02:30", "10:00", "2025", "12345",
		"2025-01-01 15:00 AM", "2025-01-01 08:30:", "2025-01-01T08:30:Z", "2025-01-01T08:30::05",
		"2025-01-01T08:30+01:99", "2025-01-01T08:30+0160", "2025-01-01T08:30+-01:00", "2025-01-01T08:30 EST+01:00"} {
		if at, _, err := must.Have(Named("iso"))(t).Parse(text, berlin); err == nil {
			t.Errorf("%q is %s", text, at.Time())
		}
	}
	for _, name := range []string{"", "x", "%Q", "15:04", "%H:%M", "years since 2025-01-01",
		"%Y-%m-%dT%H:%M:%S-05:00", "%d.%m.%Y, %H Uhr 15", "%d Jan %Y"} {
		if f, err := Named(name); err == nil {
			t.Errorf("the format %q is %+v", name, f)
		}
	}
}

// TestTimesBeyondTheYearsOfTicksAreRefused: an offset moves them there.
func TestTimesBeyondTheYearsOfTicksAreRefused(t *testing.T) {
	for text, format := range map[string]string{
		"9999-12-31T23:59:59-14:00": "iso",
		"0001-01-01T00:00:00+14:00": "iso",
		"31/12/9999 23:59:59 -1400": "%d/%m/%Y %H:%M:%S %z",
		"31/12/9999 23:59:59 EST":   "%d/%m/%Y %H:%M:%S %Z",
		"253402300800":              "s",
	} {
		if at, _, err := must.Have(Named(format))(t).Parse(text, Terms{First: 1, Last: 9999}); err == nil {
			t.Errorf("%q is %s", text, at.Time())
		}
	}
}

// TestATimeHasTheSameTicksInEveryForm writes random instants in all forms.
func TestATimeHasTheSameTicksInEveryForm(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	span := tables.TicksOf(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)) - tables.TicksOf(time.Date(1990, 1, 1, 0, 0, 0, 0,
		time.UTC))
	for range 20_000 {
		at := tables.TicksOf(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)) + tables.Ticks(r.Int64N(int64(span)))
		utc, sub := at.Time(), r.IntN(100)
		nanos := fmt.Sprintf("%d%02d", utc.UnixNano()/100, sub)
		milli := tables.TicksOf(utc.Truncate(time.Millisecond))
		for format, forms := range map[string][]string{
			"iso": {utc.Format("2006-01-02T15:04:05.0000000Z"), utc.Format("2006-01-02 15:04:05.0000000"),
				utc.In(time.FixedZone("", 19800)).Format("2006-01-02T15:04:05.0000000-07:00"),
				utc.Format("20060102T150405.0000000Z"), utc.Format("20060102150405.0000000"),
				utc.Format("2006-01-02 03:04:05.0000000 PM")},
			"dmy": {utc.Format("2.1.2006 15:04:05,0000000")},
			"ns":  {nanos},
			"us":  {nanos[:len(nanos)-3] + "." + nanos[len(nanos)-3:]},
			"ms":  {nanos[:len(nanos)-6] + "." + nanos[len(nanos)-6:]},
			"s": {nanos[:len(nanos)-9] + "." + nanos[len(nanos)-9:], nanos[:1] + "." + nanos[1:] + fmt.Sprint("e",
				len(nanos)-10)},
			"ticks":    {at.String(), fmt.Sprint(int64(at))},
			"filetime": {fmt.Sprint(int64(at) - 504911232000000000)},
		} {
			for _, text := range forms {
				if got, _, err := must.Have(Named(format))(t).Parse(text, Terms{}); err != nil || got != at {
					t.Fatalf("seed %d: %s %q is %s, %v; want %s", seed, format, text, got, err, at)
				}
			}
		}
		day := int64(864_000_000_000)
		since := int64(milli) - int64(counts()["excel"].origin)
		serial := fmt.Sprintf("%d.%010d", since/day, (since%day)/864*10) // ten digits, as spreadsheets export
		if got, _, err := must.Have(Named("excel"))(t).Parse(serial, Terms{}); err != nil || got != milli {
			t.Fatalf("seed %d: excel %s is %s, %v; want %s", seed, serial, got, err, milli)
		}
	}
}

func TestAGuessNeedsValuesThatAgree(t *testing.T) {
	for texts, want := range map[string]string{
		"2025-01-01T00:00:00Z 2025-01-02 x": "iso", "01/02/2025 02/03/2025": "dmy mdy", "01/02/2025 13/03/2025": "dmy",
		"1-1-2021": "dmy", "1735689600": "s", "1735689600123": "ms", "1735689600123000000": "ns", "45292.5": "excel",
		"202301120000": "iso", "0638712864000000000": "ticks", "638712864000000000": "ns ticks",
		"131922246173139818": "filetime",
		"0.0 0.1":            "", "0005 0010": "", "now": "", "2025010100": "iso s", "02.01.25": "dmy ymd",
		"01.02.2025":                       "dmy",
		"13/01/2025 01/13/2025 14/01/2025": "dmy mdy",
		"2-Jan-2025":                       "iso", "01/02/2025 02.01.2025": "dmy mdy",
	} {
		g := NewGuess(Terms{})
		for text := range strings.FieldsSeq(texts) {
			g.Add(text)
		}
		names := []string{}
		for _, c := range g.Found() {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q is %q, want %q", texts, got, want)
		}
	}
}

// TestNoFloatTouchesATime reads the source of this package.
func TestNoFloatTouchesATime(t *testing.T) {
	for _, file := range []string{"civil.go", "count.go", "format.go", "guess.go"} {
		text := string(must.Have(os.ReadFile(file))(t))
		if found := regexp.MustCompile(`(?i)float|\bmath\.`).FindString(text); found != "" {
			t.Errorf("%s has %s", file, found)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"2025-01-01T00:00:00+00", "1e30", "-1.5", "5/15/2023 0:00", "20250101 0005",
		"Jan 2, 2025",
		"99999999999999999999", "2025-01-01 08:30:00 AM"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g := NewGuess(Terms{})
		g.Add(text)
		for _, c := range g.Found() {
			at, _, err := c.Parse(text, Terms{})
			if err != nil {
				continue
			}
			iso := at.Time().Format("2006-01-02T15:04:05.0000000Z")
			if again, _, err := must.Have(Named("iso"))(t).Parse(iso, Terms{}); err != nil || again != at {
				t.Fatalf("%q as %s is %s, and that is %s, %v", text, c.Name, iso, again, err)
			}
		}
		_, _ = Named(text)
		_, _ = ParseZone(text)
	})
}
