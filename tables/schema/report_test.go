package schema

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
)

// eight is the start of an hour.
var eight = tables.TicksOf(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))

func TestMarksAreReadAsWritten(t *testing.T) {
	month := Month{2026, time.November, 3}
	for _, want := range []Mark{
		{Month: month, Kind: ReportMark, Tenant: "contoso", Name: ReportedBucket{Hour, eight}.String()},
		{Month: month, Kind: ArchiveMark, Tenant: "Kö!ln / 2", Name: "2026-11-20!d1"},
		{Month: month, Kind: ArchiveMark, Tenant: "Kö!ln / 2", Name: "2026-11-20T00!T23"},
	} {
		e := stored(t, want.Entity(), nil)
		e.ETag = "W/1"
		want.ETag = e.ETag
		if got, err := MarkOf(e); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if kind, is := MarkKindOf(e.RowKey); !is || kind != want.Kind {
			t.Errorf("%s is a mark of %q", e.RowKey, kind)
		}
		marks := Marks(month, want.Kind)
		if !marks.Partitions.Contains(e.PartitionKey) || !marks.Rows.Contains(e.RowKey) {
			t.Errorf("the range of marks lacks %s", e.RowKey)
		}
		if other := Marks(month, ReportMark); want.Kind != ReportMark && other.Rows.Contains(e.RowKey) {
			t.Errorf("the range of other marks has %s", e.RowKey)
		}
		if device := string(Member{Tenant: "!", Device: "!"}.Key()); e.RowKey >= device && device[0] != '!' {
			t.Errorf("the mark %s sorts behind the device %s", e.RowKey, device)
		}
	}
	for _, key := range []string{"", "t!d", "!mark!report", "!mark!report!contoso", "!group!report", "!mark!report!%!x"} {
		e := tables.Entity{PartitionKey: month.String(), RowKey: key}
		if m, err := MarkOf(e); err == nil {
			t.Errorf("%q is the mark %+v", key, m)
		}
	}
}

func TestMarksOfTheArchiveNameDaysAndHours(t *testing.T) {
	day := DayOf(eight)
	for _, want := range []ArchivePart{{Day: day}, {Day: day, Device: "d1"}, {Day: day, Hour: 1}, {Day: day, Hour: 24},
		{Day: day, Device: "T13"}, {Day: day, Hour: 14, Device: "a:T05"}} {
		if got, err := (Mark{Name: want.Name()}).Archive(); err != nil || got != want {
			t.Errorf("%s is about %+v, %v; want %+v", want.Name(), got, err, want)
		}
	}
	for _, name := range []string{"", "T13", "2026-11-20T", "2026-11-20T24", "2026-11-20T3", "2026-11-20T+3",
		"2026-11-20Tx!d"} {
		if got, err := (Mark{Name: name}).Archive(); err == nil {
			t.Errorf("%q is about %+v", name, got)
		}
	}
}

func TestGroupTurnsAreReadAsWritten(t *testing.T) {
	want := GroupTurn{Month: Month{2026, time.November, 0}, Kind: ReportMark, ID: "a", Until: eight,
		Settings: "[1h] [site]"}
	if got, is := GroupTurnOf(stored(t, want.Entity(), nil)); !is || got != want {
		t.Errorf("got %+v, %v; want %+v", got, is, want)
	}
	if _, is := GroupTurnOf(tables.Entity{PartitionKey: "2026-11", RowKey: "!mark!report!t!x"}); is {
		t.Error("a mark is a turn")
	}
}

