package copying

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"furrow/cmd/internal/generations"
	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Copy copies a fleet.
type Copy struct {
	From, To *tables.Client
	Names    schema.Names // at both ends
	// Archives; nil where the account has no blobs.
	FromArchive, ToArchive *archive.Store

	Source string // names the source, without a secret
	Log    *slog.Logger
	Pause  time.Duration // between passes of readings after the cut-over
	// Progress is told how far a pass is, at its beginning and after each thousand rows; may be nil.
	Progress func(p Pass, number, of int)
}

// ErrLives means that a process works on an account that must be at rest.
var ErrLives = errors.New("a process works on it")

// Once makes the destination equal to the source as it is, while that lives. From then on no program works on the
// destination, until Finish. A destination that has a fleet or anything else of its own is refused.
func (c *Copy) Once(ctx context.Context) ([]Pass, error) {
	if err := c.hasFleet(ctx); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	if err := c.isFree(ctx); err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	if err := c.unfinished(ctx); err != nil {
		return nil, err
	}
	if err := c.rests(ctx, c.To); err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	return c.passes(ctx)
}

// isFree returns an error if the destination has rows or files before a copy has begun there: the first pass would
// delete them.
func (c *Copy) isFree(ctx context.Context) error {
	parts, err := c.parts(ctx)
	if err != nil {
		return err
	}
	names := []string{c.Names.Fleet()} // its first row says whether a copy has begun, or there is a fleet
	for _, p := range parts {
		names = append(names, p.tables...)
	}
	for _, name := range names {
		for e, err := range c.To.Table(name).Entities(ctx, tables.Query{Size: 1}) {
			switch {
			case err == nil && schema.IsLayout(e):
				return nil
			case err == nil:
				return fmt.Errorf("table %s has rows of something else, which the copy would delete: name another account, "+
					"or delete the table", name)
			case !tables.Absent(err):
				return err
			}
			break
		}
	}
	if c.FromArchive == nil || c.ToArchive == nil {
		return nil
	}
	has, err := c.ToArchive.HasObjects(ctx)
	if has {
		err = fmt.Errorf("container %s has files of something else, which the copy would delete: name another account, "+
			"or delete the container", c.Names.Archive())
	}
	return err
}

// unfinished marks the destination, or returns an error if it is no unfinished copy of the source.
func (c *Copy) unfinished(ctx context.Context) error {
	if err := schema.MarkCopying(ctx, c.To.Table(c.Names.Fleet()), c.Source); err != nil {
		return fmt.Errorf("destination: %w", err)
	}
	return nil
}

// hasFleet returns an error if there is no fleet at the source, or one with another layout.
func (c *Copy) hasFleet(ctx context.Context) error {
	for e, err := range c.From.Table(c.Names.Fleet()).Entities(ctx, tables.Query{Size: 1}) {
		if err != nil {
			return err
		}
		if schema.IsLayout(e) {
			return schema.CheckLayout(ctx, c.From.Table(c.Names.Fleet()))
		}
		break
	}
	return errors.New("there is no fleet; has it another prefix of names?")
}

// Finished reports whether the cut-over is done.
func (c *Copy) Finished(ctx context.Context) (bool, error) {
	return schema.Copied(ctx, c.To.Table(c.Names.Fleet()), c.Source)
}

