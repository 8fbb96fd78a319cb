package model

import (
	"errors"
	"fmt"
)

// ErrUnknown says that there is no such device or tenant.
var ErrUnknown = errors.New("it is not known")

// An AskError says what is wrong with what was asked for, and what to do.
type AskError struct{ Detail string }

func (e *AskError) Error() string { return e.Detail }

func askf(format string, args ...any) error { return &AskError{fmt.Sprintf(format, args...)} }
