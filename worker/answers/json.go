package answers

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// options make encoding as that of encoding/json. Devices send texts that are no UTF-8.
func options() json.Options {
	return json.JoinOptions(jsonv1.FormatDurationAsNano(true), jsonv1.OmitEmptyWithLegacySemantics(true),
		json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
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

func (l *jsonLines) Row(row any) error {
	l.line.Reset()
	if err := json.MarshalWrite(&l.line, row, options()); err != nil {
		return err
	}
	l.line.WriteByte('\n')
	_, err := l.w.Write(PrintableJSON(l.line.Bytes()))
	return err
}

func (l *jsonLines) End() error { return nil }

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

func (o *jsonObject) Row(row any) error {
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
	return o.lines.Row(row)
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
