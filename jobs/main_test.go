package jobs_test

import (
	"os"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
)

// TestMain has many tests at once: a worker whose rival died waits for its claim to end, and most tests here have such
// workers, one after the other. All of them are of one day, as the archive makes a day that is over.
func TestMain(m *testing.M) {
	azuretest.WithoutConnections()
	effort.SameDay(3 * time.Minute)
	os.Exit(effort.RunAtOnce(m, 6))
}
