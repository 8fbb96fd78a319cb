package bench

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"furrow/cmd/internal/setup"
)

// ServeNull serves what any server written in Go has to do at least: it reads a
// request and answers 204. It says where on stdout, as local storage does, and
// returns when ctx ends.
func ServeNull(ctx context.Context, stdout io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at := l.Addr().String()
	key := base64.StdEncoding.EncodeToString([]byte("nobody looks at it"))
	line := struct {
		ConnectionString string `json:"connectionString"`
	}{setup.ConnectionString(setup.PathStyle("http", Null, key, at, at, at))}
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		return err
	}
	s := &http.Server{Handler: http.HandlerFunc(answerNothing), ReadHeaderTimeout: time.Minute}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() { stopped <- s.Close() })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

func answerNothing(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
