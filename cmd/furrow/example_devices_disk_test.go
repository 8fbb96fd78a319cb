package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"furrow/tables/azuretest/effort"
)

// TestExampleDevicesStopWhereNothingCanBeSaved: the disk takes a part of the new file, or none of it. What waits stays
// there, and no row is sent under a key that is not on disk. The shell's readings have a file each.
func TestExampleDevicesStopWhereNothingCanBeSaved(t *testing.T) {
	effort.OnlyLong(t, "they are programs in other languages")
	t.Parallel()
	s := newRefusingServer(t, false)
	keys := []string{}
	for i := range 200 {
		keys = append(keys, "0639000000000000"+strconv.Itoa(100+i)+"-before."+strconv.Itoa(i))
	}
	for way, full := range map[string]func(*testing.T, *exampleDevice){
		"a part": func(_ *testing.T, d *exampleDevice) { // of 8 KiB
			d.command = append([]string{"sh", "-c", `trap '' XFSZ; ulimit -f 16; exec "$@"`, "sh"}, d.command...)
		},
		"none": func(t *testing.T, d *exampleDevice) {
			must(t, os.Mkdir(filepath.Join(d.dir, "readings.new"), 0o700))
		},
	} {
		for _, d := range exampleDevices(t, false) {
			if d.name == "shell" {
				continue
			}
			d.configure(t, s.URL, anyKey, "")
			d.leave(t, keys...)
			full(t, d)
			d.start(t)
			ended := make(chan struct{})
			go func() {
				_ = d.cmd.Wait() // it fails
				close(ended)
			}()
			await(t, lateText(d.text), func() bool {
				select {
				case <-ended:
					return true
				default:
					return s.count(d.id()+"rows") > 0
				}
			})
			if n := s.count(d.id() + "rows"); n > 0 {
				t.Errorf("%s, %s: it sends rows: %s", way, d.name, d.text())
			}
			waiting := d.waiting(t)
			for _, key := range keys {
				if !strings.Contains(waiting, key) {
					t.Errorf("%s, %s: %s is lost", way, d.name, key)
					break
				}
			}
		}
	}
}
