package blob

import (
	"context"
	"io"
	"net/http"

	"furrow/tables/local/internal/wire"
)

// stream answers with what write writes about the storage directory. Azure has no such operations.
func stream(w http.ResponseWriter, r *wire.Request, mediaType string,
	write func(context.Context, io.Writer) error) error {
	if write == nil {
		return wire.NotImplemented("backups and inspections")
	}
	wire.Set(w.Header(), "Content-Type", mediaType)
	to := &client{Writer: w}
	if err := write(r.Context(), to); err != nil && !to.gone {
		return &cutError{err}
	}
	return nil
}
