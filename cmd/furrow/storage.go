package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/tables/local"
)

func storageCommand() *cli.Command {
	return &cli.Command{
		Name:  "storage",
		Usage: "Serve Azure Table, Queue and Blob storage from a local directory",
		Description: "Listens on three ports: blobs on that of --listen, queues and tables on the next two. Every " +
			"acknowledged write is on\n" +
			"disk. It runs until SIGINT or SIGTERM." +
			examples(
				"storage",
				"storage --data /srv/fleet --listen 0.0.0.0:10000 --tls self-signed",
				"storage --show-key --json"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Value: "./furrow-data", Usage: "Data `DIR`; created if it does not exist"},
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:10000",
				Usage: "`ADDR` as host:port; port 0 picks three free ports; no host means every address of this machine"},
			&cli.StringFlag{Name: "tls", Value: tlsOff, Usage: "off, self-signed (created and kept in DIR/tls), or two PEM " +
				"files `CERT,KEY`"},
			&cli.StringFlag{Name: "account", Value: local.DefaultAccount, Usage: "Account `NAME`"},
			&cli.StringFlag{Name: "account-key", EnvVars: []string{"FURROW_ACCOUNT_KEY"}, DefaultText: "made at the first start",
				Usage: "Account key in `BASE64`; the first start stores it"},
			&cli.BoolFlag{Name: "show-key", Usage: "Print the account key in the connection string"},
			jsonFlag(),
			stopWithInputFlag(),
		},
		Action: storage,
	}
}

func storage(c *cli.Context) (err error) {
	log := slog.New(slog.NewTextHandler(c.App.ErrWriter, nil))
	key, err := accountKey(c)
	if err != nil {
		return err
	}
	if err := checkTLS(c); err != nil {
		return err
	}
	listeners, err := listen(c.String("listen"), "--listen")
	if _, ok := errors.AsType[*net.OpError](err); !ok && err != nil {
		return usagef(c, "--listen: %v", err)
	}
	if err != nil {
		return err
	}
	defer closing(&err, listeners.Close)
	dir, err := filepath.Abs(c.String("data"))
	if err != nil {
		return err
	}
	server, err := local.Open(local.Config{Dir: dir, Account: c.String("account"), Key: key, Log: log})
	if err != nil {
		return withAdvice(err, "--data", "--listen")
	}
	defer closing(&err, server.Close)
	tls, err := protection(c, dir, log)
	if err != nil {
		return err
	}
	if err := setup.WriteConnection(dir, here(server, listeners, tls)); err != nil {
		return withAdvice(err, "--data", "--listen")
	}
	if err := announce(c, server, listeners, dir, tls); err != nil {
		return err
	}
	paceCollector()
	ctx, stop := untilStopped(c)
	defer stop()
	return server.Serve(ctx, tls.protect(listeners))
}

// paceCollector lets garbage grow to four times what lives, where GOGC does not
// say otherwise. Little lives in a storage server, since Pebble keeps its cache
// outside the heap, so that Go's default would collect dozens of times a second.
func paceCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// closing adds what close returns to *err; a listener that was closed before is fine.
func closing(err *error, close func() error) {
	if e := close(); !errors.Is(e, net.ErrClosed) {
		*err = errors.Join(*err, e)
	}
}

// shortestKey, in bytes, is what no one can guess. Azure's keys have 64.
const shortestKey = 16

func accountKey(c *cli.Context) ([]byte, error) {
	text := c.String("account-key")
	if text == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) < shortestKey {
		return nil, usagef(c, "--account-key (or FURROW_ACCOUNT_KEY) is not the base64 of at least %d bytes", shortestKey)
	}
	return key, nil
}

// listen listens for the three services. Its errors name the flag that says where.
func listen(address, flag string) (local.Listeners, error) {
	listeners, err := local.Listen(address)
	return listeners, withAdvice(err, "--data", flag)
}

// withAdvice says what can be done about the errors that people meet, with the
// flags that name the directory and the address.
func withAdvice(err error, dataFlag, listenFlag string) error {
	for cause, advice := range map[error]string{
		syscall.EADDRINUSE:    "another program listens there: stop it, or choose three other ports with " + listenFlag,
		syscall.EADDRNOTAVAIL: "this machine does not have that address: choose another with " + listenFlag,
		syscall.EACCES: "this user may not do that: choose another directory with " + dataFlag +
			", or ports above 1023 with " + listenFlag,
		local.ErrInUse:  "another process serves it: stop that one, or choose another directory with " + dataFlag,
		local.ErrNewer:  "run that version, or choose another directory with " + dataFlag,
		syscall.ENOTDIR: "that is a file: choose another directory with " + dataFlag,
		syscall.EROFS:   "nothing can be written there: choose another directory with " + dataFlag,
		syscall.ENOSPC:  "the disk is full: make room, or choose another directory with " + dataFlag,
	} {
		if errors.Is(err, cause) {
			return fmt.Errorf("%w (%s)", err, advice)
		}
	}
	return err
}

// exposed tells whether others than this machine can reach the listener.
func exposed(l net.Listener) bool {
	at, ok := l.Addr().(*net.TCPAddr)
	return ok && !at.IP.IsLoopback()
}
