package main

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns counts a tab as one column.
const maxColumns = 120

// A fault is one place in a file that breaks a rule of language or layout.
type fault struct {
	file string
	line int
	text string
}

// bannedPhrases are constructions that make a reader decode a sentence, and citations of pages that this
// project does not have. A space also matches the end of a line within a comment.
func bannedPhrases() *regexp.Regexp {
	phrases := []string{
		`of which`, `of whom`, `is whose`, `whose its`, `whose( \w+){1,4} are[.,;:)]`, `such as ha[sd]`, `such as have`,
		`anew`, `amid`, `befalls?`, `befell`, `befallen`, `is of now`, `one by one of them`, `there (is|are) none of`,
		`what came of`, `lea(ves|ve|ving) word`, `so many of`,
		`DESIGN\.md`, `words\.md`, `invariants? \d+`, `issues? #?\d+`,
	}
	pattern := `(?i)\b(` + strings.Join(phrases, "|") + `)\b`
	pattern = strings.ReplaceAll(pattern, `[.,;:)])\b`, `[.,;:)])`)
	return regexp.MustCompile(strings.ReplaceAll(pattern, " ", `(?:[ \t]|\n[ \t]*(?://+)?[ \t]*)+`))
}

// handmadePlurals match text that adds an s by itself. The package english of go-humanize does that.
func handmadePlurals() *regexp.Regexp {
	return regexp.MustCompile(`(%[dv]|\d) [a-z ]+\(s\)|%d [a-z]+%s|\+= "s"|\+ "s"|return "s"`)
}

// proseFiles calls visit with every Go file, Markdown file and template of ours.
func proseFiles(t *testing.T, visit func(path string, content []byte)) {
	t.Helper()
	if testing.Short() {
		t.Skip("the run without -short reads the same files")
	}
	kinds := []string{".go", ".md", ".html"}
	skipped := []string{"testdata", "node_modules", "dist"}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains(skipped, d.Name())):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(kinds, filepath.Ext(path)) || d.Name() == "words_test.go":
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil && !bytes.Contains(content, []byte("Code generated ")) {
			visit(path, content)
		}
		return err
	})
	must(t, err)
}

func faultAt(path string, content []byte, offset int, text string) fault {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		panic(err)
	}
	rel = filepath.ToSlash(rel)
	return fault{rel, 1 + bytes.Count(content[:offset], []byte("\n")), text}
}

func matches(t *testing.T, pattern *regexp.Regexp) (all []fault) {
	proseFiles(t, func(path string, content []byte) {
		for _, at := range pattern.FindAllIndex(content, -1) {
			all = append(all, faultAt(path, content, at[0], string(content[at[0]:at[1]])))
		}
	})
	return all
}

func report(t *testing.T, faults []fault) {
	t.Helper()
	for _, f := range faults {
		t.Errorf("%s:%d: %q", f.file, f.line, f.text)
	}
}

func TestNoPhraseHasToBeDecoded(t *testing.T) { report(t, matches(t, bannedPhrases())) }

func TestPluralsComeFromOneHelper(t *testing.T) {
	t.Parallel()
	report(t, matches(t, handmadePlurals()))
}

func TestLinesFitIn120Columns(t *testing.T) {
	longLink := regexp.MustCompile(`https?://\S{60,}`)
	var faults []fault
	proseFiles(t, func(path string, content []byte) {
		if filepath.Ext(path) == ".html" {
			return // a template's whitespace is in the page
		}
		inRawString := rawStrings(path, content)
		offset := 0
		for line := range bytes.Lines(content) {
			text := bytes.TrimRight(line, "\n")
			columns := utf8.RuneCount(text)
			table := filepath.Ext(path) == ".md" && bytes.HasPrefix(text, []byte("|"))
			exact := bytes.HasPrefix(text, []byte("//go:")) || inRawString(offset, len(text))
			if columns > maxColumns && !table && !exact && !longLink.Match(text) {
				faults = append(faults, faultAt(path, content, offset, string(text)))
			}
			offset += len(line)
		}
	})
	report(t, faults)
}

// rawStrings tells which parts of a Go file have text between backquotes, which may have to be long.
func rawStrings(path string, content []byte) func(offset, length int) bool {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(content))
	s.Init(file, content, func(token.Position, string) {}, 0)
	type span struct{ from, to int }
	var all []span
	for filepath.Ext(path) == ".go" {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.STRING && literal[0] == '`' {
			all = append(all, span{file.Offset(pos), file.Offset(pos) + len(literal)})
		}
	}
	return func(offset, length int) bool {
		return slices.ContainsFunc(all, func(s span) bool { return s.from < offset+length && s.to > offset })
	}
}
