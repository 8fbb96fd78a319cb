package worker

import (
	"os"
	"testing"

	"furrow/tables/azuretest/effort"
)

// TestMain has many tests at once: most tests here wait for leases and slots.
func TestMain(m *testing.M) { os.Exit(effort.RunAtOnce(m, 6)) }
