package azuretest

import (
	"os"
	"testing"
)

// TestEmbedded holds our own server to every assumption.
func TestEmbedded(t *testing.T) {
	Run(t, Local(t))
}

// TestConfigured holds the account that the environment names to them.
func TestConfigured(t *testing.T) {
	if os.Getenv("FURROW_TEST_STORAGE") == "" {
		t.Skip("FURROW_TEST_STORAGE names no account")
	}
	Run(t, FromEnv(t))
}
