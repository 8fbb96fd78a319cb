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
	"furrow/cmd/internal/setup"
	"furrow/jobs/processors"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// An upProcess is furrow up without a worker in a process of its own, with clients for its storage.
type upProcess struct {
	config  Config
	up      *process.Process
	Said    Said
	account tables.Account
	names   schema.Names
	oven    *oven
	client  *tables.Client
	queue   *worker.Queue
	http    *http.Client
	master  sas.SealingKey
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
	if h.names, err = schema.ParseNames(c.Prefix); err != nil {
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
	h.account = found.Account
	if h.http, err = setup.Transport(h.config.CA); err != nil {
		return err
	}
	if t, ok := h.http.Transport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = 4096 // devices share it
	}
	if h.client, err = tables.Connect(tables.Config{Account: h.account, Transport: h.http}); err != nil {
		return err
	}
	queues, err := worker.Connect(worker.Config{Account: h.account, Transport: h.http})
	if err != nil {
		return err
	}
	h.queue = queues.Queue(h.names, pipeline)
	return nil
}

// policies are those that tokens hang on.
func (h *upProcess) policies() *sas.Policies {
	return &sas.Policies{Client: h.client, Names: h.names, Delay: h.delay(), Log: slog.New(slog.DiscardHandler)}
}

// delay is how long storage takes to apply a changed policy everywhere.
// learn.microsoft.com: "Define a stored access policy".
func (h *upProcess) delay() time.Duration {
	if h.account.PathStyle() {
		return 0 // local storage, or an emulator
	}
	return 30 * time.Second
}

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
	if h.config.Storage == "" || h.queue == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), standstill)
	defer cancel()
	for _, name := range h.tables() {
		err = errors.Join(err, h.client.Table(name).Delete(ctx))
	}
	return errors.Join(err, h.queue.DeleteQueues(ctx))
}

// hangUp keeps closing idle connections: furrow up would wait for the first request on those that had none, such
// as one that was opened for an interrupted request.
func (h *upProcess) hangUp(ctx context.Context) {
	for h.http != nil {
		h.http.CloseIdleConnections()
		if !setup.Pause(ctx, 50*time.Millisecond) {
			return
		}
	}
}

func (h *upProcess) tables() []string { return processors.Tables(h.names, pipeline) }

// Data returns the directory of the demo's local storage.
func (h *upProcess) Data() string { return h.config.data() }
