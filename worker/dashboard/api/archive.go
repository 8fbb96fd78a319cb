package api

import (
	"io"
	"net/http"
	"path"
	"strconv"
	"time"
)

// archiveFile sends a file of the archive as it is, in parts that each have a deadline.
func (a *API) archiveFile(w http.ResponseWriter, r *http.Request, p archiveFile) error {
	end, err := a.Question(PersonOf(r.Context()))
	if err != nil {
		return err
	}
	defer end()
	content, size, err := a.model.Archives.File(r.Context(), p.Path)
	if err != nil {
		return err
	}
	defer content.Close()
	h := w.Header()
	h.Set("Content-Type", "application/vnd.apache.parquet")
	h.Set("Content-Disposition", `attachment; filename="`+path.Base(p.Path)+`"`)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Cache-Control", "private, immutable") // another content has another name
	if r.Method == http.MethodHead {
		return nil
	}
	control := http.NewResponseController(w)
	for err == nil {
		_ = control.SetWriteDeadline(time.Now().Add(sendTimeout)) // a test's recorder has no deadline
		_, err = io.CopyN(w, content, sendBytes)
	}
	return nil // it ended, or whoever reads it sees that it has less than Content-Length says
}
