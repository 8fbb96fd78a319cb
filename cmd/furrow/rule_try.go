package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/lab/simulate"
	"furrow/jobs/fold"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func ruleTryCommand() *cli.Command {
	return &cli.Command{
		Name:      "try",
		Usage:     "List the incidents that a rule would have opened in stored readings",
		ArgsUsage: "RULE",
		Description: `Reads the readings of the devices that the rule matches, as if each had been found at its own time. Nothing is
changed. A device is watched from its first reading, or from the start of the span. Readings before the span are not
known to the rule, so a rate needs a while to begin.` + examples(
			"rule try overheating --last 30d", "rule try overheating --config site.yaml --device pump-7"),
		Flags: append(storageFlags(), ruleConfigFlag(),
			&cli.StringFlag{Name: "device", DefaultText: "all", Usage: "Only `DEVICE`"},
			&cli.StringFlag{Name: "prefix", DefaultText: "all", Usage: "Only devices whose IDs start with `PREFIX`"},
			&cli.StringFlag{Name: "tenant", DefaultText: "all", Usage: "Only devices of `TENANT`"},
			&cli.StringFlag{Name: "last", Value: "7d", Usage: "`DURATION` until now"},
			listFlags()[0], listFlags()[1]),
		Action: ruleTry,
	}
}

func ruleTry(c *cli.Context) error {
	last, err := schema.ParseDuration(c.String("last"))
	if err != nil || last <= 0 {
		return usagef(c, "--last %q; give a duration such as 7d", c.String("last"))
	}
	loaded, r, _, err := namedRule(c)
	if err != nil {
		return err
	}
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	stated, err := s.enrollments().StatedIntervals(c.Context)
	if err != nil {
		return err
	}
	f, to := s.reader(), tables.TicksOf(time.Now())
	span := query.Span{From: max(0, to.Add(-last)), To: to}
	selected := query.DeviceSelector{Device: schema.DeviceID(c.String("device")), Prefix: c.String("prefix"),
		Tenant: schema.Tenant(c.String("tenant"))}
	t := trial{config: loaded, rule: r}
	found := func(yield func(trialLine, error) bool) {
		for m, err := range f.Devices().Members(c.Context, selected) {
			if err != nil {
				yield(trialLine{}, err)
				return
			}
			own, known := span, fold.Known{New: true}
			if _, known.Heard, err = f.Rows().Before(c.Context, m, span.From); err != nil {
				yield(trialLine{}, err)
				return
			}
			if known.Heard > 0 {
				known.New = false
			} else { // its registration is taken to be the last change of its membership
				own.From = min(max(span.From, m.Written), span.To)
			}
			readings := f.Rows().Readings(c.Context, query.Question{Scope: query.ScopeOf(m), Span: span})
			samples := func(yield func(fold.Sample, error) bool) {
				sensors := loaded.Model(m).Meant()
				for reading, err := range readings {
					var sample fold.Sample
					if err == nil {
						if sample, err = reading.Sample(&sensors); err != nil {
							continue // a job would reject the row
						}
					}
					if !yield(sample, err) {
						return
					}
				}
			}
			known.Every = cmp.Or(loaded.Model(m).Every, stated[m.Enrollment])
			if !t.device(m, known, samples, own, yield) {
				return
			}
		}
	}
	return t.answer(c, found)
}

func ruleTestCommand() *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "List the incidents that a rule would open in the readings of a file",
		ArgsUsage: "RULE FILE",
		Description: `The file is one of furrow simulate --replay: CSV or JSON lines, with a device, a time and sensors; - is standard
input. Columns that say one thing of a device are its labels.` + examples(
			"rule test overheating readings.csv", "rule test overheating readings.csv --config site.yaml --json"),
		Flags: append(storageFlags(), ruleConfigFlag(),
			&cli.StringFlag{Name: "device-column", DefaultText: "guessed", Usage: "`COLUMN` that names the device"},
			&cli.StringFlag{Name: "time-column", DefaultText: "guessed", Usage: "`COLUMN` with the time of a reading"},
			&cli.StringFlag{Name: "columns", DefaultText: "all other columns",
				Usage: "`COLUMNS` that hold sensors, separated by commas"},
			&cli.StringFlag{Name: "tenant", DefaultText: "replay", Usage: "`TENANT` that owns the devices"},
			listFlags()[0], listFlags()[1]),
		Action: ruleTest,
	}
}

