package commit

import (
	"context"
	"fmt"
)

// Do claims, writes and commits.
func (a *Attempt) Do(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, life, errTooLong)
	defer cancel()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"claiming", a.ClaimAll}, {"writing rejects", a.reject},
		{"writing acknowledgements", a.acknowledge}, {"writing outputs", a.write},
		{"committing", a.commit},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}
