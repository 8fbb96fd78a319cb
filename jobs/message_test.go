package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// messages returns one of each kind that a format has, by the name of its golden file.
func messages(format int64) map[string]Message {
	run := tables.TicksOf(time.Date(2026, 11, 20, 9, 17, 0, 0, time.UTC))
	month := schema.Month{Year: 2026, Month: time.November, Shard: 3}
	a := schema.Place{Month: month, Key: "contoso!a"}
	b := schema.Place{Month: month, Key: "contoso!us-5260:Giles-7163712301905"}
	c := schema.Place{Month: schema.Month{Year: 2026, Month: time.December}, Key: "fabrikam!a-1"}
	const id = "3KZ5TQ7QDFHJXN2LRBVYA4CWE6"
	all := map[string]Message{
		"master":          {Kind: Master, Pipeline: "live", Run: run},
		"master-going-on": {Kind: Master, Pipeline: "live", Run: run, Month: month},
		"month-audits":    {Kind: Month, Pipeline: "live", Run: run, Month: month, Audit: refold.Full},
		"months":          {Kind: Month, Pipeline: "live", Run: run, Month: month, Through: c.Month},
		"chain":           {Kind: Device, Pipeline: "live", Run: run, First: a, Last: a, Mark: id},
		"month":           {Kind: Month, Pipeline: "live", Run: run, Month: month, Progress: b, Attempts: 2},
		"generation":      {Kind: Device, Pipeline: "live", Run: run, First: a, Last: a, Generation: 12, Busy: 1, Taken: 3},
		"device":          {Kind: Device, Pipeline: "live", Run: run, First: a, Last: c, Attempts: 1},
		"audit":           {Kind: Audit, Pipeline: "live", Run: run, First: a, Last: a, Audit: refold.Late, Claim: id},
	}
	if format >= schema.RestFormat {
		all["some"] = Message{Kind: Device, Pipeline: "live", Run: run, First: a, Last: c, Only: []schema.Place{a, b, c},
			Resting: 12}
		all["month-before"] = Message{Kind: Month, Pipeline: "live", Run: run, Month: month, Before: run - 600_000_000}
	}
	return all
}

// TestMessagesOfEveryFormatAreRead: a different file is a change of the format. Then raise schema.Format, put the new
// files into another folder, and keep the old ones: queues may hold such messages when a fleet is upgraded.
func TestMessagesOfEveryFormatAreRead(t *testing.T) {
	for format := int64(1); format <= schema.Format; format++ {
		folder := fmt.Sprintf("testdata/format-%d", format)
		files, err := filepath.Glob(folder + "/message-*.json")
		if err != nil || len(files) != len(messages(format)) {
			t.Fatalf("%d golden files, %v; want one for each of %d messages", len(files), err, len(messages(format)))
		}
		for name, m := range messages(format) {
			m.Format = format
			golden := must.Have(os.ReadFile(filepath.Join(folder, "message-"+name+".json")))(t)
			want := strings.TrimSpace(string(golden))
			if text, err := m.Encode(); err != nil || text != want {
				t.Errorf("%s:\ngot  %s, %v\nwant %s", name, text, err, want)
			}
			if got, err := Decode(want); err != nil || !reflect.DeepEqual(got, m) {
				t.Errorf("%s: got %+v, %v; want %+v", name, got, err, m)
			}
		}
	}
}

// TestMessageOfANewerFormatSaysSo, whatever else is new in it. Its count can still be read and changed.
func TestMessageOfANewerFormatSaysSo(t *testing.T) {
	text := fmt.Sprintf(`{"v":%d,"kind":"new","devices":[1,2],"taken":3}`, schema.Format+1)
	m, err := Decode(text)
	if !errors.Is(err, ErrNewer) || errors.Is(err, ErrUnreadable) || m.Taken != 3 || !strings.Contains(err.Error(),
		"run a newer version of furrow") {
		t.Errorf("it is %+v, %v", m, err)
	}
	if _, err := m.Encode(); err == nil {
		t.Error("it is written, though nobody knows how")
	}
	later, err := SetTaken(text, 7)
	if m, _ := Decode(later); err != nil || m.Taken != 7 || !strings.Contains(later, `"devices":[1,2]`) {
		t.Errorf("with another count it is %s, %v", later, err)
	}
}

func TestTheLongestMessageFits(t *testing.T) {
	at := schema.Place{Month: schema.Month{Year: 9999, Month: 12, Shard: 99},
		Key: schema.MemberKey(strings.Repeat("t", 64) + schema.Separator + strings.Repeat("x", 128))}
	m := Message{
		Format: 1, Kind: Audit, Pipeline: schema.Pipeline(strings.Repeat("p",
			20)), Run: tables.MaxTicks, Audit: refold.Refold, Mark: strings.Repeat("m", 64), Claim: strings.Repeat("c",
			64),
		First: at, Last: at, Generation: 1 << 62, Attempts: 1 << 62, Busy: 1 << 62, Taken: 1 << 62,
	}
	text := must.Have(m.Encode())(t)
	if got, err := Decode(text); err != nil || !reflect.DeepEqual(got, m) || len(text) > 1<<10 {
		t.Errorf("%d bytes come back as %+v, %v", len(text), got, err)
	}
}

