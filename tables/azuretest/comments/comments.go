// Package comments reads the comments of Go code, from which references are generated.
package comments

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Comments are those of the types of this module and of their fields, read when they are asked for.
type Comments struct {
	t      testing.TB
	root   string // folder of the module
	byPath map[string]map[string]string
}

// Of returns the comments of the module in a folder.
func Of(t testing.TB, root string) *Comments {
	return &Comments{t, root, map[string]map[string]string{}}
}

// Type returns the comment of a type, in one line.
func (c *Comments) Type(of reflect.Type) string { return c.ofStruct(of)[of.Name()] }

// Field returns the comment above a field, and beside it.
func (c *Comments) Field(of reflect.Type, field string) string {
	return c.ofStruct(of)[of.Name()+"."+field]
}

func (c *Comments) ofStruct(of reflect.Type) map[string]string {
	path := of.PkgPath()
	known, is := c.byPath[path]
	if !is {
		known = c.read(filepath.Join(c.root, strings.TrimPrefix(path, "furrow/")))
		c.byPath[path] = known
	}
	return known
}

func (c *Comments) read(folder string) map[string]string {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		c.t.Fatalf("there is no Go in %s: %v", folder, err)
	}
	found := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			if types, is := decl.(*ast.GenDecl); is && types.Tok == token.TYPE {
				add(found, types)
			}
		}
	}
	return found
}

func add(found map[string]string, types *ast.GenDecl) {
	for _, spec := range types.Specs {
		spec := spec.(*ast.TypeSpec)
		found[spec.Name.Name] = inOneLine(types.Doc.Text() + " " + spec.Doc.Text())
		if fields, is := spec.Type.(*ast.StructType); is {
			for _, f := range fields.Fields.List {
				for _, name := range f.Names {
					found[spec.Name.Name+"."+name.Name] = inOneLine(f.Doc.Text() + " " + f.Comment.Text())
				}
			}
		}
	}
}

func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
