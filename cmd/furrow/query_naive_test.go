package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A naiveRow has the values of sensors: numbers and texts.
type naiveRow map[string]any

// naiveModel returns the model of a device, what a row means to it, and the units of its sensors.
func naiveModel(d schema.Device) (name string, of func(tables.Entity) naiveRow, units map[string]string) {
	if d.Model != "" {
		name = d.Model
	} else if d.Labels["class"] == "Fryer" {
		name = "fryer"
	}
	units = map[string]map[string]string{"fryer": {"oil": "°F", "battery": "V"}, "probe": {"temp": "°C"}}[name]
	return name, func(e tables.Entity) naiveRow {
		row := naiveRow{}
		for _, p := range e.Properties {
			sensor, value := p.Name, any(p.Value.String())
			if n, err := strconv.ParseFloat(p.Value.String(), 64); err == nil {
				value = n
			}
			if p.Value.Type() == tables.TypeBoolean {
				value = map[bool]float64{true: 1}[p.Value.Boolean()]
			}
			if name == "fryer" && sensor == "junk" {
				continue
			}
			if name == "fryer" && sensor == "data_oil" {
				sensor, value = "oil", value.(float64)*2+32
			}
			row[sensor] = value
		}
		return row
	}, units
}

// isNaiveHeartbeat reports whether a row of a model only says that the device lives.
func isNaiveHeartbeat(model string, r naiveRow) bool {
	return model == "fryer" && r["oil"] == nil && r["mode"] == nil
}

// A naiveCondition is a condition as text, and as a function.
type naiveCondition struct {
	text  string
	holds func(r naiveRow, labels map[string]string) bool
}

func randomCondition(random *rand.Rand, depth int, members bool) naiveCondition {
	if depth > 0 && random.IntN(2) > 0 {
		a, b := randomCondition(random, depth-1, members), randomCondition(random, depth-1, members)
		switch random.IntN(3) {
		case 0:
			return naiveCondition{"(" + a.text + " and " + b.text + ")", func(r naiveRow, l map[string]string) bool {
				return a.holds(r, l) && b.holds(r, l)
			}}
		case 1:
			return naiveCondition{"(" + a.text + " or " + b.text + ")", func(r naiveRow, l map[string]string) bool {
				return a.holds(r, l) || b.holds(r, l)
			}}
		}
		return naiveCondition{"not (" + a.text + ")", func(r naiveRow, l map[string]string) bool { return !a.holds(r, l) }}
	}
	sensor := []string{"oil", "data_oil", "temp", "battery", "junk", "s229", "nothing"}[random.IntN(7)]
	if members && random.IntN(2) > 0 {
		sensor += []string{".min", ".max", ".count", ".sum", ".first", ".last", ".mean"}[random.IntN(7)]
	}
	n := float64(random.IntN(8)) / 2
	if strings.HasPrefix(sensor, "oil") {
		n = n*2 + 32
	}
	number := func(holds func(v float64) bool) func(naiveRow, map[string]string) bool {
		return func(r naiveRow, _ map[string]string) bool { v, is := r[sensor].(float64); return is && holds(v) }
	}
	switch random.IntN(8) {
	case 0:
		return naiveCondition{fmt.Sprint(sensor, " > ", n), number(func(v float64) bool { return v > n })}
	case 1:
		return naiveCondition{fmt.Sprint(n, " >= ", sensor), number(func(v float64) bool { return n >= v })}
	case 2:
		return naiveCondition{fmt.Sprint(sensor, " != ", n), func(r naiveRow, _ map[string]string) bool {
			return r[sensor] != n
		}}
	case 3:
		return naiveCondition{sensor + " == nil", func(r naiveRow, _ map[string]string) bool { return r[sensor] == nil }}
	case 4:
		return naiveCondition{`mode in ["open", "ajar"]`, func(r naiveRow, _ map[string]string) bool {
			return r["mode"] == "open" || r["mode"] == "ajar"
		}}
	case 5:
		return naiveCondition{`labels.class startsWith "F"`, func(_ naiveRow, l map[string]string) bool {
			return l["class"] == "Fryer"
		}}
	case 6:
		return naiveCondition{`labels.floor == nil`, func(_ naiveRow, l map[string]string) bool { return l["floor"] == "" }}
	}
	return naiveCondition{fmt.Sprintf("abs(%s) * 2 == %v", sensor, 2*n), number(func(v float64) bool { return v == n })}
}

