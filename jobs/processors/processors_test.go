package processors

import (
	"regexp"
	"slices"
	"testing"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/jobs/rollup"
	"furrow/jobs/rules"
)

func TestProcessorsAreToldApart(t *testing.T) {
	names, tables := map[string]bool{}, map[string]bool{}
	for _, p := range All() {
		if names[p.Name] || !regexp.MustCompile(`^[a-z][a-z0-9]{0,19}$`).MatchString(p.Name) || p.Summary == "" {
			t.Errorf("the name of %+v is not its own, or no name, or it has no summary", p)
		}
		names[p.Name] = true
		for _, table := range p.Tables {
			if tables[table] {
				t.Errorf("table %s is that of two processors", table)
			}
			tables[table] = true
		}
		if p.Marks == (len(p.Tables) > 0) {
			t.Errorf("%s makes objects and writes tables, or neither", p.Name)
		}
	}
}

func TestProcessorsAreReadyWithTheirDefaults(t *testing.T) {
	for _, p := range All() {
		if err := p.New().Check(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if len(p.Formats) == 0 || p.Formats[0] != 1 || !slices.IsSorted(p.Formats) {
			t.Errorf("formats of %s: %v; want those from 1 on", p.Name, p.Formats)
		}
	}
}

// TestEveryProcessorFitsATrackingRow: also in a pipeline that watches rules, which need latest. If all processors
// together take more, config says so, and a fleet needs a second pipeline.
func TestEveryProcessorFitsATrackingRow(t *testing.T) {
	usual := []*fold.Processor{latest.Processor, rollup.Processor, rules.Processor}
	for _, p := range All() {
		together := usual
		if !slices.Contains(usual, p) {
			together = append(together, p)
		}
		sum := 0
		for _, of := range together {
			sum += of.MaxState
		}
		if sum > fold.MaxStates && !p.Marks { // those that mark are alone
			t.Errorf("with %s the states take %d bytes; fold.MaxStates is %d", p.Name, sum, fold.MaxStates)
		}
	}
}

func TestAFormatIsTheNewestOfTheLevel(t *testing.T) {
	p := &fold.Processor{Formats: []int{1, 3, 4}}
	for level, want := range []int{1, 1, 1, 3, 4, 4} {
		if got := p.Format(level); got != want {
			t.Errorf("at level %d it is %d; want %d", level, got, want)
		}
	}
}
