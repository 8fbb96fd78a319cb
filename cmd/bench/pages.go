package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

func pagesCommand() *cli.Command {
	return &cli.Command{
		Name:  "pages",
		Usage: "Measure how long the pages of a dashboard take",
		Description: `Loads each page of a dashboard that runs, one after the other, and measures from the request to the last
byte. Pages are to take at most 250 ms, and the overview 400 ms, of ten thousand devices that send once a minute, on two
cores that do nothing else:

  furrow up & furrow simulate --devices 10000 --tenants 3 &` + examples("pages", "pages --loads 100"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dashboard", Value: "http://127.0.0.1:10090", Usage: "`URL` of the dashboard"},
			&cli.StringFlag{Name: "token", Usage: "`TOKEN` of furrow access add, where somebody has access"},
			&cli.IntFlag{Name: "loads", Value: 20, Usage: "`NUMBER` of loads of each page"},
		},
		Action: pages,
	}
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
	for _, path := range all {
		took, bytes := make([]time.Duration, c.Int("loads")), 0
		for i := range took {
			began := time.Now()
			body, err := p.load(c.Context, path)
			if err != nil {
				return err
			}
			took[i], bytes = time.Since(began), len(body)
		}
		if err := printLine(c.App.Writer, "Page"+path, len(took),
			append(quantiles(took), figure{float64(bytes), "B"})...); err != nil {
			return err
		}
	}
	return nil
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
