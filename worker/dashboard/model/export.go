package model

import (
	"iter"
	"time"
)

// An Export is a long answer, whose rows are read while they are written.
type Export struct {
	Bounds *Bounds
	Extent *Extent    // complete when Rows has ended
	Whole  func() any // the JSON object, without its rows
	Row    any        // of the type of all rows
	Rows   iter.Seq2[any, error]
}

// Bounds are what limits an answer, as it was understood.
type Bounds struct {
	From  *time.Time `json:"from,omitempty"` // absent where the newest rows or values are asked for
	To    *time.Time `json:"to,omitempty"`
	Limit int        `json:"limit"` // of rows in the answer
}

// An Extent is how far an answer reaches.
type Extent struct {
	Count      int64  `json:"count"`                // rows in the answer
	RowsRead   int64  `json:"rowsRead"`             // rows that storage was asked for
	Next       string `json:"next,omitempty"`       // cursor of the next part
	Unreadable int64  `json:"unreadable,omitempty"` // rows in an unknown format, or that the model refuses
	Operations int    `json:"operations"`
}

// Limits of an answer. Where there is more, it ends with a cursor.
const (
	MaxRows = 1_000_000
	maxRead = 1_000_000 // rows of storage
)
