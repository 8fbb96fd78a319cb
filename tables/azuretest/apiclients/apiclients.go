// Package apiclients tries API clients that generators have made of an OpenAPI document. Each calls every operation of
// a server, and what it read is compared with what the server answered.
package apiclients

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// A Call is an operation as clients need it, whatever they call its parts.
type Call struct {
	Operation string         `json:"operation"`
	Tag       string         `json:"tag"`
	Method    string         `json:"method"`
	Path      string         `json:"path"`
	InPath    []string       `json:"inPath"` // parameters, in order
	Params    map[string]any `json:"params"`
	Body      any            `json:"body,omitempty"`
	Takes     string         `json:"takes,omitempty"` // schema of the body
	Answers   string         `json:"answers,omitempty"`
}

// A request is what a client finds on its standard input.
type request struct {
	URL           string `json:"url"`
	Authorization string `json:"authorization"`
	Calls         []Call `json:"calls"`
}

// Arguments are the parameters of an operation that get a value, and its body or nil.
type Arguments struct {
	Params map[string]any
	Body   any
}

// Try runs the clients of a folder, which are programs, as subtests. with returns the arguments of all operations that
// take some, for one client: what it does is not undone for the next.
func Try(
	t *testing.T, document []byte, folder, authorization string, h http.Handler, with func() map[string]Arguments,
) {
	t.Helper()
	clients := must.Have(filepath.Glob(filepath.Join(folder, "*.client")))(t)
	if len(clients) == 0 {
		t.Fatalf("there is no client in %s", folder)
	}
	for _, client := range clients {
		name := strings.TrimSuffix(filepath.Base(client), ".client")
		t.Run(name, func(t *testing.T) {
			seen := &recorder{next: h}
			server := httptest.NewServer(seen)
			defer server.Close()
			asked := request{server.URL, authorization, calls(t, document, with())}
			if name == "java" { // it parses whatever it gets as JSON
				asked.Calls = slices.DeleteFunc(asked.Calls, func(c Call) bool { return strings.HasSuffix(c.Path, "/stream") })
			}
			var said, errs bytes.Buffer
			command := exec.CommandContext(t.Context(), client)
			command.Stdin = bytes.NewReader(must.Have(json.Marshal(asked))(t))
			command.Stdout, command.Stderr = &said, &errs
			if err := command.Run(); err != nil {
				t.Fatalf("%v: %.4000s", err, errs.String())
			}
			read := strings.Split(strings.TrimSpace(said.String()), "\n")
			if len(read) != len(asked.Calls) || len(seen.answers) != len(asked.Calls) {
				t.Fatalf("%d calls, %d requests, %d values: %.2000s", len(asked.Calls), len(seen.answers), len(read), errs.String())
			}
			for i, c := range asked.Calls {
				if a := seen.answers[i]; a.Code != http.StatusOK {
					t.Errorf("%s is answered with %d: %s", c.Operation, a.Code, a.Body)
				} else if differs := precision(name).differ(a.Body.String(), read[i]); differs != "" {
					t.Errorf("%s: %s\nanswered %s\nread %s", c.Operation, differs, a.Body, read[i])
				}
			}
		})
	}
}

// precision is how long the shortest time is that a client keeps: JavaScript has milliseconds. Ogen reads all digits,
// but writes whole seconds.
func precision(client string) comparer {
	switch client {
	case "typescript-fetch":
		return comparer(time.Millisecond)
	case "ogen":
		return comparer(time.Second)
	}
	return 1
}

// calls returns all operations of a document, in an order that is always the same.
func calls(t *testing.T, document []byte, with map[string]Arguments) (all []Call) {
	t.Helper()
	type content struct {
		Content map[string]struct {
			Schema struct {
				Ref string `json:"$ref"`
			}
		}
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Tags        []string
			RequestBody content
			Responses   map[string]content
		}
	}
	must.Succeed(t, json.Unmarshal(document, &doc))
	const plain, schemas = "application/json", "#/components/schemas/"
	for at, methods := range doc.Paths {
		for method, o := range methods {
			if _, file := o.Responses["200"].Content["application/vnd.apache.parquet"]; file {
				continue // bytes, which no generator does anything with
			}
			c := Call{Operation: o.OperationID, Tag: o.Tags[0], Method: strings.ToUpper(method), Path: at, InPath: []string{},
				Params: map[string]any{}, Takes: strings.TrimPrefix(o.RequestBody.Content[plain].Schema.Ref, schemas),
				Answers: strings.TrimPrefix(o.Responses["200"].Content[plain].Schema.Ref, schemas)}
			for part := range strings.SplitSeq(at, "/") {
				if name, is := strings.CutPrefix(part, "{"); is {
					c.InPath = append(c.InPath, strings.TrimSuffix(name, "}"))
				}
			}
			if a, takes := with[o.OperationID]; takes {
				c.Params, c.Body = a.Params, a.Body
				delete(with, o.OperationID)
			}
			all = append(all, c)
		}
	}
	if len(with) > 0 {
		t.Fatalf("the document has no operation for %v", with)
	}
	slices.SortFunc(all, func(a, b Call) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
	return all
}
