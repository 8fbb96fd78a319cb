// Package worker is how work is run: a Queue carries the messages of a
// pipeline, a Pool runs their jobs under leases, and a Scheduler puts the
// master job of every slot. It is the home of azqueue in the program.
//
// Messages come at least once, in no order, and a lease can be lost at any
// moment: all of that is normal here, and jobs must bear it.
package worker
