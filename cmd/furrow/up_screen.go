package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"furrow/cmd/internal/roles"
)

// An upScreen is printed when up has started.
type upScreen struct {
	tokenScreen
	Data      string `json:"data,omitempty"`      // the directory; absent on an account
	Dashboard string `json:"dashboard,omitempty"` // URL for browsers; absent without a dashboard
	Worker    bool   `json:"worker"`

	Generation int64        `json:"generation"` // of the current configuration
	Pipelines  []upPipeline `json:"pipelines"`
}

type upPipeline struct {
	Name           string `json:"name"`
	CadenceSeconds int64  `json:"cadenceSeconds"`
}

// announce prints the addresses, and how to add a device.
func (h upServer) announce(ctx context.Context, o *tokenService, f *roles.Fleet) error {
	s := upScreen{tokenScreen: o.screen(h.endpoint(), h.tls), Data: storageDirectory(h.c),
		Worker: !h.c.Bool("no-worker"), Generation: f.Generation}
	if h.dashboard != nil {
		s.Dashboard = h.dashboard.url()
	}
	for _, p := range f.Pipelines {
		s.Pipelines = append(s.Pipelines, upPipeline{string(p.Name), int64(p.Cadence.Seconds())})
	}
	if err := s.record(h.c, h.devices); err != nil {
		return err
	}
	all, err := o.enrollments().All(ctx)
	if err != nil {
		return err
	}
	noteMaster(h.c, s.MasterKey, s.Data)
	h.notePorts(s.Table)
	return printScreen(h.c, s, s.text(h.storageFlag(), len(all) > 0))
}

// notePorts tells that the Table service may have another port for devices, too, if the endpoint has one.
func (h upServer) notePorts(table string) {
	public, _ := url.Parse(h.c.String("public-url")) // checkUp has parsed it
	_, listens, _ := net.SplitHostPort(h.devices.Addr().String())
	if public.Host == "" || public.Port() == listens || h.c.IsSet("table-url") || storageDirectory(h.c) == "" {
		return
	}
	fmt.Fprintf(h.c.App.ErrWriter, "note: devices reach the endpoint at another port than that of --listen, and are told "+
		"to write to %s, with the port that storage has on this machine: if they reach it at another, set "+
		"--table-url.\n", table)
}

// storageFlag returns the flag with which other commands find this storage.
func (h upServer) storageFlag() string {
	where := h.c.String("storage")
	switch {
	case !h.c.IsSet("storage") || where == defaultStorage:
		return ""
	case storageDirectory(h.c) == "" && !strings.HasPrefix(where, "env:"):
		return " --storage …" // it may hold the key
	}
	return " --storage " + quoted(where)
}

func (s upScreen) text(storage string, enrolled bool) string {
	var pipelines []string
	for _, p := range s.Pipelines {
		pipelines = append(pipelines, p.Name+" every "+lengthText(p.CadenceSeconds))
	}
	runs, account := strings.Join(pipelines, ", "), s.Storage
	if !s.Worker {
		runs += "; no worker in this process"
	}
	if account == s.Table {
		account = ""
	}
	text := "Furrow is up.\n\n" + fieldLines(12, [][2]string{{"dashboard", s.Dashboard}, {"tokens", s.Endpoint},
		{"tables", s.Table}, {"storage", account}, {"data", s.Data}, {"master key", s.MasterKey}, {"pipelines", runs},
		{"config", fmt.Sprintf("generation %d", s.Generation)}}) + s.TLS.text("Devices") +
		"\nAdd a device, and send its first reading:\n"
	if !enrolled {
		text += "  furrow enrollment add plant1 --tenant contoso" + storage + "\n"
	}
	return text + fmt.Sprintf("  furrow device add pump-7 --lat 57.15 --lon -2.09%[1]s | sh\nSee the results:\n"+
		"  furrow query pump-7 --latest%[1]s\n  furrow status%[1]s\n", storage)
}
