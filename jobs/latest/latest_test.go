package latest

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var member = schema.Member{Device: "d1", Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 11, Shard: 2}}

func sample(at tables.Ticks, suffix string, values ...fold.SensorValue) fold.Sample {
	return fold.Sample{Key: schema.RowKey{Ticks: at, Suffix: suffix}, Values: values}
}

func number(sensor string, n float64) fold.SensorValue {
	return fold.SensorValue{Sensor: sensor, Number: n, Is: fold.Number}
}

// written folds samples and returns the values of the one output.
func written(t *testing.T, state []byte, samples ...fold.Sample) (map[string]Value, []byte) {
	t.Helper()
	folded := must.Have(Fold{}.Fold(member, state, samples))(t)
	if len(folded.Effects) == 0 {
		return nil, folded.State
	}
	e := folded.Effects[0]
	if len(folded.Effects) > 1 || e.Closed || e.Output != (fold.Output{Table: Table, PartitionKey: "contoso!2026-11.02",
		RowKey: "d1"}) {
		t.Fatalf("effects %+v", folded.Effects)
	}
	return parsed(t, folded), folded.State
}

func TestNewestOfEachSensorWins(t *testing.T) {
	state := fold.SensorValue{Sensor: "door", State: "o\"pen", Is: fold.State, Doubtful: true}
	got, kept := written(t, nil, sample(10, "", number("t", 1), number("h", 5)), sample(20, "", number("t", 2)),
		sample(20, "b", state))
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

// random returns samples of more sensors than are kept, in row order, with texts of any length and times that jump from
// minutes to weeks.
func random(r *rand.Rand, n int) (samples []fold.Sample) {
	at := tables.TicksOf(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))
	for range n {
		at = at.Add(time.Duration(math.Pow(10, 10+r.Float64()*5.2)))
		s := sample(at, strings.Repeat("x", r.IntN(3)*r.IntN(2)*30))
		first := r.IntN(fold.MaxSensors * 3 / 2)
		for i := range 1 + r.IntN(60) {
			m := number(fmt.Sprint("s", first+i), float64(r.IntN(100)))
			if r.IntN(3) == 0 {
				m = fold.SensorValue{Sensor: m.Sensor, Is: fold.State, State: strings.Repeat("t", r.IntN(100))}
			}
			s.Values = append(s.Values, m)
		}
		samples = append(samples, s)
	}
	return samples
}

// newest computes what latest should hold from all samples at once.
func newest(samples []fold.Sample) map[string]Value {
	type class struct {
		sensor string
		long   bool
	}
	of := map[class]value{}
	for _, s := range samples {
		for _, m := range s.Values {
			v := value{s.Key, m}
			if old, ok := of[class{m.Sensor, v.long()}]; !ok || old.key.Compare(v.key) <= 0 {
				of[class{m.Sensor, v.long()}] = v
			}
		}
	}
	all := slices.SortedFunc(maps.Values(of), byAge)
	got, room := map[string]Value{}, 0
	for _, v := range all {
		room += v.room()
		_, has := got[v.Sensor]
		if v.key.Ticks < all[0].key.Ticks.Add(-30*24*time.Hour) || room > fold.MaxRoom || !has &&
			len(got) == fold.MaxSensors {
			break
		}
		if !has {
			got[v.Sensor] = Value{v.key.Ticks, v.SensorValue}
		}
	}
	return got
}

// parsed returns the values of an output.
func parsed(t *testing.T, folded fold.Result) map[string]Value {
	t.Helper()
	got := map[string]Value{}
	for _, p := range folded.Effects[0].Properties {
		v := must.Have(ParseValue(p.Name, p.Value.Text()))(t)
		got[p.Name] = v
	}
	if !slices.IsSortedFunc(folded.Effects[0].Properties,
		func(a, b tables.Property) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the properties are not in the order of their names")
	}
	return got
}

func TestMergingStatesOfAnySplitEqualsFoldingAllRows(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	left, full := 0, 0
	for range 12 {
		samples := random(r, 1+r.IntN(120))
		whole := must.Have(Fold{}.Fold(member, nil, samples))(t)
		if len(whole.State) > maxState {
			t.Fatalf("seed %d: a state of %d bytes", seed, len(whole.State))
		}
		want := newest(samples)
		if got := parsed(t, whole); !maps.Equal(got, want) {
			t.Fatalf("seed %d: %d values, want %d, or others", seed, len(got), len(want))
		}
		if len(want) == fold.MaxSensors {
			full++
		} else if len(want) < 60 {
			left++
		}
		parts := make([][]fold.Sample, 1+r.IntN(4)) // any split, each part in any order and cut
		for _, s := range samples {
			i := r.IntN(len(parts))
			parts[i] = append(parts[i], s)
		}
		var state []byte
		for _, part := range parts {
			r.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
			var own []byte
			for len(part) > 0 {
				n := 1 + r.IntN(len(part))
				folded := must.Have(Fold{}.Fold(member, own, part[:n]))(t)
				own, part = folded.State, part[n:]
			}
			merged := must.Have(Fold{}.Merge(member, state, own, 0))(t)
			state = merged.State
			again := must.Have(Fold{}.Merge(member, state, nil, 0))(t)
			if !maps.Equal(parsed(t, merged), parsed(t, again)) {
				t.Fatalf("seed %d: an effect is not the whole output", seed)
			}
		}
		if !bytes.Equal(state, whole.State) {
			t.Fatalf("seed %d: the state of %d merged parts differs", seed, len(parts))
		}
	}
	t.Logf("%d times with the most sensors, %d times with few", full, left)
}

