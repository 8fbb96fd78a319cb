package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// root is the module's directory, from here.
const root = "../.."

// A source is one Go file of the module.
type source struct {
	pkg     string // folder below root, e.g. "tables/local"
	file    string
	test    bool // a _test.go file, or in a package for tests
	parsed  *ast.File
	imports []string
}

// sources are all Go files, whatever they are built for. Hidden folders,
// testdata and node_modules are not ours.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := sourcesOnce()
	must(t, err)
	if len(all) < 10 {
		t.Fatalf("%d files found: this test looks in the wrong place", len(all))
	}
	return all
}

// sourcesOnce parses the files once for all tests.
var sourcesOnce = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		s, err := read(path)
		all = append(all, s)
		return err
	})
	return all, err
})

func read(path string) (source, error) {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return source{}, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	for _, d := range parsed.Decls { // no test looks into functions, which would be most of the memory
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
	parsed.Comments = nil
	s := source{pkg: filepath.ToSlash(filepath.Dir(rel)), file: filepath.ToSlash(rel), parsed: parsed}
	s.test = strings.HasSuffix(path, "_test.go") || slices.ContainsFunc(strings.Split(s.pkg, "/"), forTests)
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return s, err
		}
		s.imports = append(s.imports, name)
	}
	return s, nil
}

// forTests tells the folders whose packages serve tests: azuretest, jobstest.
func forTests(folder string) bool { return strings.HasSuffix(folder, "test") }

// below tells whether a package is in a folder, or is the folder itself.
func below(pkg string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return pkg == folder || strings.HasPrefix(pkg, folder+"/")
	})
}

// An arrow says what packages of ours a package may import outside of tests. "/..." stands for a folder
// and all below it, as in the Go tool.
type arrow struct{ from, to string }

// arrows are in order of precedence: the first that fits a package holds for it.
func arrows() []arrow {
	return []arrow{
		{"tables", "tables/service"},
		{"tables/schema", "tables"},
		{"tables/commands", "tables tables/schema"},
		{"tables/made", "tables tables/schema"}, // pure: it is given row keys
		{"tables/service", ""},
		{"tables/shares", ""},
		{"tables/local/...", "tables/local/internal/... tables/shares"}, // clients know it by its protocol alone

		// The engine knows no processor, and processors know no engine.
		{"jobs", "jobs/commit jobs/coverage jobs/fold jobs/folding jobs/groups jobs/internal/... jobs/live jobs/notify " +
			"jobs/outbox jobs/plan jobs/refold jobs/retain jobs/tracking tables tables/commands tables/schema"},
		{"jobs/plan", "jobs/commit jobs/coverage jobs/refold tables tables/schema"}, // audits have turns
		{"jobs/live", "jobs/commit jobs/coverage jobs/fold jobs/folding jobs/tracking tables tables/schema"},
		{"jobs/refold", "jobs/commit jobs/coverage jobs/fold jobs/folding jobs/outbox jobs/tracking tables tables/schema"},
		{"jobs/outbox", "jobs/commit jobs/fold jobs/folding jobs/notify jobs/tracking tables tables/commands tables/schema"},
		{"jobs/folding", "jobs/commit jobs/fold jobs/tracking tables tables/schema"},
		{"jobs/fold", "jobs/condition tables tables/schema"},
		{"jobs/groups", "jobs/commit jobs/coverage jobs/fold jobs/retain jobs/tracking tables tables/schema"},
		{"jobs/retain", "jobs/commit jobs/condition jobs/coverage jobs/fold jobs/tracking tables tables/schema"},
		{"jobs/commit", "jobs/coverage jobs/fold jobs/tracking tables tables/schema"},
		{"jobs/tracking", "jobs/coverage jobs/fold jobs/internal/... tables tables/schema"},
		{"jobs/coverage", "jobs/internal/... tables"}, // days and what happened to them
		{"jobs/internal/...", ""},
		{"jobs/condition", ""},
		{"jobs/notify", "tables tables/schema"},
		{"jobs/processors", "jobs/... tables/schema"}, // the list of all
		{"jobs/archive/delta", ""},
		{"jobs/archive/catalog", "jobs/archive/delta jobs/commit tables tables/schema"},
		{"jobs/archive", "jobs/archive/catalog jobs/archive/columnar jobs/archive/delta jobs/commit jobs/fold " +
			"jobs/groups jobs/internal/... jobs/report jobs/retain jobs/rollup tables tables/schema tables/service"},
		{"jobs/report", "jobs/fold jobs/groups jobs/retain jobs/rollup tables tables/schema"},
		// Nor does one processor know another.
		{"jobs/...", "jobs/condition jobs/fold jobs/internal/... tables tables/schema tables/service"},

		{"worker", "jobs tables tables/schema tables/service"},
		{"worker/price", ""},
		{"worker/limits", "tables/schema worker"},
		{"worker/budget", "tables/schema worker/price"},
		{"worker/cost", "tables/schema worker/price"},
		{"worker/verify", "tables tables/made tables/schema"}, // shares no code with what it verifies
		{"worker/outliers", ""},
		{"worker/query", "jobs/... tables tables/made tables/schema worker worker/cost worker/outliers"},
		{"worker/admin", "jobs jobs/refold sas sas/access tables tables/commands tables/schema worker worker/query"},
		{"worker/dashboard", "sas/access tables/schema tables/shares worker/admin worker/dashboard/..."},
		{"worker/dashboard/model", "jobs/... tables tables/commands tables/schema tables/shares worker worker/budget " +
			"worker/cost worker/answers worker/limits worker/outliers worker/price worker/query"}, // no HTML, no HTTP
		{"worker/dashboard/api", "jobs/condition sas/access tables tables/commands tables/schema tables/shares " +
			"worker/admin worker/cost worker/answers worker/dashboard/model worker/query"},
		{"worker/answers", "jobs/archive/catalog jobs/fold jobs/rate jobs/rollup tables tables/commands tables/schema " +
			"worker/outliers worker/query"},
		{"worker/dashboard/web/...", "sas/access tables tables/commands tables/schema worker/admin " +
			"worker/cost worker/dashboard/api worker/answers worker/dashboard/model worker/dashboard/web/... " +
			"worker/query"},

		{"sas", "tables tables/commands tables/schema tables/service"},
		{"sas/device", "tables tables/schema tables/service"}, // for keys, rows and their transactions
		{"sas/endpoint", "sas tables tables/schema tables/shares"},
		{"sas/access", "tables tables/schema"},

		{"cmd/internal/lab/demo/check", "tables tables/schema worker/verify"}, // shares no code with what it checks
		{"cmd/internal/setup", "sas tables tables/local"},
		{"cmd/internal/backup", "tables/local"}, // for locks
		{"cmd/internal/...", "jobs/... sas/... tables tables/schema worker/... cmd/internal/..."},
		{"cmd/furrow", "jobs/... sas/... tables/... worker/... cmd/internal/..."},
		{"cmd/bench", "jobs/... tables tables/local tables/schema worker worker/price cmd/internal/..."},
	}
}