func ruleTest(c *cli.Context) error {
	loaded, r, _, err := namedRule(c)
	if err != nil {
		return err
	}
	rec, _, err := readRecording(c, c.Args().Get(1), time.Now())
	if err != nil {
		return err
	}
	span := query.Span{From: tables.TicksOf(rec.Oldest), To: tables.TicksOf(rec.Newest) + 1}
	t := trial{config: loaded, rule: r}
	return t.answer(c, func(yield func(trialLine, error) bool) {
		for _, m := range rec.Members(0) {
			member := schema.Member{Device: m.ID, Tenant: m.Tenant, Site: m.Site, Labels: m.Labels,
				Month: schema.MonthOf(m.Deployed, 0)}
			sensors := loaded.Model(member).Meant()
			var samples []fold.Sample
			for s := range rec.Sendings(m, 0) {
				sample, err := sampleOf(&sensors, member, s)
				if err != nil {
					yield(trialLine{}, err)
					return
				}
				samples = append(samples, sample)
			}
			slices.SortStableFunc(samples, func(a, b fold.Sample) int { return a.Key.Compare(b.Key) }) // as storage has them
			own := span
			if len(samples) > 0 {
				own.From = samples[0].Key.Ticks
			}
			known := fold.Known{Every: loaded.Model(member).Every, New: true}
			if !t.device(member, known, query.Records(samples, nil), own, yield) {
				return
			}
		}
	})
}

// sampleOf returns the sample of a reading of a file.
func sampleOf(sensors *fold.Sensors, m schema.Member, s simulate.Sending) (fold.Sample, error) {
	e := tables.Entity{}
	for name, v := range s.Reading.Values {
		switch of := v.(type) {
		case nil:
		case float64:
			e.Set(name, tables.Double(of))
		case bool:
			e.Set(name, tables.Boolean(of))
		case string:
			e.Set(name, tables.String(of))
		default:
			text, err := json.Marshal(of)
			if err != nil {
				return fold.Sample{}, err
			}
			e.Set(name, tables.String(string(text)))
		}
	}
	sample, _ := sensors.Sample(schema.Reading{Device: m.Device, Properties: e.Properties,
		Key: schema.RowKey{Ticks: tables.TicksOf(s.Reading.Time)}})
	return sample, nil
}

// A trial counts what a rule does to devices.
type trial struct {
	config             *config.Config
	rule               *rules.Rule
	devices, incidents int
}

// device yields the incidents of a device.
func (t *trial) device(
	m schema.Member, known fold.Known, samples iter.Seq2[fold.Sample, error], span query.Span,
	yield func(trialLine, error) bool,
) (goOn bool) {
	c := &rules.Config{Rules: []rules.Rule{*t.rule}}
	fold := c.Fold(fold.Setup{Sensors: t.config.Model(m).Meant(), Model: t.config.Model(m).Name}).(*rules.Fold)
	if !fold.Watches(m) {
		return true
	}
	t.devices++
	var open *trialLine
	flush := func() bool {
		if open == nil {
			return true
		}
		r := *open
		open = nil
		t.incidents++
		return yield(r, nil)
	}
	for one, err := range fold.Replay(m, known, samples, span.From, span.To) {
		switch {
		case err != nil:
			yield(trialLine{}, err)
			return false
		case one.What == schema.Opened:
			if !flush() {
				return false
			}
			open = &trialLine{ID: one.ID.String(), Device: one.ID.Device, Opened: one.At.Time(), Since: one.Since.Time(),
				Value: one.Value, Text: one.Text}
		case one.What == schema.Closed && open != nil:
			open.Closed, open.Reason = new(one.At.Time()), one.Reason
		case one.What == schema.Reopened && open != nil:
			open.Closed, open.Reason = nil, ""
		}
	}
	return flush()
}

func (t *trial) answer(c *cli.Context, found iter.Seq2[trialLine, error]) error {
	err := answer(c, found, func() (string, error) { return "no incident", nil })
	fmt.Fprintf(c.App.ErrWriter, "furrow: rule %s: %s of %s\n", t.rule.Name, many(int64(t.incidents), "incident"),
		many(int64(t.devices), "device"))
	return err
}

// A trialLine is an incident that a rule would open.
type trialLine struct {
	ID     string          `json:"id"`
	Opened time.Time       `json:"opened" column:"opened"`
	Closed *time.Time      `json:"closed,omitempty" column:"closed"` // without it, it would be open still
	Device schema.DeviceID `json:"device" column:"device"`
	Since  time.Time       `json:"since"` // when the rule began to hold
	Value  string          `json:"value,omitempty"`
	Text   string          `json:"text" column:"text"`
	Reason string          `json:"reason,omitempty" column:"reason"` // of closing, if it is not in the readings
}
