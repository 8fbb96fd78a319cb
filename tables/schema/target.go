package schema

import (
	"fmt"
	"strings"
	"time"

	"furrow/tables"
)

// A Target is the name of a target of notifications: a letter, and then letters, digits and -, all small.
type Target string

// ParseTarget returns s as a Target, or why it is invalid.
func ParseTarget(s string) (Target, error) { return Target(s), checkName("target", s) }

// A TargetState is a row of the table runs: what a pipeline's jobs know of a target. It is in the partition of the
// runs, so that a master job reads it with the row of its own run.
type TargetState struct {
	Pipeline Pipeline
	Target   Target
	// Due is when a job has something to do for the target. Zero means that deliveries have come since the last job;
	// only whoever has written deliveries sets that.
	Due tables.Ticks `row:"Due,int64"`
	// Generation is the newest configuration that has written deliveries. Jobs of earlier ones, which may not have the
	// target, or another url, leave these alone.
	Generation int64 `row:"Generation,omitzero"`

	Claim string       `row:"Claim"`       // of the job that works for the target; random
	Until tables.Ticks `row:"Until,int64"` // end of the claim

	Failures int          `row:"Failures"`    // sendings that failed since the last success
	Pause    tables.Ticks `row:"Pause,int64"` // nothing is sent until then, because too many failed
	Error    string       `row:"Error"`       // of the last failure; empty after a success

	// Next is when what waits is tried again, as far as the last job knew. Zero: nothing waits, or the target is off.
	Next tables.Ticks `row:"Next,int64"`
	// Retry makes what failed before due at once: the target answered again then, or somebody redrove it.
	Retry tables.Ticks `row:"Retry,int64"`
	// Most limits the deliveries of a message, since the receiver refused a larger one. Zero: the limit of its kind.
	Most int `row:"Most"`
	// Refreshed is when an Alertmanager was told of all open alerts last.
	Refreshed tables.Ticks `row:"Refreshed,int64"`
	Off       string       `row:"Off"`         // where it sent to when a receiver wanted nothing any more; empty: it is on
	OffAt     tables.Ticks `row:"OffAt,int64"` // since when; not zero while the incident about that is open

	Sent    int64        `row:"Sent"`         // deliveries that arrived
	Failed  int64        `row:"Failed"`       // sendings that failed
	GivenUp int64        `row:"GivenUp"`      // deliveries that were given up
	Waiting int64        `row:"Waiting"`      // deliveries that waited after the last job, without those that are repeated
	Oldest  tables.Ticks `row:"Oldest,int64"` // when the oldest of them that is not muted was to be sent
	Last    tables.Ticks `row:"Last,int64"`   // when something arrived last
	ETag    tables.ETag
}

// A target's state is looked at again after TargetLook at the latest, if anything waits. A claim lasts for TargetClaim.
const (
	TargetLook  = 10 * time.Minute
	TargetClaim = 3 * time.Minute
)

// Waits reports whether there is nothing to do for the target at a time of storage's, or a job is at it. What lies
// further ahead than a job writes it is of a clock that was wrong, and counts for nothing.
func (s TargetState) Waits(now tables.Ticks) bool {
	return s.Due == tables.MaxTicks || s.Due.ComesWithin(TargetLook, now) || s.Until.ComesWithin(TargetClaim, now)
}

const targetRow = "notify" + Separator

// TargetKeys returns the keys of a target's state.
func TargetKeys(p Pipeline, t Target) (pk, rk string) { return string(p), targetRow + string(t) }

// TargetStates returns the rows of all targets' states.
func TargetStates(p Pipeline) tables.Range {
	return tables.Range{Partitions: tables.Is(string(p)), Rows: tables.KeysWithPrefix(targetRow)}
}

// RunAndTargets returns the rows of the runs from a slot on, and of the states of all targets.
func RunAndTargets(p Pipeline, slot tables.Ticks) tables.Range {
	return tables.Range{Partitions: tables.Is(string(p)),
		Rows: tables.Keys{From: slot.String(), Before: tables.KeysWithPrefix(targetRow).Before}}
}

// IsTargetState reports whether a row of the table runs is the state of a target.
func IsTargetState(rowKey string) bool { return strings.HasPrefix(rowKey, targetRow) }

// Entity returns the row of t.
func (t TargetState) Entity() tables.Entity {
	var e tables.Entity
	e.PartitionKey, e.RowKey = TargetKeys(t.Pipeline, t.Target)
	t.Error = shortened(t.Error)
	_ = e.Encode(&t) // texts and numbers
	return e
}

// TargetStateOf decodes a row of a target's state.
func TargetStateOf(e tables.Entity) (TargetState, error) {
	t := TargetState{ETag: e.ETag}
	f := decode(&e, &t)
	t.Pipeline = parsed(f, "PartitionKey", e.PartitionKey, ParsePipeline)
	name, is := strings.CutPrefix(e.RowKey, targetRow)
	var err error
	if t.Target, err = ParseTarget(name); err == nil && !is {
		err = fmt.Errorf("row %s is no state of a target", tables.Quote(e.RowKey))
	}
	f.Fail("RowKey", err)
	return t, f.Err()
}
