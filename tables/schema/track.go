package schema

import (
	"fmt"
	"time"

	"furrow/tables"
)

// The properties of a row of a partition-tracking table. Only the jobs of a pipeline
// write them; what they mean is documented there.
const (
	TrackCheckpoint = "LastReadRowKey"
	TrackFence      = "Fence"
	TrackGeneration = "Generation"
	TrackSettings   = "Settings"
	TrackOpen       = "Open"

	TrackClaim      = "Claim"
	TrackClaimUntil = "ClaimUntil"
	TrackTakeovers  = "Takeovers"
	TrackCommitted  = "Committed"

	TrackRows       = "Rows"
	TrackRejects    = "Rejects"
	TrackLate       = "Late"
	TrackLedger     = "Ledger"
	TrackCoverage   = "Coverage"      // which days are sealed, right, or to be made again
	TrackLedgerFrom = "LedgerFrom"    // the time up to which all days are sealed
	TrackRegained   = "Regained"      // days that tokens admit again
	TrackWatermark  = MemberWatermark // rows below it may be gone; nothing counts or folds them again

	TrackSpans   = MemberSpans // of the membership, as its rows are folded
	TrackUncut   = "Uncut"     // outputs of rows up to this time may be of earlier spans or settings
	TrackSettled = "Settled"   // the membership has ended, and all its days are sealed
	TrackLeft    = "Left"      // the checkpoint with which the device has left the fleet

	TrackWaits     = "Waits"     // of retention: the cause for which readings stay that are old enough to go
	TrackWaitsFrom = "WaitsFrom" // those that do are from here on

	TrackAttempts  = "Attempts"
	TrackHeld      = "Held"
	TrackHeldUntil = "HeldUntil"
	TrackBatchRows = "BatchRows"
	TrackBatchTook = "BatchMicroseconds"
	TrackRecounted = "Recounted" // when a device job counted the youngest rows again

	TrackRefold        = "Refold" // a window with all days that are to be made again
	TrackRefoldRow     = "RefoldRow"
	TrackRefoldLedger  = "RefoldLedger"
	TrackRefoldRejects = "RefoldRejects"
	TrackRefoldKnown   = "RefoldKnown" // rejects from before the refold
	TrackRewound       = "Rewound"
	TrackImported      = "Imported"  // ID of the last import that the pipeline knows
	TrackImporting     = "Importing" // of these, those with rows of imports and moves

	TrackChainMark   = "ChainMark"
	TrackChainUntil  = "ChainUntil"
	TrackRefoldMark  = "RefoldMark"
	TrackRefoldUntil = "RefoldUntil"

	// Prefixes of the states of processors: at the checkpoint, at the cursor of a refold of
	// a windowed processor, and of the refold of a merging one.
	TrackStates   = "State_"
	TrackRefolded = "Refolded_"
	TrackRebuilt  = "Rebuilt_"
)

// A Track is the part of a tracking row that is of interest outside of jobs: how far a
// pipeline has folded a device, and why it stopped.
type Track struct {
	Place Place

	Checkpoint string // rows up to this row key are folded; empty if none is
	Rows       int64  // folded since the beginning
	Rejects    int64  // rows that were rejected, or some of their values, since the beginning
	Late       int64  // rows that audits have found, since the beginning

	BatchRows int64         // that the last job folded which had any
	BatchTook time.Duration // to read and to fold them; TrackProperties has neither

	Attempts  int          // consecutive failures
	Reason    string       // of the last failed attempt
	HeldUntil tables.Ticks // jobs pass over the device until then

	Claim       string       // of the job that claimed the row last; empty after it was given back
	Committed   string       // the claim of the last commit
	BehindUntil tables.Ticks // until then, a chain of jobs catches up on this device
	Waiting     bool         // it is far behind, and waits for its turn to catch up
	Refolding   bool         // rows are still to be folded again

	Rest Rest // what the last commit says, if it stands; TrackProperties has none

	Waits     string       // of retention: the cause for which readings stay that are old enough to go
	WaitsFrom tables.Ticks // those that do are from here on
}

// Failing reports whether the device's last job failed.
func (t Track) Failing() bool { return t.Attempts > 0 }

// The longest times for which jobs pass over a device: one that fails, and one with a message under way.
const (
	LongestPause = 6 * time.Hour
	LongestMark  = 10 * time.Minute
)

