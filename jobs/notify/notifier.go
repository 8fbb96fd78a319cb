package notify

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Notifier delivers to the targets of a configuration.
type Notifier struct {
	Pipeline schema.Pipeline // whose jobs deliver
	Client   *tables.Client
	Names    schema.Names
	Targets  []Target
	Format   int64 // of rows, as schema.Format
	// Enqueue puts a text into a queue of the account. It may be nil.
	Enqueue func(ctx context.Context, queue, text string) error
	Roots   *x509.CertPool // that certificates of targets come from; nil: those of the system
}

// A Result is what a job did for a target.
type Result struct {
	Sent, Failed, GivenUp int // deliveries that arrived, sendings that failed, deliveries that were given up
	// Again says that there is more to do, after a pause of After.
	Again   bool
	After   time.Duration
	Strange map[string]error // rows that cannot be read, by key
}

// Limits of a job. No sending begins after sendFor, so all end before the claim does, by storage's clock or by ours.
const (
	claimFor = schema.TargetClaim
	sendFor  = time.Minute
	workFor  = 2 * time.Minute
	// releaseWithin is how long a job that is stopped may take to end its claim.
	releaseWithin = 3 * time.Second
	soon          = 10 * time.Minute // a job that has something to do that soon asks for another one
)

func (n *Notifier) deliveries() *tables.Table { return n.Client.Table(n.Names.Deliveries()) }
func (n *Notifier) incidents() *tables.Table  { return n.Client.Table(n.Names.Output("incidents")) }
func (n *Notifier) runs() *tables.Table       { return n.Client.Table(n.Names.Runs()) }

// Target returns a target of the configuration.
func (n *Notifier) Target(name schema.Target) (*Target, bool) {
	i := slices.IndexFunc(n.Targets, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return &Target{Name: name, Kind: removed{}}, false
	}
	return &n.Targets[i], true
}

// Wake notes that a target has new deliveries, which are written before. It reports whether nobody had noted it yet.
func (n *Notifier) Wake(ctx context.Context, name schema.Target) (first bool, err error) {
	pk, rk := schema.TargetKeys(n.Pipeline, name)
	e, err := n.runs().Get(ctx, pk, rk)
	if err == nil {
		state, err := schema.TargetStateOf(e)
		if err != nil || state.Due == 0 {
			return false, err // a job that claims the target from now on reads what was written
		}
	} else if !errors.Is(err, tables.ErrNotFound) {
		return false, err
	}
	due := tables.Entity{PartitionKey: pk, RowKey: rk}
	due.Set("Due", tables.Int64(0))
	for range tries {
		if _, err = n.runs().Do(ctx, tables.Merge(due, tables.AnyETag)); errors.Is(err, tables.ErrNotFound) {
			_, err = n.runs().Do(ctx, tables.Insert(due))
		}
		if !errors.Is(err, tables.ErrExists) {
			break
		}
	}
	return err == nil, err
}

// Wait returns how long the first delivery of a group waits for others.
func (n *Notifier) Wait(name schema.Target) time.Duration {
	t, _ := n.Target(name)
	return t.GroupWait
}

// Deliver does what is due for a target, unless another job is at it.
func (n *Notifier) Deliver(ctx context.Context, name schema.Target) (Result, error) {
	target, _ := n.Target(name)
	j := &job{Notifier: n, target: target, began: time.Now(), claim: rand.Text(), next: tables.MaxTicks,
		beside: map[incidentKey]*besides{}, mutes: map[schema.Tenant][]schema.Mute{},
		result: Result{Strange: map[string]error{}}}
	ours, err := j.take(ctx)
	if err != nil || !ours {
		return Result{}, err
	}
	within, cancel := context.WithTimeout(ctx, workFor)
	defer cancel()
	err = j.work(within)
	if stopped := context.Cause(ctx); stopped != nil {
		j.next = 0
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
		defer cancel()
		return Result{}, errors.Join(stopped, j.release(last)) // so that another worker need not wait for the claim's end
	}
	if err != nil {
		j.next = 0
	}
	if left := j.release(ctx); left != nil || err != nil {
		return Result{}, fmt.Errorf("target %s: %w", name, errors.Join(err, left))
	}
	return j.result, nil
}

