package simulate

import (
	"os"
	"testing"

	"furrow/tables/azuretest/effort"
)

func TestMain(m *testing.M) { os.Exit(effort.RunAtOnce(m, 6)) }
