package blob

import (
	"io"
	"net/http"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// backUp answers with a copy of the storage directory. Azure has no such operation.
func (s *Service) backUp(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, _ target) error {
	if s.Backup == nil {
		return wire.NotImplemented("backups")
	}
	wire.Set(w.Header(), "Content-Type", "application/x-tar")
	to := &client{Writer: &patient{w, http.NewResponseController(w)}}
	if err := s.Backup(r.Context(), to); err != nil && !to.gone {
		return &cutError{err}
	}
	return nil
}

// patience is how long a client may take to read the next bytes. A backup keeps deleted files on disk.
const patience = time.Minute

// A patient writer gives each write a time of its own.
type patient struct {
	io.Writer
	deadline *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	if err := p.deadline.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return p.Writer.Write(b)
}
