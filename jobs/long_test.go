package jobs_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
)

// TestLongAndWideFormOfTheSameReadingsGiveEqualOutputs: numbers, states and what is doubtful, in latest, rollups and
// rates, whatever portions they are folded in. Only the number of rows differs.
func TestLongAndWideFormOfTheSameReadingsGiveEqualOutputs(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 1, 1)
	rows := regexp.MustCompile(` _readings=\d+`)
	eachSeed(t, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 7))
		var wide, long []tables.Entity
		at := tables.TicksOf(time.Now().Add(-60 * time.Hour))
		for range 150 {
			at = at.Add(time.Duration(1+random.IntN(40*60)) * time.Second)
			row := tables.Entity{PartitionKey: string(w.Devices[0]), RowKey: at.String()}
			good := tables.Boolean(random.IntN(5) > 0)
			for i, sensor := range []string{"temperature", "12-PT-101", "mode", "litres"} {
				if random.IntN(3) == 0 {
					continue
				}
				v := anyValue(random)
				row.Set(strings.NewReplacer("12", "_12", "-", "_").Replace(sensor), v)
				one := tables.Entity{PartitionKey: row.PartitionKey, RowKey: fmt.Sprint(row.RowKey, "-", i)}
				one.Set("tag", tables.String(sensor))
				one.Set("value", v)
				one.Set("good", good)
				long = append(long, one)
			}
			if len(row.Properties) > 0 {
				row.Set("good", good)
				wide = append(wide, row)
			}
		}
		ends := func(name string, sent []tables.Entity, form fold.Long) map[string]string {
			name += fmt.Sprint(seed)
			w.Create(t, name)
			jobstest.Insert(t, w.Connect(t, nil).Table(name), sent...)
			f := w.NewFleetOf(t, name)
			p := f.Pipeline(t, nil)
			settings()[0].apply(t, p)
			p.Sensors.Quality, p.Sensors.Good, p.Sensors.Long = "good", []string{"true"}, form
			p.Portion, p.Most = 1+random.IntN(60), 1+random.IntN(90)
			must.Succeed(t, f.Drain(t.Context(), p))
			all := settings()[0].outputs(f.Ends(t))
			for key, v := range all {
				all[key] = rows.ReplaceAllString(v, "")
			}
			return all
		}
		got, want := ends("long", long, fold.Long{Name: "tag", Value: "value"}), ends("wide", wide, fold.Long{})
		if len(want) < 50 {
			t.Errorf("only %d outputs", len(want))
		}
		jobstest.SameEnds(t, got, want)
	})
}

// anyValue is a number, a number as text, a state, or what is rejected.
func anyValue(random *rand.Rand) tables.Value {
	switch random.IntN(12) {
	case 0:
		return tables.String("open")
	case 1:
		return tables.String("nan")
	case 2:
		return tables.String(fmt.Sprint(random.IntN(100), ".5"))
	case 3:
		return tables.Boolean(true)
	case 4:
		return tables.String(`{"x": 1, "y": ["up", 2]}`)
	}
	return tables.Double(random.NormFloat64() * 20)
}
