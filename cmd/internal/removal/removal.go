// Package removal deletes the data of a device that left the fleet.
package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"furrow/cmd/internal/setup"
	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/jobs/processors"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/schema"
)

// An Eraser deletes data.
type Eraser struct {
	Tables    *tables.Client
	Names     schema.Names
	Pipelines []*jobs.Pipeline
	Archive   *archive.Store // nil if there is none

	// Delay is how long tokens that were ended may still be used.
	Delay time.Duration
}

// Deleted counts what was deleted.
type Deleted struct {
	Readings int `json:"readings,omitempty"`
	Outputs  int `json:"outputs,omitempty"`
	Archived int `json:"archived,omitempty"` // rows of the archive: readings, and rollups of them
	Files    int `json:"files,omitempty"`    // of the archive, made again without it
	// containers with copies of the archive's tables, which the device leaves when archive copy runs again
	Copies   []string `json:"copies,omitempty"`
	Commands int      `json:"commands,omitempty"` // with their acknowledgements and the desired configuration
}

// Erase deletes the readings of a removed device, all its outputs, its rejects and its commands, and has the archive's
// files of several devices made again without it. It deletes readings last, and repeated after any interruption it
// deletes what is left. If a job is under way for the device, it waits until that can no longer write.
func (e Eraser) Erase(ctx context.Context, d schema.Device) (n Deleted, err error) {
	pipelines, err := e.pipelines(ctx)
	if err != nil {
		return n, err
	}
	wait := e.Delay
	for _, p := range pipelines {
		for _, t := range d.Tenants() {
			open, err := p.Forget(ctx, d.Of(t))
			if err != nil {
				return n, fmt.Errorf("pipeline %s: %w", p.Name, err)
			}
			wait = max(wait, open)
		}
	}
	if !setup.Pause(ctx, wait) {
		return n, context.Cause(ctx)
	}
	for _, d.Tenant = range d.Tenants() {
		for _, table := range processors.Outputs(e.Names) {
			if err := e.outputs(ctx, e.Tables.Table(table), d, &n.Outputs); err != nil {
				return n, err
			}
		}
		if err := e.deliveries(ctx, d); err != nil {
			return n, err
		}
		if err := e.incidents(ctx, d, &n.Outputs); err != nil {
			return n, err
		}
		if err := e.archive(ctx, d, &n); err != nil {
			return n, err
		}
	}
	own := tables.Range{Partitions: tables.Is(string(d.ID))}
	var rejects int
	if err := deleteRows(ctx, e.Tables.Table(e.Names.Rejects()), own, &rejects); err != nil {
		return n, err
	}
	if err := deleteRows(ctx, e.Tables.Table(e.Names.Commands()), own, &n.Commands); err != nil {
		return n, err
	}
	return n, deleteRows(ctx, e.Tables.Table(d.Readings), own, &n.Readings)
}

// pipelines returns those of the configuration, and others that have worked on the fleet: if they are configured again,
// they go on from what they knew.
func (e Eraser) pipelines(ctx context.Context) ([]*jobs.Pipeline, error) {
	all := slices.Clone(e.Pipelines)
	names, err := e.Tables.Tables(ctx)
	for _, table := range names {
		name, is := e.Names.PipelineOf(table)
		if is && !slices.ContainsFunc(all, func(p *jobs.Pipeline) bool { return p.Name == name }) {
			all = append(all, &jobs.Pipeline{Name: name, Client: e.Tables, Names: e.Names})
		}
	}
	return all, err
}

// archive erases a device from the archive's tables, also where no pipeline has the processor any more.
func (e Eraser) archive(ctx context.Context, d schema.Device, n *Deleted) error {
	if e.Archive == nil {
		return nil
	}
	has := &archive.Tables{Contents: archive.Contents{Store: e.Archive,
		Catalog: catalog.New(e.Tables.Table(e.Names.Catalog()))}}
	for _, p := range e.Pipelines {
		if made, is := p.Groups[schema.ArchiveMark].(*archive.Tables); is {
			has = made
		}
	}
	erased, err := has.Erase(ctx, d.Month, d.Tenant, d.ID)
	n.Archived, n.Files, n.Copies = n.Archived+int(erased.Rows), n.Files+erased.Files, append(n.Copies, erased.Copies...)
	return err
}

