package verify

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json/jsontext"
)

const latest = "latest"

// mostAge is how much older than the newest value of a device another may be.
const mostAge = 30 * 24 * time.Hour

// newest is the newest values of a device, as they are stored and as they should be.
type newest struct {
	is      map[string]string
	at      tables.Ticks // of the newest that is stored
	heard   tables.Ticks // that is stored: the newest row without values
	sensors map[string]newestValue
	last    tables.Ticks // of the newest row with values
	without tables.Ticks // of the newest row without
}

// A newestValue is one of a sensor. Long and short ones take room of their own.
type newestValue struct {
	key         schema.RowKey
	value       Value
	long, short bool
}

// newestRows yields the rows of the device in a table with the keys of latest.
func (k *look) newestRows(ctx context.Context, table string) iter.Seq2[tables.Entity, error] {
	home := schema.LatestPartition{Tenant: k.member.Tenant, Month: k.member.Month}
	return k.Client.Table(table).Entities(ctx, tables.Query{Range: tables.Range{Partitions: tables.Is(home.String()),
		Rows: schema.LatestRows(k.member.Device, k.member.Device)}})
}

// Latest is the newest values.
type Latest struct{}

func (Latest) tables() []string { return []string{latest} }

func (Latest) home(ctx context.Context, h *home, p Pipeline) error {
	return h.strangers(ctx, p, latest, h.Names.Output(latest), h.at.String(), h.From.Floor(tables.Day))
}

func (Latest) cost(bool, int64, load) cost { return cost{device: 1, home: 2} }

// begin reads what is stored.
func (Latest) begin(ctx context.Context, p *pipe) error {
	k := p.look
	n := &newest{is: map[string]string{}, sensors: map[string]newestValue{}}
	p.checks = append(p.checks, n)
	for e, err := range k.newestRows(ctx, k.Names.Output(latest)) {
		if err != nil {
			return err
		}
		if row, err := schema.ParseLatestRow(e.RowKey); err != nil || row.Device != k.member.Device {
			continue
		}
		values := 0
		for _, p := range e.Properties {
			if !reserved(p.Name) {
				values++
			}
			switch {
			case p.Name == "_heard":
				n.heard = tables.Ticks(p.Value.Int())
			case !reserved(p.Name):
				n.is[p.Name] = p.Value.Text()
				n.at = max(n.at, timeOf(p.Value.Text()))
			}
		}
		k.compared(latest, values, e.Size())
	}
	return nil
}

func (n *newest) name() string { return latest }

// timeOf returns the time of a stored value, ["0639…",21.5], or 0.
func timeOf(text string) tables.Ticks {
	var parts []any
	if json.Unmarshal([]byte(text), &parts) != nil || len(parts) < 2 {
		return 0
	}
	at, _ := parts[0].(string)
	t, _ := tables.ParseTicks(at)
	return t
}

// text returns the value as latest has it.
func (v newestValue) text() string {
	b := append([]byte(`["`), v.key.Ticks.String()...)
	b = append(b, `",`...)
	if v.value.IsText {
		b, _ = jsontext.AppendQuote(b, v.value.Text)
	} else {
		b = strconv.AppendFloat(b, v.value.Number, 'g', -1, 64)
	}
	if v.value.Doubtful {
		b = append(b, `,"doubtful"`...)
	}
	return string(append(b, ']'))
}

func (n *newest) row(p *pipe, r *reading) error {
	if r.key.Ticks >= p.floor {
		got := int64(0)
		if r.key.Ticks <= max(n.at, n.heard) {
			got = 1
		}
		p.counted(schema.DayOf(r.key.Ticks), latest, got, 1)
	}
	if len(r.values) == 0 {
		n.without = r.key.Ticks
		return nil
	}
	n.last = r.key.Ticks
	for _, v := range r.values {
		long := v.long(r.key.Suffix)
		was := n.sensors[v.Sensor]
		n.sensors[v.Sensor] = newestValue{r.key, v, was.long || long, was.short || !long}
	}
	return nil
}

// crowded reports whether there may be more values than latest has room for: it then has the newest.
func (n *newest) crowded() bool {
	room, others := 0, 0
	for name, v := range n.sensors {
		both := 0
		if v.long {
			both += 16 + len(name) + mostText + mostSuffix
		}
		if v.short {
			both += 16 + len(name) + longText
		}
		room += both
	}
	for name := range n.is {
		if _, is := n.sensors[name]; !is {
			others++
			room += 32 + 2*len(name) + mostText + mostSuffix + longText
		}
	}
	return len(n.sensors)+others > mostSensors || room > roomOfRow
}

// finish compares the values that are not older than the range. Where the range ends before the checkpoint, the
// newest may be of later rows.
func (n *newest) finish(_ context.Context, p *pipe) error {
	if tables.TicksBefore(p.track.Checkpoint) >= p.to {
		for _, c := range p.counts {
			if c.Output == latest {
				c.Rows = c.Want
			}
		}
		return nil
	}
	if p.member.Spans.End() != 0 { // what a device is now concerns its tenant alone
		p.compareEnded(n)
		return nil
	}
	from := max(p.from, p.floor)
	crowded := n.crowded()
	oldest := max(n.last, n.at).Add(-mostAge)
	for name, is := range n.is {
		at := timeOf(is)
		if v, has := n.sensors[name]; at >= from && !has || has && v.text() != is && max(at, v.key.Ticks) >= from {
			want := "absent"
			if has {
				want = v.text()
			}
			p.differLatest(name, is, want, max(at, v.key.Ticks), crowded && has && v.key.Ticks <= at)
		}
	}
	for name, v := range n.sensors {
		if _, is := n.is[name]; !is && v.key.Ticks >= max(from, oldest) {
			p.differLatest(name, "absent", v.text(), v.key.Ticks, crowded)
		}
	}
	want := n.without
	if want <= max(n.last, n.at) || want < from {
		want = 0
	}
	if n.heard != want && max(n.heard, want) >= from {
		p.differLatest("_heard", heardText(n.heard), heardText(want), max(n.heard, want), false)
	}
	return nil
}

// heardText returns the time of a reading without values.
func heardText(at tables.Ticks) string {
	if at == 0 {
		return "absent"
	}
	return at.String()
}

func (p *pipe) compareEnded(n *newest) {
	for name, is := range n.is {
		p.differLatest(name, is, "absent: the device belongs to another tenant", timeOf(is), false)
	}
	maps.DeleteFunc(p.counts, func(at place, _ *Count) bool { return at.output == latest })
}

// differLatest notes a difference of a newest value. Anything that is still to be folded may change it.
func (p *pipe) differLatest(sensor, is, want string, at tables.Ticks, crowded bool) {
	if !p.Values && is != "absent" && want != "absent" && timeOf(is) == timeOf(want) {
		return
	}
	d := difference{output: latest, sensor: sensor, is: is, want: want, from: at, to: at + 1}
	if crowded {
		d.reason = Crowded
	} else if why := p.pending(); why != "" {
		d.reason = why
	}
	p.differ(d)
}

// pending returns why an output that depends on all rows may differ: something is still to be folded, anywhere.
func (p *pipe) pending() Reason {
	d := difference{from: 0, to: tables.MaxTicks}
	why := p.explain(&d)
	if why == Unknown && slices.ContainsFunc(p.track.days, func(d days) bool { return d.why != 0 }) {
		why = Refold
	}
	if why == Unknown {
		return ""
	}
	return why
}