// A naiveQuery is a random question, and how it selects.
type naiveQuery struct {
	kind    string
	args    []string
	devices func(schema.Device) bool
	where   naiveCondition
	sensors []string // none: all
	from    string   // row key
}

func randomQuery(f *fixture, random *rand.Rand) naiveQuery {
	q := naiveQuery{kind: []string{"--latest", "--window=1h", "--raw", "--states"}[random.IntN(4)], from: "0",
		where: naiveCondition{holds: func(naiveRow, map[string]string) bool { return true }}}
	q.args = []string{q.kind, "--format=csv"}
	scope := random.IntN(4)
	switch scope {
	case 0:
		id := f.devices[random.IntN(len(f.devices))].ID
		q.args = append(q.args, string(id))
		q.devices = func(d schema.Device) bool { return d.ID == id }
	case 1:
		q.args = append(q.args, "--prefix=d1")
		q.devices = func(d schema.Device) bool { return strings.HasPrefix(string(d.ID), "d1") }
	default:
		q.args = append(q.args, "--tenant=north")
		q.devices = func(d schema.Device) bool { return d.Tenant == "north" }
	}
	only := func(holds func(schema.Device) bool, args ...string) {
		before := q.devices
		q.args, q.devices = append(q.args, args...), func(d schema.Device) bool { return before(d) && holds(d) }
	}
	if scope > 0 && random.IntN(3) == 0 {
		only(func(d schema.Device) bool { return d.Site == "quay's" }, "--site=quay's")
	}
	if scope > 0 && random.IntN(3) == 0 {
		only(func(d schema.Device) bool { return d.Labels["class"] == "Probe" && d.Labels["floor"] == "2" },
			"--label=floor=2", "--label=class=Probe")
	}
	if scope > 0 && random.IntN(3) == 0 {
		only(func(d schema.Device) bool { name, _, _ := naiveModel(d); return name == "fryer" }, "--model=fryer")
	}
	if random.IntN(3) == 0 {
		q.sensors = []string{"battery", "mode", "s001"}
		q.args = append(q.args, "--sensors=battery,mode,s001")
	}
	if q.kind != "--latest" {
		from := f.begin
		if random.IntN(2) == 0 {
			from = f.begin.Add(time.Duration(random.IntN(50)) * time.Hour)
		}
		q.from = tables.TicksOf(from).String()
		q.args = append(q.args, "--from", from.Format(time.RFC3339), "--to", f.end.Format(time.RFC3339))
	}
	if q.kind != "--states" && random.IntN(4) > 0 {
		q.where = randomCondition(random, 2, q.kind == "--window=1h")
		q.args = append(q.args, "--where", q.where.text)
	}
	return q
}

func (q naiveQuery) wants(sensor string) bool {
	return len(q.sensors) == 0 || slices.Contains(q.sensors, sensor)
}

