package formats

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// A Writer writes an answer. End or Break is its last call.
type Writer interface {
	// Row writes a row, perhaps later.
	Row(Row) error
	// End completes the answer.
	End() error
	// Break completes nothing: every reader of the format that reads to the end fails. It writes the reason where the
	// format lets a person see it.
	Break(reason string) error
}

// NewWriter returns a writer of rows with these columns. In JSON they are the member rows of an object, which whole
// returns with an empty list of rows: it is called before the first row for the members in front of them, which must
// not change, and at the end for those behind.
func NewWriter(f Format, w io.Writer, columns []Column, whole func() any) Writer {
	switch f {
	case JSONL:
		return &jsonLines{w: w}
	case CSV:
		return newCSV(w, columns)
	case Arrow:
		return newArrow(w, columns)
	}
	return &jsonObject{lines: jsonLines{w: w}, whole: whole}
}

// options make encoding as that of encoding/json.
func options() json.Options {
	return json.JoinOptions(jsonv1.FormatDurationAsNano(true), jsonv1.OmitEmptyWithLegacySemantics(true),
		json.Deterministic(true))
}

// Marshal encodes v as encoding/json does, but faster, and nothing in it acts on a terminal.
func Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v, options())
	return PrintableJSON(b), err
}

type jsonLines struct {
	w    io.Writer
	line bytes.Buffer
}

func (l *jsonLines) Row(r Row) error {
	l.line.Reset()
	if err := json.MarshalWrite(&l.line, r.Object(), options()); err != nil {
		return err
	}
	l.line.WriteByte('\n')
	_, err := l.w.Write(PrintableJSON(l.line.Bytes()))
	return err
}

func (l *jsonLines) End() error { return nil }

// Break writes a line that is not JSON.
func (l *jsonLines) Break(reason string) error {
	text, err := Marshal(reason)
	if err != nil {
		return err
	}
	_, err = io.WriteString(l.w, `{"error":`+string(text))
	return err
}

type jsonObject struct {
	lines jsonLines
	whole func() any
	begun bool
}

// rowsMember is where the rows belong. No text has it, because quotes in texts are escaped.
var rowsMember = []byte(`"rows":[]`)

// parts returns what is in front of the rows, and what is behind them.
func (o *jsonObject) parts() (front, behind []byte, err error) {
	text, err := Marshal(o.whole())
	if err != nil {
		return nil, nil, err
	}
	front, behind, _ = bytes.Cut(text, rowsMember)
	return append(front, rowsMember[:len(rowsMember)-1]...), append([]byte("]"), append(behind, '\n')...), nil
}

func (o *jsonObject) Row(r Row) error {
	if !o.begun {
		o.begun = true
		front, _, err := o.parts()
		if err != nil {
			return err
		}
		if _, err = o.lines.w.Write(append(front, '\n')); err != nil {
			return err
		}
	} else if _, err := io.WriteString(o.lines.w, ","); err != nil {
		return err
	}
	return o.lines.Row(r)
}

func (o *jsonObject) End() error {
	front, behind, err := o.parts()
	if err != nil {
		return err
	}
	if !o.begun {
		if _, err := o.lines.w.Write(front); err != nil {
			return err
		}
	}
	_, err = o.lines.w.Write(behind)
	return err
}

// Break leaves the object open.
func (o *jsonObject) Break(reason string) error {
	if !o.begun {
		_, err := io.WriteString(o.lines.w, "{")
		return err
	}
	return o.lines.Break(reason)
}
