package model

import (
	"errors"
	"fmt"
)

// ErrUnknown says that there is no such device or tenant.
var ErrUnknown = errors.New("it is not known")

// An QueryError says what is wrong with what was asked for, and what to do.
type QueryError struct{ Detail string }

func (e *QueryError) Error() string { return e.Detail }

func queryErrorf(format string, args ...any) error { return &QueryError{fmt.Sprintf(format, args...)} }
