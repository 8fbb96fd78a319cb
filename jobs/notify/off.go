package notify

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A gone error says that a receiver wants nothing any more.
type gone struct{ error }

func (e *gone) Unwrap() error { return e.error }

// OffRule is the rule of the incidents of targets that are turned off. The configuration does not have it.
const OffRule schema.Rule = "target-off"

// off reports whether the target is turned off: where it sends to is what wanted nothing any more.
func (c *claim) off() bool { return c.state.Off != "" && c.state.Off == c.target.Kind.String() }

// TurnedOn reports whether a target that was turned off sends elsewhere by now, or is no longer configured.
func (n *Notifier) TurnedOn(s schema.TargetState) bool {
	target, _ := n.Target(s.Target)
	return s.Off != "" && s.Off != target.Kind.String()
}

// turn opens the incident of a target that an earlier job turned off. If the target is on again, it closes the incident
// and has everything that waits tried at once.
func (j *job) turn(ctx context.Context) error {
	s := &j.state
	if s.OffAt == 0 {
		return nil
	}
	about, err := j.itself(ctx)
	if err != nil {
		return err
	}
	first := s.OffAt + tables.Ticks(crc32.ChecksumIEEE([]byte(j.target.Name))%uint32(time.Second/100)) // of this target
	t := schema.Transition{Home: schema.LatestPartition{Tenant: about.Tenant, Month: about.Month},
		ID:     schema.IncidentID{Rule: OffRule, Device: about.Device, First: first},
		Number: 1, What: schema.Opened, At: s.OffAt, Since: s.OffAt, Found: s.OffAt, Severity: "critical",
		Text: fmt.Sprintf("target %s is turned off: %s. Its messages are kept; once it is right, turn it on by 'furrow "+
			"notify redrive %[1]s', or by another url in the configuration", j.target.Name, s.Error),
		Labels: map[string]string{"target": string(j.target.Name)}, Notify: true}
	if j.off() {
		return j.writeTransition(ctx, t)
	}
	t.Number, t.What, t.At, t.Found = 2, schema.Closed, j.now, j.now
	t.Text = fmt.Sprintf("target %s is turned on again", j.target.Name)
	if err := j.writeTransition(ctx, t); err != nil {
		return err
	}
	s.Off, s.OffAt, s.Failures, s.Pause, s.Retry = "", 0, 0, 0, j.now
	return nil
}

// itself returns the device that the incident is about.
func (c *claim) itself(ctx context.Context) (schema.Member, error) {
	if c.Itself != nil {
		return c.Itself(ctx, c.state.OffAt)
	}
	return schema.Member{Tenant: schema.Itself, Month: schema.MonthOf(c.state.OffAt.Time(), 0),
		Device: schema.ItselfOf(c.Pipeline)}, nil
}

// writeTransition writes a transition of the incident and its deliveries to the other targets. It can be repeated.
func (j *job) writeTransition(ctx context.Context, t schema.Transition) error {
	index := tables.Insert(t.IndexEntity())
	if pk, rk := t.IndexRow(); !t.Opens() {
		index = tables.Delete(pk, rk, tables.AnyETag)
	}
	row := t.Entity()
	if _, err := j.incidents().Get(ctx, row.PartitionKey, row.RowKey); !errors.Is(err, tables.ErrNotFound) {
		return err // it was told, as that row comes last
	}
	for i := range j.Targets {
		other := &j.Targets[i]
		d := schema.Delivery{Target: other.Name, Transition: t}
		if other.Name == j.target.Name || other.Kind.recipients(d) == "" {
			continue
		}
		if err := j.write(ctx, j.deliveries(), tables.Insert(d.Entity())); err != nil {
			return err
		}
		first, err := j.Wake(ctx, other.Name)
		if err != nil {
			return err
		}
		if first {
			j.result.Woken = append(j.result.Woken, other.Name)
		}
	}
	if err := j.write(ctx, j.incidents(), index); err != nil {
		return err
	}
	return j.write(ctx, j.incidents(), tables.Insert(row))
}

// write inserts or deletes a row, unless that was done before.
func (n *Notifier) write(ctx context.Context, table *tables.Table, op tables.Op) error {
	op.Entity = n.row(op.Entity)
	_, err := table.Do(ctx, op)
	if errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNotFound) {
		return nil
	}
	return err
}