// answer filters everything that there is. Each line is a device, what tells the record, and a sensor with its value
// and unit.
func (q naiveQuery) answer(f *fixture) (lines []string) {
	for _, d := range f.devices {
		if !q.devices(d) {
			continue
		}
		name, row, units := naiveModel(d)
		line := func(of, sensor string, value any) {
			if q.wants(sensor) {
				lines = append(lines, fmt.Sprintf("%s|%s|%s=%v%s", d.ID, of, sensor, value, units[sensor]))
			}
		}
		switch q.kind {
		case "--latest":
			newest := naiveRow{}
			for _, e := range f.rows[d.ID] {
				if r := row(e); !isNaiveHeartbeat(name, r) {
					for sensor, v := range r {
						newest[sensor] = v
					}
				}
			}
			if q.where.holds(newest, d.Labels) {
				for sensor, v := range newest {
					line("", sensor, v)
				}
			}
		case "--raw":
			for _, e := range f.rows[d.ID] {
				if e.RowKey >= q.from && q.where.holds(row(e), d.Labels) {
					for _, p := range e.Properties {
						if q.wants(p.Name) {
							lines = append(lines, fmt.Sprintf("%s|%s|%s=%s%s", d.ID, e.RowKey, p.Name, p.Value, units[p.Name]))
						}
					}
				}
			}
		case "--states":
			q.states(f.rows[d.ID], name, row, line)
		default:
			q.buckets(f.rows[d.ID], name, row, d.Labels, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func (q naiveQuery) states(
	rows []tables.Entity, model string, row func(tables.Entity) naiveRow, line func(of, sensor string, value any),
) {
	type state struct {
		value any
		from  string
		n     int
	}
	open := map[string]state{}
	show := func(sensor, to string) {
		if s := open[sensor]; s.value != nil {
			if _, text := s.value.(string); text || len(q.sensors) > 0 {
				line(fmt.Sprint(s.from, "-", to, " ", s.n), sensor, s.value)
			}
		}
	}
	for _, e := range rows {
		r := row(e)
		if e.RowKey < q.from || isNaiveHeartbeat(model, r) {
			continue
		}
		for sensor, v := range r {
			if s := open[sensor]; s.value == v {
				s.n++
				open[sensor] = s
				continue
			}
			show(sensor, e.RowKey)
			open[sensor] = state{v, e.RowKey, 1}
		}
	}
	for sensor := range open {
		show(sensor, "")
	}
}

func (q naiveQuery) buckets(
	rows []tables.Entity, model string, row func(tables.Entity) naiveRow, labels map[string]string,
	line func(of, sensor string, value any),
) {
	hour := func(key string) string {
		ticks, _ := tables.ParseTicks(key)
		return ticks.Time().Truncate(time.Hour).Format(time.RFC3339)
	}
	all := map[string]naiveRow{}
	for _, e := range rows {
		r, at := row(e), hour(e.RowKey)
		if at < hour(q.from) || isNaiveHeartbeat(model, r) {
			continue
		}
		b := all[at]
		if b == nil {
			b = naiveRow{}
			all[at] = b
		}
		for sensor, v := range r {
			n, is := v.(float64)
			if !is {
				continue
			}
			if b[sensor] == nil {
				b[sensor+".min"], b[sensor+".max"], b[sensor+".first"], b[sensor+".count"], b[sensor+".sum"] = n, n, n, 0., 0.
			}
			number := func(member string) float64 { return b[sensor+member].(float64) }
			b[sensor+".count"], b[sensor+".sum"], b[sensor+".last"] = number(".count")+1, number(".sum")+n, n
			b[sensor+".min"], b[sensor+".max"] = min(n, number(".min")), max(n, number(".max"))
			b[sensor] = number(".sum") / number(".count")
			b[sensor+".mean"] = b[sensor]
		}
	}
	for at, b := range all {
		if !q.where.holds(b, labels) {
			continue
		}
		for sensor, mean := range b {
			if !strings.Contains(sensor, ".") {
				line(fmt.Sprint(at, " ", b[sensor+".count"]), sensor, mean)
			}
		}
	}
}

// printed returns the lines of an answer of query, as answer has them.
func (q naiveQuery) printed(t *testing.T, text string) (lines []string) {
	for _, r := range csvRecords(t, text) {
		of, value := r["row"], plain(r["value"]+r["text"])
		switch q.kind {
		case "--latest":
			of = ""
		case "--window=1h":
			of, value = r["time"]+" "+r["count"], r["mean"]
		case "--states":
			key := func(at string) string {
				if at == "" {
					return ""
				}
				moment, err := time.Parse(time.RFC3339Nano, at)
				must(t, err)
				return tables.TicksOf(moment).String()
			}
			of, value = key(r["begin"])+"-"+key(r["end"])+" "+r["readings"], r["state"]
		}
		lines = append(lines, fmt.Sprintf("%s|%s|%s=%s%s", plain(r["device"]), of, r["sensor"], value, r["unit"]))
	}
	slices.Sort(lines)
	return lines
}
