package model

import (
	"errors"
	"fmt"
)

// ErrUnknown means that there is no such device or tenant.
var ErrUnknown = errors.New("not found")

// A QueryError says what is wrong with a query and what is allowed.
type QueryError struct{ Detail string }

func (e *QueryError) Error() string { return e.Detail }

func queryErrorf(format string, args ...any) error { return &QueryError{fmt.Sprintf(format, args...)} }
