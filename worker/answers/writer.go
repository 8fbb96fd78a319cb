package answers

import (
	"bufio"
	"errors"
	"io"
	"iter"
)

// A Writer writes an answer. End is its last call.
type Writer interface {
	// Row writes a row, perhaps later.
	Row(row any) error
	// End completes the answer.
	End() error
}

// NewWriter returns a writer of rows of the type of this one. In JSON they are the member rows of an object, which
// whole returns with an empty list of rows: it is called before the first row for the members in front of them, which
// must not change, and at the end for those behind.
func NewWriter(f Format, w io.Writer, row any, whole func() any) Writer {
	switch f {
	case JSONL:
		return &jsonLines{w: w}
	case CSV:
		return newCSV(w, columnsOf(row, false))
	case Arrow:
		return newArrow(w, columnsOf(row, false))
	case Table:
		return newTable(w, columnsOf(row, true))
	}
	return &jsonObject{lines: jsonLines{w: w}, whole: whole}
}

// Write writes rows as they come, and returns their number. Without rows it writes only a header, or nothing if
// that is because of an error.
func Write[R any](w io.Writer, f Format, rows iter.Seq2[R, error]) (n int, err error) {
	out := bufio.NewWriter(w)
	var first R
	to := NewWriter(f, out, first, nil)
	if n, err = writeAll(to, rows); n == 0 && err != nil {
		return 0, err
	}
	return n, errors.Join(err, to.End(), out.Flush()) // also what came before an error
}

func writeAll[R any](to Writer, rows iter.Seq2[R, error]) (n int, err error) {
	for r, err := range rows {
		if err != nil {
			return n, err
		}
		if err := to.Row(r); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
