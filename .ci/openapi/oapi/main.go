// Oapi calls every operation through a client that oapi-codegen has made.
package main

import (
	"context"
	"net/http"

	"client/oapi"
)

func main() {
	callAll("WithResponse", func(url, authorization string) (any, error) {
		return oapi.NewClientWithResponses(url, oapi.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", authorization)
			return nil
		}))
	})
}