// A job is the work for one target.
type job struct {
	*Notifier
	target *Target
	claim  string
	began  time.Time
	now    tables.Ticks // storage's, when it began
	state  schema.TargetState

	all     map[[2]string]schema.Delivery // those that are due, by their keys
	beside  map[incidentKey]*besides
	mutes   map[schema.Tenant][]schema.Mute
	next    tables.Ticks // when there is something to do again
	waiting int64
	oldest  tables.Ticks
	result  Result
}

// read reads the target's state. A target without one has no deliveries.
func (j *job) read(ctx context.Context) (found bool, err error) {
	pk, rk := schema.TargetKeys(j.Pipeline, j.target.Name)
	for page, err := range j.runs().Rows(ctx, tables.Query{Range: tables.RowsBetween(pk, rk, rk)}) {
		if err != nil {
			return false, err
		}
		if page.Time.IsZero() {
			return false, tables.ErrNoDate
		}
		for _, e := range page.Rows {
			j.now = tables.TicksOf(page.Time)
			j.state, err = schema.TargetStateOf(e)
			return true, err
		}
	}
	return false, nil
}

const tries = 6

// take claims the target, if something is due. An answer may be lost, so the row tells whose the claim is.
func (j *job) take(ctx context.Context) (ours bool, err error) {
	for try := range tries {
		found, err := j.read(ctx)
		switch {
		case err == nil && !found:
			return false, nil
		case err == nil && j.state.Claim == j.claim:
			return true, nil
		case err == nil && j.state.Waits(j.now):
			return false, nil
		}
		if err == nil {
			j.state.Claim, j.state.Until = j.claim, j.now.Add(claimFor)
			j.state.Due = j.state.Until
			var w tables.Written
			if w, err = j.runs().Do(ctx, tables.Merge(j.state.Entity(), j.state.ETag)); err == nil {
				j.state.ETag = w.ETags[0]
				return true, nil
			}
		}
		if err := pause(ctx, try, err); err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("target %s: it cannot be claimed; tried %d times", j.target.Name, tries)
}

// release ends the claim and says when the next job has something to do. Who has written deliveries since this job
// began has said so on the state.
func (j *job) release(ctx context.Context) error {
	var err error
	for try := range tries {
		s := j.state
		s.Claim, s.Until = "", 0
		s.Sent, s.Failed, s.GivenUp = s.Sent+int64(j.result.Sent), s.Failed+int64(j.result.Failed),
			s.GivenUp+int64(j.result.GivenUp)
		s.Waiting, s.Oldest = j.waiting, j.oldest
		if s.Due != 0 {
			if s.Due = max(j.next, 1); s.Due < tables.MaxTicks {
				s.Due = min(s.Due, j.now.Add(schema.TargetLook))
			}
		}
		etag := j.state.ETag
		if etag != "" {
			if _, err = j.runs().Do(ctx, tables.Merge(s.Entity(), etag)); err == nil {
				j.again(s.Due)
				return nil
			}
		}
		if err := pause(ctx, try, err); err != nil {
			return err
		}
		mine := j.state
		if found, wrong := j.read(ctx); wrong != nil || !found {
			j.state, err = mine, errors.Join(err, wrong)
			j.state.ETag = ""
			continue
		}
		if j.state.Claim != j.claim {
			return nil // it was released and the answer lost, or somebody else has it by now
		}
		j.state.Failures, j.state.Pause, j.state.Error, j.state.Last = mine.Failures, mine.Pause, mine.Error, mine.Last
	}
	return err // the claim ends by itself
}

func (j *job) again(due tables.Ticks) {
	if due <= j.now.Add(soon) {
		j.result.Again, j.result.After = true, max(0, time.Duration(due-j.now)*100)
	}
}

// pause waits before another try.
func pause(ctx context.Context, try int, err error) error {
	if err == nil {
		return nil
	}
	longest := time.Duration(20<<try) * time.Millisecond
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(longest/2 + mathrand.N(longest/2)):
		return nil
	}
}
