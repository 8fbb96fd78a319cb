package endpoint

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// A journal logs what became of requests: never a header, never a token. What
// needs no one's attention is logged at debug, which is off unless asked for.
type journal struct {
	log *slog.Logger

	mu   sync.Mutex
	paid time.Time
}

// loud is how many lines above debug there may be: a storm must not fill a disk,
// nor hide in a thousand like lines the one that says why.
func loud() bucket { return bucket{every: 100 * time.Millisecond, burst: 100} }

func (j *journal) refused(x *exchange, no refusal) {
	level := slog.LevelDebug // the device is told, and the metrics count it
	switch no.code {
	case Revoked, EnrollmentDisabled, NotRegistered, WrongEnrollment:
		level = slog.LevelInfo // it has a key, and yet is refused
	case StorageBusy:
		level = slog.LevelWarn
	case Internal:
		level = slog.LevelError
	}
	about := []slog.Attr{slog.String("code", string(no.code))}
	if no.after > 0 {
		about = append(about, slog.Int("retryAfter", seconds(no.after)))
	}
	if no.cause != nil {
		about = append(about, slog.Any("error", no.cause))
	}
	j.write(x, level, "refused", about...)
}

func (j *journal) issued(x *exchange) {
	j.write(x, slog.LevelDebug, "token issued", slog.Duration("took", time.Since(x.began)))
}

// stackBytes is what is logged of where a panic happened.
const stackBytes = 4 << 10

func (j *journal) panicked(x *exchange, cause any) {
	stack := debug.Stack()
	j.write(x, slog.LevelError, "panic", slog.Any("panic", cause), slog.String("stack", string(stack[:min(len(stack), stackBytes)])))
}

func (j *journal) write(x *exchange, level slog.Level, message string, about ...slog.Attr) {
	ctx := context.WithoutCancel(x.r.Context())
	if level > slog.LevelDebug && !j.mayBeLoud() {
		level = slog.LevelDebug
	}
	if !j.log.Enabled(ctx, level) {
		return
	}
	about = append([]slog.Attr{
		slog.String("request", x.name), slog.String("method", short(x.r.Method)), slog.String("path", short(x.r.URL.Path)),
		slog.String("from", x.r.RemoteAddr),
	}, about...)
	if x.id != "" {
		about = append(about, slog.String("device", short(x.id)))
	}
	if theirs := x.r.Header.Get("X-Request-Id"); theirs != "" {
		about = append(about, slog.String("theirRequest", short(theirs)))
	}
	j.log.LogAttrs(ctx, level, message, about...)
}

func (j *journal) mayBeLoud() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	var wait time.Duration
	j.paid, wait = loud().pass(j.paid, time.Now())
	return wait == 0
}

// short is what is logged of a text that a stranger has written.
func short(text string) string { return text[:min(len(text), 160)] }
