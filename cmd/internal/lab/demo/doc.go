// Package demo demonstrates what Furrow promises with real processes, and verifies it.
//
//	furrow up ◄──tokens, rows── a simulated fleet     a device that is revoked
//	    ▲ jobs
//	furrow worker, killed midway ► another takes over ► package check: everything once?
//
// The fleet's devices run in this process. Package check reads the tables and verifies them with code of its
// own; counters serve only for the report.
package demo
