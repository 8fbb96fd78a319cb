package fleets

import (
	"bytes"
	"embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

//go:embed documents
var documents embed.FS

// Documents returns what real devices of a kind of fleet have sent.
func Documents(kind string) (all []map[string]any, err error) {
	file := kinds()[kind].file
	text, err := documents.ReadFile("documents/" + file)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(file, ".csv") {
		return csvDocuments(text)
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var document map[string]any
		if err := d.Decode(&document); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, document)
	}
}

func csvDocuments(text []byte) (all []map[string]any, err error) {
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, line := range lines[1:] {
		document := map[string]any{}
		for i, name := range lines[0] {
			document[name] = cell(line[i])
		}
		all = append(all, document)
	}
	return all, nil
}

// cell is a number or a boolean if its text looks so.
func cell(text string) any {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	if text == "true" || text == "false" {
		return text == "true"
	}
	return text
}

// clone copies a document with those in it.
func clone(document map[string]any) map[string]any {
	c := make(map[string]any, len(document))
	for name, v := range document {
		if inner, is := v.(map[string]any); is {
			v = clone(inner)
		}
		c[name] = v
	}
	return c
}
