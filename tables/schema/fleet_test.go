package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"

	"github.com/go-json-experiment/json"
)

func newDevice() Device {
	at := tables.TicksOf(time.Date(2026, 11, 20, 9, 17, 0, 0, time.UTC))
	return Device{
		ID: "contoso:us-5260:Giles-7163712301905", Month: Month{2026, time.November, 3}, Tenant: "contoso", Site: "us-5260",
		Position: &Position{57.456, -2}, Labels: map[string]string{"model": "BME280", "b": "é"},
		Readings: "readings", Enrollment: "line4", Status: Active, Change: 7,
		Tokens: []Token{{Policy: "c2-7", From: at, To: at + 1, Expiry: at + 2, Fingerprint: "ab12"}},
	}
}

// stored returns e, if storage would accept it.
func stored(t *testing.T, e tables.Entity, err error) tables.Entity {
	t.Helper()
	must.Succeed(t, err)
	must.Succeed(t, e.Check())
	return e
}

func newEnrollment() Enrollment {
	return Enrollment{
		ID: "line4", Tenant: "contoso", Readings: "readings", Life: time.Hour, Backfill: 7 * 24 * time.Hour,
		Admits: 8 * 24 * time.Hour, Site: "us-5260", Labels: map[string]string{"model": "BME280"},
		Prefix: "contoso:", Rate: 60, MaxDevices: 500, ImportOnly: true, Disabled: true, Shards: 4,
		SendEvery: time.Minute, Batch: 100, Primary: []byte{1, 2}, Secondary: []byte{3},
	}
}

func TestEnrollmentsAreReadAsWritten(t *testing.T) {
	full := newEnrollment()
	bare := Enrollment{ID: "a", Tenant: "t", Readings: "readings", Life: time.Minute}
	for _, want := range []Enrollment{full, bare} {
		e, err := want.Entity()
		got, errGot := EnrollmentOf(stored(t, e, err))
		if errGot != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, errGot, want)
		}
	}
}

