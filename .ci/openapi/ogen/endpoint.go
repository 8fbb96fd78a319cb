package main

import (
	"context"

	"client/ogen"
)

// A secret is the proof of the token endpoint's document.
type secret string

func (s secret) Proof(context.Context, ogen.OperationName) (ogen.Proof, error) {
	return ogen.Proof{APIKey: string(s)}, nil
}
