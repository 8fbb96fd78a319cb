package archive

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// Processor keeps readings in tables of files.
var Processor = &fold.Processor{
	Name:     "archive",
	Summary:  "a Delta table of each tenant's readings, which polars, Spark and DuckDB read",
	Formats:  []int{1},
	MaxState: maxState,
	Marks:    true,
	Beside:   "tables of the archive",
	New: func() fold.Config {
		return &Config{Format: "delta", CloseAfter: time.Hour, Every: Daily,
			Versions: 24 * time.Hour}
	},
}

// How often there are files.
const (
	Daily  = "1d"
	Hourly = "1h"
)

// A Config says what tables there are, and when a day is over.
type Config struct {
	// Format is that of tables. Earlier releases had a choice: what they call jsonl or parquet is delta now.
	Format string `yaml:"format" choice:"delta jsonl parquet" hash:"changed"`
	// CloseAfter is how long after its end a day stays open, so that late rows seldom cost another file. It changes no
	// row.
	CloseAfter time.Duration `yaml:"closeAfter" least:"1s" most:"31d" hash:"-"`
	// Every is how often there are files: those of a day, or of each hour until the day's replace them.
	Every string `yaml:"every" choice:"1d 1h" hash:"-"`
	// Versions is how long earlier versions of tables can be read. Those of reports can as long as reports are kept.
	Versions time.Duration `yaml:"versions" least:"24h" most:"366d" hash:"-"`
	// Columns about devices that tables have. Where they change, everything is made again, and nothing is folded.
	Columns []string `yaml:"columns" want:"a list of site and labels.NAME, such as [site, labels.class]" hash:"-"`
	// Rollups are windows whose buckets have tables, too. Where they change, everything is made again.
	Rollups []schema.Window `yaml:"rollups" want:"a list of windows, such as [1h, 1d]" hash:"-"`
}

// Check refuses a day that closes before it ends.
func (c *Config) Check() error {
	if c.CloseAfter < 0 {
		return fmt.Errorf("closeAfter %v: a day cannot be closed before it ends", c.CloseAfter)
	}
	slices.Sort(c.Rollups)
	return About(c.Columns).check()
}

// Fold returns the fold of a checked configuration.
func (c *Config) Fold(fold.Setup) fold.Fold { return &marking{c.CloseAfter, c.Every == Hourly} }

// Format is that of the fleet from which on there are tables: no worker of an earlier release can run then.
const Format = 2

// Grouping returns what makes the days that the marks of a pipeline ask for.
func (c *Config) Grouping(p *groups.Source, s *Store) *Tables {
	made := &Tables{Contents: Contents{Store: s}, Source: p, About: c.Columns, Summed: Summed{Rollups: c.Rollups},
		CloseAfter: c.CloseAfter, Hourly: c.Every == Hourly, KeepVersions: c.Versions, Settle: p.Settle}
	if p.Client != nil { // those who only look at a configuration have none
		made.Catalog = catalog.New(p.Client.Table(p.Names.Catalog()))
	}
	return made
}

// About says which columns about devices the files have: site, and labels.NAME.
type About []string

// check refuses what is no property of a device.
func (a About) check() error {
	for i, name := range a {
		label, is := strings.CutPrefix(name, "labels.")
		if name != "site" && (!is || label == "") {
			return fmt.Errorf("column %s; want site or labels.NAME", tables.Quote(name))
		}
		if slices.Contains(a[:i], name) {
			return fmt.Errorf("column %s occurs twice", tables.Quote(name))
		}
	}
	return nil
}

func (a About) values(m *schema.Member) (values []string) {
	for _, name := range a {
		if label, is := strings.CutPrefix(name, "labels."); is {
			values = append(values, m.Labels[label])
		} else {
			values = append(values, string(m.Site))
		}
	}
	return values
}
