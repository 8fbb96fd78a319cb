package main

import (
	"sync"
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/sas/device"
	"furrow/tables/schema"
)

// A sendOrder notes whether devices have sent readings that are older than others of theirs: runs do not read rows
// below a device's checkpoint, and only audits find them.
type sendOrder struct {
	mu     sync.Mutex
	newest map[schema.DeviceID]time.Time // readings
	late   bool
}

func (o *sendOrder) accepted(m simulate.Member, r device.Reading) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if newest := o.newest[m.ID]; !r.Time.Before(newest) {
		o.newest[m.ID] = r.Time
	} else if !r.Time.IsZero() {
		o.late = true
	}
}
