package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path"

	"furrow/sas/access"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

//go:embed templates static
var files embed.FS

// Policy is the content security policy of every page.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Config configures a Site.
type Config struct {
	Model *model.Store
	// Acts are what people can do from pages, for each of the model's accounts.
	Acts []admin.Fleet
	// Activity has what people did.
	Activity access.Log
	Log      *slog.Logger
	Storage  string // URL of the storage, without a key, for the foot of pages
	Version  string // of furrow, for the foot of pages
	Tiles    Tiles  // a street map; the zero Tiles: none
}

// A Site serves all pages and the static files that they load.
type Site struct {
	c      Config
	static *static
	pages  map[string]*template.Template // by file
	// forms reads the pages with forms, by pattern, from a query.
	forms map[string]func(r *http.Request, query string) (Page, error)
}

// New parses all templates and reads all static files.
func New(c Config) (*Site, error) {
	static, err := newStatic()
	if err != nil {
		return nil, err
	}
	s := &Site{c: c, static: static, pages: map[string]*template.Template{},
		forms: map[string]func(*http.Request, string) (Page, error){}}
	base, err := template.New("base.html").Funcs(functions(static)).ParseFS(files, "templates/base.html",
		"templates/parts.html", "templates/person.html")
	if err != nil {
		return nil, err
	}
	all, _ := fs.Glob(files, "templates/*.html") // fails for a wrong pattern alone
	for _, file := range all {
		t, err := base.Clone()
		if err == nil {
			t, err = t.ParseFS(files, file)
		}
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", file, err)
		}
		s.pages[path.Base(file)] = t
	}
	return s, nil
}

func (s *Site) Render(w io.Writer, page Page) error {
	return s.pages[fileOf(page)].ExecuteTemplate(w, "base.html", frame{page.common(), page})
}

// actsOn returns what people can do with a device.
func (s *Site) actsOn(id schema.DeviceID) admin.Fleet {
	return s.c.Acts[s.c.Model.Accounts.NumberOf(id)]
}

// show answers with a page about data that was read.
func (s *Site) show(w http.ResponseWriter, r *http.Request, status int, page Page) {
	read, f := model.ReadOf(r.Context()), page.common()
	f.Person = api.PersonOf(r.Context())
	f.Stranger, f.Footer.At = f.Person.Role == "", read.At().UTC()
	s.locate(page, f.Person)
	if !f.Stranger {
		f.Footer = Footer{Tiles: s.c.Tiles.credit(), At: f.Footer.At, Operations: read.Operations(),
			Cached: read.Cached(), Storage: s.c.Storage, Version: s.c.Version,
			Missing: s.c.Model.Accounts.Missing(), Partial: read.Partial(), Full: s.c.Model.Accounts.Full()}
	}
	var b bytes.Buffer
	if err := s.Render(&b, page); err != nil {
		s.c.Log.Error("page cannot be rendered", "path", r.URL.Path, "error", err)
		http.Error(w, "This page cannot be rendered. The dashboard's log has the reason.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", s.c.Tiles.policy())
	if s.c.Tiles != (Tiles{}) { // most servers of tiles do not send the header that require-corp wants
		w.Header().Set("Cross-Origin-Embedder-Policy", "credentialless")
	}
	w.Header().Set("Cache-Control", "no-store")
	api.Write(w, r, status, "text/html; charset=utf-8", b.Bytes())
}
