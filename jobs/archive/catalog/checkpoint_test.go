package catalog_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive/delta"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// TestCheckpointsComeWhenTheyAreDue: a week after versions without one, or after a hundred of them.
func TestCheckpointsComeWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	checkpoints := func(w *world) (n int) {
		for name := range w.blobs(t) {
			if strings.HasSuffix(name, ".checkpoint.parquet") {
				n++
			}
		}
		return n
	}
	at := func(w *world, days time.Duration) *machine {
		m := w.machine(t, faults.Later(days*24*time.Hour))
		must.Succeed(t, m.publish(t.Context()))
		must.Succeed(t, m.table.Log(m.objects).Checkpoint(t.Context(), false))
		return m
	}
	w := newWorld(t, a, "weeks")
	for _, step := range []struct {
		days time.Duration
		want int
	}{{0, 0}, {6, 0}, {8, 1}, {9, 1}, {30, 1}} { // without another version there is nothing to do
		if at(w, step.days); checkpoints(w) != step.want {
			t.Errorf("after %d days: %d checkpoints, want %d", step.days, checkpoints(w), step.want)
		}
	}
	w = newWorld(t, a, "versions")
	for n := range 99 {
		w.send(june, fmt.Sprint("b/", 100+n))
		must.Succeed(t, w.machine(t, nil).make(t.Context(), june))
		if n == 50 && checkpoints(w) > 0 {
			t.Error("a checkpoint after 50 versions")
		}
	}
	at(w, 0)
	if n := checkpoints(w); n != 1 {
		t.Errorf("%d checkpoints after a hundred versions", n)
	}
	must.Succeed(t, w.machine(t, nil).table.Cleaner(w.machine(t, nil).objects).CleanLog(t.Context(), 0))
	for name := range w.blobs(t) {
		if strings.HasSuffix(name, "00.json") && strings.Contains(name, "00000000000000000000") {
			t.Errorf("%s, below the checkpoint, is still there", name)
		}
	}
	if problem := w.followed(t); problem != "" {
		t.Error(problem)
	}
}

// TestACheckpointEndsWithItsVersion: while it is made, an erasure ends all versions so far, and deletes their files.
func TestACheckpointEndsWithItsVersion(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for at, puts := 0, false; ; at++ {
		w := newWorld(t, a, fmt.Sprint("ends", at))
		must.Succeed(t, w.machine(t, nil).publish(t.Context()))
		gate := &faults.Gate{At: at, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			if !puts {
				must.Succeed(t, w.machine(t, nil).eraseAll(t.Context()))
			}
			return send()
		}}
		c := w.machine(t, faults.Func(func(r *http.Request) (*http.Response, error) {
			puts = puts || int(gate.N.Load()) <= at && putsLog(".checkpoint.parquet")(r)
			return gate.Do(r)
		}))
		must.Succeed(t, c.table.Log(c.objects).Checkpoint(t.Context(), true))
		if puts { // a maker that stands still from here on puts one that CleanLog deletes
			if at < 3 {
				t.Errorf("a checkpoint was put at operation %d", at)
			}
			return
		}
		if _, is := w.blobs(t)[delta.CheckpointFile(2)]; is {
			t.Errorf("erased at operation %d: there is a checkpoint of version 2, which has ended", at)
		}
	}
}
