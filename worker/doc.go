// Package worker runs jobs: a Queue carries the messages of a pipeline, a Pool receives messages and runs their jobs
// under leases, and a Scheduler puts the master job of every slot. It is the only package that uses azqueue.
//
// Messages are delivered at least once, in any order, and a lease can be lost at any moment. Jobs must cope with that.
//
// A pipeline has three queues. jobs-NAME carries live work: master and month jobs, batches and their retries.
// jobs-NAME-catchup carries work on history: devices far behind, audits and refolds; see jobs.Message.CatchUp.
// jobs-NAME-poison keeps messages that failed for good. Live work has the first choice of a pool's places, and catch-up
// work gets at most half of them. A live backlog leaves catch-up work one job per lease, so that it never stops.
//
// Within lease + 5 s after a worker's death, another pool with free places has received all of its messages. A pool
// that finds nothing asks for the depth of the queue, which includes leased messages, and looks every 3.5 s while there
// are messages that are not its own. An idle pool makes about 300 requests an hour and queue when the idle pause is the
// longest, 25 s: 0.4 million a month.
//
// A failure of a job is an attempt. After MaxAttempts of them the message is poison, but failures of busy storage never
// make it so. A get that ended neither in order nor by a failure is a death: usually the process crashed during the
// job. Jobs split batches with more than three deaths. The number of jobs in flight follows the share of busy answers,
// which the clients' OnOperation reports to the pool through Answered.
package worker
