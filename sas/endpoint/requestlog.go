package endpoint

import (
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
// crowd out no error; of one refused device there is a line in lineTime; and of all that have the
// same key a few, because whoever has the key can invent devices.
type lines struct {
	mu      sync.Mutex
	paid    map[slog.Level]time.Time
	left    map[slog.Level]int                       // that were left out since the last line
	devices *simplelru.LRU[refusedDevice, time.Time] // when a device was refused, in the log
	keys    *simplelru.LRU[string, time.Time]        // what those with a key have paid
}

// A refusedDevice is one with the key of an enrollment.
type refusedDevice struct{ key, device string }

const (
	lineTime     = time.Minute
	knownDevices = 1000
	knownKeys    = 1000
)

func lineLimit() bucket { return bucket{every: 500 * time.Millisecond, burst: 100} }
func keyLimit() bucket  { return bucket{every: 3 * time.Second, burst: 30} }

func newLines() *lines {
	devices, _ := simplelru.NewLRU[refusedDevice, time.Time](knownDevices, nil) // fails only for a size below 1
	keys, _ := simplelru.NewLRU[string, time.Time](knownKeys, nil)
	return &lines{paid: map[slog.Level]time.Time{}, left: map[slog.Level]int{}, devices: devices, keys: keys}
}

// admit reports whether a line is within the limits, and how many were not since the last one. One at info is about a
// refused device.
func (l *lines) admit(level slog.Level, of refusedDevice, now time.Time) (leftOut int, within bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	paid, wait := lineLimit().admit(l.paid[level], now)
	if wait > 0 || level == slog.LevelInfo && !l.passRefused(of, now) {
		l.left[level]++
		return 0, false
	}
	l.paid[level] = paid
	leftOut, l.left[level] = l.left[level], 0
	return leftOut, true
}

// passRefused is pass for the limits of a device and of a key.
func (l *lines) passRefused(of refusedDevice, now time.Time) (within bool) {
	if said, is := l.devices.Get(of); is && now.Sub(said) < lineTime {
		return false
	}
	paid, _ := l.keys.Get(of.key)
	paid, wait := keyLimit().admit(paid, now)
	if wait > 0 {
		return false
	}
	l.devices.Add(of, now)
	l.keys.Add(of.key, paid)
	return true
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
	ctx := x.r.Context()
	if level > slog.LevelDebug {
		leftOut, within := l.lines.admit(level, refusedDevice{x.key, clip(x.id)}, time.Now())
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
