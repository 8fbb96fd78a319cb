package model

import (
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/rate"
	"furrow/jobs/retain"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A Pipeline is what the model knows of a configured pipeline. What it can show follows from what the
// pipeline's processors write.
type Pipeline struct {
	Name    schema.Pipeline
	Cadence time.Duration
	Settle  time.Duration                     // rows that are younger wait
	Tables  []string                          // that its processors write
	Watches []Rule                            // by which incidents are opened and closed
	Stored  time.Time                         // when its configuration was; zero: it is not stored
	Windows []schema.Window                   // sizes of the rollups that a processor writes
	Reports []schema.Window                   // those of them that are reported
	By      []schema.By                       // what is reported together
	Sensors func(schema.Member) *fold.Sensors // what a device's rows mean; nil: nothing is known
	// Unit returns the unit of a sensor in the models of these names, or in all if none is given; empty where they
	// differ. nil: none is known.
	Unit    func(sensor string, models ...string) string
	Model   func(schema.Member) string        // name of a device's model; nil: there are none
	Every   func(schema.Member) time.Duration // interval between readings that a device's model states; nil: none
	Budget  float64                           // US dollars a month of all pipelines; zero: none
	Keep    []retain.Keep                     // what it deletes; none: it folds
	Archive bool                              // it keeps tables of the readings
	// Verifies says that the scheduler verifies samples of the devices.
	Verifies bool
}

// Writes reports whether a processor of the pipeline writes a table, named without a prefix.
func (p Pipeline) Writes(table string) bool { return slices.Contains(p.Tables, table) }

// Configured are the pipelines of all accounts, as the newest known configuration has them: what they write says what
// can be asked.
type Configured []Pipeline

// units returns what knows the units of a model's sensors and remembers them, for the many rows of an answer.
func (c Configured) units() func(model string) *query.Model {
	known := map[[2]string]string{}
	return func(model string) *query.Model {
		return &query.Model{Unit: func(sensor string) string {
			key := [2]string{model, sensor}
			unit, is := known[key]
			if !is {
				unit = c.unit(sensor, model)
				known[key] = unit
			}
			return unit
		}}
	}
}

// unit returns the unit of a sensor in models, or in all, from the first pipeline that has one.
func (c Configured) unit(sensor string, models ...string) string {
	if sensor, is := Rated(sensor); is {
		return c.unit(sensor, models...) + perHour
	}
	for _, p := range c {
		if p.Unit == nil {
			continue
		}
		if u := p.Unit(sensor, models...); u != "" {
			return u
		}
	}
	return ""
}

// Writes reports whether a pipeline writes a table.
func (c Configured) Writes(table string) bool {
	return slices.ContainsFunc(c, func(p Pipeline) bool { return p.Writes(table) })
}

// Rule returns the rule of a name; the zero Rule where it is no longer configured.
func (c Configured) Rule(name string) (r Rule) {
	for _, p := range c {
		for _, r := range p.Watches {
			if r.Name == name {
				return r
			}
		}
	}
	return Rule{}
}

// RulesOf returns the rules that can watch devices of a tenant, or of any, and since when they are configured like
// this; the zero time where that is not known.
func (c Configured) RulesOf(tenant string) (all []Rule, since time.Time) {
	for _, p := range c {
		for _, r := range p.Watches {
			if (tenant == "" || len(r.Tenants) == 0 || slices.Contains(r.Tenants, tenant)) &&
				!slices.ContainsFunc(all, func(other Rule) bool { return other.Name == r.Name }) {
				all = append(all, r)
			}
		}
		if len(p.Watches) > 0 {
			since = p.Stored
		}
	}
	return all, since
}

// HasArchive reports whether a pipeline keeps an archive.
func (c Configured) HasArchive() bool {
	return slices.ContainsFunc(c, func(p Pipeline) bool { return p.Archive })
}

// HasRetention reports whether anything is deleted in the end.
func (c Configured) HasRetention() bool {
	return slices.ContainsFunc(c, func(p Pipeline) bool { return len(p.Keep) > 0 })
}

// Verifies reports whether the scheduler verifies samples.
func (c Configured) Verifies() bool {
	return slices.ContainsFunc(c, func(p Pipeline) bool { return p.Verifies })
}

// ReportsTenants reports whether there are reports by tenant, which costs and summaries need.
func (c Configured) ReportsTenants() bool {
	_, by := c.reports()
	return slices.Contains(by, schema.ByTenant)
}

// Compared returns what groups of a tenant can be side by side.
func (c Configured) Compared() []schema.By {
	_, all := c.reports()
	return slices.DeleteFunc(slices.Clone(all), func(by schema.By) bool { return by == schema.ByTenant })
}

// compared returns what is side by side; empty: nothing is reported but tenants.
func (c Configured) compared(by schema.By) (schema.By, error) {
	all := c.Compared()
	switch {
	case by != "" && !slices.Contains(all, by):
		return "", queryErrorf("there are no reports by %s to compare; there are reports by %s", by, joined(all))
	case by != "":
		return by, nil
	case slices.Contains(all, schema.BySite):
		return schema.BySite, nil
	case len(all) > 0:
		return all[0], nil
	}
	return "", nil
}

// longestReported returns the longest window that is at most a day, or auto.
func (c Configured) longestReported() string {
	windows, _ := c.reports()
	for _, w := range slices.Backward(windows) {
		if w <= schema.Daily {
			return w.String()
		}
	}
	return auto
}

// reports returns the windows that are reported, and what is reported together.
func (c Configured) reports() (windows []schema.Window, by []schema.By) {
	for _, p := range c {
		if windows = append(windows, p.Reports...); len(p.Reports) > 0 {
			by = p.By
		}
	}
	slices.Sort(windows)
	return slices.Compact(windows), by
}

// reportedWindow returns the window that is asked for.
func (c Configured) reportedWindow(by schema.By, text string, span query.Span) (schema.Window, error) {
	windows, all := c.reports()
	switch {
	case len(windows) == 0:
		return 0, queryErrorf("no reports are configured: add reports: {windows: [1h, 1d], by: [%s]} to the "+
			"configuration", by)
	case !slices.Contains(all, by):
		return 0, queryErrorf("there are no reports by %s; there are reports by %s", by, joined(all))
	case text == "" || text == auto:
		return query.Choose(windows, span.Length()), nil
	}
	w, err := schema.ParseWindow(text)
	if err != nil || !slices.Contains(windows, w) {
		return 0, queryErrorf("there are no reports of %q; there are reports of %s", text, joined(windows))
	}
	return w, nil
}

// windows returns the windows of all pipelines, the shortest first.
func (c Configured) windows() (all []schema.Window) {
	for _, p := range c {
		all = append(all, p.Windows...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// SeriesWindows returns what SeriesQuery.Window may be.
func (c Configured) SeriesWindows() []string { return windowNames(c.windows(), auto, raw) }

// windowNear returns the longest window that is at most w, or the shortest one.
func (c Configured) windowNear(w schema.Window) (schema.Window, bool) {
	all := c.windows()
	if len(all) == 0 {
		return 0, false
	}
	best := all[0]
	for _, other := range all {
		if other <= w {
			best = other
		}
	}
	return best, true
}

// chosenWindow returns the window that is asked for.
func (c Configured) chosenWindow(text string, span query.Span) (schema.Window, error) {
	windows := c.windows()
	if len(windows) == 0 {
		return 0, queryErrorf("no pipeline keeps windows: add the processor rollup, or ask for /v1/devices/{id}/readings")
	}
	if text == "" || text == auto {
		return query.Choose(windows, span.Length()), nil
	}
	return windowNamed(text, windows, auto, WindowNewest)
}

// windowNamed returns the window of a name. Others are what may be asked for besides.
func windowNamed(text string, windows []schema.Window, others ...string) (schema.Window, error) {
	w, err := schema.ParseWindow(text)
	if err != nil || !slices.Contains(windows, w) {
		return 0, queryErrorf("there is no window %q; there are %s", text, joined(windowNames(windows, others...)))
	}
	return w, nil
}

// windowNames returns the names of windows after others.
func windowNames(windows []schema.Window, others ...string) []string {
	for _, w := range windows {
		others = append(others, w.String())
	}
	return others
}

// windowFor returns the window that a query asks for; zero means single readings.
func (c Configured) windowFor(q SeriesQuery) (schema.Window, error) {
	span, from, to := q.To.Sub(q.From), q.From.Format(time.RFC3339), q.To.Format(time.RFC3339)
	if span <= 0 {
		return 0, queryErrorf("from must be before to: swap them")
	}
	_, isRate := Rated(q.Sensor)
	windows, others := c.windows(), []string{auto, raw}
	if isRate {
		windows, others = rate.Windows(), []string{auto}
	}
	switch {
	case q.Window == raw && !isRate:
		return 0, nil
	case q.Window == "" || q.Window == auto:
		w := shortest(windows, span)
		if len(windows) == 0 || !isRate && int64(span/time.Duration(windows[0])) <= fewPoints {
			return 0, nil
		}
		if w == 0 {
			return 0, queryErrorf("from %s to %s there are more than %d windows of any size: ask for a shorter time", from, to,
				maxPoints)
		}
		return w, nil
	}
	w, err := windowNamed(q.Window, windows, others...)
	if err != nil {
		return 0, err
	}
	if int64(span/time.Duration(w)) > maxPoints {
		return 0, queryErrorf("from %s to %s there are more than %d windows of %s: ask for a shorter time or a longer window",
			from, to, maxPoints, w)
	}
	return w, nil
}
