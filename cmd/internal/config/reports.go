package config

import (
	"fmt"
	"slices"

	"furrow/jobs/archive"
	"furrow/jobs/groups"
	"furrow/jobs/notify"
	"furrow/jobs/report"
	"furrow/jobs/retain"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// Reports say what is reported of many devices together.
type Reports struct {
	Windows []schema.Window `yaml:"windows,flow" default:"[1h, 1d]" want:"a list of windows, such as [1h, 1d]"`
	By      []schema.By     `yaml:"by,flow" default:"[tenant]" want:"a list of tenant, site and labels.NAME"`
	// Queue is what closed buckets go to; empty: none.
	Queue string `yaml:"queue" is:"queue" want:"the name of a storage queue, such as reports"`
}

// maxGroups bounds the work of a report.
const maxGroups = 10

func (of *Reports) check(r *reader, _, n ast.Node, clean bool) {
	slices.Sort(of.Windows)
	if len(of.By) > maxGroups {
		r.problem(r.child(n, "by"), "by: %d groups; at most %d are reported", len(of.By), maxGroups)
		return
	}
	for _, w := range of.Windows {
		if clean && !slices.ContainsFunc(r.config.Pipelines, func(p Pipeline) bool { return p.rollsUp(w) }) {
			r.problem(n, "no pipeline has rollups of %s; add the window to one, as in rollup: {windows: [1m, %[1]s]}", w)
		}
	}
}

// rollsUp reports whether the pipeline has rollups of a window.
func (p Pipeline) rollsUp(w schema.Window) bool {
	return slices.ContainsFunc(p.Processors, func(p Processor) bool {
		return p.Name == rollup.Processor.Name && slices.Contains(p.Sizes(), w)
	})
}

// Reported returns the windows of the pipeline that are reported.
func (p Pipeline) Reported() (all []schema.Window) {
	if p.Reports == nil {
		return nil
	}
	for _, w := range p.Reports.Windows {
		if p.rollsUp(w) {
			all = append(all, w)
		}
	}
	return all
}

// summed adds the reports of the archive: those of its rollups whose windows are reported.
func (p Pipeline) summed(s archive.Summed) archive.Summed {
	if p.Reports == nil {
		return s
	}
	for _, w := range s.Rollups {
		if slices.Contains(p.Reports.Windows, w) {
			s.Reports, s.By = append(s.Reports, w), p.Reports.By
		}
	}
	return s
}

// groupings returns what is made of the pipeline's marks.
func (p Pipeline) groupings(
	client *tables.Client, names schema.Names, queues *notify.Notifier, keep []retain.Keep,
) map[schema.MarkKind]groups.Grouping {
	windows := p.Reported()
	if len(windows) == 0 {
		return nil
	}
	return map[schema.MarkKind]groups.Grouping{schema.ReportMark: &report.Reports{Client: client, Names: names,
		Windows: windows, By: p.Reports.By, Keep: keep, Queue: p.Reports.Queue, Enqueue: queues.Put}}
}

// changedReports describes the differences between two configurations' reports.
func changedReports(old, new *Reports) []string {
	switch {
	case old == nil && new == nil:
		return nil
	case old == nil:
		return []string{"reports are new"}
	case new == nil:
		return []string{"reports are removed"}
	}
	var all []string
	if !slices.Equal(old.Windows, new.Windows) {
		all = append(all, fmt.Sprintf("reports: windows %v, now %v", old.Windows, new.Windows))
	}
	if !slices.Equal(old.By, new.By) {
		all = append(all, fmt.Sprintf("reports: by %v, now %v, so that they are made again", old.By, new.By))
	}
	if old.Queue != new.Queue {
		all = append(all, fmt.Sprintf("reports: queue %q, now %q", old.Queue, new.Queue))
	}
	return all
}
