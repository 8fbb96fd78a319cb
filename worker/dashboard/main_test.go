package dashboard

import (
	"os"
	"testing"

	"furrow/tables/azuretest/effort"
)

// TestMain has many tests at once: most tests here wait for what the dashboard reads again.
func TestMain(m *testing.M) { os.Exit(effort.RunAtOnce(m, 6)) }
