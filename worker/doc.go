// Package worker runs jobs: a Queue carries the messages of a pipeline, a Pool
// gets messages and runs their jobs under leases, and a Scheduler puts the
// master job of every slot. It is the home of azqueue in the program.
//
// Messages are delivered at least once, in no order, and a lease can be lost at
// any moment: all of that is normal here, and jobs must bear it.
//
// A pipeline has three queues. jobs-NAME carries live work: master and month
// jobs, batches and their retries. jobs-NAME-catchup carries work on history:
// devices far behind, audits and refolds; jobs.Message.CatchUp tells which.
// jobs-NAME-poison keeps what failed for good. A pool gives live work the first
// choice of its places, and catch-up work at most half of them; a live backlog
// leaves catch-up one job per lease, so that it never stops.
//
// Within lease + 5 s of a worker's death, another pool with free places has
// received all of its messages. A pool that has found nothing asks for the depth
// of the queue, which includes leased messages, and looks every 3.5 s while there
// are messages that are not its own. An idle pool costs about 300 requests an hour
// and queue, where the idle pause is the longest, 25 s; 0.4 million a month.
//
// A failure of a job is an attempt. After MaxAttempts of them the message is
// poison, but failures of a busy storage never make it so. A get of a message that
// nobody ended, neither in order nor by a failure, is a death: as a rule the
// process ended amid the job. Jobs split batches with more than three deaths.
// The number of jobs in flight follows the share of busy answers, of which the
// clients' OnOperation tells the pool through Answered.
package worker
