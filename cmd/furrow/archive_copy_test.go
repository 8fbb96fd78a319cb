package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestLaterFailureEndsNoRepetition: storage may be away for an hour, and be back with the next run.
func TestLaterFailureEndsNoRepetition(t *testing.T) {
	away, closed := errors.New("away"), errors.New("closed")
	for _, c := range []struct {
		runs []error // and then the command is stopped
		told error   // of the output, once something was told twice
		want string
	}{
		{runs: []error{nil, away, away, nil}, want: "[<nil> away away <nil>] <nil>"},
		{runs: []error{away, nil}, want: "[] away"},
		{runs: []error{nil, nil, nil}, told: closed, want: "[<nil> <nil>] closed"},
	} {
		ctx, stop := context.WithCancel(t.Context())
		runs := c.runs
		told := []error{}
		err := repeated(ctx, func() error {
			if len(runs) == 0 {
				stop()
				return context.Canceled
			}
			err := runs[0]
			runs = runs[1:]
			return err
		}, func(err error) error {
			if told = append(told, err); len(told) == 2 {
				return c.told
			}
			return nil
		}, func() bool { return true })
		stop()
		if got := fmt.Sprint(told, err); got != c.want {
			t.Errorf("of runs that end with %v, it says %s, want %s", c.runs, got, c.want)
		}
	}
}
