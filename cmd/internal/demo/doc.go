// Package demo plays what Furrow promises, in processes as they run for real, and
// checks it.
//
//	furrow up ◄──tokens, rows── a simulated fleet     a device that is revoked
//	    ▲ jobs
//	furrow worker, killed midway ► another takes over ► package check: all of it, once?
//
// The fleet's devices live in this process. What is checked is read from the tables by
// code of its own (package check); counters only say how it went.
package demo
