package factory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// jsonRows are lines of JSON, an object each. A null is as good as nothing.
type jsonRows struct{ file *File }

func (r jsonRows) fields(line []byte) (map[string]string, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, fmt.Errorf("it is no JSON object: %s", plainJSON(err))
	}
	fields := map[string]string{}
	for name, value := range members {
		column := columnOf(name)
		if column == "" {
			r.file.unknownName(name)
			continue
		}
		if _, twice := fields[column]; twice {
			return fields, fmt.Errorf("%s is there twice", column)
		}
		text, err := scalar(value)
		if column == "labels" && value.Kind() == '{' {
			text, err = string(value), nil
		}
		if err != nil {
			return fields, fmt.Errorf("%s %w", column, err)
		}
		fields[column] = text
	}
	return fields, nil
}

// plainJSON is an error of the JSON package without its name.
func plainJSON(err error) string {
	text := err.Error()
	for _, prefix := range []string{"json: ", "jsontext: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}

// scalar is a value as the text that would stand in CSV.
func scalar(v jsontext.Value) (string, error) {
	switch v.Kind() {
	case 'n':
		return "", nil
	case '"':
		var text string
		err := json.Unmarshal(v, &text)
		return strings.TrimSpace(text), err
	case '0', 't', 'f':
		return string(v), nil
	}
	return "", errors.New("is neither a text nor a number")
}
