// Package jobs is the work that a pipeline has: what each job does with the
// tables of a fleet, and the messages that carry jobs from one to the next.
//
//	master ─► a month job per partition of the fleet ─► device jobs, in batches
//	                                                └─► audit jobs, in batches
//
// It knows nothing of queues: package worker carries its messages.
package jobs
