package verify

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json/jsontext"
)

// leaves returns the values of a property, at most so many, by name. A text that is a JSON object or array has one for
// each of its leaves. It returns false if there are more, or if they are nested too deep. A name that is too long is
// refused.
func leaves(name string, v tables.Value, most int, refused *bool) ([]tables.Property, bool) {
	text := v.Text()
	if nested := v.Type() == tables.TypeString && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")); nested {
		w := walk{from: jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowInvalidUTF8(true)), most: most}
		err := w.value(name, 0)
		if _, end := w.from.ReadToken(); err == nil && end != io.EOF {
			err = errors.New("something follows it")
		}
		if w.bad {
			return nil, false
		}
		if err == nil {
			*refused = *refused || w.long
			return w.found, true
		}
		if most > 0 && len(name) > mostName { // it only looks like JSON
			*refused = true
			return nil, true
		}
	}
	if most < 1 {
		return nil, false
	}
	return []tables.Property{{Name: name, Value: v}}, true
}

// A walk goes through a JSON text.
type walk struct {
	from  *jsontext.Decoder
	most  int
	found []tables.Property
	long  bool // a name was
	bad   bool // it has too many values, or is nested too deep
}

var errBad = errors.New("too many values, or nested too deep")

func (w *walk) value(name string, depth int) error {
	switch {
	case depth > mostNesting:
		w.bad = true
		return errBad
	case len(name) > mostName:
		w.long = true
		return w.from.SkipValue()
	}
	t, err := w.from.ReadToken()
	if err != nil {
		return err
	}
	switch t.Kind() {
	case '{':
		return w.members(name, depth)
	case '[':
		return w.items(name, depth)
	case 'n':
		return nil
	}
	v := tables.String(t.String())
	if k := t.Kind(); k == 't' || k == 'f' {
		v = tables.Boolean(k == 't')
	}
	if len(w.found) == w.most {
		w.bad = true
		return errBad
	}
	w.found = append(w.found, tables.Property{Name: name, Value: v})
	return nil
}

func (w *walk) members(name string, depth int) error {
	for w.from.PeekKind() != '}' {
		key, err := w.from.ReadToken()
		if err != nil {
			return err
		}
		if err := w.value(string(schema.AppendName([]byte(name+"_"), key.String(), mostName)), depth+1); err != nil {
			return err
		}
	}
	_, err := w.from.ReadToken()
	return err
}

func (w *walk) items(name string, depth int) error {
	for i := 0; w.from.PeekKind() != ']'; i++ {
		if err := w.value(name+"_"+strconv.Itoa(i), depth+1); err != nil {
			return err
		}
	}
	_, err := w.from.ReadToken()
	return err
}
