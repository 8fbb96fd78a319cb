package web

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// StaticPath is where Static belongs.
const StaticPath = "/static/"

// static is every file that pages load, under an address that has the hash of them
// all: a script finds those that it imports beside itself, and what a browser keeps is
// never out of date.
type static struct {
	hash  string
	files map[string]asset
}

type asset struct {
	kind          string // its Content-Type
	plain, packed []byte
}

func newStatic() (*static, error) {
	s := &static{files: map[string]asset{}}
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	add := func(name string, b []byte) {
		fmt.Fprintf(sum, "%s %d\n%s", name, len(b), b)
		s.files[name] = asset{kind: kindOf(name), plain: b, packed: packed(b, gzip.BestCompression)}
	}
	for _, e := range entries {
		b, err := fs.ReadFile(files, "static/"+e.Name())
		if err != nil {
			return nil, err
		}
		add(e.Name(), b)
	}
	still, err := stillGround(s.files["world.bin"].plain)
	if err != nil {
		return nil, err
	}
	add("world.svg", still)
	s.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	return s, nil
}

// kindOf does not ask the machine's own tables, which differ.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// address is where a browser finds a file.
func (s *static) address(name string) (string, error) {
	if _, found := s.files[name]; !found {
		return "", fmt.Errorf("there is no static file %s", name)
	}
	return StaticPath + s.hash + "/" + name, nil
}

// Static serves what pages load, for good: its addresses change with it.
func (p *Pages) Static() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hash, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, StaticPath), "/")
		a, found := p.static.files[name]
		if !found || hash != p.static.hash {
			http.NotFound(w, r) // of another version: the page that names it is out of date
			return
		}
		h := w.Header()
		h.Set("Content-Type", a.kind)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Add("Vary", "Accept-Encoding")
		b := a.plain
		if len(a.packed) < len(b) && h.Get("Content-Encoding") == "" && takesGzip(r) {
			h.Set("Content-Encoding", "gzip")
			b = a.packed
		}
		h.Set("Content-Length", strconv.Itoa(len(b)))
		if r.Method != http.MethodHead {
			w.Write(b)
		}
	})
}
