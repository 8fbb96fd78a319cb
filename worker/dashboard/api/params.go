package api

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxQuery is the largest query string that is read, in bytes.
const maxQuery = 4 << 10

// Parsing returns what parses query strings. Q is a struct whose fields have tags: query:"NAME", or query:"NAME,KIND"
// where a name means something of its own. A field stays zero if its parameter is not given. The error is a Problem
// that says what is wrong and what is allowed. Several goroutines may call it.
func Parsing[Q any]() func(query string) (Q, error) {
	all, kinds := paramsOf(reflect.TypeFor[Q]()), parsers()
	return func(query string) (q Q, err error) {
		if len(query) > maxQuery {
			return q, badRequest(fmt.Sprintf("The query has %d bytes; the limit is %d.", len(query), maxQuery))
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			return q, badRequest("Invalid query. Write parameters as in ?tenant=contoso&limit=50, and escape special " +
				"characters with %.")
		}
		into := reflect.ValueOf(&q).Elem()
		if err := parse(values, into, all, kinds); err != nil {
			return q, err
		}
		if asked := into.FieldByName("Asked"); asked.IsValid() {
			for _, name := range []string{"limit", "after", "format"} {
				values.Del(name)
			}
			asked.SetString(values.Encode())
		}
		if whole, is := any(q).(interface{ check() error }); is {
			err = whole.check()
		}
		return q, err
	}
}

func parse(values url.Values, into reflect.Value, all []param, kinds map[string]parser) error {
	for name, texts := range values {
		at := slices.IndexFunc(all, func(p param) bool { return p.name == name })
		switch {
		case at < 0:
			return badRequest(fmt.Sprintf("Unknown parameter %s; %s.", quote(name), list(all)))
		case len(texts) > 1 && all[at].kind != "with":
			return badRequest(fmt.Sprintf("The parameter %s is given %d times; give it once.", name, len(texts)))
		}
		for _, text := range texts {
			if text == "" {
				continue // a form field that was left empty
			}
			value, err := kinds[all[at].kind](text)
			if err != nil {
				return badParam(name, fmt.Sprintf("%s=%s: %v.", name, quote(text), err))
			}
			set(into.FieldByIndex(all[at].path), reflect.ValueOf(value))
		}
	}
	return nil
}

// set sets a field, or what it points to, or adds to a list of parameters that are given several times.
func set(field, value reflect.Value) {
	switch {
	case value.Type() == field.Type():
		field.Set(value)
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.New(value.Type()))
		field.Elem().Set(value)
	default:
		field.Set(reflect.Append(field, value))
	}
}

// A param is a parameter of a struct.
type param struct {
	name, kind string
	path       []int
}

// paramsOf returns the parameters of a struct, in the order of its fields. One of its own hides that of an embedded
// struct.
func paramsOf(of reflect.Type, path ...int) (all []param) {
	for i := range of.NumField() {
		f, at := of.Field(i), append(slices.Clone(path), i)
		if tag, is := f.Tag.Lookup("query"); is {
			name, _, _ := strings.Cut(tag, ",")
			all = append(all, param{name, tag, at})
		} else if f.Anonymous && f.Type.Kind() == reflect.Struct {
			all = append(all, paramsOf(f.Type, at...)...)
		}
	}
	return slices.DeleteFunc(all, func(p param) bool {
		return slices.ContainsFunc(all, func(o param) bool { return o.name == p.name && len(o.path) < len(p.path) })
	})
}

// NamesOf returns the names of the parameters of a struct.
func NamesOf[Q any]() (names []string) {
	for _, p := range paramsOf(reflect.TypeFor[Q]()) {
		names = append(names, p.name)
	}
	return names
}

func list(all []param) string {
	if len(all) == 0 {
		return "this address takes no parameters"
	}
	var names []string
	for _, p := range all {
		names = append(names, p.name)
	}
	return "this address takes " + strings.Join(names, ", ")
}

// quote quotes text, shortened to what can be read.
func quote(text string) string {
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return strconv.Quote(text)
}

// check refuses a span that ends before it begins.
func (t Times) check() error {
	if t.From != nil && t.To != nil && !t.From.Before(*t.To) {
		return badParam("to", "from must be before to: swap them.")
	}
	return nil
}

func (s Within) check() error {
	if err := s.Times.check(); err != nil {
		return err
	}
	if s.Span != "" && (s.From != nil || s.To != nil) {
		return badParam("span", "span cannot be combined with from or to: leave one out.")
	}
	return nil
}

func (c Compared) check() error {
	if err := c.Within.check(); err != nil {
		return err
	}
	switch {
	case len(c.With) > MaxWith:
		return badRequest(fmt.Sprintf("A chart has at most %d other sensors; with is given %d times.", MaxWith,
			len(c.With)))
	case c.Against != "" && len(c.With) == MaxWith:
		return badRequest(fmt.Sprintf("A chart has at most %d other lines, and another device is one: leave out a sensor.",
			MaxWith))
	}
	return nil
}
