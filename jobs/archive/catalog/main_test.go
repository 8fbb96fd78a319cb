package catalog_test

import (
	"os"
	"testing"

	"furrow/tables/azuretest"
)

func TestMain(m *testing.M) {
	azuretest.WithoutConnections()
	os.Exit(m.Run())
}
