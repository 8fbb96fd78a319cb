package main

import (
	"context"
	"strings"

	"github.com/ogen-go/ogen/ogenerrors"

	"client/ogen"
)

// A secret is the bearer token of the dashboard's document, which takes a password, too.
type secret string

func (s secret) Token(context.Context, ogen.OperationName) (ogen.Token, error) {
	return ogen.Token{Token: strings.TrimPrefix(string(s), "Bearer ")}, nil
}

func (secret) Password(context.Context, ogen.OperationName) (ogen.Password, error) {
	return ogen.Password{}, ogenerrors.ErrSkipClientSecurity
}
