package bench

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress shows how much of the measuring is done. The zero one shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(cfg Config, plan []step, ends []*endpoint) *progress {
	if cfg.Progress == nil {
		return &progress{}
	}
	var total time.Duration
	for _, s := range plan {
		for _, e := range ends {
			if s.null || !e.null {
				total += cfg.For * time.Duration(cfg.Rounds)
			}
		}
	}
	return &progress{progressbar.NewOptions64(total.Milliseconds(),
		progressbar.OptionSetWriter(io.Writer(cfg.Progress)),
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

func (p *progress) tick(d time.Duration) {
	if p.bar != nil {
		_ = p.bar.Add64(d.Milliseconds())
	}
}

func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
