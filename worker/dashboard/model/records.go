package model

import (
	"context"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

const (
	trickleInterval = 30 * time.Second // between two pages of records that are read again
	retryAfter      = 5 * time.Second
)

// keepRecords reads the records of all devices when the dashboard is first used, and then again page by
// page while it is used. A record that changed is shown as it was for a while, but not on its own page.
func (p *poller) keepRecords(ctx context.Context) {
	a := p.account
	for p.accounts.watch.wait(ctx) {
		err := p.allRecords(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		if !a.failed.Swap(true) {
			p.accounts.log.WarnContext(ctx, "device records cannot be read; trying again", "storage", a.Name, "error", err)
		}
		p.accounts.watch.ended(a.number, err)
		pause(ctx, retryAfter)
	}
	close(a.loaded)
	for next := schema.DeviceID(""); ; {
		pause(ctx, trickleInterval)
		if !p.accounts.watch.wait(ctx) {
			return
		}
		next, _ = p.recordsIn(ctx, tables.Keys{After: string(next)}, recordsAtOnce)
	}
}

func (p *poller) allRecords(ctx context.Context) error {
	_, err := p.recordsIn(ctx, tables.Keys{}, 0)
	return err
}

// recordsAtOnce is how many records the index takes at a time.
const recordsAtOnce = 1000

// recordsIn puts records into the index, and returns the last one's ID if there may be more of them than
// limit. The device's page shows a record that cannot be read.
func (p *poller) recordsIn(
	ctx context.Context, ids tables.Keys, limit int,
) (last schema.DeviceID, err error) {
	var all []schema.Device
	n := 0
	for d, err := range query.Readable(p.account.fleet.Devices().AllRecords(ctx, ids, limit), new(query.Skipped)) {
		if err != nil {
			return "", err
		}
		if all = append(all, d); len(all) == recordsAtOnce {
			p.accounts.index.records(p.account.number, all)
			all = all[:0]
		}
		if n++; n == limit {
			last = d.ID
		}
	}
	p.accounts.index.records(p.account.number, all)
	return last, nil
}

// maxGets is how many new devices are looked up one by one.
const maxGets = 20

// addRecords reads the records of new devices; of many, the whole range that they lie in.
func (p *poller) addRecords(ctx context.Context, added []schema.Member) error {
	slices.SortFunc(added, func(a, b schema.Member) int { return strings.Compare(string(a.Device), string(b.Device)) })
	if n := len(added); n > maxGets {
		between := tables.Keys{From: string(added[0].Device), To: string(added[n-1].Device)}
		if _, err := p.recordsIn(ctx, between, 0); err != nil {
			return err
		}
	}
	for _, m := range added {
		if len(added) <= maxGets {
			if _, err := p.recordsIn(ctx, tables.Is(string(m.Device)), 0); err != nil {
				return err
			}
		}
		p.accounts.index.add(p.account.number, m)
	}
	return nil
}

// add adds a device that has no record, unless it is known.
func (x *index) add(in uint16, m schema.Member) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, known := x.at[string(m.Device)]; !known {
		i := x.device(string(m.Device), m.Tenant, monthIn{in, m.Month})
		x.devices[i].every = seconds(x.accounts[in].every(m))
		x.touch()
	}
}
