package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"
)

//go:embed templates static
var files embed.FS

// Policy is the content security policy of every page.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Pages are the pages, and what they are shown with.
type Pages struct {
	static *static
	pages  map[string]*template.Template
}

// New reads all templates and packs all static files.
func New() (*Pages, error) {
	s, err := newStatic()
	if err != nil {
		return nil, err
	}
	p := &Pages{static: s, pages: map[string]*template.Template{}}
	base, err := template.New("base.html").Funcs(functions(s)).ParseFS(files, "templates/base.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	for _, page := range []Page{World{}, DevicesPage{}, DevicePage{}, PipelinesPage{}, TenantsPage{}, TenantPage{}, ProblemPage{}} {
		t, err := base.Clone()
		if err == nil {
			t, err = t.ParseFS(files, "templates/"+page.file())
		}
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", page.file(), err)
		}
		p.pages[page.file()] = t
	}
	return p, nil
}

// Render writes a page as HTML.
func (p *Pages) Render(w io.Writer, page Page) error {
	return p.pages[page.file()].ExecuteTemplate(w, "base.html", page)
}

// Write answers a request with a page, or with an error before anything was
// written. The page is compressed where the browser takes that, and is not kept by any
// cache but the server's own.
func (p *Pages) Write(w http.ResponseWriter, r *http.Request, status int, page Page) error {
	var b bytes.Buffer
	if err := p.Render(&b, page); err != nil {
		return fmt.Errorf("page %s: %w", page.file(), err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Encoding")
	if h.Get("Content-Encoding") == "" && takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		b = *bytes.NewBuffer(packed(b.Bytes(), gzip.DefaultCompression))
	}
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(b.Bytes()) // a browser that has gone has nobody to tell
	}
	return nil
}

func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(coding) == "gzip" && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}

func packed(b []byte, level int) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		panic(err) // the level is a constant of ours
	}
	z.Write(b) // to memory
	z.Close()
	return out.Bytes()
}
