package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"furrow/sas"
	"furrow/tables"
)

// asAttackers has the test program attack, with an attack as JSON.
const asAttackers = "FURROW_TEST_ATTACK"

// An attack is what attackers know.
type attack struct {
	Dashboard, Endpoint string
	Viewer              string       // token of a tenant's viewer
	Tokens              []sas.Answer // of a device of the same tenant
	Key                 string       // proof of that device
	Victim              string       // an honest device
	Foreign             string       // proof for the victim with another tenant's key
}

// attackers do everything at once until they are told to stop, and then print what they were answered.
func attackers(text string) {
	var a attack
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	b := &band{attack: a, counts: map[string]int{}}
	b.token.Store(&a.Tokens[0])
	for i := range 40 {
		b.does(ctx, "condition", 2, i, b.condition)
	}
	for i := range 40 * len(a.Tokens) {
		b.does(ctx, "stalled body", 1, i, b.body)
	}
	for i := range 8 {
		b.does(ctx, "guess", 4, i, b.guess)
		b.does(ctx, "foreign key", 5, i, b.foreign)
	}
	for i := range 3000 {
		b.does(ctx, "stalled connection", 6+byte(i%3), i, b.connection)
	}
	for i := range 256 {
		b.does(ctx, "stream", 2, i, b.stream)
	}
	for i := range 4 {
		b.does(ctx, "large row", 1, i, b.row)
	}
	b.does(ctx, "own token", 1, 0, b.renew)
	b.all.Wait()
	for _, what := range slices.Sorted(maps.Keys(b.counts)) {
		fmt.Println(what, b.counts[what])
	}
	os.Exit(0)
}

// A band counts what attackers were answered.
type band struct {
	attack
	token atomic.Pointer[sas.Answer] // the newest one of their device
	all   sync.WaitGroup

	mu     sync.Mutex
	counts map[string]int
}

// does has one of them do something again and again, from the address 127.0.0.host. Tokens that were issued without TLS
// are for the address of the device alone, which is 127.0.0.1.
func (b *band) does(ctx context.Context, what string, host byte, i int, do func(context.Context, *enemy) int) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, host)}, Timeout: 10 * time.Second}
	e := &enemy{number: i, dialer: dialer,
		client: http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 1}}}
	b.all.Go(func() {
		for ctx.Err() == nil {
			status := do(ctx, e)
			b.mu.Lock()
			b.counts[fmt.Sprint(what, " ", status)]++
			b.mu.Unlock()
			if status == 0 || what == "stream" { // it has no connection, and another would not help
				time.Sleep(time.Second)
			}
		}
	})
}

// An enemy has a connection of its own.
type enemy struct {
	number int
	dialer *net.Dialer
	client http.Client
}

// ask sends a request and reads the answer, and returns its status, or 0.
func (e *enemy) ask(ctx context.Context, method, url string, body io.Reader, header ...string) int {
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		panic(err) // URLs are the server's own
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := e.client.Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body) // it may be cut off
	return answer.StatusCode
}

// condition asks for devices with a pattern of a million characters, or with the largest that is allowed.
func (b *band) condition(ctx context.Context, e *enemy) int {
	pattern := strings.Repeat("a{0,1000}", 105) + "b$"
	if e.number%2 == 1 {
		pattern = "0{0,450}b"
	}
	return e.ask(ctx, http.MethodGet, b.Dashboard+"v1/devices?where="+url.QueryEscape(`note matches "^`+pattern+`"`), nil,
		"Authorization", "Bearer "+b.Viewer)
}

// body begins a body of 256 KiB, and sends no more than its beginning.
func (b *band) body(ctx context.Context, e *enemy) int {
	token := b.Tokens[e.number%len(b.Tokens)]
	return b.stall(ctx, e, token.URL, fmt.Sprintf("POST %s?%s HTTP/1.1\r\nHost: furrow\r\n"+
		"Content-Type: application/json\r\nContent-Length: 262144\r\n\r\n{%1024s", pathOf(token.URL), token.SAS, ""))
}

// connection sends nothing, or a part of a head. For every fourth that is a long one, with few fields or only such.
func (b *band) connection(ctx context.Context, e *enemy) int {
	head := ""
	switch begun := "POST /furrow/readings HTTP/1.1\r\nHost: "; e.number % 4 {
	case 0:
		head = begun
	case 2:
		few, many := strings.Repeat("aaa: "+strings.Repeat("b", 50)+"\r\n", 250), strings.Repeat("aaa:\r\n", 15<<10/6)
		head = begun + "h\r\n" + [...]string{few, many}[e.number/4%2]
	}
	to := []string{b.Tokens[0].URL, b.Endpoint, b.Dashboard}
	return b.stall(ctx, e, to[e.number%len(to)], head)
}

// stall sends the beginning of a request, and returns the status of the answer, or 0.
func (b *band) stall(ctx context.Context, e *enemy, to, text string) (status int) {
	u, err := url.Parse(to)
	if err != nil {
		panic(err) // URLs are the server's own
	}
	conn, err := e.dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return 0
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := io.WriteString(conn, text); err != nil {
		return 0
	}
	answer, _ := io.ReadAll(io.LimitReader(conn, 4<<10)) // until the server closes it
	if fields := strings.Fields(string(answer)); len(fields) > 1 {
		status, _ = strconv.Atoi(fields[1])
	}
	return status
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // URLs are the server's own
	}
	return u.Path
}

// guess tries a password, each time with another name.
func (b *band) guess(ctx context.Context, e *enemy) int {
	guess := fmt.Sprintf("admin%d:secret%d", time.Now().UnixNano(), e.number)
	return e.ask(ctx, http.MethodGet, b.Dashboard+"v1/overview", nil, "Authorization",
		"Basic "+base64.StdEncoding.EncodeToString([]byte(guess)))
}

// foreign asks for a token of an honest device with another tenant's key.
func (b *band) foreign(ctx context.Context, e *enemy) int {
	return e.ask(ctx, http.MethodPost, b.Endpoint+"/v1/devices/"+b.Victim+"/token", nil, "Authorization", b.Foreign)
}

// stream opens a live stream, and reads it for as long as it lasts.
func (b *band) stream(ctx context.Context, e *enemy) int {
	return e.ask(ctx, http.MethodGet, b.Dashboard+"v1/stream", nil, "Authorization", "Bearer "+b.Viewer)
}

// row sends a row that takes a mebibyte of storage, as Azure counts.
func (b *band) row(ctx context.Context, e *enemy) int {
	token := b.token.Load()
	body := fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":"%s-%d"`, token.PartitionKey,
		tables.TicksOf(time.Now()).String(), e.number)
	for i := range 15 {
		body = fmt.Appendf(body, `,"text%d":"%032000d"`, i, i)
	}
	return e.ask(ctx, http.MethodPost, token.URL+"?"+token.SAS, bytes.NewReader(append(body, '}')),
		"Content-Type", "application/json", "Prefer", "return-no-content")
}

// renew has a new token for rows, at the pace of an honest device.
func (b *band) renew(ctx context.Context, e *enemy) int {
	select {
	case <-ctx.Done():
		return 0
	case <-time.After(siegeRenew):
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.Endpoint+"/v1/devices/mallory/token", nil)
	if err != nil {
		panic(err) // the server's own URL
	}
	r.Header.Set("Authorization", b.Key)
	answer, err := e.client.Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	var token sas.Answer
	if json.NewDecoder(answer.Body).Decode(&token) == nil && token.SAS != "" {
		b.token.Store(&token)
	}
	return answer.StatusCode
}
