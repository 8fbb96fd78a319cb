package verify

import (
	"context"
	"maps"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// An admission tells how old a row may be when storage accepts it with a token of an enrollment.
type admission map[schema.EnrollmentID]time.Duration

// How much later than a token says its last row may arrive.
const (
	clockSkew  = 5 * time.Minute // by which a token lives longer
	tokenGrace = time.Hour       // after its end
)

// readAdmission reads the enrollments. The devices of one that cannot be read count as those of an unknown one.
func (c *Config) readAdmission(ctx context.Context) (admission, error) {
	all := admission{}
	for e, err := range c.Client.Table(c.Names.Enrollments()).Entities(ctx, tables.Query{}) {
		if err != nil {
			return nil, err
		}
		if n, err := schema.EnrollmentOf(e); err == nil {
			all[n.ID] = n.Admits + clockSkew
		}
	}
	return all, nil
}

// admitted reads the enrollments again, and reports whether tokens admit other rows than before.
func (c *Config) admitted(ctx context.Context) (now *Config, changed bool, err error) {
	own := *c
	own.admits, err = c.readAdmission(ctx)
	return &own, !maps.Equal(own.admits, c.admits), err
}

// ageFor returns how far back audits look for late rows of a device, that of the largest enrollment where its own is
// unknown. Zero: no enrollment is known.
func (a admission) ageFor(m schema.Member) time.Duration {
	age, known := a[m.Enrollment]
	if !known {
		for _, other := range a {
			age = max(age, other)
		}
	}
	if age == 0 {
		return 0
	}
	return max(age, m.Admits) + tokenGrace
}

// admit takes the coverage as the next audit does. Where tokens admit rows of sealed days now, and did not when those
// were sealed, the audit has the days made again, from a time on.
func (t *track) admit(late time.Duration, now, from tables.Ticks) {
	at := t.known.at
	switch {
	case late == 0:
		return
	case at == 0: // an older version has sealed
		at = now
	case late <= t.known.late:
		return
	}
	from = max(from, at.Add(-late).Floor(tables.Day))
	var all []days
	for _, d := range t.days {
		if d.sealed && from < d.to {
			if d.from < from {
				all = append(all, days{d.from, from, true, d.why})
				d.from = from
			}
			d.sealed, d.why = false, d.why|whySealed
		}
		all = append(all, d)
	}
	t.days = all
}
