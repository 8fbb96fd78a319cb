package main

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/tables"
	"furrow/tables/local"
)

// A storageScreen is printed when storage has started.
type storageScreen struct {
	Account          string     `json:"account"`
	Blob             string     `json:"blob"`
	Queue            string     `json:"queue"`
	Table            string     `json:"table"`
	Data             string     `json:"data"`
	KeyFile          string     `json:"keyFile"`
	ConnectionString string     `json:"connectionString,omitempty"` // only with --show-key
	TLS              *tlsScreen `json:"tls,omitempty"`

	where tables.Account // without the key
}

// announceStorage prints the screen, and warns if others can read what is sent.
func announceStorage(c *cli.Context, server *local.Server, l local.Listeners, dir string, tls *setup.TLS) error {
	where := setup.PathStyle(tls.Scheme(), server.Account(), "", setup.Public(l.Blob), setup.Public(l.Queue),
		setup.Public(l.Table))
	s := storageScreen{Account: server.Account(), Blob: where.Blob, Queue: where.Queue, Table: where.Table, Data: dir,
		KeyFile: filepath.Join(dir, local.KeyFile), TLS: tlsScreenOf(tls), where: where}
	if c.Bool("show-key") {
		where.Key = server.Key()
		s.ConnectionString = setup.ConnectionString(where)
	}
	if tls == nil && setup.Exposed(l.Table) {
		fmt.Fprintf(c.App.ErrWriter, "warning: other machines can reach %s without TLS, and tokens and readings can be "+
			"intercepted. Use --tls self-signed, or listen on 127.0.0.1.\n", l.Table.Addr())
	}
	return printScreen(c, s, s.text())
}

func (s storageScreen) text() string {
	text := fmt.Sprintf("Storage account %q\n\n", s.Account) + fieldLines(8, [][2]string{{"blobs", s.Blob},
		{"queues", s.Queue}, {"tables", s.Table}, {"data", s.Data}, {"key", s.KeyFile}}) + s.TLS.text("Clients")
	if s.ConnectionString != "" {
		return text + "\nConnection string\n  " + s.ConnectionString + "\n"
	}
	where := s.where
	where.Key = "$(cat " + quoted(s.KeyFile) + ")"
	return text + "\nConnection string, for a shell that can read the key (--show-key prints it in full)\n  export " +
		"AZURE_STORAGE_CONNECTION_STRING=\"" + setup.ConnectionString(where) + "\"\n"
}
