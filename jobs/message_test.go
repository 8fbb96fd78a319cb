package jobs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// messages are one of each kind, by the name of its golden file.
func messages() map[string]Message {
	run := tables.TicksOf(time.Date(2026, 11, 20, 9, 17, 0, 0, time.UTC))
	month := schema.Month{Year: 2026, Month: time.November, Shard: 3}
	return map[string]Message{
		"v1-master":          {Kind: Master, Pipeline: "live", Run: run},
		"v1-master-going-on": {Kind: Master, Pipeline: "live", Run: run, Month: month},
		"v1-month-audits":    {Kind: Month, Pipeline: "live", Run: run, Month: month, Audit: Full},
		"v1-chain":           {Kind: Device, Pipeline: "live", Run: run, Month: month, First: "a", Last: "a", Mark: "3KZ5TQ7QDFHJXN2LRBVYA4CWE6"},
		"v1-month":           {Kind: Month, Pipeline: "live", Run: run, Month: month, Progress: "contoso:us-5260:Giles-7163712301905", Attempts: 2},
		"v1-generation":      {Kind: Device, Pipeline: "live", Run: run, Month: month, First: "a", Last: "a", Generation: 12, Busy: 1, Taken: 3},
		"v1-device":          {Kind: Device, Pipeline: "live", Run: run, Month: month, First: "a", Last: "a-1", Attempts: 1},
		"v1-audit":           {Kind: Audit, Pipeline: "live", Run: run, Month: month, First: "a", Last: "a", Audit: Late, Claim: "3KZ5TQ7QDFHJXN2LRBVYA4CWE6"},
	}
}

// A file that differs is a change of the format: raise the version, and keep
// the old file for as long as queues may hold such messages.
func TestMessagesAreWrittenAsTheGoldenFilesSay(t *testing.T) {
	files, err := filepath.Glob("testdata/v*.json")
	if err != nil || len(files) != len(messages()) {
		t.Fatalf("%d golden files, %v; want one for each of %d messages", len(files), err, len(messages()))
	}
	for name, m := range messages() {
		golden, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSpace(string(golden))
		if text, err := m.Encode(); err != nil || text != want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", name, text, err, want)
		}
		if got, err := Decode(want); err != nil || got != m {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, m)
		}
	}
}

func TestTheLongestMessageFits(t *testing.T) {
	id := schema.DeviceID(strings.Repeat("x", 128))
	m := Message{
		Kind: Audit, Pipeline: schema.Pipeline(strings.Repeat("p", 20)), Run: tables.MaxTicks, Audit: Refold, Mark: strings.Repeat("m", 64), Claim: strings.Repeat("c", 64),
		Month: schema.Month{Year: 9999, Month: 12, Shard: 99}, First: id, Last: id, Generation: 1 << 62, Attempts: 1 << 62, Busy: 1 << 62, Taken: 1 << 62,
	}
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(text); err != nil || got != m || len(text) > MaxSize/2 {
		t.Errorf("%d bytes come back as %+v, %v", len(text), got, err)
	}
}

