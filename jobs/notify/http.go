package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A posting is a request of HTTP.
type posting struct {
	url     string
	private bool
	header  http.Header
	body    []byte
	secrets []string // parts of it that nobody is shown
}

// text describes the request.
func (p posting) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s\n", p.url)
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(p.header[name], ", "))
	}
	fmt.Fprintf(&b, "\n%s", p.body)
	text := b.String()
	for _, secret := range p.secrets {
		text = strings.ReplaceAll(text, cmp.Or(secret, "\x00"), "***")
	}
	return text
}

// post sends a request and takes any status of success as accepted, whatever the answer's body does.
func (n *Notifier) post(ctx context.Context, m message, p posting) error {
	if m.seen != nil {
		m.seen.Request = p.text()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(p.body))
	if err != nil {
		return withoutURL(err)
	}
	r.Header = p.header
	r.Header.Set("User-Agent", "furrow")
	client := n.client(p.private)
	resp, err := client.Do(r)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()                        // the answer is known already
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxResponse)) // the status says it all
	if m.seen != nil {
		m.seen.Answer = resp.Status + excerpt(answer)
	}
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return fmt.Errorf("it answered %s; redirects are not followed", resp.Status)
	case resp.StatusCode == http.StatusGone:
		return &gone{fmt.Errorf("it answered %s%s", resp.Status, excerpt(answer))}
	case resp.StatusCode == http.StatusRequestEntityTooLarge:
		return &tooLarge{fmt.Errorf("it answered %s%s", resp.Status, excerpt(answer))}
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return &busy{fmt.Errorf("it answered %s%s", resp.Status, excerpt(answer)), retryAfter(resp.Header)}
	}
	return nil
}

// A tooLarge error says that a receiver takes smaller messages only.
type tooLarge struct{ error }

func (e *tooLarge) Unwrap() error { return e.error }

// A busy error says for how long its receiver wants to hear nothing; zero: it did not say.
type busy struct {
	error
	wait time.Duration
}

func (e *busy) Unwrap() error { return e.error }

// maxWait bounds how long a receiver can ask to wait.
const maxWait = time.Hour

// retryAfter reads seconds, or a date: RFC 9110, section 10.2.3.
func retryAfter(h http.Header) time.Duration {
	said := h.Get("Retry-After")
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(said, 10, 64); err == nil {
		wait = time.Duration(min(seconds, uint64(maxWait/time.Second))) * time.Second
	} else if date, err := http.ParseTime(said); err == nil {
		wait = time.Until(date)
	}
	return max(0, min(wait, maxWait))
}

// withoutURL removes the URL, which the target's configuration has, from an error.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// excerpt returns the beginning of an answer, in one line.
func excerpt(answer []byte) string {
	const most = 200
	text := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(string(answer[:min(len(answer), most)]), ""))
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return ""
	}
	return ": " + text
}

// checkURL refuses what no request can go to. Without encryption, only private networks do.
func checkURL(s string, private bool) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("url: %w", withoutURL(err))
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return fmt.Errorf("url %q; want one such as https://ops.example/hook", u.Redacted())
	case u.User != nil:
		return errors.New("url with a user or a password; anybody who sees the configuration would see them")
	case u.Fragment != "":
		return errors.New("url with a fragment, which is never sent")
	case u.Scheme == "http" && !private:
		return errors.New("url with http, so anybody on the way can read and change messages; want https, or private: true")
	}
	return nil
}

const maxSecret = 4 << 10

// readSecret reads a file with a secret. It is read for each message, so that it can be replaced.
func readSecret(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it is only read
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	if text = bytes.TrimSpace(text); len(text) == 0 || len(text) > maxSecret {
		return "", fmt.Errorf("%s has %d bytes; want a secret of at most %d", file, len(text), maxSecret)
	}
	return string(text), nil
}