// TestTheLongestListFits in a message of a queue, which holds 64 KiB encoded: as many devices as a batch may have, each
// with the longest name.
func TestTheLongestListFits(t *testing.T) {
	m := Message{Format: schema.Format, Kind: Device, Pipeline: "live", Run: tables.MaxTicks, Resting: 1 << 40}
	for n := range MaxBatch {
		m.Only = append(m.Only, schema.Place{Month: schema.Month{Year: 9999, Month: 12, Shard: 99}, Key: schema.Member{
			Tenant: schema.Tenant(strings.Repeat("t", 64)), Device: schema.DeviceID(fmt.Sprintf("%0128d", n))}.Key()})
	}
	m.First, m.Last = m.Only[0], m.Only[MaxBatch-1]
	text := must.Have(m.Encode())(t)
	if got, err := Decode(text); err != nil || !reflect.DeepEqual(got, m) || len(text) > 48<<10 {
		t.Errorf("%d bytes come back as %+v, %v", len(text), got, err)
	}
}

func TestUnreadableMessagesSayWhy(t *testing.T) {
	const head = `{"v":1,"kind":"device","pipeline":"live","run":"0639307630201234567"`
	const a, b = `"2026-11/t!a"`, `"2026-11/t!b"`
	const batch = head + `,"first":` + a + `,"last":` + b
	const month = `{"v":1,"kind":"month","pipeline":"live","run":"0639307630201234567"`
	for text, want := range map[string]string{
		"":                        "EOF",
		"hello":                   "invalid character",
		`[]`:                      "array",
		`{"kind":"device"}`:       "v, the version of the format, is missing",
		`{"v":null}`:              "v, the version of the format, is missing",
		`{"v":0,"kind":"master"}`: "v, the version of the format, is missing",
		`{"v":"1"}`:               "string",
		`{"v":1,"kind":"other"}`:  `kind "other" is not known; want master, month, device, audit, group or deliver`,
		`{"v":1,"kind":"Master"}`: `kind "Master" is not known`,
		`{"v":1}`:                 "kind is missing",
		`{"v":1,"kind":"master","run":"0639307630201234567"}`:                   "pipeline is missing",
		`{"v":1,"kind":"master","pipeline":"Live","run":"0639307630201234567"}`: "character 'L' at position 1",
		`{"v":1,"kind":"master","pipeline":"live"}`:                             "run is missing",
		`{"v":1,"kind":"master","pipeline":"live","run":"now"}`:                 "want 19 digits",
		`{"v":1,"kind":"master","pipeline":"live","run":"0639307630201234567","first":` + a +
			`}`: "first does not belong in a master message",
		month + `}`:                   "month is missing; a month message has one",
		month + `,"month":"2026-13"}`: "2026-13",
		month + `,"month":"2026-11","through":"2026-11"}`:        "through 2026-11 does not come after month 2026-11",
		month + `,"month":"2026-11","progress":"2026-11/t!a/b"}`: "device id",
		month + `,"month":"2026-11","progress":"t!a"}`:           "want a month, a slash and a row key",
		month + `,"month":"2026-11","attempts":"many"}`:          "attempts",
		head + `}`:                   "first is missing; a device message has one",
		head + `,"first":` + a + `}`: "last is missing",
		head + `,"first":` + b + `,"last":` + a + `}`:   `first "2026-11/t!b" comes after last "2026-11/t!a"`,
		head + `,"first":"2026-11/a","last":` + b + `}`: "want 2 parts",
		batch + `,"month":"2026-11"}`:                   "month does not belong in a device message",
		batch + `,"progress":` + a + `}`:                "progress does not belong in a device message",
		batch + `,"audit":"full"}`:                      "audit does not belong in a device message",
		batch + `,"attempts":-1}`:                       "attempts -1",
		batch + `,"generation":-1}`:                     "generation -1",
		batch + `,"attempts":1.5}`:                      "attempts",
		batch + `,"colour":"red"}`:                      "colour",
		batch + `,"first":` + b + `}`:                   "duplicate",
		batch + `} {}`:                                  "after top-level value",
		batch + strings.Repeat(" ", 45<<10) + `}`:       "at most 45056 are allowed",
		head + `,"first":` + a + `,"last":"2026-11/t!` + strings.Repeat("b", 129) + `"}`: "at most 128 are allowed",
		batch + `,"progress":"` + "\x80" + `"}`:                                          "UTF-8",
		`{"v":1,"kind":"` + strings.Repeat("k", 1000) + `","pipeline":"a"}`:              `k"… is not known`,
	} {
		m, err := Decode(text)
		if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\nis %+v, %v; want %q", text, m, err, want)
		}
	}
}

func TestNothingUnreadableIsWritten(t *testing.T) {
	for name, m := range messages(schema.Format) {
		for what, spoil := range map[string]func(*Message){
			"kind":       func(m *Message) { m.Kind = "other" },
			"pipeline":   func(m *Message) { m.Pipeline = "a-b" },
			"run":        func(m *Message) { m.Run = tables.MaxTicks + 1 },
			"attempts":   func(m *Message) { m.Attempts = -1 },
			"generation": func(m *Message) { m.Generation = -1 },
			"first":      func(m *Message) { m.First = schema.Place{Key: "z"} },
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
	for _, m := range messages(schema.Format) {
		text := must.Have(m.Encode())(f)
		f.Add(text)
		f.Add(strings.Replace(text, `"v":`, `"v":999`, 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Decode(text)
		if err != nil {
			if !errors.Is(err, ErrUnreadable) && !errors.Is(err, ErrNewer) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatalf("%q is read and not written: %v", text, err)
		}
		if back, err := Decode(again); err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%q is %+v, then %+v, %v", text, m, back, err)
		}
	})
}
