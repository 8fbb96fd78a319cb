package jobs

import (
	"context"
	"time"

	"furrow/jobs/retain"
	"furrow/tables/schema"
)

// A job is what one message asks of a pipeline. It puts the messages that follow.
type job struct {
	*Pipeline
	Putter
	m    Message
	save Save
}

// inFormat puts messages in the format that the configuration requires.
type inFormat struct {
	Putter
	format int64
}

func (f inFormat) Put(ctx context.Context, m Message, delay time.Duration) error {
	m.Format = f.format
	return f.Putter.Put(ctx, m, delay)
}

// A Result is what a job did.
type Result struct {
	Months    int                  // month jobs put
	Batches   int                  // device jobs put by a month job
	Devices   int                  // looked at
	Folded    int                  // devices whose new rows were committed
	Rows      int                  // folded and committed
	Refused   int                  // rows with a rejected value
	Overtaken int                  // devices that another job has taken over
	Late      int                  // late rows that an audit found and folded
	Refolds   int                  // times that days of a device were folded again
	Missing   int                  // rows that were counted before and are gone
	Made      int                  // marks that a group job has worked off
	Acks      int                  // acknowledgements of commands in the folded rows
	Deleted   map[string]int       // rows that retention has deleted, by table
	Waits     map[retain.Cause]int // devices with readings that are old enough to go and stay

	// Overdue is for how long the oldest readings of Waits have been old enough, at most. It is nil without Retention.
	Overdue map[retain.Cause]time.Duration

	Behind []schema.Place // devices with more rows than were folded
	Rest   schema.Place   // first device that the job did not get to; zero if none
	Reset  []schema.Place // devices with days that have become stale
	Mark   string         // mark of the devices in Behind and Reset
	Lost   []schema.Place // devices of Overtaken: the faster job need not continue a chain
	Failed map[schema.Place]error
	// Strange has the errors of rows and partitions of the fleet that this program did not write.
	Strange map[string]error

	passedOver
	ended []schema.Place  // devices whose chain has ended
	woken []schema.Target // targets that nobody had woken before
}

// strange reports a key in the table fleet that this program did not write. Nothing else waits for it.
func (r *Result) strange(key string, err error) {
	const most = 100
	if len(r.Strange) < most {
		r.Strange[key] = err
	}
}
