package main

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/jobs/fold"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

func modelTryCommand() *cli.Command {
	return &cli.Command{
		Name:      "try",
		Usage:     "Show what the newest rows of a device become with a configuration that is not applied yet",
		ArgsUsage: "[GENERATION|FILE]",
		Description: `Prints each value of the newest rows, and the sensor that it is: kept, renamed, ignored, missing, a
heartbeat, or rejected and why. Without an argument it tries the current configuration. Nothing is changed.` + examples(
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
	id, err := parsed(c, "device", schema.ParseDeviceID)
	if err != nil {
		return err
	}
	scope, err := s.reader().Devices().ScopeOfDevice(c.Context, string(id))
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
	return s.reader().Rows().Tail(c.Context, held.Config.Pipelines[0].Name, q), nil
}

func nameOrNone(m *config.Model) string {
	if m.Name == "" {
		return "no model"
	}
	return "model " + m.Name
}

// A triedLine is what became of a value of a row.
type triedLine struct {
	Time     time.Time `json:"time,omitzero" column:"time,exact"`
	Property string    `json:"property,omitempty" column:"property"`
	Value    any       `json:"value,omitempty" column:"value"` // as sent; absent if only the reason is known
	Sensor   string    `json:"sensor,omitempty" column:"sensor"`
	Becomes  any       `json:"becomes,omitempty" column:"becomes"`
	// kept, renamed, ignored, missing, quality, heartbeat, or rejected and why
	Outcome string `json:"outcome" column:"outcome"`
	Row     string `json:"row" column:"row"`
}

// Outcomes of a value.
const (
	valueKept      = "kept"
	valueRenamed   = "renamed"
	valueIgnored   = "ignored"
	valueMissing   = "missing"
	valueQuality   = "quality"
	valueHeartbeat = "heartbeat"
	valueRejected  = "rejected"
)

// tried yields what becomes of the values of rows.
func tried(m *config.Model, rows iter.Seq2[query.Reading, error]) iter.Seq2[triedLine, error] {
	sensors := m.Meant()
	return func(yield func(triedLine, error) bool) {
		for r, err := range rows {
			if err != nil {
				yield(triedLine{}, err)
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

func triedRow(sensors *fold.Sensors, r query.Reading) (all []triedLine) {
	one := func(name, outcome string) triedLine {
		l := triedLine{Row: r.Row, Property: name, Outcome: outcome}
		if r.Time != 0 {
			l.Time = r.Time.Time()
		}
		return l
	}
	reading, err := r.Read()
	if err != nil {
		return []triedLine{one("", valueRejected+": "+err.Error())}
	}
	explained, sample, refused := sensors.Explain(reading)
	for _, e := range explained {
		v := one(e.Property, valueIgnored)
		v.Value = answers.ValueOf(e.Value)
		switch {
		case e.Quality:
			v.Outcome = valueQuality
		case e.Missing:
			v.Outcome = valueMissing
		case e.Became != nil && len(sample.Values) == 0:
			v.Outcome = valueHeartbeat
		case e.Became != nil:
			v.Sensor, v.Becomes, v.Outcome = e.Became.Sensor, e.Became.State, valueKept
			if e.Became.Is == fold.Number {
				v.Becomes = e.Became.Number
			}
			if v.Sensor != v.Property {
				v.Outcome = valueRenamed
			}
		}
		all = append(all, v)
	}
	for _, refusal := range refused {
		all = append(all, one(refusal.Sensor, valueRejected+": "+refusal.Reason))
	}
	return all
}

// A trySum counts rows, and values by outcome.
type trySum struct {
	rows int
	by   map[string]int
}

func (s *trySum) count(values iter.Seq2[triedLine, error]) iter.Seq2[triedLine, error] {
	row := ""
	s.by = map[string]int{}
	return func(yield func(triedLine, error) bool) {
		for v, err := range values {
			if err == nil && v.Row != row {
				row = v.Row
				s.rows++
			}
			outcome, _, _ := strings.Cut(v.Outcome, ":") // why a value is rejected
			if s.by[outcome]++; !yield(v, err) {
				return
			}
		}
	}
}

func (s trySum) String() string {
	return fmt.Sprintf("%s; values kept %d, renamed %d, ignored %d, missing %d, of heartbeats %d, rejected %d",
		many(int64(s.rows), "row"), s.by[valueKept], s.by[valueRenamed], s.by[valueIgnored], s.by[valueMissing],
		s.by[valueHeartbeat], s.by[valueRejected])
}
