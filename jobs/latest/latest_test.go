package latest

import (
	"bytes"
	"fmt"
	"testing"

	"furrow/jobs"
	"furrow/tables"
)

var member = tables.Member{Device: "d1", Tenant: "contoso", Month: tables.Month{Year: 2026, Month: 11, Shard: 2}}

func sample(at tables.Ticks, suffix string, values ...jobs.Measured) jobs.Sample {
	return jobs.Sample{Key: tables.RowKey{Ticks: at, Suffix: suffix}, Values: values}
}

func number(sensor string, n float64) jobs.Measured {
	return jobs.Measured{Sensor: sensor, Number: n, Is: jobs.Number}
}

// written folds samples and gives the values of the one output.
func written(t *testing.T, state []byte, samples ...jobs.Sample) (map[string]Value, []byte) {
	t.Helper()
	folded, err := Fold{}.Fold(member, state, samples)
	if err != nil {
		t.Fatal(err)
	}
	if len(folded.Effects) == 0 {
		return nil, folded.State
	}
	e := folded.Effects[0]
	if len(folded.Effects) > 1 || e.Closed || e.Output != (jobs.Output{Kind: jobs.Latest, PartitionKey: "contoso!2026-11.02", RowKey: "d1"}) {
		t.Fatalf("effects %+v", folded.Effects)
	}
	got := map[string]Value{}
	for _, p := range e.Properties {
		if got[p.Name], err = ParseValue(p.Name, p.Value.Text()); err != nil {
			t.Fatal(err)
		}
	}
	return got, folded.State
}

func TestNewestOfEachSensorWins(t *testing.T) {
	state := jobs.Measured{Sensor: "door", State: "o\"pen", Is: jobs.State, Doubtful: true}
	got, kept := written(t, nil, sample(10, "", number("t", 1), number("h", 5)), sample(20, "", number("t", 2)), sample(20, "b", state))
	for sensor, want := range map[string]Value{"t": {20, number("t", 2)}, "h": {10, number("h", 5)}, "door": {20, state}} {
		if got[sensor] != want {
			t.Errorf("%s is %+v, want %+v", sensor, got[sensor], want)
		}
	}
	late, kept := written(t, kept, sample(15, "", number("t", 9), number("h", 6)))
	if late["t"].Number != 2 || late["h"] != (Value{15, number("h", 6)}) {
		t.Errorf("after a late sample t is %+v and h %+v", late["t"], late["h"])
	}
	if none, _ := written(t, kept, sample(1, "", number("t", 0))); none != nil {
		t.Errorf("a sample older than all is written: %v", none)
	}
}

func TestLatestIsEqualHoweverTheWorkIsCut(t *testing.T) {
	var samples []jobs.Sample
	for i := range tables.Ticks(100) {
		samples = append(samples, sample(i, "", number(fmt.Sprint("s", i%7), float64(i))))
	}
	want, wantState := written(t, nil, samples...)
	var got map[string]Value
	var state []byte
	for _, s := range samples {
		got, state = written(t, state, s)
	}
	if !bytes.Equal(state, wantState) || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("one by one: %v, want %v", got, want)
	}
}

func TestSensorsHaveABound(t *testing.T) {
	var values []jobs.Measured
	for i := range jobs.MaxSensors + 1 {
		values = append(values, number(fmt.Sprint("s", i), 1))
	}
	folded, err := Fold{}.Fold(member, nil, []jobs.Sample{sample(1, "", values...)})
	if err != nil || len(folded.Refused) != 1 || folded.Refused[0].Sensor != "s240" || len(folded.Effects[0].Properties) != jobs.MaxSensors {
		t.Errorf("refused %v, %v", folded.Refused, err)
	}
}

// FuzzState: no state crashes the fold, and what is read is written the same.
func FuzzState(f *testing.F) {
	folded, err := Fold{}.Fold(member, nil, []jobs.Sample{sample(1, "x", number("t", 1), jobs.Measured{Sensor: "d", State: "s", Is: jobs.State})})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(folded.State)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(v.encode())
		if err != nil || !bytes.Equal(again.encode(), v.encode()) {
			t.Fatalf("%x is read as %+v, and back as %+v, %v", b, v, again, err)
		}
	})
}
