package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/process"
	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/jobs/processors"
	"furrow/sas"
	"furrow/tables/schema"
	"furrow/worker"
)

// An upProcess is furrow up without a worker in a process of its own, with clients for its storage.
type upProcess struct {
	*roles.Clients // nil until it is up
	config         Config
	up             *process.Process
	Said           Said
	oven           *oven
	master         sas.SealingKey
}

// Said is what furrow up prints when it is ready.
type Said struct {
	Endpoint  string `json:"endpoint"`  // URL of the token endpoint
	Dashboard string `json:"dashboard"` // URL; empty without a dashboard
}

// data is the directory of the demo's own storage.
func (c Config) data() string { return filepath.Join(c.Dir, "data") }

func (h *upProcess) open(ctx context.Context, c Config) (err error) {
	h.config, h.master = c, sas.NewSealingKey()
	if h.oven, err = openOven(c); err != nil {
		return err
	}
	if c.Storage == "" {
		if err := os.Mkdir(c.data(), 0o700); err != nil {
			return err
		}
	}
	master, err := c.write(c.masterFile(), h.master.Base64()+"\n")
	if err != nil {
		return err
	}
	if _, err := c.write(configFile, h.configuration()); err != nil {
		return err
	}
	dashboard := "--no-dashboard"
	if c.Keep {
		dashboard = "--dashboard=127.0.0.1:0"
	}
	args := []string{dashboard, "--no-worker", "--json", "--listen", "127.0.0.1:0", "--storage-port", "0",
		"--master-key-file", master}
	if h.up, err = h.start("up", append([]string{"up"}, args...)...); err != nil {
		return err
	}
	c.Screen.Say(fmt.Sprintf("furrow up is process %d", h.up.PID()))
	starting, cancel := context.WithTimeoutCause(ctx, standstill,
		fmt.Errorf("furrow up has not started within %v", standstill))
	defer cancel()
	line, err := h.up.FirstLine(starting)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &h.Said); err != nil {
		return fmt.Errorf("furrow up said %q: %w", line, err)
	}
	return h.connect()
}

// masterFile is where commands look for the master key: for local storage, in its directory.
func (c Config) masterFile() string {
	if c.Storage == "" {
		return filepath.Join("data", "master.key")
	}
	return "master.key"
}

const (
	configFile = "furrow.yaml"
	configText = "pipelines: [{name: %s, cadence: %v, settle: %v, batch: %d, processors: [latest, rollup: {windows: " +
		"[1m, 1h, 1d]}, rate: {over: %v}, rules]}]\n"

	// over is the span of rates, which the check computes, too.
	over = time.Hour
)

func (h *upProcess) configuration() string {
	return fmt.Sprintf(configText, pipeline, h.config.Cadence, settle, h.config.batch(), over) + h.oven.configuration()
}

// parsed returns the configuration as the processes read it.
func (h *upProcess) parsed() (*config.Config, error) {
	return config.Parse(configFile, []byte(h.configuration()))
}

// start starts a furrow command on the demo's storage. A connection string may hold a key, so it is passed in the
// environment, which other users cannot see.
func (h *upProcess) start(name string, args ...string) (*process.Process, error) {
	c := h.config
	args = append(args, "--config", filepath.Join(c.Dir, configFile), "--names-prefix", c.Prefix)
	var environ []string
	if c.Storage == "" {
		args = append(args, "--storage", c.data())
	} else {
		environ = []string{"FURROW_STORAGE=" + c.Storage}
	}
	if c.CA != "" {
		args = append(args, "--ca", c.CA)
	}
	return process.Start(c.Program, c.Dir, name, environ, args...)
}

func (h *upProcess) connect() error {
	where := h.config.Storage
	if where == "" {
		where = h.config.data()
	}
	found, err := setup.Find(where)
	if err != nil {
		return err
	}
	names, err := schema.ParseNames(h.config.Prefix)
	if err != nil {
		return err
	}
	transport, err := setup.Transport(h.config.CA)
	if err != nil {
		return err
	}
	if t, ok := transport.Transport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = 4096 // devices share it
	}
	h.Clients, err = roles.Connect(found.Account, names, transport)
	return err
}

func (h *upProcess) queue() *worker.Queue { return h.Queues.Queue(h.Names, pipeline) }

// policies are those that tokens hang on.
func (h *upProcess) policies() *sas.Policies { return h.Policies(slog.New(slog.DiscardHandler)) }

// close stops furrow up, and deletes the tables and queues of an account.
func (h *upProcess) close() (err error) {
	if h.oven != nil {
		err = h.oven.server.Close()
	}
	if h.up == nil {
		return err
	}
	hangingUp, done := context.WithCancel(context.Background())
	go h.hangUp(hangingUp)
	err = errors.Join(err, h.up.Stop())
	done()
	if h.config.Storage == "" || h.Clients == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), standstill)
	defer cancel()
	for _, name := range h.tables() {
		err = errors.Join(err, h.Tables.Table(name).Delete(ctx))
	}
	return errors.Join(err, h.queue().DeleteQueues(ctx))
}

// hangUp keeps closing idle connections: furrow up would wait for the first request on those that had none, such
// as one that was opened for an interrupted request.
func (h *upProcess) hangUp(ctx context.Context) {
	for h.Clients != nil {
		h.HTTP.CloseIdleConnections()
		if !setup.Pause(ctx, 50*time.Millisecond) {
			return
		}
	}
}

func (h *upProcess) tables() []string { return processors.Tables(h.Names, pipeline) }

// Data returns the directory of the demo's local storage.
func (h *upProcess) Data() string { return h.config.data() }