func TestReportedBucketsBeginOnTheirWindow(t *testing.T) {
	for text, want := range map[string]string{
		ReportedBucket{Hour, eight}.String():         "",
		ReportedBucket{Hour, eight + 1}.String():     "no bucket",
		ReportedBucket{Daily, eight}.String():        "no bucket",
		"1h":                                         "ticks",
		"!" + eight.String():                         "window",
		ReportedBucket{Hour, eight}.String() + "!d1": "ticks",
	} {
		_, err := ParseReportedBucket(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestBucketsSortByTimeAndDevice also has the parts of a device's row beside it.
func TestBucketsSortByTimeAndDevice(t *testing.T) {
	rows := []BucketRow{{eight, "a", 0}, {eight, "a", 2}, {eight, "a:1", 0}, {eight, "b", 0},
		{eight.Add(time.Hour), "a", 0}}
	var keys []string
	for _, r := range rows {
		key := r.String()
		keys = append(keys, key)
		if got, err := ParseBucketRow(key); err != nil || got != r {
			t.Errorf("%s is %+v, %v", key, got, err)
		}
		if in := DevicesOfBucket(eight).Contains(key); in != (r.Bucket == eight) {
			t.Errorf("%s is among the devices of the bucket: %v", key, in)
		}
		if r.Part = 0; BucketOutput(key) != r.String() {
			t.Errorf("%s is of the output %s", key, BucketOutput(key))
		}
	}
	if !slices.IsSorted(keys) {
		t.Errorf("not in order: %q", keys)
	}
	for _, key := range []string{"", "a", eight.String(), eight.String() + "!", "x!a", eight.String() + "!a!1",
		eight.String() + "!a!2!2"} {
		if r, err := ParseBucketRow(key); err == nil {
			t.Errorf("%q is %+v", key, r)
		}
	}
}

func TestPlacementsOfBucketsAreReadAsWritten(t *testing.T) {
	m := Member{Site: "west", Labels: map[string]string{"class": "é"}, Placements: []Placement{{Site: "", To: 5},
		{Site: "north ½", Labels: map[string]string{"class": "b", "x": "y"}, To: 9}}}
	for at, want := range map[tables.Ticks]Placement{4: {}, 5: m.Placements[1], 9: {Site: "west", Labels: m.Labels}} {
		e := tables.Entity{PartitionKey: "p", RowKey: "r", Properties: PlacementProperties(m, at)}
		site, labels, err := PlacementOf(stored(t, e, nil))
		if err != nil || site != want.Site || !reflect.DeepEqual(labels, want.Labels) {
			t.Errorf("at %d: %s, %v, %v; want %+v", at, site, labels, err, want)
		}
	}
	broken := tables.Entity{PartitionKey: "p", RowKey: "r"}
	broken.Set(LabelsProperty, tables.String("{"))
	if _, _, err := PlacementOf(broken); err == nil {
		t.Error("labels that are no JSON are read")
	}
}

func TestByIsTenantSiteOrALabel(t *testing.T) {
	labels := map[string]string{"class": "Fryer", "tenant": "x"}
	for text, want := range map[string]string{"tenant": "", "site": "hall", "labels.class": "Fryer",
		"labels.tenant": "x"} {
		by, err := ParseBy(text)
		if group, is := by.Of("hall", labels); err != nil || !is || group != want {
			t.Errorf("%s: %s, %v, %v", text, group, is, err)
		}
		if label := by.Label(); label != "" && ByLabel(label) != by {
			t.Errorf("%s has the label %s", by, label)
		}
	}
	for _, by := range []By{BySite, "labels.none"} {
		if group, is := by.Of("", nil); is {
			t.Errorf("a device without is in the group %q of %s", group, by)
		}
	}
	for _, text := range []string{"", "Tenant", "labels", "labels.", "label.x", "labels." + strings.Repeat("x", 129)} {
		if by, err := ParseBy(text); err == nil {
			t.Errorf("%q is %s", text, by)
		}
	}
}

func TestReportsOfAPeriodAndGroupAreOneRange(t *testing.T) {
	for w, period := range map[Window]string{Minute: "2026-11-20", Hour: "2026-11", 6 * Hour: "2026-11", Daily: "2026"} {
		if got := w.PeriodOf(eight); got != period {
			t.Errorf("%s: the period is %s, want %s", w, got, period)
		}
		p := ReportPartition{Tenant: "Kö!ln", Window: w, Period: period, Month: Month{2026, time.November, 3}}
		if got, err := ParseReportPartition(p.String()); err != nil || got != p {
			t.Errorf("%s is %+v, %v", p, got, err)
		}
		if !ReportsIn("Kö!ln", w, period).Contains(p.String()) || ReportsIn("Kö", w, period).Contains(p.String()) {
			t.Errorf("%s is in the range of another tenant, or not in its own", p)
		}
	}
	next := eight.Add(time.Hour)
	for _, r := range []ReportRow{{ByTenant, "", eight, 0}, {BySite, "hall!½", eight, 2}, {"labels.a b", "é", eight, 3}} {
		key := r.String()
		if got, err := ParseReportRow(key); err != nil || got != r {
			t.Errorf("%s is %+v, %v", key, got, err)
		}
		if !ReportRows(r.By, r.Group, eight, next).Contains(key) || !ReportRowsBy(r.By).Contains(key) ||
			ReportRows(r.By, r.Group, next, next+1).Contains(key) || ReportRowsBy("labels.a").Contains(key) ||
			ReportRowsBy(r.By).Contains(ReportHeadKey(eight)) {
			t.Errorf("%s is not in its range, or in that of others", key)
		}
		if r.Part = 0; ReportOutput(key) != r.String() {
			t.Errorf("%s is of the output %s", key, ReportOutput(key))
		}
	}
	for _, key := range []string{"", "tenant!!", "tenant!" + eight.String(), ReportHeadKey(eight), "tenant!!x", "%!a!" +
		eight.String()} {
		if r, err := ParseReportRow(key); err == nil {
			t.Errorf("%q is %+v", key, r)
		}
	}
}

func TestHeadsOfReportsAreReadAsWritten(t *testing.T) {
	p := ReportPartition{Tenant: "contoso", Window: Hour, Period: "2026-11", Month: Month{2026, time.November, 3}}
	many := ReportHead{Partition: p, Bucket: eight, Left: 3, Revision: 2, Sent: 1, Sum: "ab"}
	for size := 0; size < MaxReportRows-200; size += 101 {
		many.Rows = append(many.Rows, strings.Repeat("r", 100))
	}
	for _, want := range []ReportHead{{Partition: p, Bucket: eight, Rows: []string{"tenant!!"}},
		{Partition: p, Bucket: eight}, many} {
		e, err := want.Entity()
		if got, err := ReportHeadOf(stored(t, e, err)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d names are read as %d, %v", len(want.Rows), len(got.Rows), err)
		}
	}
	many.Rows = append(many.Rows, many.Rows[:3]...)
	if _, err := many.Entity(); err == nil {
		t.Error("too many names are written")
	}
}
