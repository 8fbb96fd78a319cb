package demo

import (
	"cmp"
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

// Said is what furrow up prints when it is ready.
type Said struct {
	Endpoint  string `json:"endpoint"`  // URL of the token endpoint
	Dashboard string `json:"dashboard"` // URL; empty without a dashboard
}

// Data is the directory of the demo's own storage.
func (c Config) Data() string { return filepath.Join(c.Dir, "data") }

// openUp starts furrow up without a worker in a process of its own, and connects to its storage.
func (d *Demo) openUp(ctx context.Context) (err error) {
	d.master = sas.NewSealingKey()
	if d.oven, err = openOven(d.Config); err != nil {
		return err
	}
	if d.Storage == "" {
		if err := os.Mkdir(d.Data(), 0o700); err != nil {
			return err
		}
	}
	master, err := d.write(d.masterFile(), d.master.Base64()+"\n")
	if err != nil {
		return err
	}
	if _, err := d.write(configFile, d.configuration()); err != nil {
		return err
	}
	dashboard := "--no-dashboard"
	if d.Keep {
		dashboard = "--dashboard=127.0.0.1:0"
	}
	args := []string{dashboard, "--no-worker", "--json", "--listen", "127.0.0.1:0", "--storage-port", "0",
		"--master-key-file", master}
	if d.up, err = d.start("up", append([]string{"up"}, args...)...); err != nil {
		return err
	}
	d.Screen.Say(fmt.Sprintf("furrow up is process %d", d.up.PID()))
	starting, cancel := context.WithTimeoutCause(ctx, standstill,
		fmt.Errorf("furrow up has not started within %v", standstill))
	defer cancel()
	line, err := d.up.FirstLine(starting)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &d.Said); err != nil {
		return fmt.Errorf("furrow up said %q: %w", line, err)
	}
	return d.connect()
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

func (d *Demo) configuration() string {
	return fmt.Sprintf(configText, pipeline, d.Cadence, settle, d.batch(), over) + d.oven.configuration()
}

// parsed returns the configuration as the processes read it.
func (d *Demo) parsed() (*config.Config, error) {
	return config.Parse(configFile, []byte(d.configuration()))
}

// start starts a furrow command on the demo's storage. A connection string may hold a key, so it is passed in the
// environment, which other users cannot see.
func (d *Demo) start(name string, args ...string) (*process.Process, error) {
	args = append(args, "--config", filepath.Join(d.Dir, configFile), "--names-prefix", d.Prefix)
	var environ []string
	if d.Storage == "" {
		args = append(args, "--storage", d.Data())
	} else {
		environ = []string{"FURROW_STORAGE=" + d.Storage}
	}
	if d.CA != "" {
		args = append(args, "--ca", d.CA)
	}
	return process.Start(d.Program, d.Dir, name, environ, args...)
}

func (d *Demo) connect() error {
	found, err := setup.Find(cmp.Or(d.Storage, d.Data()))
	if err != nil {
		return err
	}
	names, err := schema.ParseNames(d.Prefix)
	if err != nil {
		return err
	}
	transport, err := setup.Transport(d.CA)
	if err != nil {
		return err
	}
	if t, ok := transport.Transport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = 4096 // devices share it
	}
	d.Clients, err = roles.Connect(found.Account, names, transport)
	return err
}

func (d *Demo) queue() *worker.Queue { return d.Queues.Queue(d.Names, pipeline) }

// policies are those that tokens hang on.
func (d *Demo) policies() *sas.Policies { return d.Policies(slog.New(slog.DiscardHandler)) }

// close stops furrow up, and deletes the tables and queues of an account.
func (d *Demo) closeUp() (err error) {
	if d.oven != nil {
		err = d.oven.server.Close()
	}
	if d.up == nil {
		return err
	}
	hangingUp, done := context.WithCancel(context.Background())
	go d.hangUp(hangingUp)
	err = errors.Join(err, d.up.Stop())
	done()
	if d.Storage == "" || d.Clients == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), standstill)
	defer cancel()
	for _, name := range processors.Tables(d.Names, pipeline) {
		err = errors.Join(err, d.Tables.Table(name).Delete(ctx))
	}
	return errors.Join(err, d.queue().DeleteQueues(ctx))
}

// hangUp keeps closing idle connections: furrow up would wait for the first request on those that had none, such
// as one that was opened for an interrupted request.
func (d *Demo) hangUp(ctx context.Context) {
	for d.Clients != nil {
		d.HTTP.CloseIdleConnections()
		if !setup.Pause(ctx, 50*time.Millisecond) {
			return
		}
	}
}
