package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"furrow/cmd/internal/roles"
	"furrow/sas"
)

// An upScreen is what up says when it has started. Its JSON is for scripts: a
// field may be added, none changes.
type upScreen struct {
	tokenScreen
	Data      string `json:"data,omitempty"`      // the directory; absent on an account
	Dashboard string `json:"dashboard,omitempty"` // URL for browsers; absent where there is none
	Worker    bool   `json:"worker"`

	Generation int64        `json:"generation"` // of the configuration that holds
	Pipelines  []upPipeline `json:"pipelines"`
}

type upPipeline struct {
	Name           string `json:"name"`
	CadenceSeconds int64  `json:"cadenceSeconds"`
}

// announce says what runs where, and how to add a device.
func (h upServer) announce(ctx context.Context, o *tokenService, f *roles.Fleet) error {
	dir := storageDirectory(h.c)
	s := upScreen{tokenScreen: o.screen(h.endpoint(), h.tls), Data: dir, Worker: !h.c.Bool("no-worker"),
		Generation: f.Generation}
	if h.dashboard != nil {
		s.Dashboard = h.dashboard.url()
	}
	for _, p := range f.Pipelines {
		s.Pipelines = append(s.Pipelines, upPipeline{string(p.Name), int64(p.Cadence.Seconds())})
	}
	if err := leaveEndpoint(h.c, s.Endpoint); err != nil {
		return err
	}
	s.warn(h.c, h.door)
	if h.c.Bool("json") {
		return writeJSONLine(h.c.App.Writer, s)
	}
	all, err := o.enrollments(sas.SealingKey{}).All(ctx)
	if err != nil {
		return err
	}
	enrollment := ""
	if len(all) > 0 {
		enrollment = string(all[0].ID)
	}
	_, err = io.WriteString(h.c.App.Writer, s.text(h.sameStorage(), enrollment))
	return err
}

// sameStorage is the flag that other commands need to find this storage, or nothing.
func (h upServer) sameStorage() string {
	if where := h.c.String("storage"); h.c.IsSet("storage") && where != defaultStorage {
		if storageDirectory(h.c) == "" && !strings.HasPrefix(where, "env:") {
			return " --storage …" // it may hold the key
		}
		return " --storage " + quoted(where)
	}
	return ""
}

func (s upScreen) text(storage, enrollment string) string {
	var b strings.Builder
	b.WriteString("Furrow is up.\n\n")
	var pipelines []string
	for _, p := range s.Pipelines {
		pipelines = append(pipelines, fmt.Sprintf("%s every %s", p.Name, lengthText(p.CadenceSeconds)))
	}
	runs := strings.Join(pipelines, ", ")
	if !s.Worker {
		runs += "; workers run elsewhere"
	}
	lines := [][2]string{{"dashboard", s.Dashboard}, {"tokens", s.Endpoint}, {"tables", s.Table}, {"storage", s.Storage},
		{"data", s.Data}, {"master key", s.MasterKey}, {"pipelines",
			runs},
		{"config", fmt.Sprintf("generation %d", s.Generation)}}
	if s.Storage == s.Table {
		lines[3][1] = ""
	}
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(&b, "  %-12s%s\n", line[0], line[1])
		}
	}
	b.WriteString(s.TLS.forDevices())
	b.WriteString("\nAdd a device, and have it send its first reading:\n")
	if enrollment == "" {
		fmt.Fprintf(&b, "  furrow enrollment add plant1 --tenant contoso%s\n", storage)
	}
	fmt.Fprintf(&b, "  furrow device add pump-7%s | sh\nSee what comes of it:\n  furrow query pump-7 --latest%s\n  "+
		"furrow status%s\n\nStop it with Ctrl-C.\n", storage, storage, storage)
	return b.String()
}
