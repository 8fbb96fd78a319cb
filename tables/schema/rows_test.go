package schema

import (
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/tables"
)

var update = flag.Bool("update", false, "write testdata/rows.golden")

const goldenRows = "testdata/rows.golden"

// A rowCase is a type of rows. Its functions work with a value of the type, or a pointer to one.
type rowCase struct {
	name   string
	full   any      // every field is set
	zero   any      // none is but the month, which has no zero
	absent []string // fields that Entity does not store
	encode func(any) (tables.Entity, error)
	decode func(tables.Entity) (any, error)
}

// rowOf returns the case of a type. fix makes the value valid where its fields depend on each other.
func rowOf[T any](name string, encode func(T) (tables.Entity, error), decode func(tables.Entity) (T, error),
	fix func(*T), absent ...string) rowCase {
	var full, zero T
	fillRow(reflect.ValueOf(&full).Elem(), "")
	if fix != nil {
		fix(&full)
	}
	for _, v := range reflect.ValueOf(&zero).Elem().Fields() {
		if v.Type() == reflect.TypeFor[Month]() {
			fillRow(v, "")
		}
	}
	return rowCase{name: name, full: full, zero: zero, absent: absent,
		encode: func(v any) (tables.Entity, error) { return encode(v.(T)) },
		decode: func(e tables.Entity) (any, error) { return decode(e) }}
}

// sure is for an Entity method that cannot fail.
func sure[T any](encode func(T) tables.Entity) func(T) (tables.Entity, error) {
	return func(v T) (tables.Entity, error) { return encode(v), nil }
}

// wroteAt and etagOf are what storage says of every row.
const (
	wroteAt tables.Ticks = 639308595000000000
	etagOf  tables.ETag  = "etag"
)

// validValues are values of types that have rules.
func validValues() map[reflect.Type]any {
	month := Month{2026, time.November, 3}
	return map[reflect.Type]any{
		reflect.TypeFor[DeviceID]():          DeviceID("us-5260:pump-7"),
		reflect.TypeFor[Tenant]():            Tenant("contoso é"),
		reflect.TypeFor[Pipeline]():          Pipeline("live"),
		reflect.TypeFor[Month]():             month,
		reflect.TypeFor[Window]():            Hour,
		reflect.TypeFor[Day]():               Day(739000),
		reflect.TypeFor[Role]():              Operator,
		reflect.TypeFor[Status]():            Revoked,
		reflect.TypeFor[tables.ETag]():       etagOf,
		reflect.TypeFor[CommandID]():         CommandID("0639308592000000000-a1b2c3d4"),
		reflect.TypeFor[RowKey]():            RowKey{639308592000000007, "s"},
		reflect.TypeFor[IncidentID]():        IncidentID{"hot", "pump-7", 639308592000000000},
		reflect.TypeFor[LatestPartition]():   LatestPartition{"contoso é", month},
		reflect.TypeFor[ReportPartition]():   ReportPartition{"contoso é", Hour, "2026-11", month},
		reflect.TypeFor[Spans]():             Spans{{From: 5, To: 7}, {From: 9}},
		reflect.TypeFor[[]tables.Property](): []tables.Property{{Name: "t", Value: tables.Double(21)}},
		reflect.TypeFor[map[string]int64]():  map[string]int64{"device done": 3, "tables query": 4},
	}
}

// fillRow sets v, and all fields of a struct, to values that depend on nothing but their names.
func fillRow(v reflect.Value, name string) {
	if valid, is := validValues()[v.Type()]; is {
		v.Set(reflect.ValueOf(valid))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillRow(v.Elem(), name)
	case reflect.Struct:
		for field, of := range v.Fields() {
			fillRow(of, name+field.Name)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, i := range "ab" {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillRow(key, name+string(i))
			fillRow(value, name+" <&> "+string(i))
			v.SetMapIndex(key, value)
		}
	default:
		fillValue(v, name)
	}
}

func fillValue(v reflect.Value, name string) {
	number := int64(crc32.ChecksumIEEE([]byte(name)))%1_000_000 + 1
	switch {
	case v.Type() == reflect.TypeFor[[]byte]():
		v.SetBytes([]byte(name))
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			fillRow(v.Index(i), name+strconv.Itoa(i))
		}
	case v.Type() == reflect.TypeFor[tables.Ticks]():
		v.SetInt(639308592000000000 + number)
	case v.Type() == reflect.TypeFor[time.Duration]():
		v.SetInt((60 + number%3000) * int64(time.Second))
	case v.Kind() == reflect.String:
		v.SetString(strings.ToLower(name))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(number)
	case v.CanFloat():
		v.SetFloat(float64(number) + 0.5)
	default:
		panic("no value is known for " + v.Type().String())
	}
}