// outputs deletes the outputs of a device in a table. The partitions of outputs begin with the tenant and end with the
// month, and rows begin with the device. It goes from one partition to the next of the device's month, so it reads
// no outputs of others except for one row of each partition.
func (e Eraser) outputs(ctx context.Context, table *tables.Table, d schema.Device, n *int) error {
	left := schema.OfTenant(d.Tenant)
	for {
		pk, err := first(ctx, table, left)
		if err != nil || pk == "" {
			return err
		}
		group := pk[:strings.LastIndex(pk, schema.Separator)+1]
		own := tables.Range{Partitions: tables.Is(group + d.Month.String()), Rows: schema.LatestRows(d.ID, d.ID)}
		if err := deleteRows(ctx, table, own, n); err != nil {
			return err
		}
		left.From = tables.KeysWithPrefix(group).Before
	}
}

// incidents deletes the incidents of a device, and what people wrote beside them. Storage looks for them among those of
// all devices of the tenant that were deployed in the same month.
func (e Eraser) incidents(ctx context.Context, d schema.Device, n *int) error {
	table := e.Tables.Table(e.Names.Output(rules.Table))
	home := schema.LatestPartition{Tenant: d.Tenant, Month: d.Month}
	for _, pk := range []string{schema.OpenIncidents(d.Tenant), home.String()} {
		found := map[schema.IncidentID]bool{}
		own := tables.Query{Range: tables.Range{Partitions: tables.Is(pk)}, Filter: "Device eq '" + string(d.ID) + "'",
			Select: []string{"PartitionKey", "RowKey"}}
		for row, err := range table.Entities(ctx, own) {
			if err != nil {
				return err
			}
			id, _, err := schema.IncidentRowKind(row.RowKey)
			if err != nil {
				return err
			}
			found[id] = true
		}
		for id := range found {
			all := tables.Range{Partitions: tables.Is(pk), Rows: id.Rows()}
			if err := deleteRows(ctx, table, all, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// first returns the first partition in a range, or an empty text.
func first(ctx context.Context, table *tables.Table, keys tables.Keys) (string, error) {
	query := tables.Query{Range: tables.Range{Partitions: keys}, Select: []string{"PartitionKey"}}
	e, _, err := table.First(ctx, query)
	return e.PartitionKey, err
}

// unproductive bounds how often a transaction may fail because rows are gone, without any progress.
const unproductive = 10

// deleteRows deletes rows of one partition, in transactions of at most 100, and counts them.
func deleteRows(ctx context.Context, table *tables.Table, rows tables.Range, n *int) error {
	for failed := 0; ; {
		ops, err := deletions(ctx, table, rows)
		if err != nil || len(ops) == 0 {
			return err
		}
		groups, err := tables.Cut(ops)
		if err != nil {
			return err
		}
		for _, g := range groups {
			_, err := table.Submit(ctx, g)
			if errors.Is(err, tables.ErrNotFound) && failed < unproductive {
				failed++ // the answer to an earlier attempt was lost, or somebody else deletes, too
				break
			}
			if err != nil {
				return err
			}
			failed, *n = 0, *n+len(g)
		}
	}
}

// deletions returns the operations that delete the first rows of a range.
func deletions(ctx context.Context, table *tables.Table, rows tables.Range) (ops []tables.Op, err error) {
	query := tables.Query{Range: rows, Select: []string{"PartitionKey", "RowKey"}}
	for page, err := range table.Rows(ctx, query) {
		if errors.Is(err, tables.ErrNoTable) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, row := range page.Rows {
			ops = append(ops, tables.Delete(row.PartitionKey, row.RowKey, tables.AnyETag))
		}
		if len(ops) > 0 {
			break
		}
	}
	return ops, nil
}
