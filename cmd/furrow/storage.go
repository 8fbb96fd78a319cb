package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/tables/local"
)

func storageCommand() *cli.Command {
	return &cli.Command{
		Name:  "storage",
		Usage: "Serve Azure Table, Queue and Blob storage from a local directory",
		Description: `Listens on three ports: blobs on that of --listen, queues and tables on the next two. Devices need only
tables, so other machines reach blobs and queues only with --listen-all-services: for workers there. Every
acknowledged write is on disk. It runs until SIGINT or SIGTERM. What it does not serve, such as leases of blobs, is in
furrow help operations.` + examples(
			"storage",
			"storage --data /srv/fleet --listen 0.0.0.0:10000 --tls self-signed",
			"storage --show-key --json"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Value: defaultStorage, Usage: "Storage `DIRECTORY`; created if it does not exist"},
			listenFlag("127.0.0.1:10000", "three free ports"), allServicesFlag(), azureLimitsFlag(), tlsFlag(),
			&cli.StringFlag{Name: "account", Value: local.DefaultAccount, Usage: "Account `NAME`"},
			&cli.StringFlag{Name: "account-key", EnvVars: []string{"FURROW_ACCOUNT_KEY"},
				DefaultText: "generated at the first start", Usage: "Account key in `BASE64`; the first start stores it"},
			boolFlag("show-key", "Print the account key in the connection string"),
			metricsFlag(), jsonFlag(), verboseFlag(), logFormatFlag(), stopWithInputFlag(),
		},
		Subcommands: []*cli.Command{storageStatsCommand(), storageCheckCommand()},
		Action:      storage,
	}
}

// storageCache is more than the default, because this process does nothing but serve storage: with 10,000 active
// devices, it saves 6 to 10 % of its processor time. In bytes.
const storageCache = 64 << 20

func storage(c *cli.Context) (err error) {
	log := logFor(c)
	key, err := accountKey(c)
	if err != nil {
		return err
	}
	if err := checkTLS(c); err != nil {
		return err
	}
	if err := checkPrivate(c.String("data")); err != nil {
		return err
	}
	m, err := openMonitor(c)
	if err != nil {
		return err
	}
	defer setup.Closing(&err, m.Close)
	counted := m.Monitor.Embedded()
	listeners, err := local.Listen(c.String("listen"), c.Bool(allServices))
	if _, ok := errors.AsType[*net.OpError](err); !ok && err != nil {
		return usagef(c, "--listen: %v", err)
	}
	if err != nil {
		return storageAdvice(err, "--data", "--listen")
	}
	defer setup.Closing(&err, listeners.Close)
	dir, err := filepath.Abs(c.String("data"))
	if err != nil {
		return err
	}
	server, err := local.Open(local.Config{Dir: dir, Account: c.String("account"), Key: key, Log: log,
		Cache: storageCache, AzureLimits: c.Bool(azureLimits), OnAnswer: counted.Count})
	if err != nil {
		return storageAdvice(err, "--data", "--listen")
	}
	defer setup.Closing(&err, server.Close)
	counted.Opened(server.Usage)
	tls, err := openTLS(c, dir, log)
	if err != nil {
		return err
	}
	m.Monitor.Certificate(tls)
	listeners.TLS = tls.ServerConfig()
	if err := setup.WriteConnection(dir, setup.LocalAccount(server, listeners, tls)); err != nil {
		return storageAdvice(err, "--data", "--listen")
	}
	if err := announceStorage(c, server, listeners, dir, tls); err != nil {
		return err
	}
	paceCollector()
	return m.While(c.Context, alwaysReady, func(ctx context.Context) error {
		return server.Serve(ctx, listeners)
	})
}

// alwaysReady is for storage, which answers once it listens.
func alwaysReady(context.Context) error { return nil }

// shortestKey is the least number of bytes of an account key. Azure's keys have 64.
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

// checkPrivate returns an error if users other than the owner of a data directory can use it: it holds keys and
// readings. An empty directory becomes private.
func checkPrivate(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() || runtime.GOOS == "windows" { // no such modes
		return nil
	}
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		if err = os.Chmod(dir, 0o700); err == nil {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("users other than its owner can use the data directory %s (mode %04o), and it holds "+
		"keys: chmod 700 %s", dir, info.Mode().Perm(), quoted(dir)), err)
}
