package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"furrow/worker/dashboard/api"
)

// StaticPath is the path below which Static serves.
const StaticPath = "/static/"

// static has every file that pages load, under an address with the hash of all files. So a script finds
// its imports beside itself, and browsers can keep every file for good.
type static struct {
	hash  string
	files map[string][]byte
}

func newStatic() (*static, error) {
	s := &static{files: map[string][]byte{}}
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	add := func(name string, b []byte) {
		fmt.Fprintf(sum, "%s %d\n%s", name, len(b), b)
		s.files[name] = b
	}
	for _, e := range entries {
		b, err := fs.ReadFile(files, "static/"+e.Name())
		if err != nil {
			return nil, err
		}
		add(e.Name(), b)
	}
	ground, err := stillGround(s.files["world.bin"])
	if err != nil {
		return nil, err
	}
	add("world.svg", ground)
	s.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	return s, nil
}

// contentType does not use package mime, whose types depend on the machine.
func contentType(name string) string {
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

func (s *static) address(name string) (string, error) {
	if _, found := s.files[name]; !found {
		return "", fmt.Errorf("there is no static file %s", name)
	}
	return StaticPath + s.hash + "/" + name, nil
}

// Static serves what pages load.
func (s *Site) Static() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hash, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, StaticPath), "/")
		body, found := s.static.files[name]
		if !found || hash != s.static.hash {
			http.NotFound(w, r) // named by a page of another version
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		api.Write(w, r, http.StatusOK, contentType(name), body)
	})
}
