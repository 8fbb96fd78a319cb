package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"furrow/cmd/internal/config"
	"furrow/tables/local"
	"furrow/worker/limits"
	"furrow/worker/query"
)

// A statusRead is a pipeline with its status.
type statusRead struct {
	pipeline config.Pipeline
	query.Status
}

// limitsOf returns the limits of storage for each pipeline, and after them those of what pipelines share.
// dir is the storage directory; empty: it is none.
func limitsOf(dir string, all []statusRead) (own [][]limits.Limit, shared []limits.Limit, err error) {
	var loads []limits.Load
	for _, s := range all {
		l := limits.Of(s.Runs, s.Cadence)
		loads = append(loads, l)
		name := string(s.pipeline.Name)
		own = append(own, []limits.Limit{
			limits.New("entities a second in the largest partition of "+name, l.PartitionShare(),
				"raise the cadence, or give enrollments more shards for new devices (furrow enrollment set --shards)"),
			limits.New("messages a second in the queue of "+name, l.QueueShare(), "raise the batch or the cadence"),
		})
	}
	shared = []limits.Limit{limits.New("requests a second of the account", limits.AccountShare(loads),
		"fold or send less often, or put new devices into another account")}
	if dir == "" {
		return own, shared, nil
	}
	disk, err := local.Disk(dir)
	switch {
	case errors.Is(err, os.ErrPermission) || errors.Is(err, errors.ErrUnsupported): // it belongs to another user
		return own, shared, nil
	case err != nil:
		return nil, nil, err
	}
	const toDo = "make room, move the directory to a larger disk, or keep less (retention)"
	return own, append(shared,
		limits.New("the disk, without what other files have", shareOf(disk.Stored, disk.Free+disk.Stored), toDo),
		limits.New("the free space without which devices are refused", shareOf(disk.Refused, disk.Free), toDo)), nil
}

// shareOf returns part/whole, at most 1.
func shareOf(part, whole uint64) float64 {
	if part >= whole {
		return min(1, float64(part))
	}
	return float64(part) / float64(whole)
}

// writeLimits prints the limits that are close, for people.
func writeLimits(w io.Writer, all []limits.Limit) error {
	for _, l := range all {
		if !l.Close {
			continue
		}
		text := fmt.Sprintf("warning: %.0f %% of a limit: %s; %s (furrow help limits)", 100*l.Share, l.What, l.ToDo)
		if _, err := io.WriteString(w, "\n"+wrapped(text, 2)+"\n"); err != nil {
			return err
		}
	}
	return nil
}
