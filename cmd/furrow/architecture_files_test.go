package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNoArrowRunsBackUpBetweenFiles: in packages of the engine, files that use one another have an order. So each can
// be read after those that it uses.
func TestNoArrowRunsBackUpBetweenFiles(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", "commit", "coverage", "fold", "folding", "groups", "live", "notify", "outbox", "plan",
		"refold", "retain", "tracking"} {
		paths, err := filepath.Glob(filepath.Join("../../jobs", dir, "*.go"))
		must(t, err)
		files, parsed := token.NewFileSet(), []*ast.File(nil)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			must(t, err)
			parsed = append(parsed, file)
		}
		if circle := circleOf(arrowsBetween(files, parsed)); circle != nil {
			t.Errorf("jobs/%s: each of these files uses the next: %s", dir, strings.Join(circle, ", "))
		}
	}
}

func TestArrowsBetweenFilesAreFound(t *testing.T) {
	for name, texts := range map[string][]string{
		"":        {"package p; func a() { b() }", "package p; func b() {}", "package p; type c struct{}"},
		"0 1 0":   {"package p; func a() { b() }", "package p; func b() { a() }"},
		"0 2 1 0": {"package p; type a c", "package p; func (a) b() {}; var d a", "package p; type c struct{}; var _ = d.b"},
	} {
		files, parsed := token.NewFileSet(), []*ast.File(nil)
		for i, text := range texts {
			file, err := parser.ParseFile(files, string(rune('0'+i)), text, parser.SkipObjectResolution)
			must(t, err)
			parsed = append(parsed, file)
		}
		if got := strings.Join(circleOf(arrowsBetween(files, parsed)), " "); got != name {
			t.Errorf("%q, want %q", got, name)
		}
	}
}

// emptyPackages imports packages that have nothing. What a package declares itself is resolved without them.
type emptyPackages struct{}

func (emptyPackages) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

// arrowsBetween returns which other files of a package each one uses: their types, functions, methods, constants and
// variables. Fields belong to their type.
func arrowsBetween(files *token.FileSet, parsed []*ast.File) map[string]map[string]bool {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	check := types.Config{Importer: emptyPackages{}, Error: func(error) {}, FakeImportC: true}
	p, _ := check.Check("p", files, parsed, info) // errors are about what was not imported
	arrows := map[string]map[string]bool{}
	name := func(at token.Pos) string { return filepath.Base(files.Position(at).Filename) }
	for use, is := range info.Uses {
		v, isVar := is.(*types.Var)
		_, isImport := is.(*types.PkgName)
		if is.Pkg() != p || isImport || isVar && v.Parent() != p.Scope() {
			continue
		}
		if from, to := name(use.Pos()), name(is.Pos()); from != to {
			if arrows[from] == nil {
				arrows[from] = map[string]bool{}
			}
			arrows[from][to] = true
		}
	}
	return arrows
}

// circleOf returns a way that ends where it began, or nil.
func circleOf(arrows map[string]map[string]bool) []string {
	done := map[string]bool{}
	var way []string
	var visit func(string) []string
	visit = func(at string) []string {
		if i := slices.Index(way, at); i >= 0 {
			return append(way[i:], at)
		}
		if done[at] {
			return nil
		}
		way = append(way, at)
		for _, next := range slices.Sorted(maps.Keys(arrows[at])) {
			if circle := visit(next); circle != nil {
				return circle
			}
		}
		way, done[at] = way[:len(way)-1], true
		return nil
	}
	for _, at := range slices.Sorted(maps.Keys(arrows)) {
		if circle := visit(at); circle != nil {
			return circle
		}
	}
	return nil
}
