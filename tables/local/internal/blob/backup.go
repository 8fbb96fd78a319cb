package blob

import (
	"context"
	"io"
	"net/http"
	"time"

	"furrow/tables/local/internal/wire"
)

// stream answers with what write writes about the storage directory. Azure has no such operations.
func stream(w http.ResponseWriter, r *wire.Request, mediaType string,
	write func(context.Context, io.Writer) error) error {
	if write == nil {
		return wire.NotImplemented("backups and inspections")
	}
	wire.Set(w.Header(), "Content-Type", mediaType)
	to := &client{Writer: &patient{w, http.NewResponseController(w)}}
	if err := write(r.Context(), to); err != nil && !to.gone {
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
