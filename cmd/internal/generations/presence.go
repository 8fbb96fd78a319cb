package generations

import (
	"context"
	"errors"
	"sync"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A presence keeps the row of a process in storage while it runs, so that nobody raises the fleet's format above what
// the process reads.
type presence struct {
	table   *tables.Table
	process schema.Process

	mu      sync.Mutex
	running int       // Runs; the last one deletes the row
	said    time.Time // when the row was last written
}

func (p *presence) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running++
}

// writeIfDue writes the row when it is due.
func (p *presence) writeIfDue(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process.Name == "" || time.Since(p.said) < schema.ProcessPace {
		return nil
	}
	e, err := p.process.Entity()
	if err == nil {
		_, err = p.table.Do(ctx, tables.InsertOrReplace(e))
	}
	if errors.Is(err, tables.ErrNoTable) {
		return nil // no configuration is stored yet
	}
	if err == nil {
		p.said = time.Now()
	}
	return err
}

// remove tries to delete the row. A row that stays expires.
func (p *presence) remove(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running--; p.running > 0 || p.said.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if e, err := p.process.Entity(); err == nil {
		_, _ = p.table.Do(ctx, tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag))
	}
	p.said = time.Time{}
}