// Expected reports whether jobs wait at a moment for a time that a row has. One that lies further ahead than they ever
// wait comes from a clock that was ahead, and counts for nothing.
func Expected(until, now tables.Ticks, longest time.Duration) bool {
	return now < until && until <= now.Add(longest+time.Minute)
}

// HeldAt reports whether jobs pass over the device because it fails.
func (t Track) HeldAt(now tables.Ticks) bool { return Expected(t.HeldUntil, now, LongestPause) }

// BehindAt reports whether a chain of jobs catches up on the device.
func (t Track) BehindAt(now tables.Ticks) bool { return Expected(t.BehindUntil, now, LongestMark) }

// Claimed reports whether a job has claimed the row and neither committed nor given it back.
func (t Track) Claimed() bool { return t.Claim != "" && t.Claim != t.Committed }

// TrackProperties returns the properties that TrackOf reads. The others, mainly the states,
// are many times as large.
func TrackProperties() []string {
	return []string{"PartitionKey", "RowKey", FormatProperty, TrackCheckpoint, TrackRows, TrackRejects, TrackLate,
		TrackAttempts, TrackHeld, TrackHeldUntil, TrackClaim, TrackCommitted,
		TrackChainMark, TrackChainUntil, TrackRefold, TrackSpans, TrackSettled, TrackImported}
}

// RetentionProperties returns the properties that TrackOf reads of the rows of retention.
func RetentionProperties() []string {
	return []string{"PartitionKey", "RowKey", FormatProperty, TrackCheckpoint, TrackAttempts, TrackHeld, TrackHeldUntil,
		TrackWaits, TrackWaitsFrom}
}

// DeviceTracks returns the RowKeys of devices in a tracking table. What a partition has besides them, such as marks,
// begins with a separator.
func DeviceTracks() tables.Keys { return tables.Keys{From: tables.KeysWithPrefix(Separator).Before} }

// TracksFailing returns the filter for the tracking rows of failing devices.
func TracksFailing() string { return TrackAttempts + " gt 0L" }

// TracksRejecting returns the filter for the tracking rows of devices with so many rejects since the beginning.
func TracksRejecting(least int) string { return fmt.Sprintf("%s ge %dL", TrackRejects, least) }

// TracksWaiting returns the filter for the tracking rows of devices that wait for their turn to catch up: the time of
// their marks is the earliest one that storage accepts.
func TracksWaiting() string {
	return TrackChainMark + " gt '' and " + TrackChainUntil + " lt datetime'1602-01-01T00:00:00Z'"
}

// TracksBehind returns the filter for the tracking rows of devices that have their turn to catch up at a time.
func TracksBehind(now tables.Ticks) string {
	is := func(than string, at tables.Ticks) string {
		return TrackChainUntil + " " + than + " datetime'" + at.Time().Format(time.RFC3339) + "'"
	}
	return is("gt", now) + " and " + is("le", now.Add(LongestMark+time.Minute))
}

// TrackOf decodes a row of a partition-tracking table.
func TrackOf(e tables.Entity) (Track, error) {
	f := fieldsOf(&e)
	t := Track{
		Checkpoint: f.String(TrackCheckpoint),
		Rows:       f.Int(TrackRows), Rejects: f.Int(TrackRejects), Late: f.Int(TrackLate),
		Attempts: int(f.Int(TrackAttempts)), Reason: f.String(TrackHeld), HeldUntil: f.Ticks(TrackHeldUntil),
		Claim: f.String(TrackClaim), Committed: f.String(TrackCommitted), BehindUntil: f.Ticks(TrackChainUntil),
		Refolding: f.String(TrackRefold) != "",
		BatchRows: f.Int(TrackBatchRows), BatchTook: time.Duration(f.Int(TrackBatchTook)) * time.Microsecond,
		Waits: f.String(TrackWaits), WaitsFrom: tables.Ticks(f.Int(TrackWaitsFrom)),
	}
	t.Rest, _ = RestOf(&e)
	t.Waiting = f.String(TrackChainMark) != "" && t.BehindUntil.Time().Year() == 1601
	var err error
	t.Place.Month, err = ParseMonth(e.PartitionKey)
	f.Fail("PartitionKey", err)
	t.Place.Key, err = ParseMemberKey(e.RowKey)
	f.Fail("RowKey", err)
	return t, f.Err()
}
