package endpoint

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A requestLog logs the outcome of requests: never a header, never a token. Outcomes that
// need no attention are logged at debug level.
type requestLog struct {
	log   *slog.Logger
	lines *lines
}

func newRequestLog(log *slog.Logger) requestLog { return requestLog{log, newLines()} }

// lines bounds the lines above debug level: a storm of requests must not fill a disk, nor
// bury the one line that explains it. Each level has a limit of its own, so that refused devices
// crowd out no error; and of one refused device there is a line in lineTime.
type lines struct {
	mu    sync.Mutex
	paid  map[slog.Level]time.Time
	left  map[slog.Level]int                // that were left out since the last line
	known *simplelru.LRU[string, time.Time] // when a device was refused, in the log
}

const (
	lineTime     = time.Minute
	knownDevices = 1000
)

func lineLimit() bucket { return bucket{every: 500 * time.Millisecond, burst: 100} }

func newLines() *lines {
	known, err := simplelru.NewLRU[string, time.Time](knownDevices, nil)
	if err != nil {
		panic(err) // a size below 1
	}
	return &lines{paid: map[slog.Level]time.Time{}, left: map[slog.Level]int{}, known: known}
}

// pass reports whether a line about a device is within the limits, and how many were not since the last one.
func (l *lines) pass(level slog.Level, device string, now time.Time) (leftOut int, within bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	said, known := l.known.Get(device)
	paid, wait := lineLimit().pass(l.paid[level], now)
	if wait > 0 || level == slog.LevelInfo && known && now.Sub(said) < lineTime {
		l.left[level]++
		return 0, false
	}
	l.paid[level] = paid
	if level == slog.LevelInfo {
		l.known.Add(device, now)
	}
	leftOut, l.left[level] = l.left[level], 0
	return leftOut, true
}

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
	if level > slog.LevelDebug {
		leftOut, within := l.lines.pass(level, clip(x.id), time.Now())
		if !within {
			level = slog.LevelDebug
		} else if leftOut > 0 {
			attrs = append(attrs, slog.Int("leftOut", leftOut))
		}
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

// clip bounds text from clients in the log.
func clip(text string) string { return text[:min(len(text), 160)] }
