// Package faults makes storage misbehave as it really does, for tests: answers
// come late or never, requests are done twice, pages are empty, servers busy.
// A Transport does it between a client and its service, a Handler around a
// server; a Plan says when.
package faults

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// A Fault is one way in which storage, or the way to it, misbehaves.
type Fault string

const (
	None         Fault = ""
	Stalled      Fault = "stalled"        // the request is held back, and sent late or, if its context ends, never
	Late         Fault = "late"           // the request is done at once, and its answer held back
	AnswerLost   Fault = "answer lost"    // the request is done, and the connection reset instead of an answer
	Twice        Fault = "twice"          // the request is done twice, and the second answer given
	Cut          Fault = "cut"            // the request is done, and the connection closed amid the answer's body
	ServerBusy   Fault = "server busy"    // 503 ServerBusy, and nothing is done
	TimedOut     Fault = "timed out"      // 500 OperationTimedOut, and nothing is done
	TimedOutDone Fault = "timed out done" // 500 OperationTimedOut, and yet the request is done
	EmptyPage    Fault = "empty page"     // no rows and a continuation token; happens to queries of entities only
)

// A Plan says what befalls the nth operation, counted from 0. It must answer
// the same whenever it is asked, from several goroutines at once.
type Plan interface {
	Fault(n int) Fault
}

// A Script names the operations that something befalls.
type Script map[int]Fault

// Fault is what the script has for n; None where it has nothing.
func (s Script) Fault(n int) Fault { return s[n] }

// Random draws from a seed, so that a run can be repeated: what befalls the nth
// operation depends on n alone.
type Random struct {
	Seed  uint64
	Rates map[Fault]float64 // the share of operations that each befalls; together at most 1
}

// Fault is what was drawn for n.
func (r Random) Fault(n int) Fault {
	draw := rand.New(rand.NewPCG(r.Seed, uint64(n))).Float64()
	for _, f := range slices.Sorted(maps.Keys(r.Rates)) {
		if draw -= r.Rates[f]; draw < 0 {
			return f
		}
	}
	return None
}
