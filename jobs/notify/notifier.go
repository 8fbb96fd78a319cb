package notify

import (
	"context"
	"crypto/x509"
	"errors"
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
	// Generation is that of the configuration; zero: it is not stored.
	Generation int64
	// Enqueue puts a text into a queue of the account. It may be nil.
	Enqueue func(ctx context.Context, queue, text string) error
	// Itself returns the device furrow:PIPELINE, whose incidents those of Furrow itself are, and registers it first. It
	// may be nil: the device is registered, or nobody looks.
	Itself func(ctx context.Context, now tables.Ticks) (schema.Member, error)
	// Roots returns the authorities of certificates of targets. It, and what it returns, may be nil: those of the system.
	Roots func() *x509.CertPool
}

func (n *Notifier) roots() *x509.CertPool {
	if n.Roots == nil {
		return nil
	}
	return n.Roots()
}

// A Result is what a job did for a target.
type Result struct {
	Sent, Failed, GivenUp int // deliveries that arrived, sendings that failed, deliveries that were given up
	// Again says that there is more to do, after a pause of After.
	Again   bool
	After   time.Duration
	Woken   []schema.Target  // others that have something to do now, which nobody had woken before
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

// row returns a row in the format of the fleet.
func (n *Notifier) row(e tables.Entity) tables.Entity {
	schema.SetFormat(&e, n.Format)
	return e
}

// Wake notes that a target has new deliveries, which are written before. It reports whether nobody had noted it yet.
func (n *Notifier) Wake(ctx context.Context, name schema.Target) (first bool, err error) {
	pk, rk := schema.TargetKeys(n.Pipeline, name)
	e, err := n.runs().Get(ctx, pk, rk)
	var state schema.TargetState
	if err == nil {
		state, err = schema.TargetStateOf(e)
		if err != nil || state.Due == 0 && state.Generation >= n.Generation {
			return false, err // a job that claims the target from now on reads what was written
		}
	} else if !errors.Is(err, tables.ErrNotFound) {
		return false, err
	}
	due := tables.Entity{PartitionKey: pk, RowKey: rk}
	due.Set("Due", tables.Int64(0))
	if state.Generation < n.Generation {
		due.Set("Generation", tables.Int64(n.Generation))
	}
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

// WakeLeft wakes a target if there are deliveries for it, and reports whether there are.
func (n *Notifier) WakeLeft(ctx context.Context, name schema.Target) (woken bool, err error) {
	q := tables.Query{Range: tables.Range{Partitions: schema.DeliveriesTo(name)}, Select: []string{"RowKey"}}
	_, found, err := n.deliveries().First(ctx, q)
	if tables.Absent(err) || err == nil && !found {
		return false, nil
	}
	if err == nil {
		_, err = n.Wake(ctx, name)
	}
	return err == nil, err
}

// A Target is somebody or something that is told about incidents.
type Target struct {
	Name schema.Target `yaml:",name"`
	Kind Kind          `yaml:",inline"`
	// GroupBy names what the incidents of one message have in common: rule, site, tenant, severity or labels.NAME.
	// Without it, each message is about one transition.
	GroupBy []string `yaml:"groupBy" is:"any"`
	// GroupWait is how long the first transition of a group waits for others.
	GroupWait time.Duration `yaml:"groupWait" least:"1s" most:"1h"`
	// Repeat lies between notifications of an incident that is open and not acknowledged; zero: there are none.
	// Of an Alertmanager, it lies between notifications of all that is open; zero: AlertmanagerRepeat.
	Repeat time.Duration `yaml:"repeat" least:"1m" most:"31d"`
}

// A Kind is one kind of target: a pointer to Webhook, Alertmanager, Queue or SMTP. It is checked once and then does not
// change.
type Kind interface {
	// Name returns the key of the kind in a configuration.
	Name() string
	// String says where it sends, without secrets.
	String() string
	check() error
	// recipients returns who is told of a delivery, if that depends on the device. An empty text is nobody.
	recipients(d schema.Delivery) string
	// fits returns how many of the deliveries one message takes.
	fits(all []schema.Delivery) int
	send(ctx context.Context, n *Notifier, m message) error
}

// A message is what is sent at once.
type message struct {
	id         string // the idempotency key
	target     *Target
	recipients string
	at         time.Time // when the newest transition was found
	now        time.Time
	deliveries []schema.Delivery
	test       bool
	seen       *Exchange // filled with what was sent and answered; nil: nobody looks
}

// An Exchange is what was sent to a receiver and what it answered, as text without secrets.
type Exchange struct{ Request, Answer string }

const tries = 6

// An ownError concerns one message. The target may take others.
type ownError struct{ error }

func (e *ownError) Unwrap() error { return e.error }

// A hopeless error does not go away.
type hopeless struct{ error }

func (e *hopeless) Unwrap() error { return e.error }

// A partly error says which recipients of a message are refused for good. All others have it.
type partly struct{ error }

func (e *partly) Unwrap() error { return e.error }
