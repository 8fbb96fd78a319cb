package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUpStartsOnAFullDisk, where other programs have every byte but the reserve. It can be read, says on its pages
// and in furrow status what waits for what, ends when it is told to, and also starts after a kill. With room again,
// everything goes on, and every acknowledged reading is stored.
func TestUpStartsOnAFullDisk(t *testing.T) {
	if *diskDir == "" {
		t.Skip("needs a small disk: see -disk.dir")
	}
	x := newFullDisk(t)
	honest := &sender{x: x, token: x.token(t, "honest"), values: `"temperature":21.5`, statuses: map[int]int{}}
	x.sends(t, honest, http.StatusNoContent)
	await(t, "readings to be folded", func() bool { return x.knows("honest") })
	await(t, "the reserve", func() bool {
		_, err := os.Stat(filepath.Join(x.f.storage, "reserve"))
		return err == nil
	})
	must(t, x.process.Process.Signal(syscall.SIGTERM))
	_ = x.process.Wait() // how it ends is not what this is about
	all := x.fill(t)

	x.start(t)
	x.sends(t, honest, http.StatusInsufficientStorage)
	if !x.knows("honest") {
		t.Error("what was folded cannot be read")
	}
	if said := x.f.must("status"); !strings.Contains(said, "disk     full") {
		t.Errorf("status does not say that the disk is full:\n%s", said)
	}
	for page, says := range map[string]string{"v1/pipelines": `"diskFull":true`, "": "<strong>Disk full</strong>"} {
		if body := get(t, http.DefaultClient, x.said.Dashboard+page, ""); !strings.Contains(body, says) {
			t.Errorf("the dashboard's /%s does not say %s", page, says)
		}
	}
	await(t, "a run on the full disk", func() bool {
		return strings.Contains(x.f.must("status"), "done in")
	})
	x.f.must("device revoke honest --yes")
	x.f.must("device restore honest")

	must(t, x.process.Process.Kill())
	_ = x.process.Wait() // it was killed
	x.start(t)
	x.sends(t, honest, http.StatusInsufficientStorage)
	must(t, x.process.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- x.process.Wait() }()
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(time.Minute):
		t.Fatal("furrow up does not end on a full disk")
	}

	x.start(t)
	must(t, errors.Join(os.Remove(x.ballast), os.Remove(all)))
	x.sends(t, honest, http.StatusNoContent)
	honest.mustBeStored(t)
	must(t, honest.unexpected())
}

// sends sends readings until one gets a status.
func (x *fullDisk) sends(t *testing.T, s *sender, status int) {
	t.Helper()
	s.token = x.token(t, "honest") // also where the Table service is now
	client := &http.Client{Transport: &http.Transport{}, Timeout: 40 * time.Second}
	defer client.CloseIdleConnections()
	before := s.count(status)
	await(t, s, func() bool {
		s.one(context.Background(), client)
		return s.count(status) > before+20
	})
}

// knows reports whether a device has newest values.
func (x *fullDisk) knows(device string) bool {
	_, out, _ := x.f.run("query " + device + " --latest")
	return strings.Contains(out, "temperature")
}

// fill takes every byte of the disk that is free, and returns the file that has them.
func (x *fullDisk) fill(t *testing.T) (name string) {
	t.Helper()
	name = filepath.Join(*diskDir, "other")
	f, err := os.Create(name)
	must(t, err)
	for size := 1 << 20; size > 0; {
		if _, err = f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	_ = f.Close() // the disk is full
	return name
}