// rowCases returns a case for each type of this package that has coders.
func rowCases() []rowCase {
	one := func(m *Delivery) { m.Transition.Acknowledged = false }
	return slices.Concat([]rowCase{
		rowOf("Access", Access.Entity, AccessOf, func(a *Access) { a.Hash = TokenHash("t") }),
		rowOf("Ack", sure(Ack.Entity), AckOf, nil),
		rowOf("Act", Act.Entity, ActOf, nil),
		rowOf("Command", Command.Entity, CommandOf, func(c *Command) { c.Body, c.Desired = "{}", false }, "Desired"),
		rowOf("Command.Desired", Command.Entity, CommandOf, func(c *Command) { c.Body = "{}" }),
		rowOf("Configuration", Configuration.Entity, ConfigurationOf, func(c *Configuration) {
			c.Text = "retention: 90d\n"
			c.Hash, c.Stored, c.Format = ConfigurationHash(c.Text), wroteAt, 2
		}),
		rowOf("Delivery", sure(Delivery.Entity), DeliveryOf, one),
		rowOf("Delivery.GivenUp", sure(Delivery.GivenUpEntity), DeliveryOf, one),
		rowOf("DeliveryRecord", sure(DeliveryRecord.Entity), DeliveryRecordOf, func(r *DeliveryRecord) {
			d := r.Delivery
			r.Delivery = Delivery{Target: d.Target, Repeat: d.Repeat, Attempts: d.Attempts, Message: d.Message,
				Error: d.Error, ETag: d.ETag, Transition: Transition{Home: d.Home, ID: d.Transition.ID, Number: d.Number,
					What: d.What}}
		}),
		rowOf("Device", Device.Entity, DeviceOf, nil),
		rowOf("Enrollment", Enrollment.Entity, EnrollmentOf, func(n *Enrollment) { n.Shards, n.Batch = 4, 50 }),
		rowOf("Member", Member.Entity, MemberOf, func(m *Member) { m.Written = wroteAt }),
		rowOf("Transition", sure(Transition.Entity), TransitionOf,
			func(t *Transition) { t.Acknowledged = false }, "Acknowledged"),
		rowOf("Transition.Index", sure(Transition.IndexEntity), TransitionOf,
			func(t *Transition) { t.Acknowledged, t.Number = false, 7 }, "Acknowledged"),
		rowOf("Note", func(n Note) (tables.Entity, error) {
			return n.Entity(LatestPartition{"t", Month{2026, time.November, 0}}, IncidentID{"hot", "d", 7})
		}, NoteOf, nil),
		rowOf("Mark", sure(Mark.Entity), MarkOf, func(m *Mark) { m.At, m.Read = wroteAt, 0 }, "Read"),
		rowOf("GroupTurn", sure(GroupTurn.Entity), func(e tables.Entity) (GroupTurn, error) {
			t, is := GroupTurnOf(e)
			if !is {
				return t, fmt.Errorf("%s is no GroupTurn", e.RowKey)
			}
			return t, nil
		}, nil),
		rowOf("Mute", Mute.Entity, MuteOf, nil),
		rowOf("Places", sure(Places.Entity), PlacesOf, nil),
		rowOf("Policies", func(p Policies) (tables.Entity, error) { return p.Entity() }, PoliciesOf, nil),
		rowOf("Process", Process.Entity, ProcessOf, func(p *Process) { p.Seen = wroteAt }),
	}, runCases())
}

// runCases are the cases of the table runs, of readings and of rejects.
func runCases() []rowCase {
	return []rowCase{
		rowOf("Reading", sure(Reading.Entity), ReadingOf, nil),
		rowOf("Reject", Reject.Entity, RejectOf, nil),
		rowOf("ReportHead", ReportHead.Entity, ReportHeadOf, func(h *ReportHead) {
			h.Rows = []string{"site!north!", "tenant!!"}
		}),
		rowOf("Run", Run.Entity, RunOf, func(r *Run) { r.Written = wroteAt }),
		rowOf("AuditMark", AuditMark.Entity,
			func(e tables.Entity) (AuditMark, error) { return AuditMarkOf("live", e) }, nil),
		rowOf("MonthFigures", MonthFigures.Entity, MonthFiguresOf, nil),
		rowOf("WorkerFigures", WorkerFigures.Entity, WorkerFiguresOf, nil),
		rowOf("Spending", sure(Spending.Entity), func(e tables.Entity) (Spending, error) { return SpendingOf("live", e) },
			func(s *Spending) { s.Through = s.From + 7 }),
		rowOf("TargetState", sure(TargetState.Entity), TargetStateOf, nil),
		rowOf("Unheard", Unheard.Entity, UnheardOf, nil),
		rowOf("TenantDevices", sure(TenantDevices.Entity), TenantDevicesOf, nil),
		rowOf("Verified", sure(Verified.Entity), VerifiedOf, nil),
		rowOf("Verification", Verification.Entity, VerificationOf, func(v *Verification) {
			v.Last.Day, v.Last.Tenant, v.Last.At, v.Last.UpTo, v.Last.Reasons = 0, "", 0, "", nil
		}),
	}
}

