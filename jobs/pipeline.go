package jobs

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Pipeline is what its jobs have to know of it, and where its tables are.
type Pipeline struct {
	Name       schema.Pipeline
	Processors []Configured
	Sensors    Sensors
	Client     *tables.Client
	Objects    Objects // nil where no processor makes objects
	Names      schema.Names

	// Batch is how many devices one message carries; zero means 50. At most MaxBatch.
	Batch int

	// Hold is how long a claim keeps other jobs away from a device: the lease of messages. Zero means 30 s, and less than
	// zero not at all.
	Hold time.Duration
	// Marks is how long the mark of a message on a tracking row keeps others from putting it again. Zero means 5 minutes,
	// and less than zero not at all.
	Marks time.Duration
	// Settle is how long rows may take to be visible to all: a row younger than that waits. Zero means 10 s.
	Settle time.Duration
	// Generation is that of the stored configuration which the pipeline is built from. Jobs write it into the messages
	// that they put and into tracking rows. Zero is a configuration that is not stored.
	Generation int64
	// Format is the one in which jobs write messages, tracking rows and outputs, as schema.Format. Zero means 1.
	Format int64
	// Settings stands for everything that changes what the folds give. A device that was folded under other settings is
	// folded anew from its beginning.
	Settings string
	// Admits tells how old the row may be that a token of an enrollment admits, of all that were ever issued; zero where
	// nothing is known of it. Audits look no further back. Nil knows nothing.
	Admits func(schema.EnrollmentID) time.Duration
	// Late stands for what Admits does not know. Zero means 8 days.
	Late time.Duration
	// Portion is how many rows of one device a job folds at a time; zero means 5,000.
	Portion int
	// Most is how many rows a job folds in all; zero means 20,000. Devices that it does not get to are left for another
	// job.
	Most int
}

// MaxBatch is how many devices a message may carry, so that their claims and commits fit one transaction.
const MaxBatch = 99

func (p *Pipeline) marks() time.Duration  { return cmp.Or(p.Marks, 5*time.Minute) }
func (p *Pipeline) batch() int            { return min(cmp.Or(p.Batch, 50), MaxBatch) }
func (p *Pipeline) settle() time.Duration { return cmp.Or(p.Settle, 10*time.Second) }
func (p *Pipeline) portion() int          { return cmp.Or(p.Portion, 5000) }
func (p *Pipeline) most() int             { return cmp.Or(p.Most, 20_000) }

func (p *Pipeline) tracking() *tables.Table { return p.Client.Table(p.Names.Partitions(p.Name)) }

// sortedOutputs are a map's outputs, those of one partition together.
func sortedOutputs[V any](m map[Output]V) []Output {
	return slices.SortedFunc(maps.Keys(m), func(a, b Output) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.PartitionKey, b.PartitionKey),
			cmp.Compare(a.RowKey, b.RowKey))
	})
}
