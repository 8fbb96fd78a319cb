package schema

import "furrow/tables"

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
	TrackLedgerFrom = "LedgerFrom"
	TrackRegained   = "Regained"

	TrackAttempts  = "Attempts"
	TrackHeld      = "Held"
	TrackHeldUntil = "HeldUntil"

	TrackRefold        = "Refold" // the cursor
	TrackRefoldRow     = "RefoldRow"
	TrackRefoldLedger  = "RefoldLedger"
	TrackRefoldRejects = "RefoldRejects"
	TrackRewound       = "Rewound"

	TrackChainMark   = "ChainMark"
	TrackChainUntil  = "ChainUntil"
	TrackRefoldMark  = "RefoldMark"
	TrackRefoldUntil = "RefoldUntil"

	// States of processors: at the checkpoint, where a refold of a windowed processor
	// has got to, and what a refold has made for a merging one. Their names follow.
	TrackStates   = "State_"
	TrackRefolded = "Refolded_"
	TrackRebuilt  = "Rebuilt_"
)

// A Track is what others than the jobs of a pipeline need to know of a tracking row:
// how far the pipeline has got with a device, and why it goes no further.
type Track struct {
	Place Place

	Checkpoint string // rows up to this row key are folded; empty: none is
	Rows       int64  // folded since the beginning
	Rejects    int64  // rows of which something was rejected, since the beginning
	Late       int64  // rows that audits have found, since the beginning

	Attempts  int          // that failed in a row; zero: the device does not fail
	Reason    string       // of the last failed attempt
	HeldUntil tables.Ticks // jobs pass over the device until then

	Claim       string       // of the job that claimed the row last; empty once it was given back
	Committed   string       // the claim of the last commit
	BehindUntil tables.Ticks // until then, a chain of jobs catches up with the device alone
	Refolding   bool         // rows are still to be folded again
}

// Failing tells whether the device's last job failed.
func (t Track) Failing() bool { return t.Attempts > 0 }

// Claimed tells whether a job has claimed the row and has neither committed nor given it back.
func (t Track) Claimed() bool { return t.Claim != "" && t.Claim != t.Committed }

// TrackProperties are the properties that TrackOf reads. All others, the states
// above all, are many times as large.
func TrackProperties() []string {
	return []string{"PartitionKey", "RowKey", FormatProperty, TrackCheckpoint, TrackRows, TrackRejects, TrackLate,
		TrackAttempts, TrackHeld, TrackHeldUntil, TrackClaim, TrackCommitted,
		TrackChainUntil, TrackRefold}
}

// TracksFailing is the filter for the tracking rows of devices that fail.
func TracksFailing() string { return TrackAttempts + " gt 0L" }

// TrackOf is a row of a partition-tracking table.
func TrackOf(e tables.Entity) (Track, error) {
	f := fieldsOf(&e)
	t := Track{
		Checkpoint: f.String(TrackCheckpoint),
		Rows:       f.Int(TrackRows), Rejects: f.Int(TrackRejects), Late: f.Int(TrackLate),
		Attempts: int(f.Int(TrackAttempts)), Reason: f.String(TrackHeld), HeldUntil: f.Ticks(TrackHeldUntil),
		Claim: f.String(TrackClaim), Committed: f.String(TrackCommitted), BehindUntil: f.Ticks(TrackChainUntil), Refolding: f.String(TrackRefold) != "",
	}
	var err error
	t.Place.Month, err = ParseMonth(e.PartitionKey)
	f.Fail("PartitionKey", err)
	t.Place.Key, err = ParseMemberKey(e.RowKey)
	f.Fail("RowKey", err)
	return t, f.Err()
}
