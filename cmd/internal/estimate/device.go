package estimate

import (
	"fmt"
	"time"

	"furrow/cmd/internal/config"
	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// most is how many operations a transaction has, and how many properties of sensors an entity.
const (
	mostOperations = 100
	mostBytes      = 3 << 20 // where transactions are cut
	mostSensors    = 200
)

// A write is what a run writes for one device into one partition of a table of outputs.
type write struct {
	entities int
	bytes    int
}

// A day is what a pipeline does for one device in a day, or in as many days as it takes to send, or to run, once.
type day struct {
	runs     [][]write // of runs with new readings, in the order of time
	readings int
	outputs  int64 // bytes of the outputs that are there at its end
	state    int   // bytes of the tracking row
}

// began is a day like any other.
func began() time.Time { return time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC) }

// member is a device with an ID of usual length.
func member() schema.Member {
	return schema.Member{Device: "contoso:us-5260:pump-000042", Tenant: "contoso",
		Month: schema.Month{Year: 2026, Month: 11}}
}

// reading returns what a device sends at a time: numbers with one decimal.
func (f Fleet) reading(at time.Time) (fold.Sample, tables.Entity) {
	s := fold.Sample{Key: schema.RowKey{Ticks: tables.TicksOf(at)}}
	e := tables.Entity{PartitionKey: string(member().Device), RowKey: s.Key.String()}
	for i := range f.Sensors {
		name, n := fmt.Sprintf("sensor_%04d", i), float64(200+(at.Unix()/7+int64(i))%90)/10
		s.Values = append(s.Values, fold.SensorValue{Sensor: name, Is: fold.Number, Number: n})
		e.Set(name, tables.Double(n))
	}
	return s, e
}

// sent returns when a device sends the reading of a time: with the last of those that go together.
func (f Fleet) sent(at time.Time) time.Time {
	return began().Add(at.Sub(began()).Truncate(f.sends()) + f.sends() - f.Every)
}

const oneDay = 24 * time.Hour

// day folds the readings of a day as the pipeline's runs do, from midnight on.
func (f Fleet) day(p config.Pipeline) (d day, err error) {
	built, err := p.Build(nil, schema.Names{}, &archive.Store{})
	if err != nil {
		return d, err
	}
	folds := built.Processors
	states, outputs := make([][]byte, len(folds)), map[fold.Output]int{}
	at, last := began(), began().Add((f.sends() + oneDay - 1).Truncate(oneDay))
	for end := at; end.Before(last); {
		end = end.Add(max(0, f.sent(at).Sub(end)).Truncate(p.Cadence) + p.Cadence)
		if end.After(last) && d.readings > 0 {
			break
		}
		var samples []fold.Sample
		for ; f.sent(at).Before(end); at = at.Add(f.Every) {
			s, _ := f.reading(at)
			samples = append(samples, s)
		}
		d.readings += len(samples)
		written := map[[2]string]*write{}
		for i, c := range folds {
			if _, watches := c.Fold.(fold.Watcher); watches {
				continue
			}
			out, err := c.Fold.Fold(member(), states[i], samples)
			if err != nil {
				return d, err
			}
			states[i] = out.State
			for _, e := range out.Effects {
				add(e, written, outputs)
			}
		}
		var run []write
		for _, w := range written {
			run = append(run, *w)
		}
		d.runs = append(d.runs, run)
	}
	for _, n := range outputs {
		d.outputs += int64(n)
	}
	d.state = trackBytes
	for _, s := range states {
		d.state += len(s)
	}
	return d, nil
}

// trackBytes is what a tracking row has besides the states: keys, ledger, claim and counters.
const trackBytes = 1200

// add counts an effect. The sizes are those that Azure charges for.
func add(e fold.Effect, written map[[2]string]*write, outputs map[fold.Output]int) {
	if len(e.Properties) == 0 || e.Output.Table == "" {
		return
	}
	row := tables.Entity{PartitionKey: e.Output.PartitionKey, RowKey: e.Output.RowKey, Properties: e.Properties}
	row.Set(fold.FenceProperty, tables.Int64(1))
	partition := [2]string{e.Output.Table, e.Output.PartitionKey}
	if written[partition] == nil {
		written[partition] = &write{}
	}
	w := written[partition]
	w.entities += (len(e.Properties) + mostSensors - 1) / mostSensors
	w.bytes += row.Size()
	outputs[e.Output] = row.Size()
}
