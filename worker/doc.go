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
package worker