func TestMergeHeedsWhereItsReadingsBegin(t *testing.T) {
	state := func(samples ...fold.Sample) []byte { return must.Have(Fold{}.Fold(member, nil, samples))(t).State }
	open := fold.SensorValue{Sensor: "t", Is: fold.State, State: strings.Repeat("open ", 20)}
	merged := must.Have(Fold{}.Merge(member, state(sample(20, "", number("t", 1))),
		state(sample(15, "", number("u", 3)), sample(16, "", number("v", 4)), sample(20, "", open)), 16))(t)
	got := parsed(t, merged)
	if len(got) != 2 || got["t"] != (Value{20, open}) || got["v"] != (Value{16, number("v", 4)}) {
		t.Errorf("merged are %v", got)
	}
	again := must.Have(Fold{}.Merge(member, merged.State, nil, 0))(t)
	if !maps.Equal(parsed(t, again), got) {
		t.Errorf("with nothing: %v", parsed(t, again))
	}
	empty := must.Have(Fold{}.Merge(member, nil, nil, 0))(t)
	if len(empty.Effects) != 1 || empty.Effects[0].Properties == nil || len(empty.Effects[0].Properties) != 0 {
		t.Errorf("nothing at all gives %#v", empty.Effects)
	}
}

// TestHeartbeatIsKeptByItsTime folds readings without values in every order and cut.
func TestHeartbeatIsKeptByItsTime(t *testing.T) {
	heard := func(f fold.Result) int64 {
		for _, p := range f.Effects[len(f.Effects)-1].Properties {
			if p.Name == fold.HeardProperty {
				return p.Value.Int()
			}
		}
		return 0
	}
	folded := func(f fold.Result, err error) fold.Result { return must.Have(f, err)(t) }
	samples := []fold.Sample{sample(10, "", number("t", 1)), sample(20, ""), sample(30, ""),
		sample(25, "", number("t", 2))}
	whole := folded(Fold{}.Fold(member, nil, samples))
	if got := heard(whole); got != 30 {
		t.Errorf("the device was heard at %d", got)
	}
	var state []byte
	for _, i := range []int{2, 3, 0, 1} {
		state = folded(Fold{}.Fold(member, state, samples[i:i+1])).State
	}
	if !bytes.Equal(state, whole.State) {
		t.Error("in another order the state is another one")
	}
	own := folded(Fold{}.Fold(member, nil, samples[2:])).State
	merged := folded(Fold{}.Merge(member, folded(Fold{}.Fold(member, nil, samples[:2])).State, own, 0))
	if !bytes.Equal(merged.State, whole.State) || heard(merged) != 30 {
		t.Errorf("merged: heard at %d", heard(merged))
	}
	if late := folded(Fold{}.Merge(member, nil, own, 31)); heard(late) != 0 {
		t.Errorf("before where the readings begin: heard at %d", heard(late))
	}
	if newer := folded(Fold{}.Fold(member, state, []fold.Sample{sample(40, "", number("t", 3))})); heard(newer) != 0 {
		t.Errorf("with a newer value: heard at %d", heard(newer))
	}
}

func TestSensorUnseenFor30DaysLeaves(t *testing.T) {
	const month = tables.Ticks(30 * 24 * time.Hour / 100)
	_, state := written(t, nil, sample(5, "", number("old", 1), number("new", 1)))
	got, state := written(t, state, sample(5+month, "", number("new", 2)))
	if len(got) != 2 {
		t.Errorf("after 30 days: %v", got)
	}
	if got, _ = written(t, state, sample(6+month, "", number("new", 3))); len(got) != 1 || got["new"].Number != 3 {
		t.Errorf("after more than 30 days: %v", got)
	}
}

func TestLatestHoldsTheNewestOfTooManySensors(t *testing.T) {
	var samples []fold.Sample
	for i := range tables.Ticks(fold.MaxSensors + 5) {
		samples = append(samples, sample(i, "", number(fmt.Sprint("s", int(i)), 1)))
	}
	got, _ := written(t, nil, samples...)
	if _, has := got["s4"]; has || len(got) != fold.MaxSensors || got["s5"].At != 5 {
		t.Errorf("%d values, s4: %t", len(got), has)
	}
}

func TestNoValuesTakeMoreThanTheStateHolds(t *testing.T) {
	s := sample(1, strings.Repeat("x", 64))
	for i := range 1000 {
		name := fmt.Sprintf("%03d", i)
		s.Values = append(s.Values, fold.SensorValue{Sensor: strings.Repeat("n", 197) + name, Is: fold.State,
			State: strings.Repeat("t", 256)})
	}
	folded := must.Have(Fold{}.Fold(member, nil, []fold.Sample{s}))(t)
	if len(folded.State) > maxState || len(folded.State) < maxState*9/10 {
		t.Errorf("a state of %d bytes", len(folded.State))
	}
}

// FuzzState: no state crashes the fold, and what is read is written the same.
func FuzzState(f *testing.F) {
	folded, err := Fold{}.Fold(member, nil, []fold.Sample{sample(1, "x", number("t", 1),
		fold.SensorValue{Sensor: "d", State: "s", Is: fold.State})})
	must.Succeed(f, err)
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