// fits tells whether a package is one of those in a list of patterns.
func fits(pkg, patterns string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(pattern string) bool {
		folder, all := strings.CutSuffix(pattern, "/...")
		return pkg == folder || all && below(pkg, folder)
	})
}

func TestImportsFollowTheArrows(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, name := range s.imports {
			to, ours := strings.CutPrefix(name, "furrow/")
			switch {
			case !ours:
			case below(to, "cmd") && !below(s.pkg, "cmd"):
				t.Errorf("%s imports %s: nothing but cmd imports cmd", s.file, name)
			case !s.test && !allowed(s.pkg, to):
				t.Errorf("%s imports %s, which is against the arrows", s.file, name)
			}
		}
	}
}

func allowed(from, to string) bool {
	for _, a := range arrows() {
		if fits(from, a.from) {
			return fits(to, a.to)
		}
	}
	return false
}

func TestEveryArrowIsUsed(t *testing.T) {
	t.Parallel()
	used := map[arrow]bool{}
	for _, s := range sources(t) {
		for _, a := range arrows() {
			if !s.test && fits(s.pkg, a.from) {
				used[a] = true
				break
			}
		}
	}
	for _, a := range arrows() {
		if !used[a] {
			t.Errorf("no package fits %q", a.from)
		}
	}
}

func TestEachAzureSDKHasOneHome(t *testing.T) {
	const azure = "github.com/Azure/azure-sdk-for-go/sdk/"
	homes := map[string]string{
		azure + "data/aztables":         "tables",
		azure + "storage/azqueue":       "worker",
		azure + "storage/azblob":        "jobs/archive",
		azure + "azidentity":            "tables/service",
		"github.com/cockroachdb/pebble": "tables/local",
	}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, name := range s.imports {
			for sdk, home := range homes {
				in := s.pkg == home || home == "tables/local" && below(s.pkg, home)
				if below(name, sdk) && !in {
					t.Errorf("%s imports %s, whose home is %s", s.file, name, home)
				}
			}
		}
	}
}

func TestModelOfTheDashboardKnowsNoPages(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, name := range s.imports {
			if s.pkg == "worker/dashboard/model" && !s.test && below(name, "html", "html/template", "net/http") {
				t.Errorf("%s imports %s", s.file, name)
			}
		}
	}
}

func TestOnlyTestsImportTesting(t *testing.T) {
	for _, s := range sources(t) {
		for _, name := range s.imports {
			if below(name, "testing") && !s.test {
				t.Errorf("%s imports %s", s.file, name)
			}
		}
	}
}

func TestNoFileHasAnInit(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, d := range s.parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init: what runs must be called", s.file)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if strings.HasSuffix(s.file, "_test.go") {
			continue
		}
		doc := s.parsed.Doc.Text()
		want := "Package " + s.parsed.Name.Name + " "
		if s.parsed.Name.Name == "main" {
			want = "Command "
		}
		if doc != "" && !strings.HasPrefix(doc, want) {
			t.Errorf("%s: the package doc does not begin with %q", s.file, want)
		}
		documented[s.pkg] = documented[s.pkg] || doc != ""
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no doc", pkg)
		}
	}
}

func TestTopLevelHoldsWhatTheDesignNames(t *testing.T) {
	names := []string{"cmd", "jobs", "sas", "tables", "worker", "go.mod", "go.sum", "README.md", "LICENSE"}
	names = append(names, ignored(t)...)
	entries, err := os.ReadDir(root)
	must(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(names, e.Name()) {
			t.Errorf("%s is at the top level; it belongs below one of the five folders", e.Name())
		}
	}
}

// ignored are the plain names in .gitignore: what building and running leave here.
func ignored(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	must(t, err)
	var names []string
	for line := range strings.Lines(string(text)) {
		names = append(names, strings.Trim(strings.TrimSpace(line), "/"))
	}
	return names
}
