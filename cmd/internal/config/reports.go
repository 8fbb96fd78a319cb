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
	Windows []schema.Window
	By      []schema.By
	Queue   string // that closed buckets go to; empty: none
}

// maxGroups bounds the work of a report.
const maxGroups = 10

// reports returns the key for reports. It is read after pipelines.
func (r *reader) reports(c *Config) key {
	const want = "a map like {windows: [1h, 1d], by: [tenant, site, labels.class]}"
	return key{name: "reports", read: func(n ast.Node) {
		before := len(r.problems)
		reports := &Reports{Windows: []schema.Window{schema.Hour, schema.Daily}, By: []schema.By{schema.ByTenant}}
		r.within("reports", func() {
			r.object(n, want,
				key{name: "windows", read: func(n ast.Node) {
					reports.Windows = r.windows("windows", n, "a list of windows, such as [1h, 1d]")
					slices.Sort(reports.Windows)
				}},
				key{name: "by", read: func(n ast.Node) { reports.By = r.groups(n) }},
				key{name: "queue", read: func(n ast.Node) {
					text, at, ok := r.scalar("queue", n, "the name of a storage queue, such as reports")
					if reports.Queue = text; !ok {
						return
					}
					if err := notify.CheckQueue(text); err != nil {
						r.problem(at, "queue: %v", err)
					}
				}})
			if len(r.problems) > before {
				return
			}
			for _, w := range reports.Windows {
				if !slices.ContainsFunc(c.Pipelines, func(p Pipeline) bool { return p.rollsUp(w) }) {
					r.problem(n, "no pipeline has rollups of %s; add the window to one, as in rollup: {windows: [1m, %[1]s]}", w)
				}
			}
		})
		c.Reports = reports
	}}
}

// groups reads what is reported together.
func (r *reader) groups(n ast.Node) (all []schema.By) {
	const want = "a list of tenant, site and labels.NAME"
	for _, item := range r.items("by", n, want) {
		text, at, ok := r.scalar("by", item, want)
		if !ok {
			continue
		}
		by, err := schema.ParseBy(text)
		switch {
		case err != nil:
			r.problem(at, "by: %v", err)
		case slices.Contains(all, by):
			r.problem(at, "by: %s occurs twice", quote(text))
		default:
			all = append(all, by)
		}
	}
	if len(all) > maxGroups {
		r.problem(n, "by: %d groups; at most %d are reported", len(all), maxGroups)
	}
	return all
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

// shownReports is the shape of reports in a file.
type shownReports struct {
	Windows []string `yaml:"windows,flow" json:"windows"`
	By      []string `yaml:"by,flow" json:"by"`
	Queue   string   `yaml:"queue,omitempty" json:"queue,omitempty"`
}

func (r *Reports) shown() *shownReports {
	if r == nil {
		return nil
	}
	s := &shownReports{Queue: r.Queue}
	for _, w := range r.Windows {
		s.Windows = append(s.Windows, w.String())
	}
	for _, by := range r.By {
		s.By = append(s.By, string(by))
	}
	return s
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
