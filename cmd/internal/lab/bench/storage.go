package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// A Config says which storage is measured, and how.
type Config struct {
	Settings
	Targets   []Target
	TableRows []int        // sizes of the tables that are read
	Size      int          // bytes of an entity's JSON and of a message's text
	HTTP      *http.Client // shared by all clients
}

// The sizes that Config.Size may have. A smaller entity has no room for keys and
// values; the text of a larger one does not fit into a property.
const (
	MinSize = 200
	MaxSize = 30_000
)

// Run measures storage. When ctx ends, it cleans up and returns what it has
// measured so far, with an error that says so.
func Run(ctx context.Context, cfg Config) (report *Report, err error) {
	report = newReport(cfg.Settings)
	report.Size = cfg.Size
	if t, ok := cfg.HTTP.Transport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = cfg.Clients
	}
	ends, err := openAll(ctx, cfg)
	for _, e := range ends {
		report.Targets = append(report.Targets, TargetReport{Name: e.name, URL: e.account.Table})
	}
	defer func() {
		err = errors.Join(err, closeAll(ctx, ends, report))
		report.warn()
	}()
	if err != nil {
		return report, err
	}
	tasks, err := cfg.prepare(ctx, ends)
	if err != nil {
		return report, err
	}
	return report, cfg.measure(ctx, tasks, report)
}

// A storageWorkload is one kind of request to storage.
type storageWorkload struct {
	workload
	reads   bool // it reads a table that is filled for it
	prepare func(ctx context.Context, e *endpoint, tableRows int) (operation, error)
}

func storageWorkloads() []storageWorkload {
	return []storageWorkload{inserts(), transactions(), gets(), ranges(), emptyRanges(), messages(), blocks()}
}

// Names returns the names of the storage workloads, with a line about each.
func Names() (all, abouts []string) {
	var found []workload
	for _, w := range storageWorkloads() {
		found = append(found, w.workload)
	}
	return names(found)
}

// prepare creates what the workloads work on, before anything is measured. The
// sizes of one workload follow each other.
func (cfg Config) prepare(ctx context.Context, ends []*endpoint) (tasks []task, err error) {
	for _, w := range storageWorkloads() {
		if !cfg.wants(w.name) {
			continue
		}
		sizes := []int{0}
		if w.reads {
			sizes = cfg.TableRows
		}
		for _, rows := range sizes {
			for _, e := range ends {
				if e.null != nil && w.name != inserts().name {
					continue
				}
				t := task{workload: w.workload, tableRows: rows, target: e.name}
				cfg.progress("%s: preparing %s", e.name, title(w.name, rows))
				if t.do, err = w.prepare(ctx, e, rows); err != nil {
					return nil, fmt.Errorf("%s: preparing %s: %w", e.name, title(w.name, rows), brief(err))
				}
				tasks = append(tasks, t)
			}
		}
	}
	return tasks, nil
}
