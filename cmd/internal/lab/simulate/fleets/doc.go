// Package fleets simulates five kinds of fleets. Their devices send documents in the form in which real ones do, which
// folder documents has, at their cadences and with their faults: sensors that are stuck, doses that are missed.
//
//	Fleet.Members ──► simulate.Register ──► simulate.Run
//	Fleet.Sendings ─────────────────────────────┘
//	Fleet.Faults: which of them were in what was sent
//
// Documents and faults follow from a seed and the time.
package fleets