func TestUnreadableMessagesSayWhy(t *testing.T) {
	const head = `{"v":1,"kind":"device","pipeline":"live","run":"0639307630201234567","month":"2026-11"`
	for text, want := range map[string]string{
		"":                        "EOF",
		"hello":                   "invalid character",
		`[]`:                      "array",
		`{"kind":"device"}`:       "v, the version of the format, is missing",
		`{"v":null}`:              "v, the version of the format, is missing",
		`{"v":2,"kind":"new"}`:    "version 2 is not known, only 1: another version",
		`{"v":"1"}`:               "string",
		`{"v":1,"kind":"other"}`:  `kind "other" is not known; want master, month, device or audit`,
		`{"v":1,"kind":"Master"}`: `kind "Master" is not known`,
		`{"v":1}`:                 "kind is missing",
		`{"v":1,"kind":"master","run":"0639307630201234567"}`:                                                      "pipeline is missing",
		`{"v":1,"kind":"master","pipeline":"Live","run":"0639307630201234567"}`:                                    "character 'L' at position 1",
		`{"v":1,"kind":"master","pipeline":"live"}`:                                                                "run is missing",
		`{"v":1,"kind":"master","pipeline":"live","run":"now"}`:                                                    "want 19 digits",
		`{"v":1,"kind":"master","pipeline":"live","run":"0639307630201234567","first":"a"}`:                        "first does not belong in a master message",
		`{"v":1,"kind":"month","pipeline":"live","run":"0639307630201234567"}`:                                     "month is missing; a month message has one",
		`{"v":1,"kind":"month","pipeline":"live","run":"0639307630201234567","month":"2026-13"}`:                   "2026-13",
		`{"v":1,"kind":"month","pipeline":"live","run":"0639307630201234567","month":"2026-11","progress":"a/b"}`:  "progress: device id",
		`{"v":1,"kind":"month","pipeline":"live","run":"0639307630201234567","month":"2026-11","attempts":"many"}`: "attempts",
		head + `}`:                                                          "first is missing; a device message has one",
		head + `,"first":"a"}`:                                              "last is missing",
		head + `,"first":"b","last":"a"}`:                                   `first "b" comes after last "a"`,
		head + `,"first":"a!","last":"b"}`:                                  "first: device id",
		head + `,"first":"a","last":"b","progress":"a"}`:                    "progress does not belong in a device message",
		head + `,"first":"a","last":"b","audit":"full"}`:                    "audit does not belong in a device message",
		head + `,"first":"a","last":"b","attempts":-1}`:                     "attempts -1",
		head + `,"first":"a","last":"b","generation":-1}`:                   "generation -1",
		head + `,"first":"a","last":"b","attempts":1.5}`:                    "attempts",
		head + `,"first":"a","last":"b","colour":"red"}`:                    "colour",
		head + `,"first":"a","last":"b","first":"b"}`:                       "duplicate",
		head + `,"first":"a","last":"b"} {}`:                                "after top-level value",
		head + `,"first":"a","last":"b"` + strings.Repeat(" ", 3000) + `}`:  "at most 2048 are allowed",
		head + `,"first":"a","last":"` + strings.Repeat("b", 129) + `"}`:    "at most 128 are allowed",
		head + `,"first":"a","last":"b","progress":"` + "\x80" + `"}`:       "UTF-8",
		`{"v":1,"kind":"` + strings.Repeat("k", 1000) + `","pipeline":"a"}`: `k"… is not known`,
	} {
		m, err := Decode(text)
		if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\nis %+v, %v; want %q", text, m, err, want)
		}
	}
}

func TestNothingUnreadableIsWritten(t *testing.T) {
	for name, m := range messages() {
		for what, spoil := range map[string]func(*Message){
			"kind":       func(m *Message) { m.Kind = "other" },
			"pipeline":   func(m *Message) { m.Pipeline = "a-b" },
			"run":        func(m *Message) { m.Run = tables.MaxTicks + 1 },
			"attempts":   func(m *Message) { m.Attempts = -1 },
			"generation": func(m *Message) { m.Generation = -1 },
			"first":      func(m *Message) { m.First = "z!" },
			"audit":      func(m *Message) { m.Audit = "deep" },
			"month":      func(m *Message) { m.Month.Month = 13 },
		} {
			spoilt := m
			spoil(&spoilt)
			if text, err := spoilt.Encode(); err == nil {
				t.Errorf("%s with a wrong %s is written: %s", name, what, text)
			}
		}
	}
}

func FuzzWhatDecodesEncodesToTheSame(f *testing.F) {
	for _, m := range messages() {
		text, err := m.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Decode(text)
		if err != nil {
			if !errors.Is(err, ErrUnreadable) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatalf("%q is read and not written: %v", text, err)
		}
		if back, err := Decode(again); err != nil || back != m {
			t.Errorf("%q is %+v, then %+v, %v", text, m, back, err)
		}
	})
}
