package endpoint

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// A requestLog logs the outcome of requests: never a header, never a token. Outcomes that
// need no attention are logged at debug level.
type requestLog struct {
	log *slog.Logger

	mu   sync.Mutex
	paid time.Time // of lineLimit
}

// lineLimit bounds the lines above debug level: a storm of requests must not fill a disk,
// nor bury the one line that explains it.
func lineLimit() bucket { return bucket{every: 100 * time.Millisecond, burst: 100} }

func (l *requestLog) refused(x *exchange, no refusal) {
	level := slog.LevelDebug // the device gets the reason, and the metrics count it
	switch no.code {
	case Revoked, EnrollmentDisabled, NotRegistered, WrongEnrollment, WrongPrefix, EnrollmentFull:
		level = slog.LevelInfo // the client has a valid key
	case StorageBusy:
		level = slog.LevelWarn
	case Internal:
		level = slog.LevelError
	}
	attrs := []slog.Attr{slog.String("code", string(no.code))}
	if no.after > 0 {
		attrs = append(attrs, slog.Int("retryAfter", seconds(no.after)))
	}
	if no.cause != nil {
		attrs = append(attrs, slog.Any("error", no.cause))
	}
	l.write(x, level, "refused", attrs...)
}

func (l *requestLog) issued(x *exchange) {
	l.write(x, slog.LevelDebug, "token issued", slog.Duration("took", time.Since(x.began)))
}

// stackBytes bounds the stack that is logged after a panic.
const stackBytes = 4 << 10

func (l *requestLog) panicked(x *exchange, cause any) {
	stack := debug.Stack()
	l.write(x, slog.LevelError, "panic",
		slog.Any("panic", cause), slog.String("stack", string(stack[:min(len(stack), stackBytes)])))
}

func (l *requestLog) write(x *exchange, level slog.Level, message string, attrs ...slog.Attr) {
	ctx := context.WithoutCancel(x.r.Context())
	if level > slog.LevelDebug && !l.withinLimit() {
		level = slog.LevelDebug
	}
	if !l.log.Enabled(ctx, level) {
		return
	}
	attrs = append([]slog.Attr{
		slog.String("request", x.name), slog.String("method", clip(x.r.Method)),
		slog.String("path", clip(x.r.URL.Path)), slog.String("from", x.r.RemoteAddr),
	}, attrs...)
	if x.id != "" {
		attrs = append(attrs, slog.String("device", clip(x.id)))
	}
	if theirs := x.r.Header.Get("X-Request-Id"); theirs != "" {
		attrs = append(attrs, slog.String("theirRequest", clip(theirs)))
	}
	l.log.LogAttrs(ctx, level, message, attrs...)
}

func (l *requestLog) withinLimit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	var wait time.Duration
	l.paid, wait = lineLimit().pass(l.paid, time.Now())
	return wait == 0
}

// clip bounds text from clients in the log.
func clip(text string) string { return text[:min(len(text), 160)] }
