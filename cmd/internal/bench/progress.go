package bench

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress shows how much of the measuring is done. The zero one shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress draws on a terminal; nil: none. The total is in milliseconds, or whatever
// else is added.
func newProgress(terminal io.Writer, total int64) *progress {
	if terminal == nil {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(terminal),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

// The bar's own errors are a terminal that is gone; measuring goes on without it.

func (p *progress) describe(text string) {
	if p.bar != nil {
		p.bar.Describe(text)
	}
}

func (p *progress) tick(d time.Duration) { p.add(d.Milliseconds()) }

func (p *progress) add(n int64) {
	if p.bar != nil {
		_ = p.bar.Add64(n)
	}
}

func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
