package estimate

import (
	"math"
	"slices"
	"time"

	"furrow/cmd/internal/config"
	"furrow/sas"
	"furrow/tables/schema"
	"furrow/worker/price"
)

// A Fleet is what there would be.
type Fleet struct {
	Devices int
	Every   time.Duration // between two readings of a device
	Sensors int           // numbers in a reading
	Tenants int           // each has devices in every month
	Months  int           // in which devices were deployed, as many in each
	Token   time.Duration // life of a token; a device asks for the next one when it has readings to send
	AtOnce  int           // readings that a device sends in one transaction
}

// sends is the time between two requests of a device that insert readings.
func (f Fleet) sends() time.Duration { return f.Every * time.Duration(f.AtOnce) }

// stated is whether the enrollment says how often the devices send: a minute is what it says where nobody stated it.
func (f Fleet) stated() bool { return f.sends() != time.Minute }

// tokens returns how many tokens a device asks for in a month.
func (f Fleet) tokens() float64 { return float64(price.Month) / float64(max(f.Token, f.sends())) }

// notes returns how often the issuer notes in a month until when a device may write: before each token, or for hours
// ahead where one token follows the other.
func (f Fleet) notes() float64 {
	if f.Token < f.sends() {
		return f.tokens()
	}
	return float64(price.Month) / float64(max(f.Token, sas.NoteAhead))
}

// PerShard is the number of devices above which a month should have one more shard.
const PerShard = 5000

// An Estimate is what a fleet would do in a month of average length, and cost in US dollars. Its JSON is stable.
type Estimate struct {
	Devices      int                `json:"devices"`
	EverySeconds float64            `json:"everySeconds"` // between two readings of a device
	TokenSeconds float64            `json:"tokenSeconds"` // life of a token
	AtOnce       int                `json:"atOnce"`       // readings that a device sends in one transaction
	Sensors      int                `json:"sensors"`
	Tenants      int                `json:"tenants"`
	Months       int                `json:"months"` // in which the devices were deployed
	Shards       int                `json:"shards"` // for each month: about 5,000 devices each
	Partitions   int                `json:"partitions"`
	Rows         float64            `json:"rows"` // readings a month
	Pipelines    []Pipeline         `json:"pipelines"`
	Workers      int                `json:"workers"`    // processes with the default number of jobs
	Operations   map[string]float64 `json:"operations"` // a month, by kind
	StoredGB     float64            `json:"storedGB"`   // what a month adds, without an archive
	Limits       []Limit            `json:"limits"`
	Cost         Cost               `json:"costPerMonth"`
	Advice       []Advice           `json:"advice,omitempty"`  // with --fresh: changes that make it cheaper, each with those before it
	Elsewhere    []Elsewhere        `json:"elsewhere"`         // what others charge for the intake alone
	Without      []string           `json:"without,omitempty"` // what the configuration has and the estimate does not count
}

// A Pipeline is what one pipeline does.
type Pipeline struct {
	Pipeline       schema.Pipeline    `json:"pipeline"`
	CadenceSeconds float64            `json:"cadenceSeconds"`
	Messages       float64            `json:"messages"`   // of device jobs, a run
	Operations     map[string]float64 `json:"operations"` // a run, without audits and polling
	Workers        int                `json:"workers"`

	entities float64 // a run, in each partition of its tracking table
}

// A Cost is in US dollars.
type Cost struct {
	Writes    float64            `json:"writes"` // of the devices
	Tokens    float64            `json:"tokens"` // that they ask for
	Work      float64            `json:"work"`   // of the scheduler and the workers
	ByKind    map[string]float64 `json:"workByKind"`
	Storage   float64            `json:"storage"` // of what one month adds, for a month
	Total     float64            `json:"total"`
	PerDevice float64            `json:"perDevice"`
	Prices    price.Prices       `json:"prices"`
}

// Of estimates a fleet under a configuration.
func Of(f Fleet, c *config.Config) (e Estimate, err error) {
	shards := (f.Devices/f.Months + PerShard - 1) / PerShard
	e = Estimate{Devices: f.Devices, EverySeconds: f.Every.Seconds(), TokenSeconds: f.Token.Seconds(),
		AtOnce: f.AtOnce, Sensors: f.Sensors, Tenants: f.Tenants, Months: f.Months, Shards: max(1, shards),
		Operations: map[string]float64{}}
	e.Partitions = min(e.Months*e.Shards, e.Devices)
	e.Rows = float64(f.Devices) * float64(price.Month) / float64(f.Every)
	_, row := f.reading(began())
	bytes := e.Rows * float64(row.Size())
	for _, p := range c.InFile() {
		d, err := f.day(p)
		if err != nil {
			return e, err
		}
		e.pipeline(f, p, d)
		bytes += float64(d.outputs) / float64(d.readings) * e.Rows
		e.Without = append(e.Without, without(p)...)
	}
	if len(c.Retention) > 0 {
		e.Without = append(e.Without, "retention")
	}
	if c.Verify != nil {
		e.Without = append(e.Without, "verification of samples")
	}
	e.Without = slices.Compact(slices.Sorted(slices.Values(e.Without)))
	e.StoredGB = bytes / price.GB
	e.Elsewhere = f.elsewhere(f.AtOnce * row.Size())
	e.cost(f)
	e.limits(f)
	return e, nil
}

// days are those of a month.
const days = float64(price.Month) / float64(24*time.Hour)

// without names what a pipeline has that no figure includes.
func without(p config.Pipeline) (all []string) {
	for _, processor := range p.Processors {
		if processor.Beside != "" {
			all = append(all, processor.Beside)
		}
	}
	if len(p.Reported()) > 0 {
		all = append(all, "reports")
	}
	return all
}

// What storage is asked for a token: the policies, the enrollment, the record, and writing it. A note changes the
// membership.
const (
	tokenOperations = 4
	noteOperations  = 1
)

func (e *Estimate) cost(f Fleet) {
	c := Cost{ByKind: map[string]float64{}, Prices: price.Azure()}
	c.Writes = c.Prices.Operation("tables insert") * e.Rows / float64(f.AtOnce)
	asked := f.tokens()*tokenOperations + f.notes()*noteOperations
	c.Tokens = float64(f.Devices) * asked * c.Prices.Operation("tables query")
	counted := map[string]int64{}
	for kind, n := range e.Operations {
		counted[kind] = int64(math.Round(n))
	}
	c.ByKind, c.Work = c.Prices.Monthly(counted, price.Month)
	c.Storage = e.StoredGB * c.Prices.TableGB
	c.Total = c.Writes + c.Tokens + c.Work + c.Storage
	c.PerDevice = c.Total / float64(f.Devices)
	e.Cost = c
}
