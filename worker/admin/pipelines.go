package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"furrow/jobs"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

// Names of acts in the activity log: those of the commands.
const (
	ReleaseAct = "device release"
	RewindAct  = "rewind"
	RedriveAct = "jobs redrive"
)

// Release has a held device tried again at once by a pipeline, and reports whether it was held.
func (f Fleet) Release(ctx context.Context, by Actor, p Pipeline, at schema.Place) (was bool, err error) {
	act := schema.Act{What: ReleaseAct, Device: at.Device(), Tenant: at.Key.Tenant(), Detail: "pipeline " + string(p.Name)}
	err = f.Do(ctx, by, act, func(ctx context.Context) (_ string, err error) {
		if was, err = p.Release(ctx, at); was {
			return "released", err
		}
		return "it was not held any more", err
	})
	return was, err
}

// Track returns how far a pipeline has got with a device; zero if it has not begun.
func (f Fleet) Track(ctx context.Context, p Pipeline, d schema.Device) (schema.Track, error) {
	track, _, err := f.reader().Progress().Track(ctx, p.Name, d.Member())
	return track, err
}

// A Rewind has readings folded again from a time on, while new ones are folded as usual.
type Rewind struct {
	Devices query.DeviceSelector
	Tenant  schema.Tenant // of Devices.Device, for the activity log
	To      tables.Ticks
}

// Rewind rewinds the devices in a pipeline, and enqueues an audit for each batch of neighbors. It returns how many
// devices have readings that are folded again.
func (f Fleet) Rewind(ctx context.Context, by Actor, p Pipeline, r Rewind) (devices int, err error) {
	act := schema.Act{What: RewindAct, Device: r.Devices.Device, Tenant: cmp.Or(r.Devices.Tenant, r.Tenant),
		Detail: fmt.Sprintf("pipeline %s, to %s", p.Name, r.To.Time().Format(time.RFC3339))}
	if r.Devices.Prefix != "" {
		act.Detail += ", prefix " + r.Devices.Prefix
	}
	err = f.Do(ctx, by, act, func(ctx context.Context) (_ string, err error) {
		devices, err = f.rewind(ctx, p, r, by.Name)
		if err != nil {
			err = fmt.Errorf("pipeline %s, after %d devices: %w", p.Name, devices, err)
		}
		return fmt.Sprintf("%d devices are folded again", devices), err
	})
	return devices, err
}

// rewind also returns how many devices it has rewound when it fails. The devices of a month and tenant come in the
// order of their keys.
func (f Fleet) rewind(ctx context.Context, p Pipeline, r Rewind, by string) (done int, err error) {
	asked := jobs.Rewound{To: r.To, At: time.Now(), By: by, Mark: rand.Text()}
	var batch jobs.Message
	size, tenant := 0, schema.Tenant("")
	flush := func() error {
		if size == 0 {
			return nil
		}
		size = 0
		return p.Queue.Put(ctx, batch, 0)
	}
	for m, err := range f.reader().Devices().Members(ctx, r.Devices) {
		if err != nil {
			return done, err
		}
		rewound, err := p.Pipeline.Rewind(ctx, m, asked)
		if err != nil {
			return done, err
		}
		if !rewound {
			continue
		}
		done++
		if size > 0 && (size == p.Batch || batch.First.Month != m.Month || tenant != m.Tenant) {
			if err := flush(); err != nil {
				return done, err
			}
		}
		if size == 0 {
			batch = jobs.Message{Kind: jobs.Audit, Audit: refold.Refold, Mark: asked.Mark, Pipeline: p.Name,
				Run: tables.TicksOf(asked.At), Generation: p.Generation, First: m.Place()}
		}
		batch.Last, tenant = m.Place(), m.Tenant
		size++
	}
	return done, flush()
}

// WouldRewind returns how many devices Rewind would have folded again. It changes nothing.
func (f Fleet) WouldRewind(ctx context.Context, p Pipeline, r Rewind) (devices int, err error) {
	for m, err := range f.reader().Devices().Members(ctx, r.Devices) {
		if err != nil {
			return devices, err
		}
		would, err := p.WouldRewind(ctx, m, r.To)
		if err != nil {
			return devices, err
		}
		if would {
			devices++
		}
	}
	return devices, nil
}

// Redrive puts the poison messages of a pipeline back into its queue: all, or those whose cause contains a text.
func (f Fleet) Redrive(ctx context.Context, by Actor, p Pipeline, cause string) (messages int, err error) {
	act := schema.Act{What: RedriveAct, Detail: "pipeline " + string(p.Name)}
	var wanted func(worker.Poisoned) bool
	if cause != "" {
		act.Detail += ", cause " + cause
		wanted = func(p worker.Poisoned) bool { return strings.Contains(p.Cause, cause) }
	}
	err = f.Do(ctx, by, act, func(ctx context.Context) (_ string, err error) {
		messages, err = query.OrNone(p.Queue.Redrive(ctx, wanted))
		return fmt.Sprintf("%d messages are back in the queue", messages), err
	})
	return messages, err
}