// passes does a pass for each table, in order.
func (c *Copy) passes(ctx context.Context) (all []Pass, err error) {
	parts, err := c.parts(ctx)
	if err != nil {
		return nil, err
	}
	number, of := 0, 0
	for _, part := range parts {
		of += len(part.tables)
	}
	for i, part := range parts {
		for _, table := range part.tables {
			began := time.Now()
			number++
			p, err := c.copyTable(ctx, table, part.insert, func(p Pass) { c.progress(p, number, of) })
			if all = append(all, p); err != nil {
				return all, fmt.Errorf("table %s: %w", table, err)
			}
			c.Log.InfoContext(ctx, "table copied", "table", table, "rows", p.Rows, "written", p.Written,
				"deleted", p.Deleted, "took", time.Since(began).Round(time.Millisecond))
		}
		if i == 0 { // objects are at least as new as the marks that asked for them
			p, err := c.archive(ctx, func(p Pass) { c.progress(p, number, of) })
			if p.Rows > 0 || p.Deleted > 0 {
				all = append(all, p)
			}
			if err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

func (c *Copy) progress(p Pass, number, of int) {
	if c.Progress != nil {
		c.Progress(p, number, of)
	}
}

// errNoBlobs says where the archive cannot go.
var errNoBlobs = errors.New("destination: the storage account has no Blob endpoint for the archive of the source")

// archive does a pass for the objects of the archive.
func (c *Copy) archive(ctx context.Context, progress func(Pass)) (Pass, error) {
	p := Pass{Table: c.Names.Archive()}
	if c.FromArchive == nil {
		return p, nil
	}
	if c.ToArchive == nil {
		is, err := c.FromArchive.HasObjects(ctx)
		if is {
			err = errNoBlobs
		}
		return p, err
	}
	began := time.Now()
	n, err := c.ToArchive.CopyFrom(ctx, c.FromArchive, func(n archive.Copied) {
		progress(Pass{Table: p.Table, Rows: n.Objects, Written: n.Written, Deleted: n.Deleted})
	})
	p.Rows, p.Written, p.Deleted = n.Objects, n.Written, n.Deleted
	if err == nil && n.Objects > 0 {
		c.Log.InfoContext(ctx, "archive copied", "container", p.Table, "objects", n.Objects, "written", n.Written,
			"deleted", n.Deleted, "took", time.Since(began).Round(time.Millisecond))
	}
	return p, err
}

// rests returns ErrLives if a scheduler or a worker works on an account.
func (c *Copy) rests(ctx context.Context, client *tables.Client) error {
	live, err := generations.New(client.Table(c.Names.Config())).Live(ctx)
	if err == nil && len(live) > 0 {
		err = fmt.Errorf("%w: %s, and %d in all; stop them, and wait for %v if one was killed", ErrLives, live[0].Name,
			len(live), schema.ProcessGone)
	}
	return err
}

// mostPasses bounds Finish where the source does not come to rest.
const mostPasses = 10

// Finish is the cut-over. The source's schedulers and workers must be stopped; devices may go on writing there, and
// renew their tokens. When it returns nil, tracking rows, outputs and records are equal, except what the last tokens
// have changed; programs may work on the destination, and devices should get their tokens there.
func (c *Copy) Finish(ctx context.Context) (all []Pass, err error) {
	if err := c.rests(ctx, c.From); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	for try := 0; ; try++ {
		if all, err = c.Once(ctx); err != nil {
			return all, err
		}
		if c.same(all) {
			break
		}
		if try == mostPasses {
			return all, fmt.Errorf("the source still changes after %d passes: is a worker of it running? If new "+
				"devices register there all the time, stop its token endpoint until the copy is finished", mostPasses)
		}
	}
	if err := c.checkFences(ctx); err != nil {
		return all, err
	}
	return all, schema.MarkCopied(ctx, c.To.Table(c.Names.Fleet()), c.Source)
}

// same reports whether passes found everything equal, except readings, which devices still write, and notes of tokens,
// which they still get.
func (c *Copy) same(all []Pass) bool {
	for _, p := range all {
		if !p.Readings && p.Written-p.Renewed+p.Deleted > 0 {
			return false
		}
	}
	return true
}

// checkFences returns an error if a fence lies above the destination's time: workers there would not outrank the
// outputs that were copied.
func (c *Copy) checkFences(ctx context.Context) error {
	parts, err := c.parts(ctx)
	if err != nil {
		return err
	}
	for _, table := range parts[0].tables {
		q := tables.Query{Select: []string{schema.TrackFence}}
		for page, err := range c.To.Table(table).Rows(ctx, q) {
			if err != nil {
				return err
			}
			for _, e := range page.Rows {
				if fence := tables.Ticks(e.Get(schema.TrackFence).Int()); fence > tables.TicksOf(page.Time.Add(time.Second)) {
					return fmt.Errorf("table %s, row %s %s: its fence is %v, and the destination's clock is behind that: try "+
						"again then", table, e.PartitionKey, e.RowKey, fence.Time())
				}
			}
		}
	}
	return nil
}
