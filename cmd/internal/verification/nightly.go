package verification

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/setup"
	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A Nightly verifies a sample of the devices each night, where the configuration has a block verify, and keeps what it
// counts in the table runs. Several processes may run one: whoever has the row of schema.Verification verifies.
//
// A sample is a share of the devices, the next one the share after it. So after 100 samples of 1 % each device that
// stayed has been verified. A sample is of the days since the one before, with values. It reads the archive's files of
// the same share of the tenants' partitions of the fleet. Devices that differed are looked at again with the next
// samples until they do not. A sample that was interrupted continues with the partition that it was at.
type Nightly struct {
	Client  *tables.Client
	Names   schema.Names
	Archive *archive.Store                               // nil if the account has none
	Config  func() (all []config.Pipeline, format int64) // the current configuration
	Name    string                                       // of the process
	Log     *slog.Logger
	Now     func() time.Time
}

const (
	looksEvery = time.Minute      // whether a sample is due
	nightAt    = 3 * time.Hour    // after midnight (UTC): late rows of the day before are folded
	keepEvery  = time.Minute      // what a sample has counted
	holdFor    = 15 * time.Minute // a process that dies leaves its sample to another one after that
)

// Run verifies what is due until ctx ends, and returns nil then.
func (n *Nightly) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if _, err := n.Once(ctx); err != nil && ctx.Err() == nil {
			n.Log.WarnContext(ctx, "sample not verified", "error", err)
		}
		setup.Pause(ctx, looksEvery)
	}
	return nil
}

// Once verifies the sample that is due. It reports whether there was one, which no other process had.
func (n *Nightly) Once(ctx context.Context) (verified bool, err error) {
	pipelines, format := n.Config()
	if len(pipelines) == 0 || pipelines[0].Verify == nil {
		return false, nil
	}
	block, runs := pipelines[0].Verify, n.Client.Table(n.Names.Runs())
	state, err := query.Progress{Tables: n.Client, Names: n.Names}.Verification(ctx)
	if err != nil {
		return false, err
	}
	from, to, due := span(state, block.Every, n.Now())
	if !due || n.held(state) {
		return false, nil
	}
	v, err := Of(n.Client, n.Names, pipelines, format)
	if err != nil {
		return false, err
	}
	v.From, v.To, v.Values, v.Share = from.Start(), to.Start(), true, block.Sample
	v.Begin = begin(state.Number, block.Sample)
	if v.Archive != nil && n.Archive != nil {
		v.Archive.Read = FilesOf(n.Archive)
	}
	v.Pause = func() { setup.Pause(ctx, againAfter) }
	s := &sample{Nightly: n, runs: runs, config: v, state: state, from: from, to: to,
		rows: map[rowOf]*schema.Verified{}}
	err = s.verify(ctx)
	if errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists) {
		n.Log.InfoContext(ctx, "another process verifies the sample", "number", state.Number)
		return false, nil
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("sample %d: %w", state.Number, err), s.giveBack(ctx))
	}
	return true, nil
}

// span returns the days that are due: those since the last sample, and not more of them than every.
func span(s schema.Verification, every time.Duration, now time.Time) (from, to schema.Day, due bool) {
	at := tables.TicksOf(now)
	if to = schema.DayOf(at); s.After != "" { // it has begun
		to = schema.DayOf(s.Ends)
	}
	days := schema.Day(every / (24 * time.Hour))
	if from = s.Through; s.At == 0 || from > to { // none yet, or a clock was ahead
		return to - days, to, true
	}
	return max(from, to-days), to, s.After != "" || to-from >= days && at >= to.Start().Add(nightAt)
}

// begin returns where the share of a sample begins: where that of the one before has ended.
func begin(number int64, share float64) float64 {
	whole := float64(number) * share
	return whole - float64(int64(whole))
}

// held reports whether a process verifies. A time far beyond holdFor is of a clock that was ahead.
func (n *Nightly) held(s schema.Verification) bool {
	now := tables.TicksOf(n.Now())
	return s.By != "" && s.Until > now && s.Until <= now.Add(2*holdFor)
}

// againAfter is how long a device is left alone that changes while it is looked at.
const againAfter = 200 * time.Millisecond
