package config

import (
	"slices"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/latest"
	"furrow/jobs/rollup"
	"furrow/tables/schema"
)

// A Processor is one of a pipeline's, with its settings: Latest, Rollup or Archive.
type Processor interface {
	Name() string
	fold() (jobs.Fold, error)
	outputs() []string // what it writes, and no other pipeline may
	settings() any     // those that change its outputs, for a hash
	shown() any        // all of them, for people
	// raw tells whether it copies readings as they are. It makes objects then, no
	// sensor's settings change them, and it is alone in its pipeline.
	raw() bool
}

// Latest keeps the newest value of each sensor.
type Latest struct{}

func (Latest) Name() string             { return "latest" }
func (Latest) fold() (jobs.Fold, error) { return latest.Fold{}, nil }
func (Latest) outputs() []string        { return []string{"latest"} }
func (Latest) raw() bool                { return false }
func (Latest) settings() any            { return nil }
func (Latest) shown() any               { return struct{}{} }

// Rollup keeps aggregates of windows of time, which are in their order.
type Rollup rollup.Config

func defaultRollup() Rollup {
	return Rollup{Windows: []schema.Window{schema.Minute, schema.Hour, schema.Daily}}
}

func (Rollup) Name() string               { return "rollup" }
func (p Rollup) fold() (jobs.Fold, error) { return rollup.New(rollup.Config(p)) }
func (Rollup) raw() bool                  { return false }
func (p Rollup) settings() any            { return p.windows() }
func (p Rollup) shown() any               { return map[string][]string{"windows": p.windows()} }

func (p Rollup) outputs() (all []string) {
	for _, w := range p.windows() {
		all = append(all, "rollup "+w)
	}
	return all
}

func (p Rollup) windows() (all []string) {
	for _, w := range slices.Sorted(slices.Values(p.Windows)) {
		all = append(all, w.String())
	}
	return all
}

// Archive keeps raw readings, an object for each device and closed day. It is
// alone in its pipeline, as it reads all readings of a day once more.
type Archive archive.Config

func defaultArchive() Archive { return Archive{CloseAfter: time.Hour} }

func (Archive) Name() string               { return "archive" }
func (p Archive) fold() (jobs.Fold, error) { return archive.New(archive.Config(p)) }
func (Archive) outputs() []string          { return []string{"archive"} }
func (Archive) raw() bool                  { return true }
func (Archive) settings() any              { return nil } // when a day is closed changes no object
func (p Archive) shown() any {
	return map[string]string{"closeAfter": schema.FormatDuration(p.CloseAfter)}
}
