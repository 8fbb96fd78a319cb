package endpoint

import (
	"os"
	"testing"

	"furrow/tables/azuretest/apiclients"
)

// TestGeneratedClientsReadEveryAnswer tries clients that have been made of the document: .ci/long openapi makes them.
func TestGeneratedClientsReadEveryAnswer(t *testing.T) {
	clients := os.Getenv("FURROW_API_CLIENTS")
	if clients == "" {
		t.Skip("FURROW_API_CLIENTS names a folder of generated clients")
	}
	h, _ := mustNew(t, Config{})
	type params = map[string]any
	apiclients.Try(t, ask(h, request("GET", "/openapi.json", "", nil)).Body.Bytes(), clients, rightProof, h,
		func() map[string]apiclients.Arguments {
			return map[string]apiclients.Arguments{"token": {Params: params{"id": "pump-7"}, Body: params{"ring": true}}}
		})
}
