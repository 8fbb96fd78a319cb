package main

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// An upProcess is furrow up as a process that can be killed and started again at the same addresses.
type upProcess struct {
	args []string
	cmd  *exec.Cmd
	errs *lockedBuffer
	said upScreen
}

func startUpProcess(t *testing.T, dir string) *upProcess {
	t.Helper()
	u := &upProcess{errs: &lockedBuffer{}, args: []string{"--listen", "127.0.0.1:0", "--storage-port", "0"}}
	u.args = append([]string{"up", "--json", "--storage", dir, "--tls", "self-signed", "--no-dashboard"}, u.args...)
	u.start(t)
	endpoint, err := url.Parse(u.said.Endpoint)
	must(t, err)
	table, err := url.Parse(u.said.Table)
	must(t, err)
	port, err := strconv.Atoi(table.Port())
	must(t, err)
	u.args = append(u.args, "--listen", endpoint.Host, "--storage-port", strconv.Itoa(port-2))
	return u
}

func (u *upProcess) start(t *testing.T) {
	t.Helper()
	out, in, err := os.Pipe()
	must(t, err)
	defer out.Close()
	u.cmd = startProcess(t, in, u.errs, nil, u.args...)
	in.Close()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, u.errs)
	}
	must(t, json.Unmarshal(line, &u.said))
}

func (u *upProcess) kill(t *testing.T) {
	t.Helper()
	must(t, u.cmd.Process.Kill())
	_ = u.cmd.Wait()
}
