package jobs_test

import (
	"os"
	"testing"

	"furrow/tables/azuretest/effort"
)

// TestMain has many tests at once: a worker whose rival died waits for its claim to end, and most tests here have such
// workers, one after the other.
func TestMain(m *testing.M) { os.Exit(effort.RunAtOnce(m, 6)) }
