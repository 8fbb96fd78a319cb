package main

import (
	"fmt"
	"iter"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/records"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func modelTryCommand() *cli.Command {
	return &cli.Command{
		Name:      "try",
		Usage:     "Show what the newest rows of a device become with a configuration that is not applied yet",
		ArgsUsage: "[GENERATION|FILE]",
		Description: `Prints each value of the newest rows, and the sensor that it is: kept, renamed, ignored, a heartbeat, or
rejected and why. Without an argument it tries the current configuration. Nothing is changed.` + examples(
			"model try site.yaml --device pump-7",
			"model try site.yaml --device pump-7 --model rig --rows 100"),
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "device", Usage: "`DEVICE` whose rows to take; required"},
			&cli.StringFlag{Name: "model", DefaultText: "the device's", Usage: "`MODEL` to try"},
			&cli.IntFlag{Name: "rows", Value: 10, Usage: "`NUMBER` of rows"},
			boolFlag("json", "Same as --format jsonl"), formatFlag()),
		Action: modelTry,
	}
}

func modelTry(c *cli.Context) error {
	if err := checkAnswer(c); err != nil {
		return err
	}
	if c.String("device") == "" {
		return usagef(c, "name the device with --device, such as --device pump-7")
	}
	if c.Int("rows") < 1 {
		return usagef(c, "--rows is %d; it must be at least 1", c.Int("rows"))
	}
	loaded, err := configurationFor(c)
	if err != nil {
		return err
	}
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	id, err := schema.ParseDeviceID(c.String("device"))
	if err != nil {
		return usagef(c, "--device: %v", err)
	}
	scope, err := s.reader().Device(c.Context, string(id))
	if err != nil {
		return err
	}
	m := loaded.Model(scope.Member())
	if name := c.String("model"); name != "" {
		if m, err = modelNamed(loaded, name); err != nil {
			return err
		}
	}
	rows, err := s.tail(c, query.Question{Scope: scope}, c.Int("rows"))
	if err != nil {
		return err
	}
	var sum trySum
	err = answer(c, sum.count(tried(m, rows)), func() (string, error) { return fmt.Sprintf("no readings of %s", id), nil })
	fmt.Fprintf(c.App.ErrWriter, "furrow: %s: %s\n", nameOrNone(m), sum)
	return err
}

// tail yields the newest readings of the one device of a question. Any pipeline knows about where they are.
func (s *stores) tail(c *cli.Context, q query.Question, n int) (iter.Seq2[query.Reading, error], error) {
	held, err := s.Generations().Holding(c.Context, config.File{})
	if err != nil {
		return nil, err
	}
	q.Limit = n
	return s.reader().Tail(c.Context, held.Config.Pipelines[0].Name, q), nil
}

func nameOrNone(m *config.Model) string {
	if m.Name == "" {
		return "no model"
	}
	return "model " + m.Name
}

// A triedValue is what became of a value of a row.
type triedValue struct {
	row     string
	at      tables.Ticks
	name    string // of the property
	value   any    // as sent; nil if only the reason is known
	sensor  string
	became  any
	outcome string
}

// Outcomes of a value.
const (
	valueKept      = "kept"
	valueRenamed   = "renamed"
	valueIgnored   = "ignored"
	valueQuality   = "quality"
	valueHeartbeat = "heartbeat"
	valueRejected  = "rejected"
)

// tried yields what becomes of the values of rows.
func tried(m *config.Model, rows iter.Seq2[query.Reading, error]) iter.Seq2[triedValue, error] {
	sensors := m.Meant()
	return func(yield func(triedValue, error) bool) {
		for r, err := range rows {
			if err != nil {
				yield(triedValue{}, err)
				return
			}
			for _, v := range triedRow(&sensors, r) {
				if !yield(v, nil) {
					return
				}
			}
		}
	}
}

func triedRow(sensors *fold.Sensors, r query.Reading) (all []triedValue) {
	one := func(name, outcome string) triedValue {
		return triedValue{row: r.Row, at: r.Time, name: name, outcome: outcome}
	}
	reading, err := r.Read()
	if err != nil {
		return []triedValue{one("", valueRejected+": "+err.Error())}
	}
	explained, sample, refused := sensors.Explain(reading)
	for _, e := range explained {
		v := one(e.Property, valueIgnored)
		v.value = e.Value
		switch {
		case e.Quality:
			v.outcome = valueQuality
		case e.Became != nil && len(sample.Values) == 0:
			v.outcome = valueHeartbeat
		case e.Became != nil:
			v.sensor, v.became, v.outcome = e.Became.Sensor, e.Became.State, valueKept
			if e.Became.Is == fold.Number {
				v.became = e.Became.Number
			}
			if v.sensor != v.name {
				v.outcome = valueRenamed
			}
		}
		all = append(all, v)
	}
	for _, refusal := range refused {
		all = append(all, one(refusal.Sensor, valueRejected+": "+refusal.Reason))
	}
	return all
}

func (triedValue) Columns() []string {
	return []string{"time", "property", "value", "sensor", "becomes", "outcome", "row"}
}

func (v triedValue) Lines() [][]any {
	cell := func(of any) any {
		if of == nil {
			return ""
		}
		return of
	}
	return [][]any{{records.Moment(v.at), v.name, cell(v.value), v.sensor, cell(v.became), v.outcome, v.row}}
}

func (v triedValue) Object() any {
	value := v.value
	if sent, ok := v.value.(tables.Value); ok {
		value = records.JSON(sent)
	}
	return triedLine{v.row, records.Moment(v.at).String(), v.name, value, v.sensor, v.became, v.outcome}
}

type triedLine struct {
	Row      string `json:"row"`
	Time     string `json:"time,omitempty"`
	Property string `json:"property,omitempty"`
	Value    any    `json:"value,omitempty"` // as sent
	Sensor   string `json:"sensor,omitempty"`
	Becomes  any    `json:"becomes,omitempty"`
	Outcome  string `json:"outcome"` // kept, renamed, ignored, quality, heartbeat, or rejected and why
}

// A trySum counts values by outcome.
type trySum struct{ rows, kept, renamed, ignored, heartbeats, rejected int }

func (s *trySum) count(values iter.Seq2[triedValue, error]) iter.Seq2[triedValue, error] {
	row := ""
	return func(yield func(triedValue, error) bool) {
		for v, err := range values {
			if err == nil && v.row != row {
				row = v.row
				s.rows++
			}
			switch v.outcome {
			case "", valueQuality:
			case valueKept:
				s.kept++
			case valueRenamed:
				s.renamed++
			case valueIgnored:
				s.ignored++
			case valueHeartbeat:
				s.heartbeats++
			default:
				s.rejected++
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

func (s trySum) String() string {
	return fmt.Sprintf("%s; values kept %d, renamed %d, ignored %d, of heartbeats %d, rejected %d",
		many(int64(s.rows), "row"),
		s.kept, s.renamed, s.ignored, s.heartbeats, s.rejected)
}
