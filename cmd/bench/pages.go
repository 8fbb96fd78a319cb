package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
)

func pagesCommand() *cli.Command {
	return &cli.Command{
		Name:  "pages",
		Usage: "Measure how long the pages of a dashboard take",
		Description: `Loads each page of a dashboard that runs, one after the other, and prints the median and the 95th percentile from
the request to the last byte. Pages are to take at most 250 ms, and the overview 400 ms, of ten thousand devices that
send once a minute, on two cores that do nothing else:

  furrow up & furrow simulate --devices 10000 --tenants 3 &` + examples("pages", "pages --loads 100"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dashboard", Value: "http://127.0.0.1:10090", Usage: "`URL` of the dashboard"},
			&cli.StringFlag{Name: "token", Usage: "`TOKEN` of furrow access add, where somebody has access"},
			&cli.IntFlag{Name: "loads", Value: 20, Usage: "`NUMBER` of loads of each page"},
			jsonFlag(),
		},
		Action: pages,
	}
}

// pageLine is how long a page takes, in JSON.
type pageLine struct {
	Page  string  `json:"page"`
	P50   float64 `json:"p50"` // milliseconds
	P95   float64 `json:"p95"`
	Bytes int     `json:"bytes"`
}

func pages(c *cli.Context) error {
	if err := between(c, 1, 100_000, "loads"); err != nil {
		return err
	}
	p := pageLoader{strings.TrimSuffix(c.String("dashboard"), "/"), c.String("token")}
	all, err := p.paths(c.Context)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(out, "p50 ms\tp95 ms\tKiB\t  page\n")
	var lines []pageLine
	for _, path := range all {
		line, err := p.measure(c.Context, path, c.Int("loads"))
		if err != nil {
			return err
		}
		lines = append(lines, line)
		fmt.Fprintf(out, "%.1f\t%.1f\t%d\t  %s\n", line.P50, line.P95, line.Bytes>>10, path)
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(lines)
	}
	return out.Flush()
}

// A pageLoader loads pages of a dashboard.
type pageLoader struct{ dashboard, token string }

// paths returns what is measured: pages, searches, and lists for programs.
func (p pageLoader) paths(ctx context.Context) ([]string, error) {
	var list struct {
		Devices []struct{ Device, Tenant, Site string }
	}
	body, err := p.load(ctx, "/v1/devices?limit=2")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if len(list.Devices) < 2 {
		return nil, fmt.Errorf("%s has fewer than two devices: furrow simulate --devices 10000 makes some", p.dashboard)
	}
	d, other := list.Devices[0], list.Devices[1].Device
	device, tenant := "/devices/"+url.PathEscape(d.Device), url.PathEscape(d.Tenant)
	return []string{"/", "/?site=" + url.QueryEscape(d.Site), "/devices", "/devices?text=7", "/devices?sort=value",
		"/devices?sort=time&state=ok", device, device + "?against=" + url.QueryEscape(other), "/incidents", "/tenants",
		"/tenants/" + tenant, "/pipelines", "/rules", "/configuration", "/archive?tenant=" + tenant, "/completeness",
		"/activity", "/v1/map", "/v1/overview", "/v1/devices?limit=1000"}, nil
}

func (p pageLoader) measure(ctx context.Context, path string, loads int) (pageLine, error) {
	line, took := pageLine{Page: path}, make([]float64, loads)
	for i := range took {
		began := time.Now()
		body, err := p.load(ctx, path)
		if err != nil {
			return line, err
		}
		took[i], line.Bytes = float64(time.Since(began).Microseconds())/1000, len(body)
	}
	slices.Sort(took)
	line.P50, line.P95 = took[loads/2], took[min(loads-1, loads*95/100)]
	return line, nil
}

func (p pageLoader) load(ctx context.Context, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.dashboard+path, nil)
	if err != nil {
		return nil, usagef("--dashboard: %v", err)
	}
	if p.token != "" {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		return nil, cmp.Or(err, fmt.Errorf("%s answers %s", path, answer.Status))
	}
	return body, err
}