func TestInvalidEnrollmentsAreRefused(t *testing.T) {
	for want, spoil := range map[string]func(*Enrollment){
		`enrollment "Line-4"`:    func(n *Enrollment) { n.ID = "Line-4" },
		"tenant":                 func(n *Enrollment) { n.Tenant = "" },
		`site " a b"`:            func(n *Enrollment) { n.Site = " a b" },
		"table name":             func(n *Enrollment) { n.Readings = "r" },
		"life of 30s":            func(n *Enrollment) { n.Life = 30 * time.Second },
		"life of 2161h0m0s":      func(n *Enrollment) { n.Life = MaxLife + time.Hour },
		"backfill of -1s":        func(n *Enrollment) { n.Backfill = -time.Second },
		"backfill of 87841h0m0s": func(n *Enrollment) { n.Backfill = MaxBackfill + time.Hour },
		"101 shards":             func(n *Enrollment) { n.Shards = 101 },
		`device prefix "a/b"`:    func(n *Enrollment) { n.Prefix = "a/b" },
		"limit of -1 devices":    func(n *Enrollment) { n.MaxDevices = -1 },
		"-1 tokens a minute":     func(n *Enrollment) { n.Rate = -1 },
		"batch of 101 rows":      func(n *Enrollment) { n.Batch = 101 },
	} {
		n := newEnrollment()
		spoil(&n)
		if _, err := n.Entity(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestRecordsAreReadAsWritten(t *testing.T) {
	full := newDevice()
	bare := Device{ID: "a", Month: Month{2026, time.November, 0}, Tenant: "t", Readings: "readings"}
	origin := bare
	origin.Position = &Position{}
	for _, want := range []Device{full, bare, origin} {
		e, err := want.Entity()
		got, errGot := DeviceOf(stored(t, e, err))
		if errGot != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, errGot, want)
		}
	}
	member := full.Member()
	member.Spans = []Span{{From: 1, To: 7}, {From: 9}}
	member.Placements = []Placement{{Site: "hall ½", To: 5}, {Labels: map[string]string{"class": "é"}, To: 8}}
	e, err := member.Entity()
	if got, err := MemberOf(stored(t, e, err)); err != nil || !reflect.DeepEqual(got, member) {
		t.Errorf("got %+v, %v; want %+v", got, err, member)
	}
	for _, run := range []Run{
		{Pipeline: "live", Slot: 639307630201234567},
		{Pipeline: "live", Slot: 639307630200000000, By: "s1", Enqueued: 639307630201234567, Started: 639307630201234568,
			Batches: 1 << 40},
		{Pipeline: "live", Slot: 639307630200000000, Skipped: "the queue holds 2,100 messages"},
	} {
		e, err := run.Entity()
		if got, err := RunOf(stored(t, e, err)); err != nil || got != run {
			t.Errorf("got %+v, %v; want %+v", got, err, run)
		}
	}
	reading := Reading{Device: "a", Key: RowKey{Ticks: 639307630201234567, Suffix: "b1.7"},
		Properties: []tables.Property{{Name: "T", Value: tables.Double(21)}}}
	if got, err := ReadingOf(stored(t, reading.Entity(), nil)); err != nil || !reflect.DeepEqual(got, reading) {
		t.Errorf("got %+v, %v; want %+v", got, err, reading)
	}
}

func TestSpansOfAMembershipAreInOrder(t *testing.T) {
	for _, spans := range [][]Span{{{From: 7, To: 7}}, {{From: 1}, {From: 3}}, {{From: 1, To: 5}, {From: 4}},
		{{From: -1}}} {
		m := newDevice().Member()
		m.Spans = spans
		if _, err := m.Entity(); err == nil || !strings.Contains(err.Error(), "span") {
			t.Errorf("%v: %v", spans, err)
		}
	}
}

// Outputs of neighbors share transactions.
func TestMembershipsOfATenantAreNeighbors(t *testing.T) {
	keys := []MemberKey{}
	for _, m := range []Member{{Tenant: "a", Device: "z"}, {Tenant: "a-1", Device: "a"}, {Tenant: "a", Device: "b"},
		{Tenant: "b", Device: "a"}, {Tenant: "a-1", Device: "c"}} {
		k := m.Key()
		if got, err := ParseMemberKey(string(k)); err != nil || got != k || k.Device() != m.Device {
			t.Errorf("%s: %v, %s, %v", k, got, k.Device(), err)
		}
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if got := fmt.Sprint(keys); got != "[a!b a!z a-1!a a-1!c b!a]" {
		t.Errorf("sorted: %s", got)
	}
	for _, wrong := range []string{"", "a", "a!", "!b", "a!b!c", "a!b c"} {
		if k, err := ParseMemberKey(wrong); err == nil {
			t.Errorf("%q is a key: %s", wrong, k)
		}
	}
}

func TestRecordsWithInvalidKeysAreRefused(t *testing.T) {
	for want, spoil := range map[string]func(*Device){
		"device id is empty":     func(d *Device) { d.ID = "" },
		`tenant "a\tb"`:          func(d *Device) { d.Tenant = "a\tb" },
		`site " a b"`:            func(d *Device) { d.Site = " a b" },
		"0 is not a month":       func(d *Device) { d.Month.Month = 0 },
		"table name \"no-good\"": func(d *Device) { d.Readings = "no-good" },
	} {
		d := newDevice()
		spoil(&d)
		e, err := d.Entity()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Entity() = %v, want %q", err, want)
		}
		if _, err := DeviceOf(e); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("DeviceOf() of it = %v", err)
		}
	}
}

func TestErrorsOfInvalidRecordsSayWhy(t *testing.T) {
	record := must.Have(newDevice().Entity())(t)
	record.Set("Labels", tables.String("{"))
	if _, err := DeviceOf(record); err == nil ||
		!strings.Contains(err.Error(), `entity "contoso:us-5260:Giles-7163712301905" "device": property Labels: `) {
		t.Errorf("broken labels: %v", err)
	}
	record.Set("Tenant", tables.Int32(7))
	if _, err := DeviceOf(record); err == nil ||
		!strings.Contains(err.Error(), "property Tenant: it is Edm.Int32, not Edm.String") {
		t.Errorf("a number as tenant: %v", err)
	}
	if _, err := MemberOf(tables.Entity{PartitionKey: "2026", RowKey: "a"}); err == nil {
		t.Error("2026 is read as a month")
	}
	if _, err := RunOf(tables.Entity{PartitionKey: "live", RowKey: "now"}); err == nil {
		t.Error("now is read as a slot")
	}
	if _, err := ReadingOf(tables.Entity{PartitionKey: "a", RowKey: "now"}); err == nil {
		t.Error("now is read as the key of a reading")
	}
}

func TestKeysAreTextInMessages(t *testing.T) {
	type message struct {
		Month   Month
		Horizon tables.Ticks
	}
	want := message{Month{2026, time.November, 3}, 639307630201234567}
	text, err := json.Marshal(want)
	if err != nil || string(text) != `{"Month":"2026-11.03","Horizon":"0639307630201234567"}` {
		t.Errorf("%s, %v", text, err)
	}
	var got message
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"Month":"2026-13"}`), &got); err == nil {
		t.Error("2026-13 is read as a month")
	}
}