// TestRowsAreThoseOfEarlierVersions compares the rows that this program writes with those of the versions before it,
// byte for byte. A row that differs would be a change of the format: see the package's comment.
func TestRowsAreThoseOfEarlierVersions(t *testing.T) {
	golden := readGolden(t)
	for _, c := range rowCases() {
		for field, v := range reflect.ValueOf(c.full).Fields() {
			if v.IsZero() && !slices.Contains(c.absent, field.Name) {
				t.Errorf("%s: the test does not set %s", c.name, field.Name)
			}
		}
		for kind, value := range map[string]any{"full": c.full, "zero": c.zero} {
			name := c.name + " " + kind
			e, err := c.encode(value)
			got := rowText(e, err)
			if *update {
				golden[name] = got
			}
			if want := golden[name]; got != want {
				t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
			}
		}
	}
	if *update {
		writeGolden(t, golden)
	}
}

// TestRowsOfEarlierVersionsAreRead decodes them into the values that they were made of, and writes them again.
func TestRowsOfEarlierVersionsAreRead(t *testing.T) {
	golden := readGolden(t)
	for _, c := range rowCases() {
		var e tables.Entity
		if err := e.UnmarshalJSON([]byte(golden[c.name+" full"])); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		e.ETag, e.Timestamp = etagOf, wroteAt
		got, err := c.decode(e)
		if err != nil || !reflect.DeepEqual(got, c.full) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", c.name, got, err, c.full)
			continue
		}
		again, err := c.encode(got)
		if text := rowText(again, err); text != golden[c.name+" full"] {
			t.Errorf("%s was read and written as\n%s\nwant\n%s", c.name, text, golden[c.name+" full"])
		}
	}
}

// rowText returns a row as in a request, and whether its type refuses it. Storage keeps no order of properties.
func rowText(e tables.Entity, refused error) string {
	e.Properties = slices.SortedFunc(slices.Values(e.Properties), func(a, b tables.Property) int {
		return strings.Compare(a.Name, b.Name)
	})
	text, err := e.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	if refused != nil {
		return "refused " + string(text)
	}
	return string(text)
}

func readGolden(t *testing.T) map[string]string {
	text, err := os.ReadFile(goldenRows)
	if err != nil && !*update {
		t.Fatal(err)
	}
	golden := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, row, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		golden[name] = row
	}
	return golden
}

func writeGolden(t *testing.T, golden map[string]string) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(golden)) {
		fmt.Fprintf(&text, "%s: %s\n", name, golden[name])
	}
	if err := os.WriteFile(goldenRows, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkRows writes and reads full rows of the types that large fleets have most of.
func BenchmarkRows(b *testing.B) {
	for _, c := range rowCases() {
		if !slices.Contains([]string{"Device", "Enrollment", "Member", "Run", "Transition", "WorkerFigures"}, c.name) {
			continue
		}
		if c.name == "Member" { // most have little more than this
			c.full = Member{Month: Month{2026, time.November, 3}, Tenant: "contoso", Device: "pump-7", Readings: "readings",
				Enrollment: "line4", Site: "us-5260"}
		}
		b.Run(c.name+"/write", func(b *testing.B) {
			for b.Loop() {
				if _, err := c.encode(c.full); err != nil {
					b.Fatal(err)
				}
			}
		})
		e, err := c.encode(c.full)
		b.Run(c.name+"/read", func(b *testing.B) {
			for b.Loop() {
				if _, err = c.decode(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestPropertiesThatQueriesNameAreStored compares the names with which others ask for single properties with the tags.
func TestPropertiesThatQueriesNameAreStored(t *testing.T) {
	for _, c := range []struct{ columns, names []string }{
		{tables.Columns[Command](), []string{CommandExpires}},
		{tables.Columns[Delivery](), []string{DeliveryErased}},
		{tables.Columns[Member](), []string{"Site", MemberSpans, MemberImports, MemberWatermark, "Admits"}},
		{tables.Columns[Reject](), []string{RejectNumber, RejectRow, RejectAt}},
	} {
		for _, name := range c.names {
			if !slices.Contains(c.columns, name) {
				t.Errorf("%s is none of %q", name, c.columns)
			}
		}
	}
}
