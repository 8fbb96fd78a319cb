package main

import (
	"errors"
	"fmt"
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
		loads, own = append(loads, l), append(own, l.Own(s.pipeline.Name))
	}
	disk, err := diskLimits(dir)
	return own, append(limits.Shared(loads), disk...), err
}

// diskLimits returns the limits of the disk of a storage directory; none where dir is empty, or of another user.
func diskLimits(dir string) ([]limits.Limit, error) {
	if dir == "" {
		return nil, nil
	}
	disk, err := local.Disk(dir)
	switch {
	case errors.Is(err, os.ErrPermission) || errors.Is(err, errors.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	const toDo = "make room, move the directory to a larger disk, or keep less (retention)"
	return []limits.Limit{
		limits.New("the disk, without what other files have", shareOf(disk.Stored, disk.Free+disk.Stored), 0, toDo),
		limits.New("the free space without which devices are refused", shareOf(disk.Refused, disk.Free), 0, toDo)}, nil
}

// shareOf returns part/whole, at most 1.
func shareOf(part, whole uint64) float64 {
	if part >= whole {
		return min(1, float64(part))
	}
	return float64(part) / float64(whole)
}

// limitsText formats the limits that are close, for people.
func limitsText(all []limits.Limit) (text string) {
	for _, l := range all {
		if l.Close {
			text += "\n" + wrapped(fmt.Sprintf("warning: %.0f %% of a limit: %s; %s (furrow help limits)", 100*l.Share, l.What,
				l.ToDo), 2) + "\n"
		}
	}
	return text
}
