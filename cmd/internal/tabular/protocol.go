package tabular

import (
	"errors"
	"fmt"
	"strings"
)

// A protocol reads InfluxDB's line protocol: a measurement with tags, fields, and the time. A tag is a column, the name
// of a field comes after its measurement, and the time is the column time.
type protocol struct{ *Reader }

// isLineProtocol reports whether a text is a line of it with a time.
func isLineProtocol(text []byte) bool {
	parts := cut(string(text), ' ')
	return len(parts) == 3 && strings.Trim(parts[2], "0123456789") == "" && len(parts[2]) >= 10 &&
		len(cut(parts[1], '=')) > 1 && !strings.ContainsAny(parts[0], ";\t\"")
}

func (p *protocol) next() (r Record, err error) {
	for {
		line, err := p.lines.next()
		if p.Line = max(p.Line, line.number); errors.Is(err, errLong) {
			return nil, &LineError{err}
		}
		if err != nil {
			return nil, err
		}
		if text := strings.TrimSpace(string(line.text)); text != "" && text[0] != '#' {
			return p.point(text)
		}
	}
}

func (p *protocol) point(text string) (r Record, err error) {
	parts := cut(text, ' ')
	if len(parts) != 3 {
		return nil, &LineError{errors.New("want a measurement with tags, fields and a time, separated by single spaces")}
	}
	r = make(Record, len(p.Names))
	if r, err = p.set(r, "time", Cell{parts[2], '0'}); err != nil {
		return nil, err
	}
	series := cut(parts[0], ',')
	measurement := unescaped(series[0])
	for _, tag := range series[1:] {
		pair := cut(tag, '=')
		if len(pair) != 2 {
			return nil, &LineError{fmt.Errorf("tag %q has no value", tag)}
		}
		if r, err = p.set(r, unescaped(pair[0]), Cell{unescaped(pair[1]), '"'}); err != nil {
			return nil, err
		}
	}
	for _, field := range cut(parts[1], ',') {
		pair := cut(field, '=')
		if len(pair) < 2 {
			return nil, &LineError{fmt.Errorf("field %q has no value", field)}
		}
		cell, err := fieldValue(strings.Join(pair[1:], "="))
		if err != nil {
			return nil, &LineError{fmt.Errorf("field %q: %w", pair[0], err)}
		}
		if r, err = p.set(r, measurement+"_"+unescaped(pair[0]), cell); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func fieldValue(text string) (Cell, error) {
	switch text {
	case "t", "T", "true", "True", "TRUE":
		return Cell{"true", 't'}, nil
	case "f", "F", "false", "False", "FALSE":
		return Cell{"false", 'f'}, nil
	}
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		return Cell{strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(text[1 : len(text)-1]), '"'}, nil
	}
	if number := strings.TrimRight(text, "iu"); isNumber(number) && !strings.Contains(number, ",") {
		return Cell{number, '0'}, nil
	}
	return Cell{}, fmt.Errorf("%.40q is neither a number, nor true or false, nor a text in quotes", text)
}

// cut cuts a text at a character that is neither escaped nor within quotes.
func cut(text string, at byte) (parts []string) {
	from, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '"' && (quoted || i > 0 && text[i-1] == '='):
			quoted = !quoted
		case text[i] == at && !quoted:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

func unescaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text // a replacer costs more than all else about a line
	}
	return strings.NewReplacer(`\,`, ",", `\=`, "=", `\ `, " ").Replace(text)
}
