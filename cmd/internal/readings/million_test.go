package readings

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// mostSlower is how much more processor time a form may take than DuckDB for the same rows as CSV, which it reads by
// columns and without a look at what they mean. It is twice what the slowest takes, for busy machines.
const mostSlower = 40

// TestMillionRowsOfEachForm says how fast they are read, beside DuckDB's read_csv, and in how much memory.
func TestMillionRowsOfEachForm(t *testing.T) {
	python := os.Getenv("FURROW_TABLE_READERS")
	if python == "" {
		t.Skip("FURROW_TABLE_READERS names a Python that has duckdb and pyarrow")
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), python, "testdata/million.py", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	duck := must.Have(strconv.ParseFloat(strings.TrimSpace(string(out)), 64))(t)
	debug.SetGCPercent(20)
	t.Logf("DuckDB reads the rows as CSV in %.2f s", duck)
	t.Log("file             understood      read   rows/s  DuckDB's times  memory")
	for _, name := range must.Have(filepath.Glob(filepath.Join(dir, "*")))(t) {
		file := must.Have(os.Open(name))(t)
		name, before, began := filepath.Base(name), taken(), processorTime(t)
		r := must.Have(Open(file, Columns{}))(t)
		understood, rows := processorTime(t)-began, 0
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s, row %d: %v", name, rows, err)
			}
			rows++
		}
		read := processorTime(t) - began - understood
		must.Succeed(t, errors.Join(r.Close(), file.Close()))
		slower, grown := read.Seconds()/duck, taken()-before
		t.Logf("%-14s %8.2f s %8.2f s %8.0f %15.1f %3d MiB", name, understood.Seconds(), read.Seconds(),
			float64(rows)/read.Seconds(), slower, grown>>20)
		if rows != 1e6 || slower > mostSlower || grown > mostMemory {
			t.Errorf("%s: %d rows in %.1f times as long as DuckDB's CSV, and %d MiB", name, rows, slower, grown>>20)
		}
	}
}

// processorTime is what the process has taken of the processors, on which others may be busy.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	must.Succeed(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
